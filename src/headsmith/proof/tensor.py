"""Several variables: sup |phi - f| over a box, for a head whose softmax is a product of one-dimensional ones.

    phi(x) = sum V_{i1..id} w_i1(x1) ... w_id(xd),   w = the softmax weights of each axis

On a product cell, E = phi - f is interpolated at the (n+1)^d first-kind Chebyshev nodes, where it is known in balls, and

    sup|E| <= sup|I E| + |E - I E|,      |E - I E| <= sum_k Lam^(k-1) r_k,      Lam = 1 + (2/pi) ln(n+1),

one axis at a time (Lam bounds the norm of interpolation). Only *pure* derivatives enter:

* f: r_k = sup|d^(n+1) f / dx_k^(n+1)| s^(n+1) / ((n+1)! 2^n), from a power series in x_k with the other variables as balls;
* phi: with slopes of spread A and variance Var_p(x) under the softmax weights, |Z(x+iy)| >= Z(x) max(cos(yA/2), 1 - y^2 Var/2),
  so the weights sum to at most 1/chi in absolute value on a Bernstein ellipse, phi is analytic there, and interpolation
  errs by at most 4 rho^-n / ((rho-1) chi) times half the range of the values.

I E is a polynomial with known Chebyshev coefficients; it is bounded by sampling it on M nodes an axis and dividing by
cos(n pi/2M)^d (Ehlich and Zeller). No multivariate Taylor series are needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from flint import arb, arb_mat, arb_series
from numpy.typing import NDArray

from headsmith.functions import Expression, Unresolved, precision, series
from headsmith.functions.enclosures import OPERATIONS, leaf, raised
from headsmith.functions.jets import PAIRS, PLAIN
from headsmith.proof.approximation import Unprovable, cell
from headsmith.proof.cells import down, up

Floats = NDArray[np.float64]
Box = Sequence[tuple[float, float]]

DEGREE = {1: 16, 2: 14, 3: 11, 4: 9}
NODES = 3_000_000  # ball samples of one proof
FINE = {1: 4096, 2: 150_000, 3: 400_000, 4: 1_500_000}  # floating-point samples of one cell
RADII = (1.3, 1.6, 2.0, 2.6, 3.4, 4.5, 6.0, 8.0, 12.0, 20.0, 40.0, 100.0)


@dataclass(frozen=True, eq=False)
class Axis:
    """softmax_i(slopes_i x + offsets_i): the weights of one variable."""

    slopes: Floats
    offsets: Floats

    def __len__(self) -> int:
        return len(self.slopes)

    def weights(self, x: Floats) -> Floats:
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
        return math.prod(map(len, self.axes))

    @property
    def components(self) -> int:
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
    cells: tuple[tuple[tuple[float, float], ...], ...]


def prove_tensor(head: TensorHead, targets: Sequence[Expression], names: Sequence[str], box: Box, goal: float) -> TensorProof:
    """The proved largest error of all components, its interpolation part under `goal`."""
    degree = DEGREE[len(box)]
    proof = _Proof(head, targets, tuple(names), degree, goal)
    with precision(128, degree + 3):
        cells = proof.cells(tuple((float(lo), float(hi)) for lo, hi in box))
        bound, least, witness = 0.0, 0.0, tuple(lo for lo, _ in box)
        for edges, rest in cells:
            top, bottom, place = proof.bound(edges, rest)
            bound = max(bound, top)
            if bottom > least:
                least, witness = bottom, place
    return TensorProof(math.nextafter(bound, math.inf), least, witness, tuple(edges for edges, _ in cells))


class _Proof:
    def __init__(
        self, head: TensorHead, targets: Sequence[Expression], names: tuple[str, ...], degree: int, goal: float
    ) -> None:
        self.head, self.targets, self.names, self.degree, self.goal = head, targets, names, degree, goal
        self.lebesgue = (1 + 2 / math.pi * math.log(degree + 1)) * (1 + 1e-12)
        flat = head.values.reshape(-1, head.components)
        self.half_range = float((flat.max(0) - flat.min(0)).max()) / 2 * (1 + 1e-15)
        self.spills: dict[tuple[int, float, float], float] = {}
        self.tables: dict[tuple[int, float, float], arb_mat] = {}

    def cells(self, box: tuple[tuple[float, float], ...]) -> list[tuple[tuple[tuple[float, float], ...], float]]:
        """Product cells whose interpolation error is under the goal: the worst axis is bisected."""
        waiting, done = [box], []
        most = NODES // (self.degree + 1) ** len(box)
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
            if not a < middle < b or len(done) + len(waiting) > most:
                raise Unprovable(f"the proof needs more than {most} cells, near {names_at(self.names, edges)}")
            waiting += [(*edges[:k], half, *edges[k + 1 :]) for half in ((middle, b), (a, middle))]
        return done

    def remainders(self, edges: tuple[tuple[float, float], ...]) -> list[float]:
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

    def remainder(self, f: Expression, edges: tuple[tuple[float, float], ...], k: int) -> float:
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

    def bound(self, edges: tuple[tuple[float, float], ...], rest: float) -> tuple[float, float, tuple[float, ...]]:
        """(upper, lower, place) of |E| on a cell."""
        samples, slack = self.samples(edges)
        top = max(interpolant_bound(values, self.degree, 3e-3 * self.goal) for values in samples)
        flat = np.abs(samples).max(0)
        at = np.unravel_index(int(flat.argmax()), flat.shape)
        nodes = _angles(self.degree + 1)
        place = tuple(
            float(min(max((a + b) / 2 + (b - a) / 2 * math.cos(nodes[i]), a), b)) for i, (a, b) in zip(at, edges, strict=True)
        )
        noise = slack * self.lebesgue ** len(edges)
        return (top + noise + rest) * (1 + 1e-13), max(0.0, float(flat[at]) - slack), place

    def samples(self, edges: tuple[tuple[float, float], ...]) -> tuple[Floats, float]:
        """E at the Chebyshev nodes as floats (components, nodes...), and how far these are from the truth."""
        shape = (self.degree + 1,) * len(edges)
        points = [[arb(c) + arb(h) * x for x in chebyshev_nodes(self.degree + 1)] for c, h in (cell(*e) for e in edges)]
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

    Around x0, with mean slope m: E(slope - m)^2 <= sum p_j(x0) exp(|a_j - m| t) (a_j - m)^2 for |x - x0| <= t, by Jensen.
    """
    pieces = max(4, math.ceil(8 * a * float(np.ptp(axis.slopes)) / 2))
    if pieces > 4000:
        return math.inf
    t = a / pieces
    places = c - a + t * (2 * np.arange(pieces) + 1)
    p = axis.weights(places)
    apart = np.abs(axis.slopes - (p @ axis.slopes)[:, None])
    return float((p * np.exp(apart * t * 1.0001) * apart**2).sum(1).max()) * (1 + 1e-6)


def pure_series(f: Expression, starts: dict[str, Any]) -> Any:
    """f with one variable a power series and the others balls; kinks that the balls decide are taken."""

    def visit(node: Expression, kids: list[Any]) -> Any:
        op = node.op
        if op == "var":
            return starts[node.text]
        if op in ("num", "pi", "e"):
            return leaf(node)
        plain = not any(isinstance(kid, arb_series) for kid in kids)
        if op == "/":
            return kids[0] / series.nonzero(kids[1]) if isinstance(kids[1], arb_series) else kids[0] / _nonzero(kids[1])
        if op == "^":
            return _raised(node, *kids)
        if op in PAIRS:
            return PAIRS[op](*kids)
        if plain:
            return OPERATIONS[op](*kids)
        if op in PLAIN:
            return PLAIN[op](kids[0])
        return _decided(op, [kid if isinstance(kid, arb_series) else arb_series([kid]) for kid in kids])

    def checked(node: Expression, kids: list[Any]) -> Any:
        value = visit(node, kids)
        if not (value[0] if isinstance(value, arb_series) else value).is_finite():
            raise Unresolved("the formula is not finite on the cell")
        return value

    try:
        return f.fold(checked)
    except (ValueError, ZeroDivisionError) as error:
        raise Unresolved(str(error)) from error


def _nonzero(v: arb) -> arb:
    if v.contains(0):
        raise Unresolved("a divisor may vanish here")
    return v


def _raised(node: Expression, u: Any, v: Any) -> Any:
    n = node.children[1].exact
    if not isinstance(u, arb_series) and not isinstance(v, arb_series):
        return raised(node, u, v)
    if n is not None and n.denominator == 1:
        return series.power(u, int(n))
    base = u if isinstance(u, arb_series) else arb_series([u])
    return (v * series.positive(base).log()).exp()


def _decided(op: str, kids: list[arb_series]) -> arb_series:
    """The branch of a kinked function, where the whole cell lies on one side of the kink."""
    u = kids[0]
    if op in ("abs", "relu"):
        if u[0] >= 0:
            return u
        if u[0] <= 0:
            return -u if op == "abs" else 0 * u
    if op in ("min", "max"):
        gap = u[0] - kids[1][0]
        if gap >= 0 or gap <= 0:
            return u if bool(gap >= 0) == (op == "max") else kids[1]
    if op == "clip":
        return _decided("min", [_decided("max", [u, kids[1]]), kids[2]])
    raise Unresolved(f"the cell meets a kink of {op}")


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


def on_grid(f: Expression, points: dict[str, list[arb]]) -> list[arb]:
    """f in balls at every point of a product grid, row-major; a sub-formula is computed once for each of its own points."""
    names = list(points)
    lifted = {
        name: np.array(list(x), dtype=object).reshape([-1 if i == k else 1 for i in range(len(names))])
        for k, (name, x) in enumerate(points.items())
    }

    def visit(node: Expression, kids: list[Any]) -> Any:
        if node.op == "var":
            return lifted[node.text]
        if node.op in ("num", "pi", "e"):
            return np.array(leaf(node), dtype=object).reshape([1] * len(names))
        if node.op == "/":
            return kids[0] / kids[1]
        operation = (lambda u, v: raised(node, u, v)) if node.op == "^" else OPERATIONS[node.op]
        return np.asarray(np.frompyfunc(operation, len(kids), 1)(*kids), dtype=object)

    shape = tuple(len(x) for x in points.values())
    return list(np.broadcast_to(f.fold(visit), shape).reshape(-1))


@lru_cache(maxsize=16)
def chebyshev_nodes(count: int) -> list[arb]:
    """cos((2j+1) pi / 2m) in balls."""
    return [(arb.pi() * (2 * j + 1) / (2 * count)).cos() for j in range(count)]


def _angles(count: int) -> Floats:
    return (2 * np.arange(count) + 1) * np.pi / (2 * count)


@lru_cache(maxsize=64)
def _cosines(rows: int, count: int, columns: int) -> Floats:
    """T_k at the first-kind nodes of `count`: (count, columns); arguments reduced first, so within 8u of the truth."""
    turns = np.outer(2 * np.arange(rows) + 1, np.arange(columns)) % (4 * count)
    return np.cos(turns * np.pi / (2 * count))


def interpolant_bound(values: Floats, degree: int, drop: float) -> float:
    """sup over [-1,1]^d of the polynomial with these values at the Chebyshev nodes, from above.

    Chebyshev coefficients that sum to less than `drop` are left out and paid for, which lowers the degree to sample for.
    """
    dims, count = values.ndim, degree + 1
    unit, peak = 2.0**-53, float(np.abs(values).max())
    transform = _cosines(count, count, count).T * (2 / count)
    transform[0] /= 2
    coefficients = values
    for k in range(dims):
        coefficients = np.moveaxis(np.tensordot(transform, coefficients, (1, k)), 0, k)
    noise = dims * (2 * count) ** dims * (count + 10) * 4 * unit * peak
    size, dropped = np.abs(coefficients), 0.0
    degrees = [degree] * dims
    for k in range(dims):
        while degrees[k] > 1:
            part = float(np.take(size, degrees[k], axis=k).sum())
            if dropped + part > drop:
                break
            dropped += part
            size = np.take(size, range(degrees[k]), axis=k)
            degrees[k] -= 1
    coefficients = coefficients[tuple(slice(n + 1) for n in degrees)]
    each = FINE[dims] ** (1 / dims)
    shrink = 1.0
    for k, n in enumerate(degrees):
        nodes = max(2 * n, min(16 * n, int(each)))
        fine = _cosines(nodes, nodes, n + 1)
        coefficients = np.moveaxis(np.tensordot(fine, coefficients, (1, k)), 0, k)
        shrink *= math.cos(n * math.pi / (2 * nodes)) * (1 - 1e-14)
    return (float(np.abs(coefficients).max()) + noise) / shrink + dropped + noise


def names_at(names: Sequence[str], edges: Box) -> str:
    """x = 0.5, y = -1: the middle of a cell, for messages."""
    return ", ".join(f"{name} = {(a + b) / 2:.4g}" for name, (a, b) in zip(names, edges, strict=True))
