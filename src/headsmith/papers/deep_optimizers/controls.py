"""What a transformer has to be compared with: the same prompts, other learners.

    context mean         the mean of the answers in the prompt
    ridge                linear, with an intercept, its penalty chosen by leaving one example out
    trained, last epoch  the paper's baseline: N layers of 200 units, Adam on all examples, 100 epochs
    trained, validated   the same on four fifths of the examples, stopped at the best epoch on the last fifth
    trained, oracle      the same on all examples, stopped at the best epoch on the very query that is asked: what the
                         paper keeps, and what nobody who does not know the answer can have

(deep-optimizers, App G.)  The paper gives neither the optimiser of its baseline nor the rate nor the start. Here: Adam
at 1e-2 (at 1e-3 the last epoch scores far lower), full batches, and a start drawn like the networks that are learnt,
which is more than a baseline could know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from headsmith.lab.train.networks import ReluNetworks, answers
from headsmith.reference.regression import context_mean, ridge_loo

__all__ = ["Test", "closed_form", "test_prompts", "trained_networks"]

EPOCHS = 100
RATE = 1e-2
START_SEED = 1_000_000_007
"""Of the starts: with the seed of the prompts a network would start at the very one that it has to learn."""
HELD = 0.2
POINTS = 256
"""Points per prompt from which the mean answer of its function is taken."""


class Test(NamedTuple):
    """Prompts to be asked: x (P, n, d), y (P, n), the mean answer of each function (P,), its answers at some points."""

    x: Tensor
    y: Tensor
    means: Tensor
    points: Tensor

    def split(self, examples: int, queries: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The first examples as X, y, and the next as queries with their answers."""
        end = examples + queries
        return self.x[:, :examples], self.y[:, :examples], self.x[:, examples:end], self.y[:, examples:end]


def test_prompts(task: ReluNetworks, prompts: int, count: int, seed: int, device: str) -> Test:
    """Prompts of `count` examples; on each kind of device the same seed gives the same prompts."""
    generator = torch.Generator(device).manual_seed(seed)
    parts = []
    for start in range(0, prompts, 400):
        size = min(400, prompts - start)
        matrices = task.networks(size, generator, device=device)
        x, points = (task.inputs(size, many, generator, device=device) for many in (count, POINTS))
        known = answers(matrices, points)
        parts.append((x, answers(matrices, x), known.mean(-1), known))
    return Test(*(torch.cat(part) for part in zip(*parts, strict=True)))


def closed_form(test: Test, examples: int, queries: int) -> dict[str, Tensor]:
    """The guesses (P, Q) of the context mean and of ridge, in float64."""
    X, y, x, _ = (part.double() for part in test.split(examples, queries))
    return {"context mean": context_mean(X, y, x), "ridge": ridge_loo(X, y, x)}


def trained_networks(test: Test, task: ReluNetworks, examples: int, queries: int) -> dict[str, Tensor]:
    """The guesses (P, Q) of networks trained on each prompt, stopped in three ways."""
    X, y, x, answer = test.split(examples, queries)
    held, generator = max(1, round(HELD * examples)), torch.Generator(X.device).manual_seed(START_SEED)
    found = []
    for rows in torch.arange(len(X), device=X.device).split(_chunk(task)):
        every, _ = _epochs(X[rows], y[rows], x[rows], task, generator)
        part, error = _epochs(
            X[rows, :-held], y[rows, :-held], x[rows], task, generator, (X[rows, -held:], y[rows, -held:])
        )
        wrong = (every - answer[rows]).square().sum(-1)
        found.append((every[-1], _at(part, error.argmin(0)), _at(every, wrong.argmin(0))))
    names = ("trained, last epoch", "trained, validated", "trained, oracle")
    return {name: torch.cat(part) for name, part in zip(names, zip(*found, strict=True), strict=True)}


def _chunk(task: ReluNetworks) -> int:
    """Prompts whose networks, gradients and moments fit into about a gigabyte."""
    return max(1, 60_000_000 // sum(out * into for out, into in task.sizes))


def _at(guesses: Tensor, epoch: Tensor) -> Tensor:
    """The guesses (epochs, P, Q) of each prompt at its own epoch."""
    return guesses.take_along_dim(epoch[None, :, None], 0)[0]


def _epochs(
    X: Tensor,
    y: Tensor,
    x: Tensor,
    task: ReluNetworks,
    generator: torch.Generator,
    held: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Guesses at x after every epoch (epochs, P, Q), and the squared error on `held` (epochs, P)."""
    start = replace(task, shift=0.0).networks(len(X), generator, device=X.device)
    matrices = [matrix.requires_grad_() for matrix in start]
    adam = torch.optim.Adam(matrices, lr=RATE, fused=True)
    guesses, errors = [], []
    for _ in range(EPOCHS):
        adam.zero_grad()
        (answers(matrices, X) - y).square().mean(-1).sum().backward()
        adam.step()
        with torch.no_grad():
            guesses.append(answers(matrices, x))
            if held is not None:
                errors.append((answers(matrices, held[0]) - held[1]).square().mean(-1))
    return torch.stack(guesses), torch.stack(errors) if errors else torch.empty(0)
