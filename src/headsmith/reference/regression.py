"""The predictors that an attention layer is compared with when it does regression in context.

A prompt is L pairs (x_l, y_l) and a query x; a predictor returns a guess of the query's response.  All of
them are linear in y, and all but two are one step of gradient descent in some disguise, which is why a
trained softmax layer can be named by the predictor that it agrees with.  Everywhere

    covariates X (..., L, d),   responses y (..., L),   query x (..., d)   ->   guess (...)

so one call serves a whole batch of prompts.  The formulas and their risks: He, Pan, Chen, Yang,
"In-Context Linear Regression Demystified" (2025), sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = [
    "context_mean",
    "debiased_gd",
    "kernel_smoother",
    "linear_attention",
    "normalised_gd",
    "ols",
    "ridge",
    "ridge_loo",
    "softmax_pair",
    "vanilla_gd",
    "zero",
]

Predictor = Callable[[Tensor, Tensor, Tensor], Tensor]


def _dot(X: Tensor, x: Tensor) -> Tensor:
    """x_l . x for every l, (..., L)."""
    return (X @ x.unsqueeze(-1)).squeeze(-1)


def zero(X: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """0, whatever the prompt says: the trivial baseline, of risk 1 + noise."""
    return torch.zeros_like(y[..., 0])


def vanilla_gd(X: Tensor, y: Tensor, x: Tensor, rate: float | Tensor = 1.0) -> Tensor:
    """(rate / L) sum_l y_l x_l . x: one gradient step from 0 on the in-context squared error.

    >>> vanilla_gd(torch.eye(2), torch.tensor([2.0, 4.0]), torch.tensor([1.0, 0.0]))
    tensor(1.)
    """
    return rate * (y * _dot(X, x)).mean(-1)


def debiased_gd(
    X: Tensor, y: Tensor, x: Tensor, rate: float | Tensor = 1.0, preconditioner: Tensor | None = None
) -> Tensor:
    """(rate / L) sum_l y_l (x_l - mean x) . P x: the gradient step on centred covariates, which softmax runs.

    >>> debiased_gd(torch.eye(2), torch.tensor([2.0, 4.0]), torch.tensor([1.0, 0.0]))
    tensor(-0.5000)
    """
    direction = x if preconditioner is None else x @ preconditioner.transpose(-1, -2)
    return rate * (y * _dot(X - X.mean(-2, keepdim=True), direction)).mean(-1)


def normalised_gd(X: Tensor, y: Tensor, x: Tensor, rate: float | Tensor = 1.0, curvature: float = 0.0) -> Tensor:
    """debiased_gd / (1 + curvature mean_l (x_l . x)^2): what the squared activation learns instead of
    softmax's.
    """
    return debiased_gd(X, y, x, rate) / (1 + curvature * _dot(X, x).square().mean(-1))


def linear_attention(
    X: Tensor, y: Tensor, x: Tensor, rate: float | Tensor = 1.0, trained_length: int | None = None
) -> Tensor:
    """(rate / L0) sum_l y_l x_l . x with L0 the length of training: it does not generalise to longer prompts."""
    scale = 1.0 if trained_length is None else y.shape[-1] / trained_length
    return vanilla_gd(X, y, x, rate) * scale


def ridge(X: Tensor, y: Tensor, x: Tensor, noise: float, prior: Tensor | float | None = None) -> Tensor:
    """x . (X'X + noise / prior)^-1 X'y: the Bayes predictor for weights N(0, prior), 1/d each unless given."""
    d = X.shape[-1]
    if prior is None:
        prior = 1.0 / d
    penalty = noise / torch.as_tensor(prior, dtype=X.dtype, device=X.device)
    gram = X.transpose(-1, -2) @ X + torch.diag_embed(penalty.expand(d))
    weights = torch.linalg.solve(gram, (X.transpose(-1, -2) @ y.unsqueeze(-1)).squeeze(-1))
    return (weights * x).sum(-1)


def context_mean(X: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """The mean of the responses, for every query x (..., Q, d): what is known without looking at covariates."""
    return y.mean(-1, keepdim=True).expand(x.shape[:-1])


def ridge_loo(X: Tensor, y: Tensor, x: Tensor, penalties: Tensor | None = None) -> Tensor:
    """Ridge with a free intercept at queries x (..., Q, d); each prompt has the penalty of least leave-one-out error.

    The residual of example i when it is left out is r_i / (1 - h_i), h_i the i-th diagonal entry of the hat matrix
    1/L + Xc (Xc'Xc + penalty)^-1 Xc' (Xc centred), so all penalties are tried at the cost of one eigendecomposition.

    >>> X = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    >>> ridge_loo(X, 2 * X[:, 0] + 1, torch.tensor([[4.0]])).round(decimals=3)
    tensor([9.])
    """
    count = X.shape[-2]
    if penalties is None:
        penalties = count * torch.logspace(-6, 2, 17, dtype=X.dtype, device=X.device)
    centre, level = X.mean(-2, keepdim=True), y.mean(-1, keepdim=True)
    Xc, yc = X - centre, y - level
    values, vectors = torch.linalg.eigh(Xc.mT @ Xc)
    turned = Xc @ vectors  # (..., L, d): the examples in the basis where the Gram matrix is diagonal
    shrink = 1 / (values.clamp(min=0).unsqueeze(-2) + penalties.unsqueeze(-1))  # (..., penalties, d)
    weights = shrink * (turned.mT @ yc.unsqueeze(-1)).mT
    residual = yc.unsqueeze(-2) - weights @ turned.mT
    left_out = residual / (1 - 1 / count - shrink @ turned.square().mT).clamp(min=1e-9)
    best = left_out.square().sum(-1).argmin(-1, keepdim=True)
    chosen = weights.take_along_dim(best.unsqueeze(-1), -2)  # (..., 1, d)
    return level + (chosen @ ((x - centre) @ vectors).mT).squeeze(-2)


def ols(X: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """x . (X'X)^-1 X'y: least squares, which needs more examples than features."""
    return ridge(X, y, x, noise=0.0)


def kernel_smoother(X: Tensor, y: Tensor, x: Tensor, omega: float | Tensor, mu: float | Tensor) -> Tensor:
    """mu y . softmax(omega X x): one softmax head, a Nadaraya-Watson smoother of bandwidth 1 / omega."""
    return mu * (y * torch.softmax(omega * _dot(X, x), -1)).sum(-1)


def softmax_pair(X: Tensor, y: Tensor, x: Tensor, gamma: float, mu: float) -> Tensor:
    """mu (y . softmax(gamma X x) - y . softmax(-gamma X x)): the two effective heads, icl-linear-regression, Eq (4.9).

    With mu = rate / (2 gamma) it tends to debiased_gd(rate) as gamma -> 0, with error O(gamma^2): Thm 4.2.
    """
    return kernel_smoother(X, y, x, gamma, mu) - kernel_smoother(X, y, x, -gamma, mu)
