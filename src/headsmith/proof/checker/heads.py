"""Sums of scalar heads against a formula: sup |bias + sum phi_h - f| over an interval, by cells that are found here.

A head with keys (a, b, g, l) is  phi(z) = sum_j p_j (g_j + l_j z),  p = softmax(a_j z + b_j).  On a cell z = c + h y,

    phi = w + N/Z,   N = sum e_j (v_j + t_j y) exp(d_j y),   Z = sum e_j exp(d_j y),
    e_j = exp(a_j c + b_j - top),  d_j = (a_j - m) h,  v_j = g_j + l_j c - w,  t_j = l_j h.

With N_K, Z_K the Taylor polynomials to degree K and q any polynomial, N - q Z is made of tails and of N_K - q Z_K, and
Z >= Z_0 exp(-|Z_1|/Z_0) by Jensen's inequality. The numbers m, top, w and q may be anything: they steer. A key whose
score stays 80 below the best one all over the cell is left out of the sums, and costs e^-80 in Z and e^-80 times
its value in N. What is left is a polynomial, at most its largest value at M Chebyshev nodes over cos(n pi / 2M).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flint import arb, arb_poly, arb_series, ctx

from .formulas import Formula
from .ranges import Range, hull
from .taylor import Branch, local, middle
from .verdict import Budget, Open, need

K = 12
FAR = 80.0
FEW, MANY = 48, 384  # nodes: a first look, and a bound within 0.13 per cent
NODES = {m: [math.cos((2 * i + 1) * math.pi / (2 * m)) for i in range(m)] for m in (FEW, MANY)}
SHARP = 5e-4  # how near the bound of a part comes to its true error

Interval = tuple[float, float]


class Key(NamedTuple):
    """Score a z + b, value g + l z."""

    a: float
    b: float
    g: float
    l: float


Head = tuple[Key, ...]


def up(x: arb | float) -> float:
    """A float that no number of the ball exceeds."""
    if arb(x) == 0:  # exactly: a ball around 0 is not equal to it
        return 0.0
    top = float(arb(x).upper())
    return math.inf if math.isnan(top) else math.nextafter(top, math.inf)


def down(x: arb | float) -> float:
    """A float that no number of the ball falls below."""
    return -up(-arb(x))


def total(balls: Sequence[arb]) -> arb:
    """The sum of absolute values."""
    return sum((abs(x) for x in balls), arb(0))


@dataclass(frozen=True)
class Frame:
    """The numbers that steer a cell, the keys that matter in it and how many do not."""

    mean: float
    top: float
    value: float
    near: list[Key]
    far: int


def frame(head: Head, c: float, h: float) -> Frame:
    """Mean slope, highest score and mean value at c."""
    scores = [k.a * c + k.b for k in head]
    top = max(scores)
    rough = [math.exp(max(s - top, -700.0)) for s in scores]
    mean = math.fsum(w * k.a for w, k in zip(rough, head, strict=True)) / math.fsum(rough)
    value = math.fsum(w * (k.g + k.l * c) for w, k in zip(rough, head, strict=True)) / math.fsum(rough)
    if not all(map(math.isfinite, (top, mean, value))):
        raise Open
    near = [k for s, k in zip(scores, head, strict=True) if not _is_far(k, s - top, abs(k.a - mean) * h, c, h, top)]
    return Frame(mean, top, value, near, len(head) - len(near))


def _is_far(key: Key, below: float, drift: float, c: float, h: float, top: float) -> bool:
    """Whether a score stays more than 80 below the best one; sizes up to 1e12 keep the float error under 0.01."""
    size = abs(key.a) * (abs(c) + h) + abs(key.b) + abs(top)
    return size < 1e12 and below + drift < -FAR - 1


def series_of(head: Head, c: float, h: float) -> tuple[list[arb], arb]:
    """phi as a polynomial in y, and a bound of the rest."""
    f = frame(head, c, h)
    N, Z, tail_n, tail_z = [arb(0)] * (K + 2), [arb(0)] * (K + 1), arb(0), arb(0)
    for key in f.near:
        term, d = (arb(key.a) * c + key.b - f.top).exp(), (arb(key.a) - f.mean) * h
        v, tilt, last = arb(key.l) * c + key.g - f.value, arb(key.l) * h, arb(0)
        for k in range(K + 1):
            Z[k], N[k], N[k + 1] = Z[k] + term, N[k] + term * v, N[k + 1] + term * tilt
            last, term = term, term * d / (k + 1)
        rest = abs(term) * abs(d).exp()
        tail_z += rest
        tail_n += rest * (abs(v) + abs(tilt)) + abs(last * tilt)
    if f.far:
        size = abs(f.value) + max(abs(k.g) + abs(k.l) * (abs(c) + h) for k in head)
        tail_z += f.far * arb(-FAR).exp()
        tail_n += f.far * arb(-FAR).exp() * arb(size) * 1.0001
    q = _ratio(N[: K + 1], Z)
    left = total((arb_poly(N[: K + 1]) - arb_poly(q) * arb_poly(Z)).coeffs())
    rest = (tail_n + tail_z * total(q) + left) / Z[0] * (abs(Z[1]) / Z[0]).exp()
    return [q[0] + f.value, *q[1:]], rest


def _ratio(n: list[arb], z: list[arb]) -> list[arb]:
    """N/Z as a power series."""
    before, ctx.cap = ctx.cap, K + 1
    try:
        q = (arb_series(n) / arb_series(z)).coeffs()
    finally:
        ctx.cap = before
    return [*q, *[arb(0)] * (K + 1)][: K + 1]


# one cell


@dataclass(frozen=True)
class Cell:
    """lower <= sup |error| <= upper on [a, b]; the values of f, and what bisecting can still win."""

    a: float
    b: float
    upper: float
    lower: float
    place: float
    values: Range | None
    room: float


def look(heads: Sequence[Head], bias: float, f: Formula, ends: Interval, enough: float, budget: Budget) -> Cell:
    """The error on one cell, not finer than `enough`."""
    c, h = middle(*ends)
    unknown = Cell(*ends, math.inf, 0.0, c, None, math.inf)
    budget.spend(20 + 4 * sum(map(len, heads)))
    try:
        here = local(f, *ends, K, budget)
        if here is None:
            return unknown
        series = [series_of(head, c, h) for head in heads]
    except (Open, ValueError, OverflowError, ZeroDivisionError):
        return unknown
    phi = [sum(column, arb(0)) for column in zip(*(q for q, _ in series), strict=True)] or [arb(0)] * (K + 1)
    rest, centre = sum((r for _, r in series), arb(0)), here.values.ball
    goals = [(b.coefficients, b.remainder) for b in here.branches]
    flat = [([arb(centre.mid()), *[arb(0)] * K], arb(centre.rad()))]
    if not goals or all(r > 2 * centre.rad() for _, r in goals):
        goals = flat
    found = [polynomial(_difference(phi, bias, q), up(rest + r), enough) for q, r in goals]
    alone = len(goals) == 1
    apart = max(up(total([x - y for x, y in zip(q, goals[0][0], strict=True)])) for q, _ in goals)
    room = max(up(rest + r) for _, r in goals) + apart
    worst = max(found)
    return Cell(*ends, worst[0], worst[1] if alone else 0.0, c + h * worst[2], here.values, room)


def _difference(phi: list[arb], bias: float, q: list[arb]) -> list[arb]:
    return [phi[0] + bias - q[0], *(x - y for x, y in zip(phi[1:], q[1:], strict=True))]


def polynomial(p: list[arb], rest: float, enough: float) -> tuple[float, float, float]:
    """(upper, lower, y): sup |p| + rest on [-1, 1] from above, |p(y)| - rest from below; coarse if it is `enough`."""
    budget, degree = up(total(p)), len(p) - 1
    if budget == math.inf:
        return math.inf, 0.0, 0.0
    if budget + rest <= enough:
        return up(arb(budget) + rest), 0.0, 0.0
    found = (math.inf, 0.0, 0.0)
    for nodes in (FEW, MANY):
        values = [abs(arb_poly(p)(y)) for y in NODES[nodes]]
        peak = max(range(nodes), key=lambda i: float(values[i].mid()))
        lower, most = down(values[peak]) - rest, max(map(up, values))
        while degree > 0 and up(total(p[degree:])) <= 1e-4 * most:
            degree -= 1
        dropped = total(p[degree + 1 :])
        upper = up((arb(most) + dropped) / arb(math.cos(degree * math.pi / (2 * nodes)) * (1 - 1e-12)) + dropped + rest)
        found = min(upper, found[0]), max(0.0, lower), NODES[nodes][peak]
        if upper <= enough:
            break
    return found


# the whole interval


@dataclass(frozen=True)
class Proof:
    """sup |heads - f| <= bound, reached near `place` up to a twentieth of a per cent; the values of f."""

    bound: float
    lower: float
    place: float
    values: Interval


def prove(
    heads: Sequence[Head], bias: float, f: Formula, ends: Interval, floor: float, budget: Budget, most: float = math.inf
) -> Proof:
    """Bisects until every cell lies under the largest error that is attained, or is resolved, or under the floor.

    An error that is attained and larger than `most` makes the file false.
    """
    waiting = [look(heads, bias, f, ends, floor, budget)]
    done: list[Cell] = []
    peak = waiting[0]
    while waiting:
        cell = waiting.pop()
        enough = max(floor, peak.lower)
        need(peak.lower <= most, f"false: the error exceeds {most:.3e} near {peak.place:.6g}")
        if cell.upper <= enough or cell.room <= SHARP * enough or (_is_narrow(cell) and cell.upper < math.inf):
            done.append(cell)
            continue
        if _is_narrow(cell):
            raise Open
        c, _ = middle(cell.a, cell.b)
        halves = [look(heads, bias, f, half, enough, budget) for half in ((cell.a, c), (c, cell.b))]
        peak = max(peak, *halves, key=lambda some: some.lower)
        waiting += sorted(halves, key=lambda some: some.lower)
    values = _hulls([cell.values for cell in done])
    return Proof(max(cell.upper for cell in done), peak.lower, peak.place, values)


def _is_narrow(cell: Cell) -> bool:
    return not cell.a < cell.a + (cell.b - cell.a) / 2 < cell.b


def _hulls(values: Sequence[Range | None]) -> Interval:
    known = [v for v in values if v is not None]
    reach = known[0]
    for v in known[1:]:
        reach = hull(reach, v)
    return down(reach.lo), up(reach.hi)


def largest(look_at: Callable[[Interval], tuple[float, float]], ends: Interval, sharp: float) -> float:
    """The maximum of a quantity that is bracketed (upper, lower) on cells: worst cells first, to a relative `sharp`."""
    heap: list[tuple[float, Interval]] = []
    reached = 0.0

    def push(cell: Interval) -> None:
        nonlocal reached
        upper, lower = look_at(cell)
        reached = max(reached, lower)
        heapq.heappush(heap, (-upper, cell))

    push(ends)
    while -heap[0][0] > max((1 + sharp) * reached, 1e-25):
        a, b = heap[0][1]
        c = a + (b - a) / 2
        if not a < c < b or b - a < 1e-12 * (ends[1] - ends[0]):
            break
        heapq.heappop(heap)
        push((a, c))
        push((c, b))
    return -heap[0][0]


def steepest(f: Formula, ends: Interval, budget: Budget, sharp: float = 0.005) -> float:
    """sup |f'|, within half a per cent, or as sharp as asked."""

    def look_at(cell: Interval) -> tuple[float, float]:
        here, (_, h) = local(f, *cell, 2, budget), middle(*cell)
        if here is None or not here.branches:
            return math.inf, 0.0
        found = here.branches
        upper = max(up(arb(min(up(abs(b.slope)), _by_taylor(b))) / h) for b in found)
        return upper, down(abs(found[0].middle) / h) if len(found) == 1 else 0.0

    return 0.0 if f.steps[-1].constant else largest(look_at, ends, sharp)


def _by_taylor(b: Branch) -> float:
    """|f' h| = |q_1 + 2 q_2 y + 3 R y^2|."""
    return up(abs(b.middle) + 2 * total(b.coefficients[2:]) + 3 * b.remainder)


def extent(f: Formula, ends: Interval, budget: Budget) -> Interval:
    """The values of f, within a thousandth of their size."""
    size = _size(f, ends, budget)
    return -_highest(f, ends, -1, size, budget), _highest(f, ends, 1, size, budget)


def _highest(f: Formula, ends: Interval, sign: int, size: float, budget: Budget) -> float:
    """max sign f, found as that of sign f + size, which is positive."""

    def look_at(cell: Interval) -> tuple[float, float]:
        here = local(f, *cell, 2, budget)
        if here is None:
            return math.inf, 0.0
        low, high = here.values if sign > 0 else (-here.values.hi, -here.values.lo)
        return max(0.0, up(high + size)), max(0.0, down(low + size))

    return up(arb(largest(look_at, ends, 1e-3)) - size)


def _size(f: Formula, ends: Interval, budget: Budget) -> float:
    """max |f|, roughly, from above."""

    def look_at(cell: Interval) -> tuple[float, float]:
        here = local(f, *cell, 2, budget)
        if here is None:
            return math.inf, 0.0
        return max(up(here.values.hi), up(-here.values.lo)), max(0.0, down(here.values.lo), down(-here.values.hi))

    return largest(look_at, ends, 0.5)
