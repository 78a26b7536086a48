"""One cell of the proof: the head and its target as Taylor polynomials with proved remainders.

On [c-h, c+h] write z = c + h y. Cancel the mean slope m, the largest score r and the local value w by hand:

    phi = w + N/Z,   N(y) = sum e_j v_j(y) exp(d_j y),   Z(y) = sum e_j exp(d_j y),
    e_j = exp(a_j c + b_j - r),   d_j = (a_j - m) h,   v_j(y) = g_j + l_j (c + h y) - w

Let q be the power series N/Z cut at degree K, and N_K, Z_K the Taylor polynomials. Then N - qZ is made of Taylor tails
and of the polynomial N_K - q Z_K = sum_k T_k y^k, and Z >= Z_0 exp(-|Z_1|/Z_0) by Jensen's inequality, so

    |phi - w - q(y)| <= (tail_N + tail_Z sum|q_k| + sum|T_k|) / (Z_0 exp(-|Z_1|/Z_0)).

m, r, w and q itself may be anything: they steer, the proof holds for every choice. No complex numbers, and no search
for poles.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import numpy as np
from flint import arb, arb_poly, arb_series

from headsmith.functions import Expression, Unresolved
from headsmith.proof.statement import Head, Part

ORDER = 12
NODES = 128
FAR = -80.0  # a key this far below the best one, anywhere in the cell, weighs less than NEGLIGIBLE
NEGLIGIBLE = 5e-35  # > exp(FAR + 1); the 1 pays for the floating-point test below
_ANGLES = (2 * np.arange(NODES) + 1) * np.pi / (2 * NODES)
_POWERS = np.cos(_ANGLES)[:, None] ** np.arange(ORDER + 1)


@dataclass(frozen=True)
class CellBound:
    """|E| <= upper on the whole cell; |E| >= lower at some point of it, near `place`.

    `remainder` is what bisecting can win: Taylor remainders, and the distance between undecided branches of the target,
    whose values on the cell lie in `reach`.
    """

    upper: float
    lower: float
    place: float
    remainder: float
    reach: tuple[float, float]


def up(x: arb) -> float:
    """A float that no number of the ball exceeds (inf if the ball is not finite)."""
    top = float(x.upper())
    return math.inf if math.isnan(top) else math.nextafter(top, math.inf)


def down(x: arb) -> float:
    """A float that no number of the ball falls below."""
    bottom = float(x.lower())
    return -math.inf if math.isnan(bottom) else math.nextafter(bottom, -math.inf)


@dataclass(frozen=True)
class Frame:
    """The floats m, r, w of a cell, the keys that matter in it, and how many were left out."""

    mean: float
    top: float
    value: float
    active: np.ndarray
    skipped: int


def frame(head: Head, c: float, h: float) -> Frame:
    """Scores at c, their weighted mean slope m, greatest r and value w; keys below e^FAR all over [c - h, c + h] go."""
    scores = head.slopes * c + head.offsets
    top = float(scores.max())
    weights = np.exp(scores - top)
    total = float(weights.sum())
    mean = float(weights @ head.slopes) / total
    value = float(weights @ (head.values + head.lines * c)) / total
    with np.errstate(invalid="ignore"):
        reach = scores - top + np.abs(head.slopes - mean) * h
        size = np.abs(head.slopes) * (abs(c) + h) + np.abs(head.offsets) + abs(top)
        far = (reach <= FAR) & (size < 1e14)
    return Frame(mean, top, value, np.flatnonzero(~far), int(far.sum()))


def _tail(term: arb, distance: arb, order: int) -> arb:
    """sum_{k >= order} e |d|^k / k!, given its first term: at most term * min(exp|d|, 1/(1 - |d|/(order+1)))."""
    growth = distance.exp()
    room = 1 - distance / (order + 1)
    if room > 0:
        growth = growth.min(1 / room)
    return abs(term) * growth


def head_series(head: Head, c: float, h: float) -> tuple[list[arb], arb]:
    """Coefficients of w + q and the remainder, in y = (z - c)/h."""
    f = frame(head, c, h)
    N, Z = [arb(0)] * (ORDER + 2), [arb(0)] * (ORDER + 1)
    tail_n, tail_z = arb(0), arb(0)
    mean, top, value, centre, half = arb(f.mean), arb(f.top), arb(f.value), arb(c), arb(h)
    for j in f.active.tolist():
        slope, line = arb(float(head.slopes[j])), arb(float(head.lines[j]))
        term = (slope * centre + float(head.offsets[j]) - top).exp()
        d = (slope - mean) * half
        v = float(head.values[j]) + line * centre - value
        tilt = line * half
        tilted = float(head.lines[j]) != 0
        for k in range(ORDER + 1):
            Z[k] += term
            N[k] += term * v
            if tilted:
                N[k + 1] += term * tilt
                last = term
            term = term * d / (k + 1)
        distance = abs(d)
        tail = _tail(term, distance, ORDER + 1)
        tail_z += tail
        tail_n += tail * abs(v)
        if tilted:  # v_1 y exp(d y): its polynomial part stops at degree ORDER
            tail_n += abs(tilt) * (tail + abs(last))
    if f.skipped:
        widest = float(np.abs(head.values).max() + np.abs(head.lines).max() * (abs(c) + h)) + abs(f.value)
        tail_z += f.skipped * arb(NEGLIGIBLE)
        tail_n += f.skipped * arb(NEGLIGIBLE) * arb(widest) * 1.0001
    if not Z[0] > 0:  # scores so large that the balls around them say nothing
        return [arb(0)] * (ORDER + 1), arb(math.inf)
    q = (arb_series(N[: ORDER + 1], ORDER + 1) / arb_series(Z, ORDER + 1)).coeffs()
    q += [arb(0)] * (ORDER + 1 - len(q))
    # q, too, may be any polynomial: what N - qZ leaves at every degree is paid for, not only above ORDER
    excess = (arb_poly(N[: ORDER + 1]) - arb_poly(q) * arb_poly(Z)).coeffs()
    least = Z[0] * (-abs(Z[1]) / Z[0]).exp()
    absolute = sum((abs(x) for x in q), arb(0))
    remainder = (tail_n + tail_z * absolute + sum((abs(x) for x in excess), arb(0))) / least
    q[0] += value
    return q, remainder


def polynomial_bound(p: list[arb], floor: float = 0.0) -> tuple[float, float, float]:
    """(upper, lower, y): sup|p| on [-1,1] <= upper, |p(y)| >= lower at a node y.

    Ehlich and Zeller: a polynomial of degree n is at most max over M Chebyshev nodes / cos(n pi / 2M).
    Top coefficients whose sum stays under `floor` are dropped and paid for.
    """
    middle = np.array([float(x.mid()) for x in p])
    radius = math.fsum(up(x.rad()) for x in p)
    size = np.abs(middle)
    if not size.max() < 1e300:  # too large for the floats below
        return math.inf, 0.0, 0.0
    degree, dropped = len(p) - 1, 0.0
    while degree > 0 and dropped + size[degree] <= floor:
        dropped += size[degree]
        degree -= 1
    samples = _POWERS[:, : degree + 1] @ middle[: degree + 1]
    peak = int(np.abs(samples).argmax())
    noise = radius + float(((3 * ORDER + 8) * 2.0**-52) * (np.arange(1, len(p) + 1) * size).sum())
    most = float(abs(samples[peak]))
    cosine = math.cos(degree * math.pi / (2 * NODES)) * (1 - 1e-14)
    upper = ((most + noise) / cosine + dropped + noise) * (1 + 1e-14)
    return upper, max(0.0, most - noise - dropped), float(_POWERS[peak, 1])


def cell_bound(part: Part, c: float, h: float, floor: float = 0.0) -> CellBound:
    """The error of a part on [c-h, c+h]; infinite where the target cannot be enclosed (then bisect)."""
    total, remainder = [arb(part.bias)] + [arb(0)] * ORDER, arb(0)
    for head in part.heads:
        series, rest = head_series(head, c, h)
        total = [x + y for x, y in zip(total, series, strict=True)]
        remainder += rest
    branches = _branches(cast(Expression, part.target), c, h)
    if branches is None or not remainder.is_finite():
        return CellBound(math.inf, 0.0, c, math.inf, (-math.inf, math.inf))
    upper, lower, place, worst, reach = 0.0, 0.0, c, 0.0, (math.inf, -math.inf)
    for coefficients, rest in branches:
        difference = [x - y for x, y in zip(total, coefficients, strict=True)]
        own = up(remainder + rest)
        top, bottom, y = polynomial_bound(difference, max(floor, 0.1 * own))
        spread = sum((abs(x) for x in coefficients[1:]), arb(0)) + rest
        low, high = down(coefficients[0] - spread), up(coefficients[0] + spread)
        reach = (min(reach[0], low), max(reach[1], high))
        apart = sum((abs(x - y) for x, y in zip(coefficients, branches[0][0], strict=True)), arb(0))
        upper, worst = max(upper, top + own), max(worst, own + up(apart))
        if len(branches) == 1:  # with several, no single point is known to lie on this one
            lower, place = max(0.0, bottom - own), c + h * y
    return CellBound(math.nextafter(upper, math.inf), lower, place, worst, reach)


def _branches(target: Expression, c: float, h: float) -> list[tuple[list[arb], arb]] | None:
    """Taylor polynomials of the target, one for each branch it may be on; a constant +- radius as last resort."""
    found = None
    with suppress(Unresolved):
        found = [(jet.coefficients, jet.remainder) for jet in target.jets(c, h, ORDER)]
        if all(rest <= sum((abs(x) for x in series[1:]), arb(0)) for series, rest in found):
            return found
    try:  # the series says little: beside a singularity, a few floats wide
        hull = target.range(c - h, c + h)
    except Unresolved:
        return found
    if found is not None and all(rest <= hull.rad() for _, rest in found):
        return found
    return [([arb(hull.mid())] + [arb(0)] * ORDER, arb(hull.rad()))]
