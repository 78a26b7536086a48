"""Training the (omega, mu) model on L + 1 random numbers per prompt instead of (L + 1)(d + 1).

Weights, noise and the d - 1 coordinates orthogonal to the query are integrated out (see `exact`): a prompt is
the query's length r and the examples' coordinates g along it, and

    loss = noise + mean [ (r - g.v)^2 / d + ((d - 1)/d + noise) |v|^2 ],    v = sum_h mu_h p_h,   p_h =
    weights(omega_h r g)

has the same minimisers and a smaller gradient variance than squared errors on sampled prompts, at a cost that
does not depend on d.  The lengths r are stratified: each prompt of a batch draws from its own slice of the
chi_d distribution.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headsmith.lab.theory.activations import Activation
from headsmith.lab.train.tasks import Sampled
from headsmith.lab.train.trainer import Trainer
from headsmith.refusal import Refusal

__all__ = ["ReducedTrainer", "chi_quantiles", "reduced_loss_and_gradient"]

FINE = 64  # quantiles per slice


def chi_quantiles(d: int, count: int) -> Tensor:
    """The (i + 1/2)/count quantiles of |N(0, I_d)|, by bisection, scaled so that the mean square is exactly
    d.
    """
    level = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    low, high = (
        torch.zeros(count, dtype=torch.float64),
        torch.full((count,), d + 60.0 * (d**0.5 + 1)).double(),
    )
    shape = torch.full_like(level, d / 2)
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = torch.special.gammainc(shape, middle / 2) < level
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    square = 0.5 * (low + high)
    return (square * (d / square.mean())).sqrt()


def reduced_loss_and_gradient(
    omega: Tensor, mu: Tensor, r: Tensor, g: Tensor, features: int, noise: float, activation: Activation
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss (R,) and its gradients for omega, mu (R, H) on lengths r (B,) and coordinates g (R, B, L)."""
    replicas, batch, length = g.shape
    heads = omega.shape[1]
    other = (features - 1) / features + noise
    columns = g.view(replicas * batch, length, 1)
    scaled = (omega.unsqueeze(1) * r.view(1, batch, 1)).view(replicas * batch, heads, 1)
    logits = scaled * columns.transpose(1, 2)
    p = activation.weights(logits)
    gp = torch.bmm(p, columns).view(replicas, batch, heads)
    tilt = mu.repeat_interleave(batch, 0).unsqueeze(1)
    v = torch.bmm(tilt, p).view(replicas, batch, length)
    error = r - (gp * mu.unsqueeze(1)).sum(-1)
    loss = noise + (error.square() / features + other * v.square().sum(-1)).mean(1)
    c = v.mul_(2 * other).addcmul_(error.unsqueeze(-1), g, value=-2 / features)
    rows = c.view(replicas * batch, length, 1)
    inner = torch.bmm(p, rows).view(replicas, batch, heads)
    slope, inner_slope = p, gp
    if activation.kind != "exp":
        ones = torch.ones_like(logits)
        slope = activation.pull_back(logits, p, ones, torch.zeros_like(ones[..., :1]))
        inner_slope = torch.bmm(slope, columns).view(replicas, batch, heads)
    cross = torch.bmm(slope, rows.mul_(columns)).view(replicas, batch, heads)
    centred = 0.0 if activation.kind == "linear" else inner * inner_slope
    g_omega = (r.view(1, batch, 1) * (cross - centred)).mean(1) * mu
    return loss, g_omega, inner.mean(1)


class ReducedTrainer(Trainer):
    """A `Trainer` of omega and mu alone; its history shows them as KQ = omega I and OV = mu."""

    def _start(self) -> Tensor:
        if self.task.covariance is not None or self.task.supports is not None or isinstance(self.task, Sampled):
            raise Refusal("the reduced model knows only isotropic covariates and one response; train the full model")
        rows = []
        for seed, count in zip(self.seeds, self.heads, strict=True):
            row = 0.1 * (2 * torch.rand(2, self.layout.heads, generator=torch.Generator().manual_seed(seed)) - 1)
            if self.recipe.init == "split":
                row = row.abs() * (1 - 2 * (torch.arange(self.layout.heads) % 2))
            row[:, count:] = 0
            rows.append(row)
        self._lengths = chi_quantiles(self.task.features, FINE * self.recipe.batch).float().to(self.device)
        self._lengths = self._lengths.view(self.recipe.batch, FINE)
        return torch.stack(rows, 1).flatten()

    def _split(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        omega, mu = flat.chunk(2)
        return omega.view(-1, self.layout.heads), mu.view(-1, self.layout.heads)

    def _products(self) -> tuple[Tensor, Tensor]:
        omega, mu = self.weights
        d, width = self.task.features, self.layout.width
        kq = omega.new_zeros(*omega.shape, width, width)
        kq[..., range(d), range(d)] = omega.unsqueeze(-1)
        ov = mu.new_zeros(*mu.shape, 1, width)
        ov[..., 0, d] = mu
        return kq, ov

    def _learn(self, rate: float | Tensor) -> None:
        replicas, batch = len(self.seeds), self.recipe.batch
        g = torch.empty(replicas, batch, self.task.length, device=self.device).normal_(generator=self.generator)
        pick = torch.randint(FINE, (batch, 1), generator=self.generator, device=self.device)
        r = self._lengths.gather(1, pick).squeeze(1)
        omega, mu = self.weights
        loss, *gradients = reduced_loss_and_gradient(
            omega, mu, r, g, self.task.features, self.task.noise, self.activation
        )
        for slot, value in zip(self.gradients, gradients, strict=True):
            slot.copy_(value)
        self.loss_sum.add_(loss)
        self.adam.step(self.gradient, rate if self.relative is None else rate * self.relative)
