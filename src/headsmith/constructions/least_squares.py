"""Least squares and ridge by as many equal steps as reach the solution, whatever the data (Cor 3.1.3 and 3.1.4).

In-Context Algorithm Emulation, Cor 3.1.3 and 3.1.4 with Cor D.1.1. Fixed before any data: a rate and a number of steps.

    beta = d B^2 + l2 >= lambda_max(X'X/n) + l2        |x| <= B, |y| <= Y, lambda_min(X'X/n) + l2 >= mu
    |w*| <= Y/sqrt(mu)         the singular values s of X/sqrt(n) give s/(s^2 + l2) <= 1/sqrt(s^2 + l2)
    |w_t - w*| <= rho^t |w*|,  rho = 1 - rate mu, rate <= 1/beta        (Cor D.1.1: exp(-t mu/beta) for the square)
    |net_t - w_t| <= e min(t, 1/(1 - rho))             e the error of a step: what it adds shrinks afterwards

Exact iterates from 0 stay in the ball of w*, and the loss falls: |w . x_i - y_i| <= sqrt(n) Y. The iterates of the
network stay within their drift of them, so that no range has to be checked while it runs. All in the 2-norm.

No inverse, no eigenvalue and no solution is computed outside: of the data nothing but x and y enters. As printed one
layer is enough, and the proof of the print takes L: `steps = 1` is that layer, and its bound is attained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from headsmith.constructions.design import Design, Tally, many
from headsmith.constructions.gradient_step import GradientStep, step_error
from headsmith.constructions.rule import copied_head, table_method
from headsmith.network import Network
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import Bound
from headsmith.proof.domain import Domain
from headsmith.proof.residuals import Ranges, largest, prove_table
from headsmith.proof.rounding import INFLATE
from headsmith.proof.statement import Head

if TYPE_CHECKING:
    from headsmith.compiler.request import Request


@dataclass(frozen=True)
class Pace:
    """How fast all data of a range are solved: |x| <= inputs, |y| <= labels, curvature at least mu.

    >>> Pace(features=1, samples=4, inputs=2.0, labels=1.0, curvature=1.0, l2=0.0).steps(0.25, 1e-3)
    27
    """

    features: int
    samples: int
    inputs: float
    labels: float
    curvature: float
    l2: float

    @property
    def steepest(self) -> float:
        """beta: the trace of X'X/n is the mean of |x_i|^2."""
        return (self.features * self.inputs**2 + self.l2) * INFLATE

    def rate(self, dtype: str) -> float:
        """The largest number of the format that is not above 1/beta."""
        kind = np.dtype(dtype).type
        found = kind(1 / self.steepest)
        return float(found if float(found) * self.steepest <= 1 else np.nextafter(found, kind(0)))

    @property
    def longest(self) -> float:
        """The largest |w*|."""
        return self.labels / math.sqrt(self.curvature) * INFLATE

    def left(self, rate: float, steps: int) -> float:
        """rho^t |w*|: how far exact descent can be from the solution."""
        return self.longest * math.exp(steps * math.log1p(-rate * self.curvature)) * (INFLATE + 1e-15 * steps)

    def steps(self, rate: float, eps: float) -> int:
        """The first t with rho^t |w*| <= eps/2."""
        return max(1, math.ceil(math.log(max(2 * self.longest / eps, 1.0)) / -math.log1p(-rate * self.curvature)))

    def kept(self, rate: float, steps: int) -> float:
        """How often the error of a step counts: (1 - rho^t)/(1 - rho), from above."""
        return min(steps, 1 / (rate * self.curvature) * INFLATE)

    def ranges(self, drift: float) -> Ranges:
        """Of iterates within `drift` of exact descent from 0."""
        reach = math.sqrt(self.features) * self.inputs
        residual = min(reach * self.longest + self.labels, math.sqrt(self.samples) * self.labels) + reach * drift
        return Ranges(self.inputs, self.labels, (self.longest + drift) * INFLATE, residual * INFLATE)


@dataclass(frozen=True, eq=False)
class Convergence(Design):
    """The table of z, the rate, and how often the step is taken."""

    name, serves = "convergence", "least squares"
    head: Head
    samples: int
    rate: float
    steps: int
    printed: bool = False

    @property
    def tally(self) -> Tally:
        return Tally(self.head.keys * self.samples, heads=3, layers=2 * self.steps)

    @property
    def promises(self) -> bool:
        return not self.printed

    def method(self, target: Any) -> str:
        return "printed" if self.printed else table_method(target.f, self.head)

    def size(self) -> str:
        """2 keys a sample, 96 equal steps of 2 layers."""
        return f"{many(self.head.keys, 'key')} a sample, {many(self.steps, 'equal step')} of 2 layers"

    def network(self, target: Any, dtype: str) -> Network:
        return GradientStep((self.head,), self.samples, 1).network(target.step(self.rate), dtype)

    def run(self, target: Any, network: Network, tokens: Tensor, domain: Domain) -> Tensor:
        for _ in range(self.steps):
            tokens = network(tokens)
        return tokens

    def prove(self, target: Any, request: Request) -> Bound:
        """What exact descent leaves, and what the steps of the network add."""
        pace, fmt, drift = target.pace(request), request.format, request.eps
        if not 0 < self.rate * pace.steepest <= 1:
            raise Unprovable("the rate is above 1/beta: steps may expand distances")
        ranges = pace.ranges(drift)
        table = prove_table(target.f, (self.head,), ranges.residuals(pace.features, fmt), request.dtype)
        one = step_error(table, largest(table), ranges, pace.features, pace.samples, self.rate, pace.l2, fmt)
        kept = pace.kept(self.rate, self.steps)
        if not kept * one.total * INFLATE <= drift:
            raise Unprovable("the iterates of the network drift out of their range", pace.longest)
        return Bound(
            (pace.left(self.rate, self.steps) + kept * one.approximation) * INFLATE, kept * one.rounding * INFLATE
        )

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Convergence:
        layers: Any = network.layers
        pace, printed = target.pace(request), request.method == "printed"
        rate = -float(layers["average"].output.weight[0, target.features + 1, 0])
        steps = 1 if printed else pace.steps(pace.rate(request.dtype), request.eps)
        return cls(copied_head(layers["rule"]), target.samples, rate, steps, printed)
