"""Several variables: sup |phi - f| over a box, for a head whose softmax is a product of one-dimensional ones.

    phi(x) = sum V_{i1..id} w_i1(x1) ... w_id(xd),   w = the softmax weights of each axis

On a product cell, E = phi - f is interpolated at the (n+1)^d first-kind Chebyshev nodes, where it is known in
balls, and

    sup|E| <= sup|I E| + |E - I E|,      |E - I E| <= sum_k Lam^(k-1) r_k,      Lam = 1 + (2/pi) ln(n+1),

one axis at a time (Lam bounds the norm of interpolation). Only *pure* derivatives enter:

* f: r_k = sup|d^(n+1) f / dx_k^(n+1)| s^(n+1) / ((n+1)! 2^n), from a power series in x_k with the other variables
  as balls;
* phi: with slopes of spread A and variance Var_p(x) under the softmax weights,
  |Z(x+iy)| >= Z(x) max(cos(yA/2), 1 - y^2 Var/2),
  so the weights sum to at most 1/chi in absolute value on a Bernstein ellipse, phi is analytic there, and interpolation
  errs by at most 4 rho^-n / ((rho-1) chi) times half the range of the values.

I E is a polynomial with known Chebyshev coefficients; it is bounded by sampling it on M nodes an axis and dividing
by cos(n pi/2M)^d (Ehlich and Zeller). No multivariate Taylor series are needed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat, arb_series, ctx
from numpy.typing import NDArray

from headsmith.functions import Expression, Unresolved, precision
from headsmith.functions.jets import SPARE
from headsmith.functions.several import on_grid, pure_series
from headsmith.proof.approximation import Unprovable, cell
from headsmith.proof.cells import up
from headsmith.proof.chebyshev import angles, chebyshev_nodes, interpolant_bound, lebesgue

Floats = NDArray[np.float64]
Box = Sequence[tuple[float, float]]
Cell = tuple[tuple[float, float], ...]

DEGREES = (8, 11, 14, 18)  # of interpolation: the one that samples least is taken
NODES = 3_000_000  # ball samples of one proof
COARSE = {1: 1024, 2: 10_000, 3: 60_000, 4: 300_000}  # samples of a polynomial; where it matters, 16 times as many
RADII = (1.3, 1.6, 2.0, 2.6, 3.4, 4.5, 6.0, 8.0, 12.0, 20.0, 40.0, 100.0)


@dataclass(frozen=True, eq=False)
class Axis:
    """softmax_i(slopes_i x + offsets_i): the weights of one variable."""

    slopes: Floats
    offsets: Floats

    def __len__(self) -> int:
        return len(self.slopes)

    def weights(self, x: Any) -> Floats:
        """(points, P) in float64, for planning."""
        scores = np.asarray(x)[..., None] * self.slopes + self.offsets
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        return scores / scores.sum(-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class TensorHead:
    """phi_r(x) = sum V[i1, .., id, r] w_i1(x1) .. w_id(xd).

    >>> sigmoid = Axis(np.array([0.0, 1.0]), np.zeros(2))
    >>> TensorHead((sigmoid,), np.array([[0.0], [1.0]])).grid([np.array([0.0])])
    array([[0.5]])
    """

    axes: tuple[Axis, ...]
    values: Floats

    @property
    def tokens(self) -> int:
        """Keys of the one head: the product of the axes' numbers."""
        return math.prod(map(len, self.axes))

    @property
    def components(self) -> int:
        """Outputs r."""
        return self.values.shape[-1]

    def grid(self, nodes: Sequence[Floats]) -> Floats:
        """(components, points of x1, points of x2, ...) in float64, for planning."""
        out = np.moveaxis(self.values, -1, 0)
        for k, (axis, x) in enumerate(zip(self.axes, nodes, strict=True)):
            out = np.moveaxis(np.tensordot(axis.weights(x), out, (1, k + 1)), 0, k + 1)
        return out


@dataclass(frozen=True)
class TensorProof:
    """|phi - f| <= bound on the box, at least `least` near `witness`; `cells` repeat the proof."""

    bound: float
    least: float
    witness: tuple[float, ...]
    cells: tuple[Cell, ...]


def prove_tensor(
    head: TensorHead, targets: Sequence[Expression], names: Sequence[str], box: Box, goal: float
) -> TensorProof:
    """The proved largest error of all components, its interpolation part under `goal`."""
    if len(targets) != head.components:
        raise Unprovable(f"{head.components} outputs cannot be {len(targets)} formulas")
    proof, cells = interpolate(head, targets, names, box, goal)
    least, witness = 0.0, tuple(lo for lo, _ in box)
    heap: list[tuple[float, int, int]] = []  # -bound, cell, how finely sampled
    held = []
    with precision(128, proof.degree + 3 + SPARE):
        for edges, _ in cells:
            samples, slack = proof.samples(edges)
            held.append((samples, slack))
            bottom, place = proof.peak(edges, samples, slack)
            if bottom > least:
                least, witness = bottom, place
    for i, (_, rest) in enumerate(cells):
        heapq.heappush(heap, (-proof.bound(*held[i], rest, COARSE[len(box)]), i, 0))
    while heap[0][2] == 0 and -heap[0][0] > 1.005 * least:
        _, i, _ = heapq.heappop(heap)
        heapq.heappush(heap, (-proof.bound(*held[i], cells[i][1], 16 * COARSE[len(box)]), i, 1))
    bound = math.nextafter(-heap[0][0], math.inf)
    return TensorProof(bound, least, witness, tuple(edges for edges, _ in cells))


def interpolate(
    head: TensorHead, targets: Sequence[Expression], names: Sequence[str], box: Box, goal: float
) -> tuple[Interpolation, list[tuple[Cell, float]]]:
    """Cells with their remainders, under `goal`, for the degree that needs the fewest samples."""
    check_hypotheses(head, box)
    best: tuple[Interpolation, list[tuple[Cell, float]]] | None = None
    fewest, reason = NODES, ""
    for degree in DEGREES:
        each = (degree + 1) ** len(box)
        proof = Interpolation(head, targets, tuple(names), degree, goal)
        with precision(128, degree + 3 + SPARE):
            try:
                cells = proof.cells(tuple((float(lo), float(hi)) for lo, hi in box), fewest // each)
            except Unprovable as error:
                reason = reason or str(error)
                continue
        best, fewest = (proof, cells), len(cells) * each
    if best is None:
        raise Unprovable(reason)
    return best


def check_hypotheses(head: TensorHead, box: Box) -> None:
    """Finite numbers, an axis for each variable, a value for each product of keys, and a box with an inside: float64
    comparisons with NaN are false, so nothing else here could be trusted.
    """
    numbers = [*(a.slopes for a in head.axes), *(a.offsets for a in head.axes), head.values, np.array(box)]
    shape = tuple(len(axis.slopes) for axis in head.axes)
    if not all(np.isfinite(x).all() for x in numbers) or not all(len(a.offsets) == len(a) > 0 for a in head.axes):
        raise Unprovable("the head or its box holds numbers that are not finite")
    if len(box) != len(head.axes) or head.values.shape[:-1] != shape or not head.components:
        raise Unprovable("the values of the head do not belong to its keys")
    if not all(lo < hi for lo, hi in box):
        raise Unprovable("the box is empty")


class Interpolation:
    """One proof in the making: cells, their remainders, and E at their nodes."""

    def __init__(
        self, head: TensorHead, targets: Sequence[Expression], names: tuple[str, ...], degree: int, goal: float
    ) -> None:
        self.head, self.targets, self.names, self.degree, self.goal = head, targets, names, degree, goal
        self.lebesgue = lebesgue(degree)
        flat = head.values.reshape(-1, head.components)
        self.half_range = float((flat.max(0) - flat.min(0)).max()) / 2 * (1 + 1e-15)
        self.spills: dict[tuple[int, float, float], float] = {}
        self.tables: dict[tuple[int, float, float], arb_mat] = {}

    def cells(self, box: Cell, most: int) -> list[tuple[Cell, float]]:
        """At most so many product cells whose interpolation error is under the goal: the worst axis is bisected."""
        waiting: list[Cell] = [box]
        done: list[tuple[Cell, float]] = []
        while waiting:
            edges = waiting.pop()
            parts = self.remainders(edges)
            if sum(parts) <= self.goal:
                done.append((edges, math.fsum(parts) * (1 + 1e-14)))
                continue
            k = max(range(len(parts)), key=lambda i: (parts[i], edges[i][1] - edges[i][0]))
            if math.isinf(parts[k]):
                k = max(range(len(parts)), key=lambda i: edges[i][1] - edges[i][0])
            a, b = edges[k]
            middle = a + (b - a) / 2
            if not a < middle < b or len(done) + len(waiting) + 2 > most:
                raise Unprovable(f"the proof needs more than {most} cells, near {names_at(self.names, edges)}")
            waiting += [(*edges[:k], half, *edges[k + 1 :]) for half in ((middle, b), (a, middle))]
        return done

    def remainders(self, edges: Cell) -> list[float]:
        """Lam^(k-1) (head + target) for each axis."""
        found = []
        for k, (a, b) in enumerate(edges):
            c, h = cell(a, b)
            if (k, a, b) not in self.spills:
                self.spills[k, a, b] = spill(self.head.axes[k], c, h, self.degree)
            own = self.half_range * self.spills[k, a, b]
            try:
                rest = max((self.remainder(f, edges, k) for f in self.targets), default=0.0)
            except Unresolved:
                rest = math.inf
            found.append((own + rest) * self.lebesgue**k * (1 + 1e-13))
        return found

    def remainder(self, f: Expression, edges: Cell, k: int) -> float:
        """sup |d^(n+1) f / dx_k^(n+1)| s^(n+1) / ((n+1)! 2^n) over the cell."""
        if self.names[k] not in f.variables:
            return 0.0
        starts: dict[str, Any] = {}
        for i, (name, (a, b)) in enumerate(zip(self.names, edges, strict=True)):
            c, h = cell(a, b)
            starts[name] = arb_series([arb(c, h), h]) if i == k else arb(c, h)
        found = pure_series(f, starts)
        if not isinstance(found, arb_series):
            return 0.0
        n = self.degree + 1
        if found.prec < n + 1:
            raise Unresolved("the series is too short")
        top = found[n].abs_upper()
        if not top.is_finite():
            raise Unresolved("the formula is not finite on the cell")
        return up(top / 2**self.degree)

    def bound(self, samples: Floats, slack: float, rest: float, points: int) -> float:
        """|E| on a cell, from above, given E at its nodes and its interpolation error."""
        top = max(interpolant_bound(values, self.degree, 0.1 * self.goal, points) for values in samples)
        whole = (top + slack * self.lebesgue ** (samples.ndim - 1) + rest) * (1 + 1e-13)
        return whole if whole < math.inf else math.inf

    def peak(self, edges: Cell, samples: Floats, slack: float) -> tuple[float, tuple[float, ...]]:
        """The largest |E| at a node of the cell, from below, and (nearly) that node."""
        flat = np.abs(samples).max(0)
        at = np.unravel_index(int(flat.argmax()), flat.shape)
        turns = angles(self.degree + 1)
        place = tuple(
            float(min(max((a + b) / 2 + (b - a) / 2 * math.cos(turns[i]), a), b))
            for i, (a, b) in zip(at, edges, strict=True)
        )
        return max(0.0, float(flat[at]) - slack), place

    def samples(self, edges: Cell) -> tuple[Floats, float]:
        """E at the Chebyshev nodes as floats (components, nodes...), and how far these are from the truth."""
        shape = (self.degree + 1,) * len(edges)
        points = [
            [arb(c) + arb(h) * x for x in chebyshev_nodes(self.degree + 1, ctx.prec)]
            for c, h in (cell(*e) for e in edges)
        ]
        tables = []
        for k, (edge, x) in enumerate(zip(edges, points, strict=True)):
            if (k, *edge) not in self.tables:
                self.tables[k, *edge] = weight_table(self.head.axes[k], x)
            tables.append(self.tables[k, *edge])
        out, slack = np.empty((len(self.targets), *shape)), 0.0
        for r, f in enumerate(self.targets):
            head = contract(self.head.values[..., r], tables)
            target = on_grid(f, dict(zip(self.names, points, strict=True)))
            errors = [x - y for x, y in zip(head, target, strict=True)]
            out[r] = np.array([float(e.mid()) for e in errors]).reshape(shape)
            widest = max((e.rad() for e in errors), key=float)
            if not all(e.is_finite() for e in errors):
                raise Unresolved("the formula is not finite at a node")
            slack = max(slack, up(widest) + float(np.abs(out[r]).max()) * 2.0**-52)
        return out, slack


def spill(axis: Axis, c: float, h: float, degree: int) -> float:
    """|phi - I phi| <= spill * (half range of the values): the best Bernstein ellipse for this axis on [c-h, c+h].

    Evaluated in float64 on positive terms and inflated by 1e-6; scores above 1e6, where that would not do, give inf.
    """
    reach = np.abs(axis.slopes).max() * (abs(c) + RADII[-1] * h) + np.abs(axis.offsets).max()
    if reach > 1e6:
        return math.inf
    if len(axis) == 1:
        return 0.0
    spread = float(np.ptp(axis.slopes))
    best = math.inf
    for rho in RADII:
        a, b = h * (rho + 1 / rho) / 2 * 1.0001, h * (rho - 1 / rho) / 2 * 1.0001
        chi = 1 - b * b * _variance(axis, c, a) / 2
        if b * spread < math.pi:
            chi = max(chi, math.cos(b * spread / 2))
        if chi > 0.05:
            best = min(best, 4 * rho**-degree / ((rho - 1) * chi))
    return best * (1 + 1e-6)


def _variance(axis: Axis, c: float, a: float) -> float:
    """An upper bound of the variance of the slopes under the softmax weights, over [c-a, c+a].

    Around x0, with mean slope m: E(slope - m)^2 <= sum p_j(x0) exp(|a_j - m| t) (a_j - m)^2 for |x - x0| <= t, by
    Jensen.
    """
    pieces = max(4, math.ceil(8 * a * float(np.ptp(axis.slopes)) / 2))
    if pieces > 4000:
        return math.inf
    t = a / pieces
    places = c - a + t * (2 * np.arange(pieces) + 1)
    p = axis.weights(places)
    apart = np.abs(axis.slopes - (p @ axis.slopes)[:, None])
    return float((p * np.exp(apart * t * 1.0001) * apart**2).sum(1).max()) * (1 + 1e-6)


def weight_table(axis: Axis, points: Sequence[arb]) -> arb_mat:
    """The softmax weights of an axis at these points, in balls: (points, P)."""
    rows = []
    for x in points:
        scores = [arb(a) * x + arb(b) for a, b in zip(axis.slopes.tolist(), axis.offsets.tolist(), strict=True)]
        top = max(scores, key=lambda s: float(s.mid())).mid()
        terms = [(s - top).exp() for s in scores]
        total = sum(terms, arb(0))
        rows.append([t / total for t in terms])
    return arb_mat(rows)


def contract(values: Floats, tables: Sequence[arb_mat]) -> list[arb]:
    """sum V w w ... w at every node, row-major, one matrix product an axis."""
    flat = values.reshape(-1).tolist()
    entries: list[Any] = [arb(v) for v in flat]
    for table in tables:  # contract the first axis, append it as the last
        count = table.ncols()
        rest = len(entries) // count
        folded = arb_mat([entries[i * rest : (i + 1) * rest] for i in range(count)])
        entries = (folded.transpose() * table.transpose()).entries()
    return entries


def names_at(names: Sequence[str], edges: Box) -> str:
    """x = 0.5, y = -1: the middle of a cell, for messages."""
    return ", ".join(f"{name} = {(a + b) / 2:.4g}" for name, (a, b) in zip(names, edges, strict=True))
