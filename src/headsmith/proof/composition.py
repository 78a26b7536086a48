"""Errors through a program: parts that feed parts.

For a part that reads u and is meant to equal f(u), with |u_ours - u_true| <= e and all inputs inside its domain,

    |part(u_ours) - f(u_true)| <= sup|part - f| + L e,      L = Lipschitz constant of f, the target, on the domain.

The slope of the head itself is never needed. Approximation and rounding obey the same rule and are kept apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from headsmith.functions import lipschitz, precision
from headsmith.proof.approximation import Approximation, cell, prove
from headsmith.proof.rounding import FORMATS, Rounding, gamma, part_terms, prove_rounding
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
    errors, written = {proofs[0].part.input: start}, dict[str, list[tuple[Proved, Error]]]()
    for proof in proofs:
        source = errors[proof.part.input]
        own = Error(
            _up(proof.approximation.bound + proof.slope * source.approximation),
            _up(proof.rounding.bound + proof.slope * source.rounding),
            proof.approximation.reach,
        )
        sums = written.setdefault(proof.part.output, [])
        sums.append((proof, own))
        errors[proof.part.output] = own if len(sums) == 1 else _added(sums, FORMATS[dtype].unit)
    return errors


def _added(sums: Sequence[tuple[Proved, Error]], unit: float) -> Error:
    """Parts that write one variable: in any order of the heads and biases, gamma(n - 1) sum |term| more."""
    errors = [error for _, error in sums]
    terms = [_terms(proof) for proof, _ in sums]
    count, rounding = sum(n for n, _ in terms), math.fsum(e.rounding for e in errors)
    size = (sum(most for _, most in terms) + rounding) * (1 + 1e-15 * len(terms))
    return Error(
        _up(math.fsum(e.approximation for e in errors)),
        _up(rounding + gamma(max(0, count - 1), unit) * size),
        (math.fsum(e.reach[0] for e in errors), math.fsum(e.reach[1] for e in errors)),
    )


def _terms(proof: Proved) -> tuple[int, float]:
    """How many terms a part adds into its output, and the most that their absolute values sum to."""
    with precision(64):
        cells = [part_terms(proof.part, *cell(a, b)) for a, b in pairwise(proof.rounding.edges)]
    return max(map(len, cells)), max(map(math.fsum, cells))


def _up(x: float) -> float:
    return math.nextafter(x * (1 + 4e-16), math.inf)
