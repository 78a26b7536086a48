"""Programs that are transformers: what a chain of heads, linear layers, norms, sums and means computes.

    norm(gamma, beta, eps)     gamma (x - mean x) / sqrt(var x + eps) + beta          residual(p, q, ...)   x + q(p(x))
    pool()                     the mean over the tokens, one vector                   chain(p, q, ...)      q(p(x))
    unit(features)             x / |x|                                                mlp(module)           linear maps

A program is what is asked for, in the numbers that were given: `reference` runs it in float64 as torch would. How a
machine runs it, with which scales and slots, is decided later (`machines/tape`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.functions.activations import spelled
from headsmith.functions.modules import steps
from headsmith.machines.prompts.heads import (
    FUNCTIONS,
    HeadProgram,
    LinearProgram,
    SampleProgram,
    bias_of,
    linear,
    numbers,
)
from headsmith.machines.prompts.listable import Listable, one_line
from headsmith.proof.ball_matrix import BallMatrix
from headsmith.records.shown import exactly
from headsmith.refusal import Refusal


@dataclass(frozen=True, eq=False, repr=False)
class NormProgram(Listable):
    """gamma c / sqrt(mean c^2 + eps) + beta, c = x - mean x; RMS norm does not centre: c = x."""

    name: str
    gamma: Tensor
    beta: Tensor
    eps: float
    centred: bool = True

    def title(self) -> str:
        return f"{self.name} of {self.features}" + ("" if self.centred else " (RMS)")

    @property
    def features(self) -> int:
        """Numbers of a token, in and out."""
        return len(self.gamma)

    def reference(self, x: Tensor) -> Tensor:
        """The norm of each token, (..., tokens, features), or of one vector."""
        c = x.to(self.gamma.dtype)
        c = c - c.mean(-1, keepdim=True) if self.centred else c
        return self.gamma * c / (c.square().mean(-1, keepdim=True) + self.eps).sqrt() + self.beta

    def enclosed(self, x: BallMatrix) -> BallMatrix:
        """The same in exact arithmetic, in balls."""
        return x.norm(self.gamma, self.beta, self.eps, self.centred)

    @property
    def formula(self) -> str:
        """What is enclosed, in words."""
        c = "x - mean x" if self.centred else "x"
        return f"norms gamma c/sqrt(mean c^2 + eps) + beta with c = {c}, eps = {exactly(self.eps)}"


@dataclass(frozen=True, eq=False, repr=False)
class UnitProgram(NormProgram):
    """x / |x|: the RMS norm with eps = 0 and gamma = 1/sqrt(d), a number that no float is."""

    def title(self) -> str:
        return f"{self.name} of {self.features}"

    def enclosed(self, x: BallMatrix) -> BallMatrix:
        """The same in exact arithmetic, in balls."""
        return x.unit()

    @property
    def formula(self) -> str:
        """What is enclosed, in words."""
        return "x/|x|"


@dataclass(frozen=True, eq=False, repr=False)
class PoolProgram(Listable):
    """The mean over the tokens."""

    name: str = "pool"

    def title(self) -> str:
        return self.name

    def reference(self, x: Tensor) -> Tensor:
        """(..., tokens, features) -> (..., features)."""
        return x.mean(-2)

    def enclosed(self, x: BallMatrix) -> BallMatrix:
        """The same in exact arithmetic, in balls."""
        return x.mean()

    @property
    def formula(self) -> str:
        """What is enclosed, in words."""
        return "the mean over the tokens"


@dataclass(frozen=True, eq=False, repr=False)
class ResidualProgram(Listable):
    """x + what the stages make of x."""

    name: str
    stages: tuple[Any, ...]

    def title(self) -> str:
        return one_line(self.name, self.stages)

    def reference(self, x: Tensor) -> Tensor:
        """x + (stages one after another)(x)."""
        return x + in_turn(self.stages, x)

    def enclosed(self, x: BallMatrix) -> BallMatrix:
        """The same in exact arithmetic, in balls."""
        return x + _enclosed(self.stages, x)

    @property
    def formula(self) -> str:
        """What is enclosed, in words."""
        return "x + what comes of x"


@dataclass(frozen=True, eq=False, repr=False)
class ChainProgram(Listable):
    """Programs one after another; the heads of a batch stand side by side, and a mean is taken for a single token."""

    name: str
    stages: tuple[Any, ...]

    def title(self) -> str:
        return one_line(self.name, self.stages)

    @property
    def pooled(self) -> bool:
        """Whether one vector comes out, and not one a token."""
        return any(isinstance(stage, PoolProgram) for stage in flat(self.stages))

    def reference(self, x: Tensor) -> Tensor:
        """(..., tokens, features) -> (..., tokens, outputs), or (..., outputs) behind a mean."""
        out = in_turn(self.stages, x)
        return out[..., 0, :] if self.pooled else out

    def enclosed(self, x: BallMatrix) -> BallMatrix:
        """The same in exact arithmetic, in balls."""
        return _enclosed(self.stages, x)


Stage = HeadProgram | LinearProgram | NormProgram | PoolProgram | ResidualProgram | ChainProgram
Program = HeadProgram | SampleProgram | LinearProgram | ChainProgram | NormProgram | PoolProgram | ResidualProgram


def flat(stages: tuple[Any, ...]) -> Iterator[Any]:
    """The stages, those of inner chains among them, in order."""
    for stage in stages:
        if isinstance(stage, ChainProgram):
            yield from flat(stage.stages)
        else:
            yield stage


def in_turn(stages: tuple[Any, ...], x: Tensor) -> Tensor:
    """The stages one after another, tokens kept: a mean is one token."""
    for stage in flat(stages):
        if isinstance(stage, PoolProgram):
            x = stage.reference(x).unsqueeze(-2)
        elif isinstance(stage, HeadProgram) and stage.weights[0].dim() > 2:
            x = stage.reference(x.unsqueeze(-3)).movedim(-3, -2).flatten(-2)
        else:
            x = stage.reference(x)
    return x


def _enclosed(stages: tuple[Any, ...], x: BallMatrix) -> BallMatrix:
    for stage in stages:
        x = stage.enclosed(x)
    return x


def norm(gamma: Any, beta: Any = None, eps: float = 1e-5, centred: bool = True) -> NormProgram:
    """Layer norm; centred=False is RMS norm.

    >>> norm([1.0, 1.0], eps=0.0).reference(torch.tensor([[1.0, 3.0]]))
    tensor([[-1.,  1.]], dtype=torch.float64)
    """
    weight = numbers(gamma, "gamma")
    if weight.dim() != 1 or not len(weight) or not bool(torch.isfinite(weight).all()):
        raise Refusal("gamma must be a vector of finite numbers, one a feature")
    if isinstance(eps, bool) or not (isinstance(eps, int | float) and 0 <= eps < math.inf):
        raise Refusal(f"eps of a norm must be a number that is not negative, not {eps!r}")
    return NormProgram("norm", weight, bias_of(beta, weight[:, None], "beta"), float(eps), bool(centred))


def unit(features: int) -> UnitProgram:
    """x / |x| for tokens of so many numbers.

    >>> unit(2).reference(torch.tensor([3.0, 4.0], dtype=torch.float64)).round(decimals=9)
    tensor([0.6000, 0.8000], dtype=torch.float64)
    """
    if not (isinstance(features, int) and not isinstance(features, bool) and features > 0):
        raise Refusal(f"a unit vector has a positive whole number of features, not {features!r}")
    gamma = torch.full((features,), features**-0.5, dtype=torch.float64)
    return UnitProgram("unit", gamma, torch.zeros_like(gamma), 0.0, False)


def pool() -> PoolProgram:
    """The mean over the tokens: one vector, which what follows takes for a single token.

    >>> chain(pool(), linear([[2.0]])).reference(torch.tensor([[1.0], [3.0]]))
    tensor([4.], dtype=torch.float64)
    """
    return PoolProgram()


def chain(*programs: Any) -> ChainProgram:
    """Programs one after another, the first one first: head, linear, norm, residual, pool, and chains of these.

    >>> chain(linear([[1.0], [-1.0]], activation="relu"), linear([[1.0, -1.0]])).reference(torch.tensor([[-3.0]]))
    tensor([[-3.]], dtype=torch.float64)
    """
    _width(programs, None)
    return ChainProgram("chain", tuple(programs))


def residual(*programs: Any) -> ResidualProgram:
    """x + what the programs make of x, one after another.

    >>> residual(linear([[2.0]])).reference(torch.tensor([[5.0]]))
    tensor([[15.]], dtype=torch.float64)
    """
    program = ResidualProgram("residual", tuple(programs))
    _width((program,), None)
    return program


def features(program: Any) -> int | None:
    """Numbers of the tokens that a program reads; None where it takes any."""
    if isinstance(program, HeadProgram):
        return program.features
    if isinstance(program, LinearProgram):
        return program.weight.shape[-1]
    if isinstance(program, NormProgram):
        return program.features
    found = (features(stage) for stage in getattr(program, "stages", ()))
    return next((width for width in found if width is not None), None)


def _width(programs: tuple[Any, ...], width: int | None) -> int | None:
    """Numbers of a token behind the programs, for tokens of this many; refused where two do not fit."""
    if not programs:
        raise Refusal("a chain needs at least one program")
    for i, program in enumerate(programs):
        if not isinstance(program, Stage):
            raise Refusal(
                "a chain is made of the programs head, linear, mlp, norm, residual, pool and chain of hs.prompt, "
                f"not of a {type(program).__name__}"
            )
        wanted = features(program)
        if None not in (wanted, width) and wanted != width:
            raise Refusal(f"program {i + 1} of the chain, {program.name}, reads {wanted} numbers, but {width} arrive")
        width = _after(program, width)
    return width


def _after(program: Stage, width: int | None) -> int | None:
    if isinstance(program, HeadProgram):
        return program.weights[0].shape[:-1].numel()
    if isinstance(program, LinearProgram):
        return len(program.weight)
    if isinstance(program, ChainProgram):
        return _width(program.stages, width)
    if isinstance(program, ResidualProgram):
        before, after = features(program) or width, _width(program.stages, width)
        if None not in (before, after) and before != after:
            raise Refusal(f"a residual adds what it reads, {before} numbers, to what its programs make, {after}")
        return after
    return features(program) or width


def mlp(module: nn.Module) -> ChainProgram:
    """A torch MLP, nn.Sequential of Linear and Tanh, SiLU, ReLU or GELU, as a chain of prompts; read by exact types."""
    if not isinstance(module, nn.Module):
        raise Refusal(f"an MLP in the prompt is read from a torch module, not from {type(module).__name__}")
    stages: list[LinearProgram] = []
    for step in steps(module):
        if isinstance(step, tuple):
            stages.append(linear(*step))
            continue
        activation = spelled(step).lower()
        if activation not in FUNCTIONS or not stages or stages[-1].activation != "identity":
            raise Refusal(
                "an MLP in the prompt is made of Linear, each followed by Tanh, SiLU, ReLU, GELU in its exact form or "
                f"nothing; {step} does not belong there"
            )
        stages[-1] = replace(stages[-1], activation=activation)
    if not stages:
        raise Refusal("an MLP in the prompt needs at least one Linear")
    return ChainProgram("mlp", tuple(stages))
