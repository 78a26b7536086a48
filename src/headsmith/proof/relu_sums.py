"""Sums of ReLUs, and how far one is from a function, on all of R (deep-optimizers, Def 4).

    f(z) = sum_h c_h relu(a_h z + b_h),   a_h in {-1, 0, 1}:  linear between the knots -a_h b_h

On a cell |f - r| <= max at its ends + sum_k>1 |r_k| + 2 rest, r = sum_k r_k y^k + rest for |y| <= 1: y^2 - 1, y^3 - y,
y^4 - 1, ..., what is left of a power once a line meets it at both ends, is at most 1. Beyond the first and the last
knot f has the very slope that r has at infinity, and r falls or rises towards its asymptote there without turning: the
largest error of a tail is at its knot or at infinity. The paper bounds ranges instead, and has them too small (E3, E4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from flint import arb

from headsmith.functions import Expression, Unresolved, precision
from headsmith.functions.balls import ceil_float
from headsmith.proof.approximation import Unprovable

ORDER, CLOSE, HALVINGS = 4, 1.1, 6  # of Taylor polynomials on a cell; how near to a gap that is seen a bound should be
Place = tuple[float, arb]  # a knot, and f there
TURNS = 3.0  # beyond which none of the activations, nor a slope of theirs, turns


@dataclass(frozen=True, eq=False)
class ReluSum:
    """The numbers a, b and c of each ReLU.

    >>> ramp = ReluSum(np.array([4.0, 4.0]), np.array([0.0, -1.0]), np.array([1.0, -1.0]))
    >>> ramp(np.array([-1.0, 0.125, 3.0])).tolist(), ramp.steep, ramp.level
    ([0.0, 0.5, 1.0], 8.0, 1.0)
    """

    slopes: np.ndarray
    offsets: np.ndarray
    coefficients: np.ndarray

    @classmethod
    def of(cls, terms: Sequence[tuple[float, float, float]]) -> ReluSum:
        """Of (a, b, c)."""
        return cls(*(np.array(part, dtype=np.float64) for part in zip(*terms, strict=True)))

    def __len__(self) -> int:
        return len(self.slopes)

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(np.multiply.outer(z, self.slopes) + self.offsets, 0) @ self.coefficients

    def __iter__(self):  # type: ignore[no-untyped-def]
        yield from zip(self.slopes.tolist(), self.offsets.tolist(), self.coefficients.tolist(), strict=True)

    @property
    def steep(self) -> float:
        """sum |c a|: what a slip of all arguments costs."""
        return float(np.abs(self.coefficients * self.slopes).sum())

    @property
    def level(self) -> float:
        """sum |c b|."""
        return float(np.abs(self.coefficients * self.offsets).sum())

    @property
    def total(self) -> float:
        """sum |c|."""
        return float(np.abs(self.coefficients).sum())


@dataclass(frozen=True)
class Asymptotes:
    """r(z) is slope z + level at -infinity and at infinity."""

    left: tuple[float, float]
    right: tuple[float, float]


def sup_error(found: ReluSum, r: Expression, ends: Asymptotes) -> float:
    """|f(z) - r(z)| for every real z; raises Unprovable where f is not of the form that is proved."""
    knots = _knots(found)
    with precision(128):
        values, slopes = _polygon(found, knots)
        if not (slopes[0] == ends.left[0] and slopes[-1] == ends.right[0]):  # balls: exactly, not perhaps
            raise Unprovable("a sum of ReLUs has other slopes at infinity than what it stands for")
        try:
            tails = [_tail(values[k], knots[k], end) for k, end in ((0, ends.left), (-1, ends.right))]
            cells = [_cell(r, *cell) for cell in pairwise(zip(knots, values, strict=True))]
        except Unresolved as reason:
            raise Unprovable(str(reason)) from None
        return max(map(ceil_float, [*tails, *cells]))


def _knots(found: ReluSum) -> list[float]:
    """Where f bends, in order."""
    numbers = np.concatenate([found.slopes, found.offsets, found.coefficients])
    if not np.isfinite(numbers).all() or not np.isin(found.slopes, (-1.0, 0.0, 1.0)).all():
        raise Unprovable("a sum of ReLUs must have finite numbers, and slopes -1, 0 and 1")
    bends = found.slopes != 0
    knots = np.unique(-found.slopes[bends] * found.offsets[bends]).tolist()
    if not knots or knots[0] > -TURNS or knots[-1] < TURNS:
        raise Unprovable(f"the knots of a sum of ReLUs must reach from -{TURNS:g} to {TURNS:g}")
    return [float(x) for x in knots]


def _polygon(found: ReluSum, knots: Sequence[float]) -> tuple[list[arb], list[arb]]:
    """f at its knots, and its slopes before, between and behind them."""
    bends: dict[float, arb] = dict.fromkeys(knots, arb(0))
    slope, value = arb(0), arb(0)
    for a, b, c in found:
        if a:
            bends[-a * b + 0.0] += c
        slope -= c if a < 0 else 0
        value += arb(c) * (a * arb(knots[0]) + b).max(arb(0))
    values, slopes = [value], [slope]
    for left, right in pairwise(knots):
        slopes.append(slopes[-1] + bends[left])
        values.append(values[-1] + slopes[-1] * (arb(right) - left))
    return values, [*slopes, slopes[-1] + bends[knots[-1]]]


def _tail(value: arb, knot: float, end: tuple[float, float]) -> arb:
    """At infinity: f stays as far from its asymptote as it is at the knot."""
    return abs(value - (arb(end[0]) * knot + end[1]))


def _cell(r: Expression, left: Place, right: Place, halvings: int = HALVINGS) -> arb:
    """The larger gap at an end, and what r = sum_k r_k y^k + rest differs from a line that meets it at both ends.

    Where that is much more than the gap in the middle, the cell is halved: f is a line on both halves.
    """
    (low, start), (high, stop) = left, right
    centre = low + (high - low) / 2
    radius = math.nextafter(max(high - centre, centre - low), math.inf)
    [jet] = r.jets(centre, radius, ORDER)
    gaps = abs(start - r.at(low)).max(abs(stop - r.at(high)))
    bound = gaps + sum((abs(c) for c in jet.coefficients[2:]), 2 * jet.remainder)
    middle = start + (stop - start) * (arb(centre) - low) / (arb(high) - low)
    if not halvings or bound <= CLOSE * gaps.max(abs(middle - r.at(centre))):
        return bound
    halves = [_cell(r, left, (centre, middle), halvings - 1), _cell(r, (centre, middle), right, halvings - 1)]
    return halves[0].max(halves[1])
