"""The largest value and the largest slope of a formula on an interval, proved.

Best-first bisection: the cell with the largest upper bound is halved until that bound is within a percent
of a value the formula is proved to take. A cell that stays undecided at a billionth of the interval makes
the answer infinite.
"""

import heapq
import math
from collections.abc import Callable

from flint import arb

from headsmith.functions.balls import Unresolved, ceil_float, floor_float, precision
from headsmith.functions.enclosures import over
from headsmith.functions.expression import JUMPS, Expression
from headsmith.functions.jets import SPARE, branches, removable_in

SLACK = 0.01
SMALLEST = 1e-9  # of the interval
MOST_CELLS = 5000

Bracket = tuple[float, float]  # a proved upper bound over a cell, a value proved to be reached in it


def bound(f: Expression, lo: float, hi: float) -> float:
    """max |f| over [lo, hi], from above: `bound(parse("x^2"), -2, 1)` is 4 to within a percent."""

    def bracket(a: float, b: float) -> Bracket:
        middle = f.at(a + (b - a) / 2)
        return ceil_float(abs(over(f, a, b))), floor_float(middle.abs_lower())

    return _largest(bracket, lo, hi)


def lipschitz(f: Expression, lo: float, hi: float) -> float:
    """max |f'| over [lo, hi], from above; infinite where f jumps or has a vertical tangent.

    >>> from headsmith.functions import parse
    >>> 3 <= lipschitz(parse("sin(3*x)"), -2, 2) <= 3.03
    True
    """
    if any(node.op in JUMPS and node.variables and not over(node, lo, hi).is_exact() for node in f.order):
        return math.inf

    def bracket(a: float, b: float) -> Bracket:
        found = slopes(f, a, b)
        reached = 0.0 if len(found) > 1 else floor_float(found[0][1].abs_lower())
        return max(ceil_float(abs(wide)) for wide, _ in found), reached

    return _largest(bracket, lo, hi)


def slopes(f: Expression, a: float, b: float) -> list[tuple[arb, arb]]:
    """Per branch, balls around f' over [a, b] and around f' in the middle: f'(z) = f'(c) + (z-c) f''(xi)."""
    if f.is_constant:
        return [(arb(0), arb(0))]
    centre = a + (b - a) / 2
    radius = math.nextafter(max(b - centre, centre - a), math.inf)
    root = removable_in(f, a, b)
    found = []
    with precision(128, 3 + (0 if root is None else SPARE)):
        scale = arb(radius)
        for wide, point, *_ in branches(f, arb(centre, radius), centre, scale, root):
            taylor = point[1] + 2 * wide[2] * arb(0, 1)
            if not (taylor.is_finite() and wide[1].is_finite() and min(wide.prec, point.prec) > 2):
                raise Unresolved("the slope is not finite on the cell")
            found.append((wide[1].intersection(taylor) / scale, point[1] / scale))
    return found


def _largest(bracket: Callable[[float, float], Bracket], lo: float, hi: float) -> float:
    """The maximum over [lo, hi] of a quantity bracketed on cells, from above."""
    reached = 0.0
    cells: list[tuple[float, float, float]] = []

    def add(a: float, b: float) -> None:
        nonlocal reached
        try:
            top, low = bracket(a, b)
            reached = max(reached, low)
        except Unresolved:
            top = math.inf
        heapq.heappush(cells, (-top, a, b))

    add(lo, hi)
    for _ in range(MOST_CELLS):
        top, a, b = cells[0]
        if -top <= (1 + SLACK) * reached or b - a <= SMALLEST * (hi - lo):
            break
        heapq.heappop(cells)
        middle = a + (b - a) / 2
        add(a, middle)
        add(middle, b)
    return -cells[0][0]
