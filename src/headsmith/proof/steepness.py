"""How fast formulas of several variables change: sup over a box of sum_k |df/dx_k|, proved cell by cell.

That sum is the Lipschitz constant for changes measured by their largest coordinate: |f(x) - f(y)| <= L max_k |x_k -
y_k|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from flint import arb, arb_series

from headsmith.functions import Expression, Unresolved, precision
from headsmith.functions.several import pure_series
from headsmith.proof.approximation import cell
from headsmith.proof.cells import up
from headsmith.proof.tensor import Box

CELLS = 4096


def steepness(expressions: Sequence[Expression], names: Sequence[str], box: Box) -> float:
    """The largest Lipschitz constant of the formulas over the box; infinite where a slope cannot be enclosed.

    >>> steepness([parse("x*y")], ["x", "y"], [(-1, 1), (-1, 1)])     # 2, from above
    """
    pieces = max(2, int(CELLS ** (1 / len(box))))
    edges = [[*pairwise(np.linspace(lo, hi, pieces + 1).tolist())] for lo, hi in box]
    worst = 0.0
    with precision(64, 3):
        for corners in product(*edges):
            balls = [cell(a, b) for a, b in corners]
            for f in expressions:
                worst = max(worst, _slopes(f, names, balls))
    return worst


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
            found = pure_series(f, starts)
        except Unresolved:
            return math.inf
        slope = found[1] if isinstance(found, arb_series) else arb(0)
        total += up(abs(slope).upper()) if slope.is_finite() else math.inf
    return total
