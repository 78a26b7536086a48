"""Exact finite-L risks of the in-context predictors, for Gaussian prompts.

    x_l, x ~ N(0, Sigma) in R^d,  weights ~ N(0, I/d),  y_l = weights . x_l + N(0, noise)

so with Sigma = I the signal has variance 1 and predicting 0 costs 1 + noise.  Every risk is against the noisy
target; subtract the noise for the excess.  Centring the covariates leaves a Wishart matrix with L - 1 degrees
of freedom, so the debiased risk is as explicit as the vanilla one, and its best rate L / (L + d (1 + noise))
is exactly the rate that the paper obtains from its approximate loss.  (Step 2 of the paper's D.3 drops the
rate in the correction term; `debiased_gd_printed` keeps that formula for the errata.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = [
    "bayes_limit",
    "bayes_ratio_bound",
    "debiased_gd",
    "debiased_gd_limit",
    "debiased_gd_printed",
    "debiased_rate",
    "descent",
    "linear_attention",
    "multi_task",
    "multi_task_rates",
    "ols",
    "preconditioned_gd",
    "preconditioner",
    "ridge",
    "vanilla_gd",
    "vanilla_rate",
    "zero",
]


def zero(noise: float) -> float:
    """1 + noise: the risk of always saying 0."""
    return 1 + noise


def vanilla_rate(d: int, L: int, noise: float) -> float:
    """L / (L + 1 + d (1 + noise)): the best rate of one plain gradient step."""
    return L / (L + 1 + d * (1 + noise))


def debiased_rate(d: int, L: int, noise: float) -> float:
    """L / (L + d (1 + noise)): the best rate of one gradient step on centred covariates.

    >>> round(debiased_rate(5, 40, 0.1), 5)
    0.87912
    """
    return L / (L + d * (1 + noise))


def vanilla_gd(d: int, L: int, noise: float, rate: float | None = None) -> float:
    """1 + noise - 2 r + (r^2 / L)(d (1 + noise) + L + 1) at rate r (the best one unless given).

    >>> round(vanilla_gd(5, 40, 0.1), 5)
    0.23978
    """
    r = vanilla_rate(d, L, noise) if rate is None else rate
    return 1 + noise - 2 * r + r * r * (d * (1 + noise) + L + 1) / L


def debiased_gd(d: int, L: int, noise: float, rate: float | None = None) -> float:
    """1 + noise - 2 r (L-1)/L + r^2 (L-1)(L + d (1 + noise)) / L^2 at rate r (the best one unless given).

    >>> round(debiased_gd(5, 40, 0.1), 5)
    0.24286
    """
    r = debiased_rate(d, L, noise) if rate is None else rate
    return 1 + noise - 2 * r * (L - 1) / L + r * r * (L - 1) * (L + d * (1 + noise)) / L**2


def debiased_gd_printed(d: int, L: int, noise: float, rate: float) -> float:
    """vanilla + (d (1 + noise) + 2 + 2L)/L^2 - 2 r (d (1 + noise) + L + 1)/L^2: as printed in D.3, with r
    lost.

    The predictors differ by r mean(y) mean(x) . x; the printed step subtracts mean(y) mean(x) . x instead.
    """
    a = d * (1 + noise)
    return vanilla_gd(d, L, noise, rate) + (a + 2 + 2 * L - 2 * rate * (a + L + 1)) / L**2


def linear_attention(d: int, L: int, noise: float, trained_length: int, rate: float | None = None) -> float:
    """The vanilla risk at rate r L / L0: the factor 1/L0 stays in the weights, so longer prompts overshoot."""
    r = vanilla_rate(d, trained_length, noise) if rate is None else rate
    return vanilla_gd(d, L, noise, r * L / trained_length)


def ols(d: int, L: int, noise: float) -> float:
    """noise (1 + d / (L - d - 1)); infinite unless L > d + 1."""
    return noise * (1 + d / (L - d - 1)) if d + 1 < L else math.inf


def ridge(d: int, L: int, noise: float, draws: int = 20_000, seed: int = 0) -> float:
    """noise (1 + E tr(X'X + d noise I)^-1): the Bayes risk, averaged over seeded draws of X (error about
    2e-5).
    """
    generator = torch.Generator().manual_seed(seed)
    penalty = d * noise * torch.eye(d, dtype=torch.float64)
    total, done = 0.0, 0
    while done < draws:
        n = min(4000, draws - done)
        X = torch.randn(n, L, d, generator=generator, dtype=torch.float64)
        inverse = torch.linalg.inv(X.transpose(1, 2) @ X + penalty)
        total += float(inverse.diagonal(dim1=1, dim2=2).sum())
        done += n
    return noise * (1 + total / draws)


def debiased_gd_limit(xi: float, noise: float) -> float:
    """noise + xi (1 + noise) / (1 + xi (1 + noise)): the limit for L -> infinity with d / L -> xi."""
    return noise + xi * (1 + noise) / (1 + xi * (1 + noise))


def bayes_limit(xi: float, noise: float) -> float:
    """(noise + 1 - 1/xi + sqrt(4 noise + (noise + 1/xi - 1)^2)) / 2: Marchenko-Pastur at -noise xi."""
    return 0.5 * (noise + 1 - 1 / xi + math.sqrt(4 * noise + (noise + 1 / xi - 1) ** 2))


def bayes_ratio_bound(xi: float, noise: float) -> float:
    """1 + 1 / (noise (1 + xi noise)(1 + noise + 1/xi)): icl-linear-regression, Thm 4.2 (iii), debiased over Bayes
    risk.
    """
    return 1 + 1 / (noise * (1 + xi * noise) * (1 + noise + 1 / xi))


def preconditioner(covariance: Tensor, L: int, noise: float, debiased: bool = True) -> Tensor:
    """Gamma^-1 with Gamma = Sigma + (tr Sigma + d noise)/L I, the best preconditioner of the debiased step.

    debiased=False gives the vanilla one, icl-linear-regression, Eq (5.6): (1 + 1/L) Sigma + (tr Sigma + d noise)/L I.
    """
    d = covariance.shape[-1]
    ridge_part = (covariance.trace() + d * noise) / L * torch.eye(d, dtype=covariance.dtype)
    return torch.linalg.inv((1.0 if debiased else 1 + 1 / L) * covariance + ridge_part)


def descent(step: Tensor, covariance: Tensor, prior: Tensor, L: int, noise: float) -> float:
    """The risk of (1/L) sum_l y_l (x_l - mean x)' P x for covariates N(0, S), weights N(0, B), any step
    matrix P.

    noise + tr SB - 2 (L-1)/L tr(S P' S B) + (L-1)/L^2 tr(P S P' [L S B S + (tr SB + noise) S]); all others
    follow.
    """
    P, S, B = step, covariance, prior
    signal = (S @ B).trace()
    gain = (S @ P.T @ S @ B).trace() * 2 * (L - 1) / L
    cost = (P @ S @ P.T @ (L * S @ B @ S + (signal + noise) * S)).trace() * (L - 1) / L**2
    return float(noise + signal - gain + cost)


def preconditioned_gd(covariance: Tensor, L: int, noise: float, preconditioner_: Tensor | None = None) -> float:
    """The risk of the debiased step with that preconditioner (the best one unless given), weights N(0, I/d)."""
    d = covariance.shape[-1]
    P = preconditioner(covariance, L, noise) if preconditioner_ is None else preconditioner_
    return descent(P, covariance, torch.eye(d, dtype=covariance.dtype) / d, L, noise)


def multi_task_rates(supports: Sequence[Sequence[int]], d: int, L: int, noise: float, shared: bool = False) -> Tensor:
    """L b_j / (L b_j + 1 + noise), b = 1_S / |S| of each task, or the mean over tasks when heads are shared.

    >>> multi_task_rates([[0, 1, 2, 3], [2, 3, 4, 5]], 6, 40, 0.1)[0, 0]
    tensor(0.9009, dtype=torch.float64)
    """
    b = torch.zeros(len(supports), d, dtype=torch.float64)
    for n, support in enumerate(supports):
        b[n, list(support)] = 1 / len(support)
    if shared:
        b = b.mean(0, keepdim=True).expand_as(b)
    return L * b / (L * b + 1 + noise)


def multi_task(supports: Sequence[Sequence[int]], d: int, L: int, noise: float, rates: Tensor) -> list[float]:
    """1 + noise - 2 (L-1)/L sum e_j b_j + (L-1)/L^2 sum e_j^2 (L b_j + 1 + noise), for each task's row e of
    rates.
    """
    eye = torch.eye(d, dtype=torch.float64)
    risks = []
    for support, row in zip(supports, rates.double(), strict=True):
        b = torch.zeros(d, dtype=torch.float64)
        b[list(support)] = 1 / len(support)
        risks.append(descent(torch.diag(row), eye, torch.diag(b), L, noise))
    return risks
