"""What floating point adds: the executed heads against the exact ones, for every input of the domain.

Model: a score is a dot product in any order, fused or not; softmax subtracts the largest computed score, takes exp
within 2 ulp (4u), adds in any order, divides; the weighted sum is in any order. Results below the normal range may
be flushed to zero. u is the unit roundoff.

    scores     |computed - exact| <= s_j = gamma_n sum |terms|, and the subtraction rounds once more
    weights    the executed weights are p_j (1 + x_j), |x_j| <= alpha_j, up to a common factor, and what is flushed
    mean       it moves by sum p_j x_j (v_j - phi) / (1 + sum p_j x_j), and |v_j - phi| <= sum_i p_i |v_j - v_i|
    sums       in any order: at most (n-1) u A + (the sum of all but the n largest), for every n, A the sum of |terms|
    values     g + l z of a key that is the token itself: one rounding for the product, one for the sum

A variable into which n heads write, besides a bias, is a sum of their outputs in any order.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from flint import arb

from .heads import Head, Interval, up
from .taylor import middle
from .verdict import Budget, Open

EXP = 4  # units of u that exp may be off
ROOM = 1 + 1e-9  # pays for evaluating sums of positive terms in floats
FLOATS = 1e-15  # relative to sizes: what a float expression of a score may be off
PAIRS = 100  # of keys, compared in floats in the time of one operation on a cell
INF = math.inf


class Format(NamedTuple):
    """A floating-point format: its name, the code of struct, unit roundoff, smallest normal number, a quarter of the
    largest: sums of numbers below that do not overflow."""

    name: str
    code: str
    u: float
    tiny: float
    large: float


FORMATS = {
    "F64": Format("float64", "d", 2.0**-53, 2.0**-1022, 2.0**1022),
    "F32": Format("float32", "f", 2.0**-24, 2.0**-126, 2.0**126),
}


def gamma(n: int, u: float) -> float:
    """n u/(1 - n u): n roundings; infinite where they may lose everything."""
    return n * u / (1 - n * u) if n * u < 1 else INF


def any_order(terms: Sequence[float], u: float) -> float:
    """|computed - exact sum| whatever the order and the brackets."""
    small_first = sorted(terms)
    tails = [0.0, *accumulate(small_first)]  # the sum of the i smallest: no cancellation
    whole, count = tails[-1], len(tails) - 1
    best = min(n * u * whole + tails[count - 1 - n] for n in range(count))
    return best * (1 + 3 * count * u) * ROOM


class Softmax(NamedTuple):
    """What is known of one softmax on a cell.

    weights: upper bounds of p_j; slips: of the errors of the scores; below: how far a score can lie below the best;
    gaps: of |v_j - phi|; sizes: of |v_j|; own: roundings that the value of a key costs by itself.
    """

    weights: list[float]
    slips: list[float]
    below: list[float]
    gaps: list[float]
    sizes: list[float]
    own: list[int]


def executed(s: Softmax, fmt: Format) -> float:
    """|executed weighted mean - exact one|; infinite where the format is lost."""
    n, u, tiny, most, widest = len(s.weights), fmt.u, fmt.tiny, max(s.slips), max(s.sizes)
    moves = [(slip + u * (low + slip + most)) * ROOM for slip, low in zip(s.slips, s.below, strict=True)]
    if not (max(moves) < 300 and widest < fmt.large):
        return INF
    alphas = [math.expm1(x) * (1 + EXP * u) + EXP * u for x in moves]
    flushed = n * tiny * math.exp(2 * most)
    moved = math.fsum(p * x for p, x in zip(s.weights, alphas, strict=True)) * ROOM + flushed
    if not moved < 0.5:
        return INF
    pulled = math.fsum(p * x * gap for p, x, gap in zip(s.weights, alphas, s.gaps, strict=True))
    mean = (pulled + 2 * flushed * widest) / (1 - moved)
    share = [p * (1 + x) / (1 - moved) for p, x in zip(s.weights, alphas, strict=True)]
    lost = any_order(share, u)
    if not lost < 0.5:
        return INF
    normal = (lost + gamma(2, u)) / (1 - lost)
    parts = [p * size * (1 + normal) for p, size in zip(share, s.sizes, strict=True)]
    whole = math.fsum(parts)
    added = any_order(parts, u) + u * whole + 2 * (n * tiny * max(1.0, widest) + flushed * widest)
    values = 1.001 * u * math.fsum(x * k for x, k in zip(parts, s.own, strict=True)) + 2 * tiny * any(s.own)
    return (mean + normal * (whole + flushed * widest) + added + values) * ROOM


# one variable


def head_slip(head: Head, ends: Interval, fmt: Format) -> tuple[float, float]:
    """(|executed - phi|, |phi|) on [a, b]."""
    c, h = middle(*ends) if ends[0] < ends[1] else (ends[0], 0.0)
    far = abs(c) + h
    try:
        weights, below = _weights(head, c, h)
    except (Open, OverflowError):
        return INF, 0.0
    sizes = [abs(k.g) + abs(k.l) * far for k in head]
    slips = [gamma(2, fmt.u) * (abs(k.a) * far + abs(k.b)) * ROOM + 4 * fmt.tiny for k in head]
    own = [(math.frexp(k.l)[0] not in (0.5, -0.5)) + (k.g != 0) if k.l else 0 for k in head]
    error = executed(Softmax(weights, slips, below, _gaps(head, weights, c, h, max(sizes)), sizes, own), fmt)
    near = max(size for size, p in zip(sizes, weights, strict=True) if p > 1e-30)
    return error, near * ROOM + 1e-25 * max(sizes)


def _weights(head: Head, c: float, h: float) -> tuple[list[float], list[float]]:
    """Upper bounds of p_j over the cell, by Jensen, and of how far a score lies below the best."""
    scores = [arb(k.a) * c + k.b for k in head]
    top = max(float(s.mid()) for s in scores)
    powers = [(s - top).exp() for s in scores]
    whole = sum(powers, arb(0))
    mean = float((sum((e * k.a for e, k in zip(powers, head, strict=True)), arb(0)) / whole).mid())
    if not (math.isfinite(mean) and math.isfinite(top)):
        raise Open
    drifts = [abs((arb(k.a) - mean) * h) for k in head]
    tilt = sum(((arb(k.a) - mean) * h * e for e, k in zip(powers, head, strict=True)), arb(0))
    lift = (abs(tilt) / whole).exp() / whole
    weights = [min(1.0, up(e * d.exp() * lift)) for e, d in zip(powers, drifts, strict=True)]
    peak = max(up(s + d) for s, d in zip(scores, drifts, strict=True))
    return weights, [max(0.0, up(peak - s + d)) for s, d in zip(scores, drifts, strict=True)]


def _gaps(head: Head, weights: Sequence[float], c: float, h: float, widest: float) -> list[float]:
    """sum_i p_i |v_j - v_i|, pair by pair for keys that weigh anything."""
    near = [i for i, p in enumerate(weights) if p > 1e-25]
    rest = 2 * widest * math.fsum(p for p in weights if p <= 1e-25)
    gaps = [2 * widest] * len(head)
    blur = FLOATS * widest if any(k.l for k in head) else 0.0
    for j in near:
        v = head[j]
        pairs = ((weights[i], head[i]) for i in near if i != j)
        away = (p * (abs((k.g - v.g) + (k.l - v.l) * c) * ROOM + abs(k.l - v.l) * h * ROOM + blur) for p, k in pairs)
        gaps[j] = math.fsum(away) + rest
    return gaps


class Sum(NamedTuple):
    """Heads onto a bias, among `adds` additions in all; a lone head is never larger than `cap`."""

    heads: Sequence[Head]
    bias: float = 0.0
    adds: int = 0
    cap: float = INF


def sum_slip(terms: Sum, ends: Interval, fmt: Format) -> float:
    """|executed - exact| of a sum of heads, on one cell."""
    found = [head_slip(head, ends, fmt) for head in terms.heads]
    own = sum(error for error, _ in found)
    if own == INF:
        return INF
    size = sum(size for _, size in found)
    size = min(size, terms.cap) if len(found) == 1 else size
    whole = abs(terms.bias) + size + own
    return (own + gamma(terms.adds, fmt.u) * whole) * ROOM if whole < fmt.large else INF


def worst(
    slip: Callable[[tuple[Interval, ...]], float],
    box: tuple[Interval, ...],
    enough: float,
    work: int,
    budget: Budget,
    sharp: float = 1.01,
) -> float:
    """The largest slip over a box: the worst cell is bisected along its longest side until `enough` is met.

    It ends, too, within `sharp` of what single points cost, and where no cell of the format can do (infinite).
    """
    low, heap, serial = 0.0, list[tuple[float, int, tuple[Interval, ...]]](), 0
    sides = [b - a for a, b in box]

    def push(cell: tuple[Interval, ...]) -> None:
        nonlocal low, serial
        budget.spend(work)
        low = max(low, slip(tuple((a + (b - a) / 2,) * 2 for a, b in cell)))
        heapq.heappush(heap, (-slip(cell), serial, cell))
        serial += 1

    push(box)
    while -heap[0][0] > max(enough, sharp * low) and low < INF:
        cell = heap[0][2]
        k = max(range(len(cell)), key=lambda i: (cell[i][1] - cell[i][0]) / sides[i])
        (a, b), c = cell[k], cell[k][0] + (cell[k][1] - cell[k][0]) / 2
        if not a < c < b:
            break
        heapq.heappop(heap)
        for half in ((a, c), (c, b)):
            push((*cell[:k], half, *cell[k + 1 :]))
    return -heap[0][0]


def rounding(terms: Sum, ends: Interval, fmt: Format, enough: float, budget: Budget, sharp: float = 1.01) -> float:
    """The largest rounding error of a sum of heads over an interval."""
    work = sum(4 * n + n * n // PAIRS for n in map(len, terms.heads)) + 1
    return worst(lambda cell: sum_slip(terms, cell[0], fmt), (ends,), enough, work, budget, sharp)
