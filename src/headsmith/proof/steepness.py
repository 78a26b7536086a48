"""How fast formulas of several variables change: sup over a box of sum_k |df/dx_k|, proved cell by cell.

That sum is the Lipschitz constant for changes measured by their largest coordinate: |f(x) - f(y)| <= L max_k |x_k -
y_k|. Across a kink the slopes of both sides count.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from flint import arb, arb_series

from headsmith.functions import Expression, Unresolved, precision
from headsmith.functions.several import pure_slopes
from headsmith.proof.approximation import cell
from headsmith.proof.cells import up
from headsmith.proof.tensor import Box

CELLS = 4096
CLOSE = 1.002  # how near to a slope that is attained the bound is sought


def steepness(expressions: Sequence[Expression], names: Sequence[str], box: Box) -> float:
    """The largest Lipschitz constant of the formulas over the box; infinite where a slope cannot be enclosed.

    >>> from headsmith.functions import parse
    >>> 2 <= steepness([parse("x*y")], ["x", "y"], [(-1, 1), (-1, 1)]) < 2.1
    True
    """
    with precision(64, 3):
        return max(_steepest(f, names, box) for f in expressions)


def _steepest(f: Expression, names: Sequence[str], box: Box) -> float:
    """Cells are bisected, the steepest first, until its bound is close to the slope at some point."""
    moving = [k for k, name in enumerate(names) if name in f.variables]
    heap = [(-_slopes(f, names, [cell(a, b) for a, b in box]), 0, tuple(box))]
    least = 0.0
    for count in range(1, CELLS):
        worst, _, edges = heap[0]
        least = max(least, _slopes(f, names, [(a + (b - a) / 2, 0.0) for a, b in edges]))
        k = max(moving, key=lambda i: edges[i][1] - edges[i][0], default=0)
        a, b = edges[k]
        middle = a + (b - a) / 2
        if -worst <= CLOSE * least or not moving or not a < middle < b:
            break
        halves = [(*edges[:k], half, *edges[k + 1 :]) for half in ((a, middle), (middle, b))]
        below, above = (
            (-_slopes(f, names, [cell(*e) for e in half]), 2 * count + i, half) for i, half in enumerate(halves)
        )
        heapq.heapreplace(heap, below)
        heapq.heappush(heap, above)
    return -heap[0][0]


def _slopes(f: Expression, names: Sequence[str], balls: Sequence[tuple[float, float]]) -> float:
    total = 0.0
    for k, name in enumerate(names):
        if name not in f.variables:
            continue
        starts = {
            n: arb_series([arb(c, h), 1]) if i == k else arb(c, h)
            for i, (n, (c, h)) in enumerate(zip(names, balls, strict=True))
        }
        try:
            found = pure_slopes(f, starts)
        except Unresolved:
            return math.inf
        slope = found[1] if isinstance(found, arb_series) else arb(0)
        total += up(abs(slope).upper()) if slope.is_finite() else math.inf
    return total
