"""Programs that are transformers: what a chain of heads, linear layers, norms, sums and means computes.

    norm(gamma, beta, eps)     gamma (x - mean x) / sqrt(var x + eps) + beta          residual(p, q, ...)   x + q(p(x))
    pool()                     the mean over the tokens, one vector                   chain(p, q, ...)      q(p(x))

A program is what is asked for, in the numbers that were given: `reference` runs it in float64 as torch would. How a
machine runs it, with which scales and slots, is decided later (`machines/tape`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headsmith.machines.prompts.heads import _bias, _numbers
from headsmith.refusal import Refusal


@dataclass(frozen=True, eq=False)
class NormProgram:
    """gamma c / sqrt(mean c^2 + eps) + beta, c = x - mean x; RMS norm does not centre: c = x."""

    name: str
    gamma: Tensor
    beta: Tensor
    eps: float
    centred: bool = True

    def reference(self, x: Tensor) -> Tensor:
        """The norm of each token, (..., tokens, features), or of one vector."""
        c = x.to(self.gamma.dtype)
        c = c - c.mean(-1, keepdim=True) if self.centred else c
        return self.gamma * c / (c.square().mean(-1, keepdim=True) + self.eps).sqrt() + self.beta


@dataclass(frozen=True, eq=False)
class ResidualProgram:
    """x + what the stages make of x."""

    name: str
    stages: tuple[Any, ...]

    def reference(self, x: Tensor) -> Tensor:
        """x + (stages one after another)(x)."""
        inner = x
        for stage in self.stages:
            inner = stage.reference(inner)
        return x + inner


@dataclass(frozen=True, eq=False)
class PoolProgram:
    """The mean over the tokens."""

    name: str = "pool"

    def reference(self, x: Tensor) -> Tensor:
        """(..., tokens, features) -> (..., features)."""
        return x.mean(-2)


def norm(gamma: Any, beta: Any = None, eps: float = 1e-5, centred: bool = True) -> NormProgram:
    """Layer norm; centred=False is RMS norm, and gamma = 1/sqrt(d), eps = 0 of it the unit vector x / |x|.

    >>> norm([1.0, 1.0], eps=0.0).reference(torch.tensor([[1.0, 3.0]]))
    tensor([[-1.,  1.]], dtype=torch.float64)
    """
    weight = _numbers(gamma, "gamma")
    if weight.dim() != 1 or not len(weight) or not bool(torch.isfinite(weight).all()):
        raise Refusal("gamma must be a vector of finite numbers, one a feature")
    if isinstance(eps, bool) or not (isinstance(eps, int | float) and 0 <= eps < math.inf):
        raise Refusal(f"eps of a norm must be a number that is not negative, not {eps!r}")
    return NormProgram("norm", weight, _bias(beta, weight[:, None], "beta"), float(eps), bool(centred))


def pool() -> PoolProgram:
    """The mean over the tokens: one vector, which what follows takes for a single token."""
    return PoolProgram()
