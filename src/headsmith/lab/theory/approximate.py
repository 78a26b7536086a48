"""The approximate loss of the (omega, mu) model (icl-linear-regression, Prop 4.1), its valley, and descent on it.

With lambda = (1 + noise) / L and exp taken entry by entry on the H x H matrix omega omega',

    loss(omega, mu) = 1 + noise - 2 mu.omega + (mu.omega)^2 + lambda mu' exp(d omega omega') mu          (4.1)
                    = noise + (1 - mu.omega)^2 + lambda sum_k (d^k / k!) <mu, omega^k>^2
                    (Taylor)

Its minimisers form a valley: |omega_h| = gamma for all heads, opposite groups of equal total weight mu_gamma
(4.6). Along the valley the loss increases with gamma, so descent slides towards gamma = 0, ever more slowly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor

from headsmith.refusal import Refusal

__all__ = [
    "Problem",
    "check_heads",
    "check_prompts",
    "descend",
    "edge_of_stability",
    "gradient",
    "loss",
    "loss_taylor",
    "on_valley",
    "predicted_gamma",
]


def check_prompts(features: Any, length: Any, noise: Any) -> None:
    """Whole numbers of features from 1 and of examples from 2, and a variance.

    >>> check_prompts(5, 40, 0.1)
    """
    whole = isinstance(features, Integral) and isinstance(length, Integral) and int(features) >= 1 and int(length) >= 2
    if not (whole and isinstance(noise, Real) and 0 <= float(noise) < math.inf):
        raise Refusal(
            "prompts need whole numbers of at least 1 feature and 2 examples, and a noise variance >= 0; got "
            f"features={features}, length={length}, noise={noise}"
        )


def check_heads(omega: Any, mu: Any) -> None:
    """As many weights mu as sharpnesses omega."""
    if len(omega) != len(mu):
        raise Refusal(f"each head has one omega and one mu; got {len(omega)} and {len(mu)}")


@dataclass(frozen=True)
class Problem:
    """d features, L examples, noise variance; `ratio` is lambda = (1 + noise) / L.

    >>> round(Problem(5, 40, 0.1).rate, 5)
    0.87912
    """

    features: int = 5
    length: int = 40
    noise: float = 0.1

    def __post_init__(self) -> None:
        check_prompts(self.features, self.length, self.noise)

    @property
    def ratio(self) -> float:
        """(1 + sigma^2) / L, what the context length leaves of the noise."""
        return (1 + self.noise) / self.length

    @property
    def rate(self) -> float:
        """1 / (1 + d lambda): the limit of 2 gamma mu_gamma, and the best rate of debiased gradient descent."""
        return 1 / (1 + self.features * self.ratio)

    def valley(self, gamma: float) -> float:
        """mu_gamma = gamma / (2 gamma^2 + 2 lambda sinh(d gamma^2)): the weight of each group on the valley, Eq (4.6).

        >>> round(Problem().valley(0.13), 2)
        3.38
        """
        return gamma / (2 * gamma**2 + 2 * self.ratio * math.sinh(self.features * gamma**2))

    def best_single(self) -> tuple[float, float]:
        """(1/sqrt d, sqrt d / (1 + e d lambda)): the one-head minimiser of the approximate loss, Eq (4.12)."""
        d = self.features
        return 1 / math.sqrt(d), math.sqrt(d) / (1 + math.e * d * self.ratio)

    @property
    def infimum(self) -> float:
        """1 + noise - 1/(1 + d lambda): approached on the valley as gamma -> 0."""
        return 1 + self.noise - self.rate


def loss(omega: Tensor, mu: Tensor, problem: Problem) -> Tensor:
    """The matrix form of Eq (4.1); leading axes of omega, mu (..., H) are a batch."""
    product = (omega * mu).sum(-1)
    kernel = torch.exp(problem.features * omega.unsqueeze(-1) * omega.unsqueeze(-2))
    spread = (mu.unsqueeze(-2) @ kernel @ mu.unsqueeze(-1))[..., 0, 0]
    return 1 + problem.noise - 2 * product + product**2 + problem.ratio * spread


def loss_taylor(omega: Tensor, mu: Tensor, problem: Problem, terms: int = 40) -> Tensor:
    """The Taylor form of (4.1), cut after `terms` powers."""
    total = problem.noise + (1 - (omega * mu).sum(-1)) ** 2
    for k in range(terms):
        moment = (mu * omega**k).sum(-1)
        total = total + problem.ratio * problem.features**k / math.factorial(k) * moment**2
    return total


def gradient(omega: Tensor, mu: Tensor, problem: Problem) -> tuple[Tensor, Tensor]:
    """d loss / d omega and d loss / d mu, each twice what the paper's flow of loss/2 follows."""
    d, ratio = problem.features, problem.ratio
    kernel = torch.exp(d * omega.unsqueeze(-1) * omega.unsqueeze(-2))
    slack = 1 - (omega * mu).sum(-1, keepdim=True)
    weighted = kernel * mu.unsqueeze(-1) * mu.unsqueeze(-2)
    g_omega = -2 * slack * mu + 2 * d * ratio * (weighted @ omega.unsqueeze(-1)).squeeze(-1)
    g_mu = -2 * slack * omega + 2 * ratio * (kernel @ mu.unsqueeze(-1)).squeeze(-1)
    return g_omega, g_mu


def on_valley(gamma: float, problem: Problem) -> float:
    """1 + noise - 1 / (1 + lambda sinh(d gamma^2) / gamma^2): the loss on the valley, increasing in gamma."""
    ratio = problem.ratio * math.sinh(problem.features * gamma**2) / gamma**2
    return 1 + problem.noise - 1 / (1 + ratio)


def descend(
    omega: Tensor, mu: Tensor, problem: Problem, rate: float, steps: int, every: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradient descent on the approximate loss: the steps noted, and omega and mu there, (notes, ..., H)."""
    omega, mu = omega.double().clone(), mu.double().clone()
    times, omegas, mus = [0], [omega.clone()], [mu.clone()]
    for step in range(1, steps + 1):
        g_omega, g_mu = gradient(omega, mu, problem)
        omega -= rate * g_omega
        mu -= rate * g_mu
        if step % every == 0:
            times.append(step)
            omegas.append(omega.clone())
            mus.append(mu.clone())
    return torch.tensor(times), torch.stack(omegas), torch.stack(mus)


def edge_of_stability(rate: float, problem: Problem) -> float:
    """c sqrt(2 rate (1 + d lambda)), c = eta*/2: below this gamma descent with that rate is unstable."""
    return 0.5 * problem.rate * math.sqrt(2 * rate / problem.rate)


def predicted_gamma(rate: float, steps: int, problem: Problem) -> float:
    """max(edge of stability, clock): where `steps` steps of descent on the approximate loss end.

    The clock is the t^(-1/6) law at time 2 rate steps (the flow is that of loss/2).
    """
    c = 0.5 * problem.rate
    clock = c / (4 * problem.ratio * problem.features**3 * c**6 * 2 * rate * steps) ** (1 / 6)
    return max(edge_of_stability(rate, problem), clock)
