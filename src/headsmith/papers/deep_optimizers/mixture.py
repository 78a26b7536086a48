"""A mixture of Gaussians under noise, its score known: what a network is to learn, and how samples are judged.

x_t = a x_0 + sqrt(1 - a^2) z,   a = e^-t,     p_t = sum_k weight_k N(a mean_k, v I),   v = a^2 variance + 1 - a^2
grad log p_t (x) = -sum_k P(k | x) (x - a mean_k) / v
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Score = Callable[[Tensor, Tensor], Tensor]
EARLIEST, LATEST = 0.2, 2.0
"""Times t at which noise leaves the bumps visible, and hardly so."""
FLOWS = 300
"""Steps of the probability flow."""


@dataclass(frozen=True)
class NoisyMixture:
    """Equal parts of N(mean_k, variance I); means (k, d)."""

    means: Tensor
    variance: float

    def noised(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """(a mean_k, v) at each time, (n, k, d) and (n, 1)."""
        a = torch.exp(-t)[:, None]
        return a[..., None] * self.means, a**2 * self.variance + 1 - a**2

    def log_density(self, x: Tensor, t: Tensor) -> Tensor:
        """log p_t up to a constant."""
        means, v = self.noised(t)
        each = -(x[:, None, :] - means).square().sum(-1) / (2 * v) - x.shape[-1] / 2 * v.log()
        return torch.logsumexp(each, -1)

    def score(self, x: Tensor, t: Tensor) -> Tensor:
        """grad log p_t (x), (n, d)."""
        means, v = self.noised(t)
        away = x[:, None, :] - means
        share = torch.softmax(-away.square().sum(-1) / (2 * v), -1)
        return -(share[..., None] * away).sum(1) / v

    def gaussian_score(self, x: Tensor, t: Tensor) -> Tensor:
        """That of the one Gaussian with the mean and covariance of p_t: linear in x."""
        means, v = self.noised(t)
        centre = means.mean(1)
        spread = means - centre[:, None, :]
        covariance = spread.mT @ spread / len(self.means) + v[..., None] * torch.eye(x.shape[-1], dtype=x.dtype)
        return -torch.linalg.solve(covariance, (x - centre)[..., None])[..., 0]

    def sample(self, t: Tensor, generator: torch.Generator) -> Tensor:
        """x_t, one for each time."""
        kind = torch.randint(len(self.means), t.shape, generator=generator)
        means, v = self.noised(t)
        z = torch.randn(len(t), means.shape[-1], generator=generator, dtype=t.dtype)
        return means[torch.arange(len(t)), kind] + v.sqrt() * z

    def gaussian_sample(self, t: Tensor, generator: torch.Generator) -> Tensor:
        """Of the one Gaussian with the mean and covariance of p_t, all times being the same."""
        means, v = (part[0] for part in self.noised(t))
        spread = means - means.mean(0)
        covariance = spread.mT @ spread / len(means) + v * torch.eye(means.shape[-1], dtype=t.dtype)
        z = torch.randn(len(t), means.shape[-1], generator=generator, dtype=t.dtype)
        return means.mean(0) + z @ torch.linalg.cholesky(covariance).mT

    def labelled(self, count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """(x, t, score), t uniform."""
        generator = torch.Generator().manual_seed(seed)
        t = EARLIEST + (LATEST - EARLIEST) * torch.rand(count, generator=generator, dtype=torch.float64)
        x = self.sample(t, generator)
        return x, t, self.score(x, t)

    def flowed(self, score: Score, count: int, seed: int) -> Tensor:
        """Probability flow dx/dt = -x - score(x, t) from the Gaussian of p at LATEST back to EARLIEST, by Heun's rule.

        Whoever has no score but that of one Gaussian ends with one Gaussian.
        """
        generator = torch.Generator().manual_seed(seed)
        times = torch.linspace(LATEST, EARLIEST, FLOWS + 1, dtype=torch.float64)
        x = self.gaussian_sample(times[:1].expand(count), generator)
        for s, t in itertools.pairwise(times):
            first = -x - score(x, s.expand(count))
            second = -(x + (t - s) * first) - score(x + (t - s) * first, t.expand(count))
            x = x + (t - s) / 2 * (first + second)
        return x


def distance(x: Tensor, y: Tensor, directions: int = 32) -> float:
    """Wasserstein-1 distance of two samples of one size, a mean over directions of the plane.

    >>> distance(torch.tensor([[0.0], [1.0]]), torch.tensor([[3.0], [2.0]]))
    2.0
    """
    if x.shape[-1] == 1:
        return float((x.sort(0).values - y.sort(0).values).abs().mean())
    angles = torch.arange(directions, dtype=x.dtype) * torch.pi / directions
    along = torch.stack([angles.cos(), angles.sin()])
    return float(((x @ along).sort(0).values - (y @ along).sort(0).values).abs().mean())
