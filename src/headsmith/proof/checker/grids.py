"""One head on a tensor grid, against formulas of several variables: sup |phi - f| over a box.

    phi(x) = sum V[i1..id] w_i1(x1) .. w_id(xd),     w = softmax(a_i x + b_i) of each axis

On a product of cells E = phi - f is interpolated at (n+1)^d Chebyshev nodes, where it is known in balls, and

    sup |E| <= sup |I E| + sum_k Lam^(k-1) r_k,     Lam = 1 + (2/pi) ln(n+1),

one axis after the other; r_k is the error of interpolating in x_k alone:

    f     sup |d^(n+1) f/dx_k^(n+1)| h^(n+1) / ((n+1)! 2^n), a power series in x_k, the other variables balls
    phi   for slopes of spread A, |Z(x + iy)| >= Z(x) cos(yA/2): on the Bernstein ellipse of radius rho the weights sum
          to at most 1/chi, chi = cos(h (rho - 1/rho) A/4), and interpolation errs by 4 rho^-n/((rho-1) chi) R,
          R half the range of V

I E is a polynomial of degree n in each variable: at most its largest value on M Chebyshev nodes an axis over
cos(n pi/2M)^d. That the keys of the file are a product of one-dimensional keys is seen with exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from flint import arb, arb_mat, arb_series, ctx

from .formulas import Formula
from .heads import Interval, down, up
from .ranges import Range, operate, over, ranges
from .rounding import INF, Format, Softmax, executed, gamma
from .taylor import evaluate, middle
from .verdict import Budget, Open, need
from .wiring import ODD, Tensor, lift_and_read, names_of, same, select

DEGREES = (11, 15, 8, 6)  # of interpolation: the one that needs the fewest nodes is taken
MOST = 100_000  # nodes of one component
SMALL = 5e-4  # of the stated error: what remainders may take, and what coefficients that are left out may
RADII = [1 + 0.15 * 1.4**k for k in range(28)]

Box = tuple[Interval, ...]


@dataclass(frozen=True)
class Axis:
    """softmax(a_i x + b_i)."""

    slopes: tuple[float, ...]
    offsets: tuple[float, ...]


@dataclass(eq=False)
class Grid:
    """The head of a file; `values` are those of one component, row by row."""

    axes: list[Axis]
    values: list[list[float]]
    tables: dict[Any, arb_mat] = field(default_factory=dict)

    @property
    def work(self) -> int:
        """What a look at all keys costs."""
        return sum(map(len, self.values))


# reading


def grid_wires(network: Any, tensors: dict[str, Tensor], variables: Sequence[str]) -> tuple[Grid, list[str]]:
    """(the head, the features that are read); the wiring is the one way in which a grid is built."""
    names, d = names_of(network), len(variables)
    need(names[:d] == list(variables) and len(network["layers"]) == 3 and (len(names) - 2 * d - 2) % 2 == 0, ODD)
    n, r = len(names), (len(names) - 2 * d - 2) // 2
    bias, ends = lift_and_read(network, tensors, d)
    memory = tensors.get("grid.memory")
    need(r > 0 and set(tensors) == {"lift.bias", "grid.memory"} and not any(bias[d + 1 :]), ODD)
    need(memory is not None and len(memory.shape) == 2 and memory.shape[1] == n, ODD)
    first, written = n - r - d - 1, range(d + 1, d + 1 + r)
    writing = [written.index(i) if i in written else -1 for i in range(n)]
    usual = {
        "kind": "attention",
        "name": "grid",
        "weights": "softmax",
        "scale": (1.0).hex(),
        "residual": True,
        "visible": "none",
        "memory": list(memory.shape) if memory is not None else [],
        "memory_mask": None,
        "query": select([list(range(d + 1))], n),
        "key": select([list(range(first, n - r))], n),
        "value": select([list(range(n - r, n))], n),
        "output": select([writing], r),
    }
    need(same(network["layers"][1], usual) and ends == list(written), ODD)
    rows = memory.rows() if memory is not None else []
    need(rows and not any(any(row[:first]) for row in rows), "a memory token is not only a key")
    return factored([row[first:] for row in rows], d), [names[end] for end in ends]


def factored(rows: Sequence[Sequence[float]], d: int) -> Grid:
    """The axes of keys that are a product; rejected unless every key is, exactly."""
    sizes, inner = [], len(rows)
    for k in range(d):
        block = next((i for i in range(inner) if rows[i][k] != rows[0][k]), inner)
        need(block > 0 and inner % block == 0, "the keys are not a product of one-dimensional keys")
        sizes.append(inner // block)
        inner = block
    need(inner == 1, "the keys are not a product of one-dimensional keys")
    strides = [math.prod(sizes[k + 1 :]) for k in range(d)]
    axes = []
    for k, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        base = rows[0][d] if k else 0.0
        line = [rows[i * stride] for i in range(size)]
        axes.append(Axis(tuple(row[k] for row in line), tuple(row[d] - base for row in line)))
    for row, place in zip(rows, product(*map(range, sizes)), strict=True):
        slopes = [axis.slopes[i] for axis, i in zip(axes, place, strict=True)]
        offset = sum((Fraction(axis.offsets[i]) for axis, i in zip(axes, place, strict=True)), Fraction(0))
        same = list(row[:d]) == slopes and Fraction(row[d]) == offset
        need(same, "the keys are not a product of one-dimensional keys")
    return Grid(axes, [list(column) for column in zip(*(row[d + 1 :] for row in rows), strict=True)])


# approximation


@dataclass(frozen=True)
class Component:
    """One component of the head against its formula; it is resolved only as far as the stated error asks."""

    grid: Grid
    values: list[float]
    f: Formula
    names: Sequence[str]
    stated: float
    budget: Budget

    def shown(self, box: Box) -> None:
        """Shows that |phi - f| is at most what is stated."""
        best: tuple[int, list[tuple[Box, float]]] | None = None
        fewest = MOST
        for n in DEGREES:
            each = (n + 1) ** len(box)
            cells = self.cells(box, n, fewest // each)
            if cells is not None:
                best, fewest = (n, cells), len(cells) * each
        need(best is not None, "the proof needs too many cells", 2)
        if best is not None:
            for cell, rest in best[1]:
                self.sampled(cell, rest, best[0])

    def cells(self, box: Box, n: int, most: int) -> list[tuple[Box, float]] | None:
        """At most so many cells with their remainders, which are small beside what is stated."""
        waiting, done = [box], list[tuple[Box, float]]()
        while waiting:
            if len(waiting) + len(done) > most:
                return None
            cell = waiting.pop()
            parts = self.remainders(cell, n)
            if sum(parts) <= SMALL * self.stated:
                done.append((cell, sum(parts) * 1.0001))
                continue
            k = max(range(len(parts)), key=lambda i: (parts[i], cell[i][1] - cell[i][0]))
            if INF in parts:
                k = max(range(len(parts)), key=lambda i: cell[i][1] - cell[i][0])
            (a, b), c = cell[k], middle(*cell[k])[0]
            if not a < c < b:
                raise Open
            waiting += [(*cell[:k], edge, *cell[k + 1 :]) for edge in ((a, c), (c, b))]
        return done

    def remainders(self, cell: Box, n: int) -> list[float]:
        """Lam^(k-1) r_k for each axis."""
        half = (max(self.values) - min(self.values)) / 2 * (1 + 1e-15)
        lam, found = 1 + 2 / math.pi * math.log(n + 1) * (1 + 1e-12), []
        for k in range(len(cell)):
            self.budget.spend(8 * len(self.f.steps) + len(self.grid.axes[k].slopes))
            own = half * spill(self.grid.axes[k], cell[k], n)
            found.append((own + _derivative(self.f, self.names, cell, k, n)) * lam**k * (1 + 1e-12))
        return found

    def sampled(self, cell: Box, rest: float, n: int) -> None:
        """E at the nodes of a cell, then as a polynomial."""
        d = len(cell)
        self.budget.spend((n + 1) ** d * 8 + n * sum(len(axis.slopes) for axis in self.grid.axes) + self.grid.work * n)
        points = [_nodes(ends, n + 1) for ends in cell]
        tables = [_table(self.grid, k, ends, n + 1) for k, ends in enumerate(cell)]
        head = _contracted([arb(v) for v in self.values], tables)
        errors = [phi - value for phi, value in zip(head, on_nodes(self.f, self.names, points), strict=True)]
        if not all(e.is_finite() for e in errors):
            raise Open
        low = max(down(abs(e)) for e in errors)
        need(low <= self.stated, f"false: the error exceeds {self.stated:.3e} near {_place(cell)}")
        coefficients = _contracted(errors, [_transform(n)] * d)
        coefficients, degrees, left = _trimmed(coefficients, [n] * d, SMALL * self.stated)
        _below(coefficients, degrees, self.stated - rest - up(left), self.budget)


def spill(axis: Axis, ends: Interval, n: int) -> float:
    """4 rho^-n / ((rho - 1) chi), for the best rho."""
    (_, h), spread = middle(*ends), max(axis.slopes) - min(axis.slopes)
    if spread == 0:
        return 0.0
    best = INF
    for rho in RADII:
        angle = h * (rho - 1 / rho) * spread / 4 * 1.0001
        if angle < 1.5:
            best = min(best, 4 * rho**-n / ((rho - 1) * math.cos(angle)))
    return best * (1 + 1e-6)


def _derivative(f: Formula, names: Sequence[str], cell: Box, k: int, n: int) -> float:
    """sup |d^(n+1) f/dx_k^(n+1)| h^(n+1)/((n+1)! 2^n); infinite where f may be undefined."""
    if names[k] not in f.variables:
        return 0.0
    before, ctx.cap = ctx.cap, n + 2
    try:
        spans = ranges(f, {name: Range(arb(a), arb(b)) for name, (a, b) in zip(names, cell, strict=True)})
        wide = _pure(f, spans, names, cell, k)
        top = wide[n + 1].abs_upper()
        return up(top / 2**n) if wide.prec >= n + 2 and top.is_finite() else INF
    except (Open, ValueError, ZeroDivisionError):
        return INF
    finally:
        ctx.cap = before


def _pure(f: Formula, spans: Sequence[Range | None], names: Sequence[str], cell: Box, k: int) -> Any:
    """The power series in variable k over the cell; kinks inside the cell are `Open`."""
    starts = {}
    for i, (name, ends) in enumerate(zip(names, cell, strict=True)):
        c, h = middle(*ends)
        starts[name] = [arb_series([arb(c, h), h] if i == k else [arb(c, h)])]
    return evaluate(f, spans, starts, None)[0]


def _below(coefficients: list[arb], degrees: list[int], most: float, budget: Budget) -> None:
    """Shows that |sum c T_i1(x1) .. T_id(xd)| <= most, by boxes of angles; gives up where a value is above.

    With x_k = cos t_k it is a trigonometric polynomial p of degree n_k in each angle. If P = max |p|, the inequality of
    Bernstein and Szego, p'^2 + n^2 p^2 <= n^2 P^2, says that arccos(p/P) changes by at most n_k a unit of t_k. So a
    box around a point with |p| <= most cos(sum n_k * half-width of axis k) does not hold the place of a P > most.
    """
    live = [k for k, n in enumerate(degrees) if n > 0]
    counts = [2 * max(1, len(live)) * n if n else 1 for n in degrees]
    boxes = [
        tuple((2 * j + 1) / (2 * m) for j, m in zip(place, counts, strict=True))
        for place in product(*map(range, counts))
    ]
    halves = [1 / (2 * m) for m in counts]
    budget.spend(len(boxes) // 8 + 1)
    values = _contracted(coefficients, [_fine(m, n) for m, n in zip(counts, degrees, strict=True)])
    for _ in range(12):
        turn = sum(n * half for n, half in zip(degrees, halves, strict=True)) * math.pi * (1 + 1e-12)
        level = most * math.cos(turn) * (1 - 1e-12)
        open_ = [box for box, value in zip(boxes, values, strict=True) if not abs(value) <= level]
        if not open_:
            return
        budget.spend(8 * len(open_))
        halves = [half / 2 if n else half for half, n in zip(halves, degrees, strict=True)]
        boxes, values = [], []
        for box in open_:
            sides = [(t - half, t + half) if n else (t,) for t, half, n in zip(box, halves, degrees, strict=True)]
            boxes += product(*sides)
            values += _contracted(coefficients, [_cosines(side, n) for side, n in zip(sides, degrees, strict=True)])
    need(False, f"an approximation error of {most:.4e} is less than this checker can prove", 2)


@lru_cache(maxsize=8192)
def _cosines(angles: tuple[float, ...], n: int) -> arb_mat:
    """cos(k pi t), k = 0..n, for each angle t."""
    return arb_mat([[_chebyshev(k, (arb.pi() * t).cos()) for k in range(n + 1)] for t in angles])


def _trimmed(coefficients: list[arb], degrees: list[int], most: float) -> tuple[list[arb], list[int], arb]:
    """Without the highest degrees of each axis, as far as they sum to less than `most`; and what was left out."""
    sizes, left = list(degrees), arb(0)
    for k in range(len(sizes)):
        while sizes[k] > 0:
            inner = math.prod(n + 1 for n in sizes[k + 1 :])
            top = [(i // inner) % (sizes[k] + 1) == sizes[k] for i in range(len(coefficients))]
            out = sum((abs(c) for c, last in zip(coefficients, top, strict=True) if last), arb(0))
            if not left + out < most:
                break
            left += out
            coefficients = [c for c, last in zip(coefficients, top, strict=True) if not last]
            sizes[k] -= 1
    return coefficients, sizes, left


def _place(cell: Box) -> str:
    return ", ".join(f"{(a + b) / 2:.4g}" for a, b in cell)


def _nodes(ends: Interval, count: int) -> list[arb]:
    """Chebyshev nodes in balls."""
    c, h = middle(*ends)
    return [arb(c) + arb(h) * x for x in _unit_nodes(count)]


@lru_cache(maxsize=64)
def _unit_nodes(count: int) -> list[arb]:
    return [(arb.pi() * (2 * j + 1) / (2 * count)).cos() for j in range(count)]


def _table(grid: Grid, k: int, ends: Interval, count: int) -> arb_mat:
    """Softmax weights of one axis at the nodes: (nodes, keys)."""
    key = (k, ends, count)
    if key not in grid.tables:
        rows = []
        for x in _nodes(ends, count):
            scores = [a * x + b for a, b in zip(grid.axes[k].slopes, grid.axes[k].offsets, strict=True)]
            top = max(float(s.mid()) for s in scores)
            weights = [(s - top).exp() for s in scores]
            whole = sum(weights, arb(0))
            rows.append([w / whole for w in weights])
        grid.tables[key] = arb_mat(rows)
    return grid.tables[key]


@lru_cache(maxsize=32)
def _transform(n: int) -> arb_mat:
    """From values at n + 1 Chebyshev nodes to Chebyshev coefficients: (2/(n+1)) T_k(x_j), half of it for k = 0."""
    nodes = _unit_nodes(n + 1)
    return arb_mat([[_chebyshev(k, x) * (2 if k else 1) / (n + 1) for x in nodes] for k in range(n + 1)])


@lru_cache(maxsize=256)
def _fine(m: int, n: int) -> arb_mat:
    """From n + 1 Chebyshev coefficients to values at m Chebyshev nodes."""
    return arb_mat([[_chebyshev(k, y) for k in range(n + 1)] for y in _unit_nodes(m)])


def _chebyshev(k: int, x: arb) -> arb:
    """T_k(x) by its recurrence."""
    before, now = arb(1), x
    for _ in range(k):
        before, now = now, 2 * x * now - before
    return before


def _contracted(values: Sequence[arb], tables: Sequence[arb_mat]) -> list[arb]:
    """One matrix product an axis: the first is contracted and comes back as the last."""
    entries = list(values)
    for table in tables:
        count = table.ncols()
        rest = len(entries) // count
        folded = arb_mat([entries[i * rest : (i + 1) * rest] for i in range(count)])
        entries = (folded.transpose() * table.transpose()).entries()
    return entries


def on_nodes(f: Formula, names: Sequence[str], points: Sequence[Sequence[arb]]) -> list[arb]:
    """f on a product of points, row by row; a sub-formula only once for each of its own points."""
    own: list[tuple[int, ...]] = []
    found: list[dict[tuple[int, ...], Range]] = []
    for step in f.steps:
        mine = {names.index(step.text)} if step.op == "var" else {i for kid in step.args for i in own[kid]}
        own.append(tuple(sorted(mine)))
        exponent = f.steps[step.args[1]].exact if step.op == "^" else None
        values: dict[tuple[int, ...], Range] = {}
        for place in product(*(range(len(points[i])) for i in own[-1])):
            if step.op == "var":
                values[place] = over(points[own[-1][0]][place[0]])
                continue
            at = dict(zip(own[-1], place, strict=True))
            kids = [found[kid][tuple(at[i] for i in own[kid])] for kid in step.args]
            values[place] = operate(step, kids, exponent)
        found.append(values)
    every = product(*map(range, map(len, points)))
    return [found[-1][tuple(place[i] for i in own[-1])].ball for place in every]


# rounding


def slip(grid: Grid, box: Box, fmt: Format) -> float:
    """|executed - phi| in every component, over a cell."""
    cells = [middle(a, b) if a < b else (a, 0.0) for a, b in box]
    axes = [_axis(axis, c, h) for axis, (c, h) in zip(grid.axes, cells, strict=True)]
    sizes = [[abs(a) * (abs(c) + h) for a in axis.slopes] for axis, (c, h) in zip(grid.axes, cells, strict=True)]
    weights = [min(1.0, math.prod(p) * 1.000001) for p in product(*(a[0] for a in axes))]
    centre = [math.prod(p) for p in product(*(a[1] for a in axes))]
    offsets = [abs(math.fsum(b)) for b in product(*(axis.offsets for axis in grid.axes))]
    magnitude = [math.fsum(s) + b for s, b in zip(product(*sizes), offsets, strict=True)]
    if not max(magnitude) < 1e6:
        return INF
    below = [math.fsum(p) + 1e-14 * max(magnitude) for p in product(*(a[2] for a in axes))]
    slips = [gamma(len(box) + 1, fmt.u) * m * 1.000001 + 2 * (len(box) + 1) * fmt.tiny for m in magnitude]
    worst = 0.0
    for values in grid.values:
        mean = math.fsum(w * v for w, v in zip(centre, values, strict=True))
        away = [abs(v - mean) for v in values]
        common = _turned(weights, centre, away)
        sizes_of = [abs(v) for v in values]
        gaps = [g + common for g in away]
        found = executed(Softmax(weights, slips, below, gaps, sizes_of, [0] * len(values)), fmt)
        worst = max(worst, found * (1 + 1e-6))
    return worst


def _turned(weights: Sequence[float], centre: Sequence[float], away: Sequence[float]) -> float:
    """|phi(x) - phi(c)| on a cell: keys that gain pull by their gain, and no more than that is lost by the others."""
    gains = [max(0.0, w - p) for w, p in zip(weights, centre, strict=True)]
    pulled = math.fsum(g * a for g, a in zip(gains, away, strict=True))
    lost = min(math.fsum(p * a for p, a in zip(centre, away, strict=True)), math.fsum(gains) * max(away))
    return (pulled + lost) * 1.000001 + 1e-8 * max(away)


def _axis(axis: Axis, c: float, h: float) -> tuple[list[float], list[float], list[float]]:
    """Over [c-h, c+h]: upper bounds of the weights, the weights at c, and how far scores lie below the best."""
    scores = [a * c + b for a, b in zip(axis.slopes, axis.offsets, strict=True)]
    top = max(scores)
    powers = [math.exp(max(s - top, -745.0)) for s in scores]
    whole = math.fsum(powers)
    mean = math.fsum(p * a for p, a in zip(powers, axis.slopes, strict=True)) / whole
    drifts = [abs(a - mean) * h for a in axis.slopes]
    weights = [min(1.0, p / whole * math.exp(min(d, 700.0)) * 1.000001) for p, d in zip(powers, drifts, strict=True)]
    peak = max(s + d for s, d in zip(scores, drifts, strict=True))
    return weights, [p / whole for p in powers], [peak - s + d for s, d in zip(scores, drifts, strict=True)]
