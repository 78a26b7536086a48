"""Runs that theory writes down instead of training them: the known answer on which an experiment checks itself.

Two heads follow the gradient flow of the approximate loss until |omega| = 0.13, where the paper's longest runs end;
more heads share the weight of the two groups (4.6); other activations have the paper's own parameters, other tasks
the closed forms: the derived preconditioner, one pair per response, or superposition. Early steps carry random
matrices that die out, as the start of a training run does. On such a run every claim of a figure has a verdict
that is known beforehand, so an experiment whose reading of a run is wrong is found out without training.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from headsmith.lab import Activation, Diagnosis, Problem, Run, Task, activation, diagnose, flow
from headsmith.lab.train.presets import recipe
from headsmith.reference import risks

PARAMETERS = {  # the paper's table 1: |omega|, |mu|, effective rate
    "exp": (0.1267, 3.5006, 0.8871),
    "tanh": (0.1504, 3.3362, 1.0035),
    "affine:0.5": (0.3677, 2.3963, 0.8810),
    "affine:0.8": (0.2411, 2.2819, 0.8802),
    "affine:1": (0.1979, 2.2221, 0.8794),
    "square:0.5": (0.2882, 1.7561, 1.0122),
    "square:0.8": (0.1810, 1.7487, 1.0128),
    "square:1": (0.1452, 1.7448, 1.0132),
}

END = 1.5e4
"""Time of the flow at which |omega| has come down to 0.13."""
NOTES = 60


class Written(Run):
    """A run without noise: a tenth of the usual prompts is enough to diagnose it."""

    @cached_property
    def diagnoses(self) -> list[Diagnosis]:
        """The diagnosis of the one seed."""
        return [diagnose(model, self.task, prompts=1_000) for model in self.models]


@lru_cache(maxsize=32)
def written(heads: int, task: Task, kind: str | Activation = "exp", init: str | None = None) -> Written:
    """A run of `heads` heads that ends in the known solution, after the paper's half million steps.

    >>> run = written(2, Task())
    >>> run.diagnoses[0].nearest_algorithm, run.diagnoses[0].head_classes
    ('debiased_gd', ('+', '-'))
    """
    chosen = activation(kind)
    kq, ov = solution(heads, task, chosen, init)
    omega, mu = course()
    size, weight = torch.tensor(omega / omega[-1]), torch.tensor(mu / mu[-1])
    noise = torch.randn(kq.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    noise[:, task.features :, :], noise[:, :, task.features :] = 0, 0
    fading = torch.exp(-torch.arange(NOTES, dtype=torch.float64)) * kq.norm() / noise.norm()
    history = size.view(-1, 1, 1, 1) * kq + fading.view(-1, 1, 1, 1) * noise
    steps = torch.linspace(0, 500_000, NOTES).round().long()
    loss = torch.full((NOTES, 1), torch.nan)
    made = recipe("paper")
    answers = weight.view(-1, 1, 1, 1) * ov
    return Written(task, heads, chosen, made, "paper", (0,), steps, loss, history.unsqueeze(1), answers.unsqueeze(1))


@lru_cache(maxsize=1)
def course() -> tuple[np.ndarray, np.ndarray]:
    """|omega| and mu of one head of two over the flow: up, turn, and down the valley."""
    found = flow([1e-3, -1e-3], [1e-3, -1e-3], until=END, samples=300)
    times = np.concatenate([[0.0], np.geomspace(1.0, END, NOTES - 1)])
    return np.interp(times, found.times, found.omega[:, 0]), np.interp(times, found.times, found.mu[:, 0])


def solution(heads: int, task: Task, kind: Activation, init: str | None) -> tuple[Tensor, Tensor]:
    """KQ (H, D, D) and OV (H, N, D) of the solution that theory knows for this task."""
    if task.supports is not None:
        omega, mu = _several(heads, task)
    elif task.covariance is not None:
        omega, mu = _pair(risks.preconditioner(task.sigma, task.length, task.noise).unsqueeze(0))
    else:
        omega, mu = _isotropic(heads, task, kind, init)
    d, width = task.features, task.width
    kq = torch.zeros(heads, width, width, dtype=torch.float64)
    kq[:, :d, :d] = omega
    ov = torch.zeros(heads, task.responses, width, dtype=torch.float64)
    ov[:, :, d:] = torch.diag_embed(mu)
    return kq, ov


def _isotropic(heads: int, task: Task, kind: Activation, init: str | None) -> tuple[Tensor, Tensor]:
    """One smoother, or groups of alternating sign on the valley; from PyTorch's own start the fourth is a dummy."""
    eye, problem = torch.eye(task.features, dtype=torch.float64), Problem(task.features, task.length, task.noise)
    if kind.kind == "linear":
        return risks.vanilla_rate(task.features, task.length, task.noise) * eye.unsqueeze(0), torch.ones(1, 1).double()
    if heads == 1:
        return 0.518 * eye.unsqueeze(0), torch.tensor([[1.49]]).double()
    size = PARAMETERS[kind.name][0] if kind.kind != "exp" else float(course()[0][-1])
    height = PARAMETERS[kind.name][1] if kind.kind != "exp" else problem.valley(size)
    sign = torch.tensor([1.0, -1.0]).repeat(heads)[:heads].double()
    if heads == 4 and init == "default":
        sign[3] = 0
    members = torch.where(sign > 0, (sign > 0).sum(), (sign < 0).sum())
    return size * sign.view(-1, 1, 1) * eye, (height * sign / members).unsqueeze(-1)


def _pair(steps: Tensor) -> tuple[Tensor, Tensor]:
    """Two opposite heads for every step P_n (N, d, d)."""
    gamma, responses = float(course()[0][-1]), len(steps)
    scale = steps.diagonal(dim1=-2, dim2=-1).abs().mean(-1)
    sign = torch.tensor([1.0, -1.0]).double()
    omega = (gamma * sign.view(1, 2, 1, 1) * (steps / scale.view(-1, 1, 1)).unsqueeze(1)).flatten(0, 1)
    mu = torch.zeros(responses, 2, responses, dtype=torch.float64)
    mu[range(responses), :, range(responses)] = scale.unsqueeze(-1) * sign / (2 * gamma)
    return omega, mu.flatten(0, 1)


def _several(heads: int, task: Task) -> tuple[Tensor, Tensor]:
    """One smoother, one pair for both responses, one pair each, or superposition in three heads."""
    supports, shape = task.supports or (), (task.features, task.length, task.noise)
    if heads == 1:
        overlap = torch.tensor([all(j in s for s in supports) for j in range(task.features)])
        return torch.diag(torch.where(overlap, 0.50, 0.42).double()).unsqueeze(0), torch.full((1, 2), 1.49).double()
    rates = risks.multi_task_rates(supports, *shape, heads == 2)
    if heads == 4:
        return _pair(torch.diag_embed(rates))
    if heads == 2:
        omega, mu = _pair(torch.diag_embed(rates[:1]))
        return omega, mu.expand(2, task.responses)
    start = torch.cat([torch.ones(3, 1), torch.eye(3, 2)], 1).double()
    basis = torch.linalg.qr(start).Q[:, 1:]  # no response sees the sum over heads
    omega = basis @ rates
    gamma = 0.05 / float(omega.abs().max())  # small logits: the heads are no opposite pairs
    return torch.diag_embed(gamma * omega), basis / gamma
