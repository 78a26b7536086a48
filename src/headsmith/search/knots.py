"""Where a sum of ReLUs should bend: knots as dense as sqrt|r''|, so that every cell costs the same.

    a cell of width h is off by h^2 |r''| / 8:   cells = integral of sqrt|r''| / sqrt(8 near)

The integral converges on all of R, so the number of knots hardly depends on how far they reach: out to where r is as
near to its asymptotes. Slopes are multiples of a power of two, so that they add up exactly in every format, and those
at infinity are what they should be. A cell starts where the one before it ended up: roundings do not add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from headsmith.functions import Expression
from headsmith.proof.relu_sums import TURNS, Asymptotes, ReluSum

FINEST = {"float64": 2.0**-50, "float32": 2.0**-22}  # steps of slopes
POINTS = 20_001
FARTHEST = 64.0
MARGIN = 0.8  # the proof finds up to a fifth more than the formula of a cell

Term = tuple[float, float, float]


def bends_needed(r: Expression, ends: Asymptotes, near: float) -> int:
    """How many ReLUs a sum within `near` takes, about."""
    return sum(len(_places(r, ends, near, sign)) for sign in (-1, 1)) + 3


def relu_sum(r: Expression, ends: Asymptotes, near: float, dtype: str) -> ReluSum:
    """A sum that is within `near` of r in about as many terms as it takes."""
    zero = np.array([0.0])
    level = float(np.dtype(dtype).type(r(zero)[0]))
    constant = [(0.0, 1.0, level)] if level else []
    sides = [_side(r, ends, near, dtype, sign, level) for sign in (-1, 1)]
    return ReluSum.of([*constant, *(term for side in sides for term in side)])


def _side(r: Expression, ends: Asymptotes, near: float, dtype: str, sign: int, level: float) -> Iterator[Term]:
    """c relu(sign z - x) for each place x at which the slope changes, from 0 outwards."""
    step, last = FINEST[dtype], sign * (ends.right if sign > 0 else ends.left)[0]
    places = [0.0, *np.unique(_places(r, ends, near, sign).astype(dtype)).astype(float).tolist()]
    targets = r(sign * np.array(places))
    slope = 0.0
    for k, x in enumerate(places):
        steeper = last
        if k + 1 < len(places):
            width = places[k + 1] - x
            steeper = step * round(float(targets[k + 1] - level) / width / step)
            level += steeper * width
        if steeper != slope:
            yield float(sign), -x, steeper - slope
        slope = steeper


def _places(r: Expression, ends: Asymptotes, near: float, sign: int) -> np.ndarray:
    """Distances from 0 at which a cell ends, on one side."""
    slope, level = ends.right if sign > 0 else ends.left
    far = np.arange(TURNS, FARTHEST, 0.125)
    off = np.abs(r(sign * far) - (slope * sign * far + level))
    reach = float(far[np.argmax(off <= near / 2)]) if (off <= near / 2).any() else FARTHEST
    z = np.linspace(0.0, reach, POINTS)
    curve = np.gradient(np.gradient(r(sign * z), z), z)
    density = np.sqrt(np.abs(curve) + near / reach**2)
    run = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(z))])
    cells = math.ceil(run[-1] / math.sqrt(8 * MARGIN * near))
    return np.interp(np.linspace(0.0, run[-1], cells + 1)[1:], run, z)
