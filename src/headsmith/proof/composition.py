"""Errors through a program: parts that feed parts.

For a part that reads u and is meant to equal f(u), with |u_ours - u_true| <= e and all inputs inside its domain,

    |part(u_ours) - f(u_true)| <= sup|part - f| + L e,      L = Lipschitz constant of f, the target, on the domain.

The slope of the head itself is never needed. Approximation and rounding obey the same rule and are kept apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from headsmith.functions import lipschitz
from headsmith.proof.approximation import Approximation, prove
from headsmith.proof.rounding import FORMATS, Rounding, gamma, prove_rounding
from headsmith.proof.statement import Part


@dataclass(frozen=True)
class Proved:
    """One part with its proof; `slope` is the Lipschitz constant used (0 when the input is exact)."""

    part: Part
    approximation: Approximation
    rounding: Rounding
    slope: float


@dataclass(frozen=True)
class Error:
    """How far a variable of the network can be from what it should hold, and where its true value lies."""

    approximation: float
    rounding: float
    reach: tuple[float, float]

    @property
    def total(self) -> float:
        return self.approximation + self.rounding

    def widened(self) -> tuple[float, float]:
        """An interval that holds both the true and our value, with a little room for another prover's rounding."""
        lo, hi = self.reach
        room = 1.01 * self.total + 1e-9 * (hi - lo)
        return math.nextafter(lo - room, -math.inf), math.nextafter(hi + room, math.inf)


def exact(domain: tuple[float, float]) -> Error:
    return Error(0.0, 0.0, domain)


def prove_part(part: Part, dtype: str, floor: float, kinks: Sequence[float], input_error: Error) -> Proved:
    """Prove a part over its domain, which must hold every value of its input."""
    lo, hi = input_error.widened() if input_error.total else input_error.reach
    assert part.target is not None
    if lo < part.domain[0] or hi > part.domain[1]:
        raise ArithmeticError(f"the inputs [{lo}, {hi}] leave the domain {part.domain}")
    slope = 1.01 * lipschitz(part.target, *part.domain) if input_error.total else 0.0
    approximation = prove(part, floor, kinks)
    rounding = prove_rounding(part, FORMATS[dtype], 2 * floor)
    return Proved(part, approximation, rounding, slope)


def propagate(proofs: Sequence[Proved], start: Error, dtype: str) -> dict[str, Error]:
    """The error of every variable, in the order of the parts."""
    unit = FORMATS[dtype].unit
    errors = {proofs[0].part.input: start}
    writers: Counter[str] = Counter()
    for proof in proofs:
        source, part = errors[proof.part.input], proof.part
        writers[part.output] += len(part.heads)
        own = Error(
            _up(proof.approximation.bound + proof.slope * source.approximation),
            _up(proof.rounding.bound + proof.slope * source.rounding),
            proof.approximation.reach,
        )
        before = errors.get(part.output)
        if before is None:
            errors[part.output] = own
            continue
        reach = (before.reach[0] + own.reach[0], before.reach[1] + own.reach[1])
        approximation, rounding = before.approximation + own.approximation, before.rounding + own.rounding
        # heads are added one by one onto all that came before, the bias first of all
        size = sum(max(map(abs, e.reach)) + e.total for e in (before, own)) + abs(part.bias)
        addition = gamma(writers[part.output], unit) * (size + rounding)
        errors[part.output] = Error(_up(approximation), _up(rounding + addition), reach)
    return errors


def _up(x: float) -> float:
    return math.nextafter(x * (1 + 4e-16), math.inf)
