"""sup |heads - target| over a domain, proved cell by cell.

The domain is cut at the kinks of the target, then bisected until each cell's remainder is under one per cent of the
largest error seen, so that the bound exceeds the true error by about as much. A cell that straddles a kink is compared
with every branch the target may be on, which costs the distance between the branches there: nothing, once it is tiny.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from flint import arb

from headsmith.functions import precision
from headsmith.proof.cells import ORDER, CellBound, cell_bound, down
from headsmith.proof.statement import Part

CELLS = 20000


class Unprovable(ArithmeticError):
    """No proof within the goal; `best` is a bound that might be had, where that is known."""

    def __init__(self, reason: str, best: float = math.inf) -> None:
        super().__init__(reason)
        self.best = best


@dataclass(frozen=True)
class Approximation:
    """|heads - target| <= bound on the domain; at `witness` it is at least `least`. `edges` repeat the proof."""

    bound: float
    least: float
    witness: float
    edges: tuple[float, ...]
    reach: tuple[float, float]


def cell(left: float, right: float) -> tuple[float, float]:
    """Centre and half-width of a cell that covers [left, right], rounded outwards."""
    c = left + (right - left) / 2
    return c, math.nextafter(max(right - c, c - left), math.inf)


def starting_edges(lo: float, hi: float, kinks: Iterable[float], scale: float) -> list[float]:
    """Cell borders before any bisection: four cells a piece, and a ladder of cells up to each kink.

    A kink can't be hit exactly by ball arithmetic, so it lies inside a cell of half-width `scale` (or a few ulps), from
    which cells grow by a factor of a million, the most that a ball's 30-bit radius allows on one side of a point.
    """
    borders = [lo, *(k for k in sorted(kinks) if lo < k < hi), hi]
    edges = {lo, hi}
    for left, right in pairwise(borders):
        edges |= {left + (right - left) * i / 4 for i in (1, 2, 3)}
        room = (right - left) / 4
        for end, sign in ((left, 1.0), (right, -1.0)):
            if end in (lo, hi):
                continue
            step = max(scale, 2 * math.ulp(end))
            while step < room:
                edges.add(end + sign * step)
                step *= 2.0**20
    return sorted(e for e in edges if lo <= e <= hi)


def refine(
    bound_of: Callable[[float, float], CellBound], edges: list[float], floor: float, most: int = CELLS
) -> tuple[list[tuple[float, float, CellBound]], CellBound]:
    """Bisect until every cell is either dominated by the largest error seen or resolved to one per cent of it."""
    waiting = [(a, b, bound_of(*cell(a, b))) for a, b in pairwise(edges)]
    done: list[tuple[float, float, CellBound]] = []
    peak = max((b for *_, b in waiting), key=lambda b: b.lower)
    while waiting:
        low = max(peak.lower, floor)
        left, right, bound = waiting.pop()
        middle = left + (right - left) / 2
        neighbours = not left < middle < right and bound.upper < math.inf  # nothing to bisect: taken as it is
        if bound.upper <= low or bound.remainder <= 0.01 * low or neighbours:
            done.append((left, right, bound))
            continue
        if not left < middle < right or len(done) + len(waiting) > most:
            raise Unprovable(f"the proof does not resolve the function near {middle:.17g}")
        for a, b in ((left, middle), (middle, right)):
            half = bound_of(*cell(a, b))
            if half.lower > peak.lower:
                peak = half
            waiting.append((a, b, half))
    return sorted(done, key=lambda item: item[0]), peak


def prove(part: Part, floor: float = 0.0, kinks: Iterable[float] = ()) -> Approximation:
    """The proved error of a part over its domain.

    `floor` is a level below which nobody cares: cells are not resolved further than that.
    """
    lo, hi = part.domain
    floor = max(floor, 1e-22)
    with precision(128, ORDER + 2):
        edges = starting_edges(lo, hi, kinks, 1e-4 * floor)
        done, peak = refine(lambda c, h: cell_bound(part, c, h, 0.003 * floor), edges, floor)
        least, witness = _witness(part, peak.place)
    return Approximation(
        bound=max(b.upper for *_, b in done),
        least=least,
        witness=witness,
        edges=(*(a for a, *_ in done), hi),
        reach=(min(b.reach[0] for *_, b in done), max(b.reach[1] for *_, b in done)),
    )


def _witness(part: Part, place: float) -> tuple[float, float]:
    """|E(z)| from below, at one float z of the domain, in balls."""
    z = min(max(place, part.domain[0]), part.domain[1])
    return max(0.0, down(abs(value(part, z) - part.target.at(z)))), z  # type: ignore[union-attr]


def value(part: Part, z: float) -> arb:
    """The exact value of the heads at a float, as a ball."""
    total = arb(part.bias)
    for head in part.heads:
        scores = head.slopes * z + head.offsets
        top = arb(float(scores.max()))
        weights = [
            (arb(a) * z + b - top).exp() for a, b in zip(head.slopes.tolist(), head.offsets.tolist(), strict=True)
        ]
        values = [arb(g) + arb(l) * z for g, l in zip(head.values.tolist(), head.lines.tolist(), strict=True)]
        total += sum((w * v for w, v in zip(weights, values, strict=True)), arb(0)) / sum(weights, arb(0))
    return total
