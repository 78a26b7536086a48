"""Errors through a perceptron whose activations are heads:  y_l = sigma(W_l y_{l-1} + b_l).

    e_l <= |W_l| e_{l-1};      behind the activation:  sup |heads - sigma| + L e_l

unit by unit, the heads and L, the steepest slope of sigma, on an interval that holds the values of every unit of the
layer, ours and the true ones. The slope of a head is never needed. Rounding obeys the same rule: to |W| times what came
in is added what the product costs, gamma_n (|W| |y| + |b|) for n sums and products in any order.

Where values lie: boxes, and beside them a zonotope  centre + sum generators e, |e| <= 1,  which remembers that the
units of a layer depend on the same inputs. Behind an activation it is  t z + m +- r  with the t of the chord (any
number would do, it steers), and a direction of its own for each unit. The smaller of both is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_mat

from . import formulas
from .formulas import Formula
from .heads import Head, Interval, down, extent, prove, steepest, total, up
from .programs import Found, formula_at, value
from .rounding import Format, Sum, gamma, rounding
from .units import DUST, Matrix
from .verdict import Budget, need

SHARP = 5e-4  # how near slopes come to the steepest one, less than the slack of a stated bound
CLOSE = (1.1, 1.001)  # of rounding, relative to what single points already cost
SMALL = 2e-4  # of the stated error: what no cell of a head is resolved below
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


@dataclass
class Flow:
    """Between two layers: errors and sizes of each unit, how many products the next sum has, and where values lie."""

    approximation: Balls
    rounding: Balls
    sizes: Balls
    terms: int
    box: list[Interval]
    centre: Balls
    generators: arb_mat


def propagated(stack: Stack, fmt: Format, stated: tuple[float, float], budget: Budget) -> Found:
    """How far any output can be from the perceptron's."""
    found = Found()
    for close in CLOSE:
        found = _through(stack, fmt, SMALL * stated[0], close, budget)
        if found.rounding <= stated[1]:
            break
    return found


def _through(stack: Stack, fmt: Format, floor: float, close: float, budget: Budget) -> Found:
    flow = _start(stack)
    for l, matrix in enumerate(stack.matrices):
        budget.spend(len(flow.sizes) * len(matrix.rows) * (1 + flow.generators.ncols() // 8))
        flow = _linear(flow, matrix, fmt, DUST if l else 0.0)
        if l < len(stack.sigmas):
            last = l == len(stack.sigmas) - 1
            flow = _activation(flow, stack.sigmas[l], stack.heads[l], (fmt, floor, close, last), budget)
    return Found(max(map(up, flow.approximation)), max(map(up, flow.rounding)))


def _start(stack: Stack) -> Flow:
    (lo, hi), d = stack.ends, stack.inputs
    middle, radius = (arb(lo) + hi) / 2, (arb(hi) - lo) / 2
    generators = arb_mat([[radius if i == j else arb(0) for j in range(d)] for i in range(d)])
    size = arb(max(abs(lo), abs(hi)))
    return Flow([arb(0)] * d, [arb(0)] * d, [size] * d, d + 1, [stack.ends] * d, [middle] * d, generators)


def _linear(flow: Flow, matrix: Matrix, fmt: Format, dust: float) -> Flow:
    """W y + b: of errors, of sizes, of boxes and of the zonotope; `dust` is what the weight of b is short of 1."""
    weight, bias = arb_mat([list(row) for row in matrix.rows]), [arb(b) for b in matrix.bias]
    size = arb_mat([[abs(w) for w in row] for row in matrix.rows])
    reach = [s + abs(b) for s, b in zip(_times(size, flow.sizes), bias, strict=True)]
    noise = [gamma(flow.terms + 1, fmt.u) * r + 2 * flow.terms * fmt.tiny for r in reach]
    middles = [(arb(a) + b) / 2 for a, b in flow.box]
    radii = _times(size, [(arb(b) - a) / 2 for a, b in flow.box])
    generators = weight * flow.generators
    centre = _plus(_times(weight, flow.centre), bias)
    own = zip(_plus(_times(weight, middles), bias), radii, strict=True)
    tied = zip(centre, (total(row) for row in generators.tolist()), strict=True)
    box = [_meet(a, b) for a, b in zip(own, tied, strict=True)]
    return Flow(
        [e + dust * r for e, r in zip(_times(size, flow.approximation), reach, strict=True)],
        _plus(_times(size, flow.rounding), noise),
        reach,
        len(matrix.rows) + 1,
        box,
        centre,
        generators,
    )


def _meet(a: tuple[arb, arb], b: tuple[arb, arb]) -> Interval:
    """The numbers in both intervals, each a middle and a radius."""
    (c, r), (d, s) = a, b
    return max(down(c - r), down(d - s)), min(up(c + r), up(d + s))


def _activation(
    flow: Flow, sigma: Formula, heads: tuple[Head, ...], how: tuple[Format, float, float, bool], budget: Budget
) -> Flow:
    """Behind sigma: the heads are proved once, on what all units reach."""
    fmt, floor, close, last = how
    wide = _plus(flow.approximation, flow.rounding)
    ends = (
        min(down(lo - w) for (lo, _), w in zip(flow.box, wide, strict=True)),
        max(up(hi + w) for (_, hi), w in zip(flow.box, wide, strict=True)),
    )
    need(math.isfinite(ends[1] - ends[0]), "the values of a layer have no bound", 2)
    off = prove(heads, 0.0, sigma, ends, floor, budget).bound
    slip = rounding(Sum(heads), ends, fmt, 0.0, budget, close)
    slope = steepest(sigma, ends, budget, SHARP)
    approximation = [off + slope * e for e in flow.approximation]
    slips = [slip + slope * e for e in flow.rounding]
    box = [extent(sigma, own, budget) for own in flow.box]
    sizes = [max(abs(lo), abs(hi)) + a + s for (lo, hi), a, s in zip(box, approximation, slips, strict=True)]
    if len(heads) > 1:
        reach = [max(abs(lo), abs(hi)) + w for (lo, hi), w in zip(flow.box, wide, strict=True)]
        sizes = [_written(heads, far) + slip for far in reach]
    centre, generators = (flow.centre, flow.generators) if last else _bent(flow, sigma, budget)
    terms = len(heads) * len(sizes) + 1
    return Flow(approximation, slips, [arb(s) for s in sizes], terms, box, centre, generators)


def _written(heads: tuple[Head, ...], far: arb) -> arb:
    """The sum of what the heads write, each as large as it can be for |z| <= far."""
    return sum((max(abs(arb(k.g)) + abs(arb(k.l)) * far for k in head) for head in heads), arb(0))


def _bent(flow: Flow, sigma: Formula, budget: Budget) -> tuple[Balls, arb_mat]:
    """The zonotope behind sigma: t z + m, and a fresh direction of length r for each unit."""
    bands = [_band(sigma, own, budget) for own in flow.box]
    centre = [t * c + m for (t, m, _), c in zip(bands, flow.centre, strict=True)]
    rows = []
    for i, ((t, _, r), row) in enumerate(zip(bands, flow.generators.tolist(), strict=True)):
        rows.append([*(t * g for g in row), *(r if j == i else arb(0) for j in range(len(bands)))])
    return centre, arb_mat(rows)


def _band(sigma: Formula, ends: Interval, budget: Budget) -> tuple[arb, arb, arb]:
    """(t, m, r) with |sigma(z) - t z - m| <= r on [lo, hi]: slope and height of the chord, six digits each."""
    lo, hi = ends
    low, high = (formula_at(sigma, dict.fromkeys(sigma.variables, arb(z))) for z in ends)
    known = low is not None and high is not None and lo < hi
    tilt = f"{float(((high - low) / (arb(hi) - lo)).mid()):.6f}" if known else "0"  # type: ignore[operator]
    height = f"{float((low - arb(tilt) * lo).mid()):.6f}" if known else "0"  # type: ignore[operator]
    line = ["+", ["*", ["num", tilt], ["var", "x"]], ["num", height]]
    least, most = extent(formulas.added(sigma, formulas.read(["neg", line])), ends, budget)
    return arb(tilt), arb(height) + (arb(least) + most) / 2, (arb(most) - least) / 2


def _times(matrix: arb_mat, vector: Sequence[Any]) -> Balls:
    return (matrix * arb_mat([[x] for x in vector])).entries()


def _plus(a: Sequence[arb], b: Sequence[arb]) -> Balls:
    return [x + y for x, y in zip(a, b, strict=True)]


# what is certainly wrong


def witnessed(stack: Stack, stated: float) -> None:
    """A few inputs, in balls: a network that is plainly false is called so."""
    lo, hi = stack.ends
    for steps in ((0, 0), (2, 2), (1, 1), (0, 2), (2, 0)):
        x = [min(max(lo + (hi - lo) * steps[i % 2] / 2, lo), hi) for i in range(stack.inputs)]
        ours, true = _values(stack, x, True), _values(stack, x, False)
        gap = max(down(abs(a - b)) for a, b in zip(ours, true, strict=True))
        need(gap <= stated, f"false: the error exceeds {stated:.3e} at {x[:4]}")


def _values(stack: Stack, x: Sequence[float], ours: bool) -> Balls:
    """The outputs for one input, of the network or of the perceptron; a value that is not known is any number."""
    values = [arb(v) for v in x]
    for l, matrix in enumerate(stack.matrices):
        z = _plus(_times(arb_mat([list(row) for row in matrix.rows]), values), [arb(b) for b in matrix.bias])
        values = z
        if l < len(stack.sigmas) and ours:
            values = [value(stack.heads[l], 0.0, v) for v in z]
        elif l < len(stack.sigmas):
            found = [formula_at(stack.sigmas[l], dict.fromkeys(stack.sigmas[l].variables, v)) for v in z]
            values = [arb(0, math.inf) if v is None else v for v in found]
    return values
