"""Errors through a program: parts that feed parts.

For a part that reads u and is meant to equal f(u), with |u_ours - u_true| <= e and all inputs inside its domain,

    |part(u_ours) - f(u_true)| <= sup|part - f| + L e,      L = Lipschitz constant of f, the target, on the domain.

The slope of the head itself is never needed. Approximation and rounding obey the same rule and are kept apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

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
        """approximation + rounding."""
        return self.approximation + self.rounding

    def widened(self) -> tuple[float, float]:
        """An interval that holds both the true and our value, with a little room for another prover's rounding."""
        lo, hi = self.reach
        room = 1.01 * self.total + 1e-9 * (hi - lo)
        return math.nextafter(lo - room, -math.inf), math.nextafter(hi + room, math.inf)


def exact(domain: tuple[float, float]) -> Error:
    """An input that is what it should be."""
    return Error(0.0, 0.0, domain)


def prove_part(part: Part, dtype: str, input_error: Error) -> Proved:
    """Prove a part over its domain, which must hold every value of its input."""
    lo, hi = input_error.widened() if input_error.total else input_error.reach
    if part.target is None or lo < part.domain[0] or hi > part.domain[1]:
        raise ArithmeticError(f"the inputs [{lo}, {hi}] leave the domain {part.domain}")
    slope = 1.01 * lipschitz(part.target, *part.domain) if input_error.total else 0.0
    places = part.target.note(("places", part.domain), lambda: part.target.places(*part.domain))  # type: ignore[union-attr]
    kinks = (*places.kinks, *places.singularities, *places.removable)
    floor = resolution(part, kinks)
    approximation = prove(part, floor, kinks)
    return Proved(part, approximation, prove_rounding(part, FORMATS[dtype], 2 * floor), slope)


def resolution(part: Part, kinks: Sequence[float]) -> float:
    """A level that the proof need not resolve: a thousandth of the error that samples show, as a power of two.

    It depends on the stored numbers alone, so whoever proves the part again meets the same cells; rounding it to a
    power of two hides the last bits in which processors differ. Tables of hundreds of keys are not resolved as far.
    """
    z = np.concatenate([np.linspace(*part.domain, 513), kinks])
    with np.errstate(all="ignore"):
        exact_values = part.target(z)  # type: ignore[misc]
        gap = np.abs(part(z) - exact_values)
    gap, size = gap[np.isfinite(gap)], np.abs(exact_values)[np.isfinite(exact_values)]
    error = max(gap.max(initial=0.0), 2.0**-50 * size.max(initial=0.0), 1e-300)
    return 2.0 ** math.floor(math.log2(error * (1e-3 if part.keys < 200 else 0.1)))


def prove_program(parts: Sequence[Part], domain: tuple[float, float], dtype: str) -> list[Proved]:
    """Parts in order, each proved on the values that its input takes, as the errors before it leave them."""
    start, proofs = exact(domain), list[Proved]()
    for part in parts:
        source = propagate(proofs, start, dtype)[part.input] if part.input != parts[0].input else start
        reach = source.widened() if source.total else source.reach
        proofs.append(prove_part(replace(part, domain=reach), dtype, source))
    return proofs


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
