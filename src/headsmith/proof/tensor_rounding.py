"""What floating point adds to a tensor-grid head: the theorem of rounding.py with scores of d + 1 terms.

Score of a token: a dot product of (x1, .., xd, 1) with its key, so gamma_(d+1) instead of gamma_2. Everything else
is as for one variable; only the bounds of the weights over a cell are found axis by axis, because the softmax is a
product:

    p_t(x) <= prod_k p_ik(c_k) exp(|a_ik - m_k| h_k + |mean_k - m_k| h_k),     mean_k by Jensen's inequality.

All sums are of non-negative terms, evaluated in float64 and inflated by 1e-6, which pays for the rounding of scores
up to 1e6.
"""

from __future__ import annotations

import heapq
import math
from functools import reduce

import numpy as np

from headsmith.proof.approximation import cell
from headsmith.proof.rounding import EXP_ERROR, Format, gamma, tree
from headsmith.proof.tensor import Axis, Box, Floats, TensorHead, check_hypotheses

INFLATE = 1 + 1e-6
LARGEST_SCORE = 1e6
LARGEST_VALUE = 1e300  # so that no sum here overflows


def cell_rounding(head: TensorHead, edges: Box, fmt: Format) -> float:
    """|executed - phi(x)| in every component, for every x of the cell in the format; inf where the format is lost."""
    u, tiny, dims = fmt.unit, fmt.tiny, len(edges)
    cells = [cell(a, b) if a < b else (a, 0.0) for a, b in edges]
    sizes = [abs(c) + h for c, h in cells]
    offsets = _sum([axis.offsets for axis in head.axes])
    magnitude = _sum([np.abs(axis.slopes) * size for axis, size in zip(head.axes, sizes, strict=True)]) + np.abs(
        offsets
    )
    if magnitude.max() > LARGEST_SCORE:
        return math.inf
    bounds = [_axis(axis, c, h) for axis, (c, h) in zip(head.axes, cells, strict=True)]
    weights = np.minimum(_product([w for w, *_ in bounds]) * INFLATE, 1.0)
    centre = _product([p for _, p, *_ in bounds])
    scores = _sum([axis.slopes * c for axis, (c, _) in zip(head.axes, cells, strict=True)]) + offsets
    drift = _sum([d for *_, d in bounds]) + 1e-15 * dims * magnitude

    slips = gamma(dims + 1, u) * magnitude * INFLATE + 2 * (dims + 1) * tiny
    gaps = (scores + drift).max() - scores + drift
    etas = (slips + u * (gaps + slips + slips.max())) * INFLATE
    if etas.max() > 300:
        return math.inf
    alphas = np.expm1(etas) * (1 + EXP_ERROR * u) + EXP_ERROR * u
    count = head.tokens
    flushed = count * tiny * math.exp(2 * slips.max())
    moved = float(weights @ alphas) * INFLATE + flushed
    if moved >= 0.5:
        return math.inf
    share = weights * (1 + alphas) / (1 - moved)
    t = tree(share, u, count) * INFLATE
    if t >= 0.5:
        return math.inf
    normal = (t + gamma(2, u)) / (1 - t)

    worst = 0.0
    if not np.abs(head.values).max() < LARGEST_VALUE:
        return math.inf
    for values in head.values.reshape(count, -1).T:
        widest = float(np.abs(values).max())
        apart = np.abs(values - centre @ values)
        gap = apart + _moved(weights, centre, apart)
        weight_error = (float(weights @ (alphas * gap)) + flushed * 2 * widest) / (1 - moved)
        whole = share * np.abs(values) * (1 + normal)
        sum_error = (
            tree(whole, u, count) + u * float(whole.sum()) + 2 * flushed * widest + 2 * count * tiny * max(1.0, widest)
        )
        worst = max(worst, weight_error + normal * (float(whole.sum()) + flushed * widest) + sum_error)
    return worst * INFLATE


def _moved(weights: Floats, centre: Floats, apart: Floats) -> float:
    """|phi(x) - phi(c)| on the cell: weights that grow pull by at most `rise`, and as much weight is lost elsewhere."""
    rise = np.maximum(weights - centre, 0.0)
    return float(rise @ apart + min(centre @ apart, rise.sum() * apart.max())) + 1e-8 * float(apart.max())


def prove_tensor_rounding(head: TensorHead, box: Box, fmt: Format, goal: float, most: int = 3000) -> float:
    """The largest rounding error over the box: cells are bisected, worst first, until it meets the goal,
    or until it is within half of what single points already cost."""
    check_hypotheses(head, box)
    spreads = [float(np.ptp(axis.slopes)) for axis in head.axes]
    heap: list[tuple[float, int, Box]] = []
    low, made = 0.0, 0

    def push(edges: Box) -> None:
        nonlocal low, made
        middle = [(a + (b - a) / 2,) * 2 for a, b in edges]
        low = max(low, cell_rounding(head, middle, fmt))
        heapq.heappush(heap, (-cell_rounding(head, edges, fmt), made, edges))
        made += 1

    push(tuple(box))
    most = min(most, max(64, 3_000_000 // head.values.size))
    while -heap[0][0] > max(goal, 1.5 * low) and made < most and low < math.inf:
        worst, order, edges = heapq.heappop(heap)
        k = max(range(len(edges)), key=lambda i: (edges[i][1] - edges[i][0]) * spreads[i])
        a, b = edges[k]
        middle = a + (b - a) / 2
        if not a < middle < b:
            heapq.heappush(heap, (worst, order, edges))
            break
        for half in ((a, middle), (middle, b)):
            push((*edges[:k], half, *edges[k + 1 :]))
    return -heap[0][0]


def _axis(axis: Axis, c: float, h: float) -> tuple[Floats, Floats, Floats]:
    """Upper bounds of the weights on [c-h, c+h], the weights at c, and how far scores drift relative to the mean
    slope.
    """
    p = axis.weights(np.float64(c))
    mean = float(p @ axis.slopes)
    drift = np.abs(axis.slopes - mean) * h
    return np.minimum(p * np.exp(drift) * INFLATE, 1.0), p, drift


def _sum(parts: list[Floats]) -> Floats:
    return reduce(np.add.outer, parts).reshape(-1)


def _product(parts: list[Floats]) -> Floats:
    return reduce(np.multiply.outer, parts).reshape(-1)
