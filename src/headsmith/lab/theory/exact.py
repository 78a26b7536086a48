"""The exact loss of the (omega, mu) model, for any activation: no prompt needs to be drawn.

The finite-L counterpart of icl-linear-regression, Prop 4.1.  Rotate the query onto one axis: r = |x| ~ chi_d, and g ~
N(0, I_L) are the examples' coordinates along it. Weights, noise and the other d - 1 coordinates integrate out, and
the loss is quadratic in mu,

    loss = 1 + noise - 2 b.mu + mu' M mu,    p_h = f(omega_h r g) / sum f(omega_h r g),
    b_h = E[r g.p_h] / d,    M_hk = E[(g.p_h)(g.p_k)] / d + ((d - 1)/d + noise) E[p_h.p_k].

r and |g| are integrated by Gauss-Laguerre quadrature; only the direction of g is drawn, once (seeded,
antithetic), so losses at different weights are compared on common numbers.  The first-order smoother q_h = (1
+ C_f omega_h r (g - mean g)) / L, whose b and M are known, is subtracted and added back: what remains random
vanishes as omega -> 0, where the loss is that of debiased gradient descent.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from headsmith.lab.theory.activations import Activation, activation
from headsmith.lab.theory.approximate import Problem, check_heads

__all__ = ["best_mu", "concentration", "exact_loss", "moments"]


@lru_cache(maxsize=32)
def _radii(d: int, nodes: int) -> tuple[Tensor, Tensor]:
    """Nodes r and weights of the chi_d distribution: Gauss-Laguerre in r^2 / 2, by Golub and Welsch."""
    k = np.arange(nodes)
    diagonal = 2 * k + d / 2
    off = np.sqrt(k[1:] * (k[1:] + d / 2 - 1))
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return torch.from_numpy(np.sqrt(2 * values)), torch.from_numpy(vectors[0] ** 2)


@lru_cache(maxsize=8)
def _directions(length: int, draws: int, seed: int) -> Tensor:
    half = torch.randn(draws // 2, length, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(torch.cat([half, -half]), dim=-1)


def moments(
    omega: Tensor, problem: Problem, kind: str | Activation = "exp", draws: int = 2000, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """b (H,) and M (H, H) of the exact loss at the weights omega (H,), differentiable in omega.

    >>> b, M = moments(torch.tensor([0.1, -0.1]), Problem())
    """
    f = activation(kind)
    d, L, noise = problem.features, problem.length, problem.noise
    omega = torch.as_tensor(omega, dtype=torch.float64)
    other = (d - 1) / d + noise
    slope = f.gain * omega
    u = _directions(L, draws, seed)
    norms, shares = _radii(L, 4)
    g = norms[:, None, None] * u
    centre = g.mean(-1)
    flat = g - centre.unsqueeze(-1)
    spread = flat.square().mean(-1)
    root = (shares / draws).sqrt().unsqueeze(-1)  # the weight of a direction at each norm, in both factors of M
    b = torch.zeros_like(omega)
    M = torch.zeros(len(omega), len(omega), dtype=torch.float64)
    for r, share in zip(*_radii(d, 10), strict=True):
        p = f.weights((r * omega)[:, None, None, None] * g)
        q = (1 + (slope * r)[:, None, None, None] * flat) / L
        gp, gq = ((t * root).flatten(1) for t in ((p * g).sum(-1), centre + (slope * r)[:, None, None] * spread))
        b = b + share * r * ((gp - gq) * root.expand(4, draws).flatten()).sum(-1)
        p, q = ((t * root.unsqueeze(-1)).flatten(1) for t in (p, q))
        M = M + share * ((gp @ gp.T - gq @ gq.T) / d + other * (p @ p.T - q @ q.T))
    pair = slope[:, None] * slope[None, :]
    first = 1 / (d * L) + pair * (L * L - 1) / L**2 + other * (1 / L + pair * d * (L - 1) / L**2)
    return b / d + slope * (L - 1) / L, M + first


def exact_loss(
    omega: Tensor | list[float],
    mu: Tensor | list[float],
    activation: str | Activation = "exp",
    *,
    features: int = 5,
    length: int = 40,
    noise: float = 0.1,
    draws: int = 2000,
    seed: int = 0,
) -> Tensor:
    """The population loss of the heads (omega_h, mu_h), a float64 scalar with gradients.

    >>> round(float(exact_loss([0.518], [1.49])), 3)
    0.404
    """
    check_heads(omega, mu)
    problem = Problem(features, length, noise)
    b, M = moments(torch.as_tensor(omega, dtype=torch.float64), problem, activation, draws, seed=seed)
    mu = torch.as_tensor(mu, dtype=torch.float64)
    return 1 + noise - 2 * b @ mu + mu @ M @ mu


def best_mu(
    omega: Tensor | list[float], problem: Problem, kind: str | Activation = "exp", draws: int = 2000
) -> tuple[Tensor, float]:
    """M^-1 b and its loss 1 + noise - b.mu: the best mu for fixed omega (least squares, M may be singular)."""
    b, M = moments(torch.as_tensor(omega, dtype=torch.float64), problem, kind, draws)
    mu = torch.linalg.lstsq(M, b.unsqueeze(-1), driver="gelsd").solution.squeeze(-1)
    return mu, float(1 + problem.noise - b @ mu)


def concentration(omega: float, features: int, length: int, draws: int = 2000, seed: int = 0) -> Tensor:
    """Samples of |p|^2, p = softmax(omega X x): how far the attention is from uniform (figure 20)."""
    generator = torch.Generator().manual_seed(seed)
    g = torch.randn(draws, length, generator=generator, dtype=torch.float64)
    r = torch.randn(draws, features, generator=generator, dtype=torch.float64).norm(dim=-1, keepdim=True)
    return torch.softmax(omega * r * g, -1).square().sum(-1)
