"""Errors through a perceptron whose activations are heads:  y_l = sigma(W_l y_{l-1} + b_l).

Unit by unit, e and r are such that exact arithmetic on the stored numbers is off by e at most, floating point by e + r:

    matrix        e <- |W| e                          r <- |W| r + gamma_n (|W| |y| + |b|) + 2 n tiny
    activation    e <- sup |heads - sigma| + L e      r <- sup |executed - heads| + L r

for n products added up in any order, where products and sums may be flushed. Both suprema and L, the steepest slope of
sigma, are taken on one interval that holds all values of the layer's units: the true ones, those of exact arithmetic,
and the executed ones. The slope of a head is never needed.

The number `one` of a stream is 1 in floating point; in exact arithmetic it is less, by 10^-434 a layer (`units`).
Scores are below 10^19, or their rounding would have no bound, and all values below LARGEST, where no format overflows.
So no sum of heads moves by as much as DUST, nor does a bias.

Where values lie: boxes, and beside them a zonotope  centre + sum generators e, |e| <= 1,  which remembers that the
units of a layer depend on the same inputs. Behind an activation it is  t z + m +- r  with the t of the chord (any
number would do, it steers), and a direction of its own for each unit. The smaller of both is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flint import arb, arb_mat

from . import formulas
from .formulas import Formula
from .heads import Head, Interval, down, extent, prove, steepest, total, up
from .programs import Found, formula_at, value
from .rounding import Format, Sum, gamma, rounding
from .units import Matrix
from .verdict import Budget, need

LARGEST = 1e30
DUST = 1e-300
TOO_LARGE = "the values of a layer may be too large for this checker"
SHARP = 5e-4  # how near slopes come to the steepest one, less than the slack of a stated bound
CLOSE = (1.1, 1.001)  # of rounding, relative to what single points already cost
SMALL = 2e-4  # of the stated error: what no cell of a head is resolved below
FINEST = 1e-34  # of the values, likewise: a key that is left out costs 10^-35
Balls = list[arb]


@dataclass(frozen=True)
class Stack:
    """A perceptron and the heads of each of its activations; inputs in [lo, hi]."""

    matrices: Sequence[Matrix]
    sigmas: Sequence[Formula]
    heads: Sequence[tuple[Head, ...]]
    ends: Interval

    @property
    def inputs(self) -> int:
        """How many numbers come in."""
        return len(self.matrices[0].rows[0])


class Errors(NamedTuple):
    """e and r of each unit."""

    approximation: Balls
    rounding: Balls


class Layer(NamedTuple):
    """What the units of an activation take, and what they return, in the perceptron itself."""

    taken: list[Interval]
    given: list[Interval]


class Aims(NamedTuple):
    """The format, and how finely heads are resolved: no cell below `floor`, rounding `close` to what points cost."""

    fmt: Format
    floor: float
    close: float


def propagated(stack: Stack, fmt: Format, stated: tuple[float, float], budget: Budget) -> Found:
    """How far any output can be from the perceptron's."""
    layers, found = reached(stack, budget), Found()
    for close in CLOSE:
        errors = _through(stack, layers, Aims(fmt, SMALL * stated[0], close), budget)
        found = Found(max(map(up, errors.approximation)), max(map(up, errors.rounding)))
        if found.rounding <= stated[1]:
            break
    return found


# errors


def _through(stack: Stack, layers: Sequence[Layer], aims: Aims, budget: Budget) -> Errors:
    d = stack.inputs
    errors = Errors([arb(0)] * d, [arb(aims.fmt.tiny)] * d)  # the lift adds 0 to an input, which may flush it
    sizes, terms = [arb(max(map(abs, stack.ends)))] * d, d + 1
    for l, matrix in enumerate(stack.matrices):
        _spend(budget, len(matrix.rows) * len(sizes))
        errors = summed(errors, sizes, terms, matrix, aims.fmt, DUST if l else 0.0)
        if l < len(layers):
            errors, sizes = _activated(errors, layers[l], stack.sigmas[l], stack.heads[l], aims, budget)
            terms = len(stack.heads[l]) * len(sizes) + 1
    return errors


def summed(errors: Errors, sizes: Balls, terms: int, matrix: Matrix, fmt: Format, dust: float) -> Errors:
    """Of W y + b, a sum of so many terms, for |y| <= sizes; y and b may be off by `dust` besides.

    Each term is rounded once as a product and at most terms - 1 times in sums; one more pays for `gamma` in floats.
    """
    weight = arb_mat([[abs(w) for w in row] for row in matrix.rows])
    reach = [s + abs(b) for s, b in zip(_times(weight, sizes), matrix.bias, strict=True)]
    need(max(map(up, reach)) < LARGEST, TOO_LARGE, 2)
    approximation = _times(weight, [e + dust for e in errors.approximation])
    noise = [gamma(terms + 1, fmt.u) * size + 2 * terms * fmt.tiny for size in reach]
    return Errors([e + dust for e in approximation], _plus(_times(weight, errors.rounding), noise))


def _activated(
    errors: Errors, layer: Layer, sigma: Formula, heads: tuple[Head, ...], aims: Aims, budget: Budget
) -> tuple[Errors, Balls]:
    """Behind sigma, the errors and how large the sum of |heads| is; the heads are proved on what all units take."""
    wide = _plus(*errors)
    ends = (
        min(down(lo - w) for (lo, _), w in zip(layer.taken, wide, strict=True)),
        max(up(hi + w) for (_, hi), w in zip(layer.taken, wide, strict=True)),
    )
    far = max(map(abs, ends))
    need(max(far, written(heads, far)) < LARGEST, TOO_LARGE, 2)
    off = prove(heads, 0.0, sigma, ends, max(aims.floor, FINEST * far), budget).bound
    slip = rounding(Sum(heads), ends, aims.fmt, 0.0, budget, aims.close)
    slope = steepest(sigma, ends, budget, SHARP)
    own = Errors([off + slope * e for e in errors.approximation], [slip + slope * r for r in errors.rounding])
    if len(heads) == 1:
        return own, [max(map(abs, ends)) + w for ends, w in zip(layer.given, _plus(*own), strict=True)]
    budget.spend(len(wide) * sum(map(len, heads)))
    most = [up(max(map(abs, ends)) + w) for ends, w in zip(layer.taken, wide, strict=True)]
    return own, [arb(written(heads, z)) + slip for z in most]


def written(heads: tuple[Head, ...], far: float) -> float:
    """The sum of what the heads return, each as large as it can be for |z| <= far."""
    return up(sum((arb(max(up(abs(arb(k.l)) * far + abs(k.g)) for k in head)) for head in heads), arb(0)))


# where values lie


class Zonotope(NamedTuple):
    """centre + generators e,  |e| <= 1."""

    centre: Balls
    generators: arb_mat


def reached(stack: Stack, budget: Budget) -> list[Layer]:
    """What the units of each activation take and give: the part that a box and a zonotope have in common."""
    found: list[Layer] = []
    box, tied = [stack.ends] * stack.inputs, None
    for l, sigma in enumerate(stack.sigmas):
        rows, units = len(stack.matrices[l].rows), len(box)
        _spend(budget, 2 * rows * units)
        if tied is not None:
            directions = tied.generators.ncols() + units
            _spend(budget, (rows + units) * directions, rows * units * directions)
            tied = _bent(tied, stack.sigmas[l - 1], found[-1].taken, budget)
        boxed = _of_box(box, stack.matrices[l])
        tied = boxed if tied is None else _of_zonotope(tied, stack.matrices[l])
        taken = [_meet(a, b) for a, b in zip(_sides(boxed), _sides(tied), strict=True)]
        found.append(Layer(taken, [extent(sigma, own, budget) for own in taken]))
        box = found[-1].given
    return found


def _of_box(box: Sequence[Interval], matrix: Matrix) -> Zonotope:
    """W y + b for y in a box."""
    middles, radii = [(arb(a) + b) / 2 for a, b in box], [(arb(b) - a) / 2 for a, b in box]
    rows = [[w * r for w, r in zip(row, radii, strict=True)] for row in matrix.rows]
    return Zonotope(_plus(_times(_balls(matrix), middles), matrix.bias), arb_mat(rows))


def _of_zonotope(tied: Zonotope, matrix: Matrix) -> Zonotope:
    """W y + b for y in a zonotope."""
    weight = _balls(matrix)
    return Zonotope(_plus(_times(weight, tied.centre), matrix.bias), weight * tied.generators)


def _sides(tied: Zonotope) -> list[Interval]:
    """An interval for each unit."""
    reach = [total(row) for row in tied.generators.tolist()]
    return [(down(c - r), up(c + r)) for c, r in zip(tied.centre, reach, strict=True)]


def _meet(a: Interval, b: Interval) -> Interval:
    """The numbers in both."""
    return max(a[0], b[0]), min(a[1], b[1])


def _bent(tied: Zonotope, sigma: Formula, taken: Sequence[Interval], budget: Budget) -> Zonotope:
    """Behind sigma: t z + m, and a fresh direction of length r for each unit."""
    bands = [_band(sigma, own, budget) for own in taken]
    centre = [t * c + m for (t, m, _), c in zip(bands, tied.centre, strict=True)]
    rows = []
    for i, ((t, _, r), row) in enumerate(zip(bands, tied.generators.tolist(), strict=True)):
        rows.append([*(t * g for g in row), *(r if j == i else arb(0) for j in range(len(bands)))])
    return Zonotope(centre, arb_mat(rows))


def _band(sigma: Formula, ends: Interval, budget: Budget) -> tuple[arb, arb, arb]:
    """(t, m, r) with |sigma(z) - t z - m| <= r on [lo, hi]: slope and height of the chord, six digits each."""
    lo, hi = ends
    low, high = (formula_at(sigma, {"x": arb(z)}) for z in ends)
    known = low is not None and high is not None and lo < hi
    tilt = _decimal((high - low) / (arb(hi) - lo)) if known else "0"  # type: ignore[operator]
    height = _decimal(low - arb(tilt) * lo) if known else "0"  # type: ignore[operator]
    line = ["+", ["*", ["num", tilt], ["var", "x"]], ["num", height]]
    least, most = extent(formulas.added(sigma, formulas.read(["neg", line])), ends, budget)
    return arb(tilt), arb(height) + (arb(least) + most) / 2, (arb(most) - least) / 2


def _decimal(x: arb) -> str:
    """A number near x, as formulas write it."""
    return f"{float(x.mid()):.6f}" if abs(x) < LARGEST else "0"


def _balls(matrix: Matrix) -> arb_mat:
    return arb_mat([list(row) for row in matrix.rows])


def _times(matrix: arb_mat, vector: Sequence[Any]) -> Balls:
    return (matrix * arb_mat([[x] for x in vector])).entries()


def _plus(a: Sequence[Any], b: Sequence[Any]) -> Balls:
    return [x + y for x, y in zip(a, b, strict=True)]


def _spend(budget: Budget, numbers: int, products: int = 0) -> None:
    """Pays for numbers that are made into balls, and for products of balls within one matrix."""
    budget.spend(numbers // 8 + products // 64 + 1)


# what is certainly wrong


def witnessed(stack: Stack, stated: float, budget: Budget) -> None:
    """A few inputs, in balls: a network that is plainly false is called so."""
    lo, hi = stack.ends
    for steps in ((0, 0), (2, 2), (1, 1), (0, 2), (2, 0)):
        x = [min(max(lo + (hi - lo) * steps[i % 2] / 2, lo), hi) for i in range(stack.inputs)]
        ours, true = _values(stack, x, True, budget), _values(stack, x, False, budget)
        gap = max(down(abs(a - b)) for a, b in zip(ours, true, strict=True))
        need(gap <= stated, f"false: the error exceeds {stated:.3e} at {x[:4]}")


def _values(stack: Stack, x: Sequence[float], ours: bool, budget: Budget) -> Balls:
    """The outputs for one input, of the network or of the perceptron; a value that is not known is any number."""
    values = [arb(v) for v in x]
    for l, matrix in enumerate(stack.matrices):
        _spend(budget, len(values) * len(matrix.rows))
        values = _plus(_times(_balls(matrix), values), matrix.bias)
        if l < len(stack.sigmas) and ours:
            budget.spend(len(values) * sum(map(len, stack.heads[l])))
            values = [value(stack.heads[l], 0.0, z) for z in values]
        elif l < len(stack.sigmas):
            budget.spend(len(values) * len(stack.sigmas[l].steps))
            found = [formula_at(stack.sigmas[l], {"x": z}) for z in values]
            values = [arb(0, math.inf) if v is None else v for v in found]
    return values
