"""How well guesses explain answers over many prompts, with a standard error over the prompts.

    pooled R^2         1 - sum (y - guess)^2 / sum (y - mean y)^2      the mean over all prompts
    within-prompt R^2  1 - sum (y - guess)^2 / sum (y - m)^2           m the mean answer of each prompt's own function

A function that differs from prompt to prompt by a constant earns most of the pooled R^2 with its mean alone; what a
learner knows beyond that is the within-prompt R^2 (deep-optimizers, App G, reports the first only). One prompt with one
query has no R^2 of its own: the sums run over prompts at a fixed number of examples.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

__all__ = ["Score", "flat", "score"]

FLAT = 1e-6
"""A function whose answers vary by less than this part of their size is a constant."""


@dataclass(frozen=True)
class Score:
    """R^2, pooled and within prompts, with standard errors; None where the answers do not vary."""

    pooled: float | None
    pooled_error: float | None
    within: float | None
    within_error: float | None


def score(guess: Tensor, y: Tensor, means: Tensor) -> Score:
    """Of guesses and answers (prompts, queries), given the mean answer (prompts,) of each prompt's function.

    >>> import torch
    >>> y = torch.tensor([[0.0, 2.0], [4.0, 6.0]])
    >>> found = score(torch.tensor([[1.0, 1.0], [5.0, 5.0]]), y, torch.tensor([1.0, 5.0]))
    >>> found.pooled, found.within
    (0.8, 0.0)
    """
    guess, y, means = guess.double(), y.double(), means.double()
    missed = (y - guess).square().sum(-1)
    pooled = _explained(missed, (y - y.mean()).square().sum(-1))
    within = _explained(missed, (y - means.unsqueeze(-1)).square().sum(-1))
    return Score(*pooled, *within)


def _explained(missed: Tensor, there: Tensor) -> tuple[float, float] | tuple[None, None]:
    """1 - sum a / sum b over prompts, and its standard error by the delta method for a ratio of means."""
    total = there.sum()
    if not total > 0:
        return None, None
    ratio = missed.sum() / total
    spread = (missed - ratio * there).square().sum().sqrt() / total
    return float(1 - ratio), float(spread)


def flat(answers: Tensor) -> float:
    """The share of prompts (prompts, points) whose answers do not depend on the point: there is nothing to learn.

    >>> import torch
    >>> flat(torch.tensor([[3.0, 3.0], [0.0, 0.0], [1.0, 2.0]])) * 3
    2.0
    """
    span = answers.amax(-1) - answers.amin(-1)
    return float((span <= FLAT * answers.abs().amax(-1)).double().mean())
