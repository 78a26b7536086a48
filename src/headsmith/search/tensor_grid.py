"""A function of several variables from one head: keys on a product of one-dimensional grids.

    score of token (i, j) = a_i x + a'_j y + (b_i + b'_j),   so   softmax_ij = softmax_i(a x + b) softmax_j(a' y + b')

The softmax factorises, so one head with P Q tokens is as accurate in each variable as a scalar head with P, or Q,
keys, and its values are solved one axis at a time. What has to be small is the product, so the keys of each axis
are optimised for all slices of the function together (shared.py), and the sizes of the axes are chosen against each
other.

Offsets are stored as multiples of one power of two, small enough in number of bits that b_i + b'_j is exact: the
stored head factorises exactly, not almost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from headsmith.proof.tensor import Axis, TensorHead
from headsmith.search.descent import Descended, penalty, solve_values
from headsmith.search.keys import Array, lines
from headsmith.search.shared import ladder
from headsmith.search.table import ROUNDOFF, best_reference

Box = Sequence[tuple[float, float]]
Function = Callable[..., Array]

CAP = {1: 1e4, 2: 1e3, 3: 300.0, 4: 100.0}
"""Largest value over max|f|, by the number of variables: larger ones save few tokens and cost the proof many cells."""
BITS = {"float64": 53, "float32": 24}
SAMPLES = {1: (32, 400), 2: (24, 160), 3: (16, 48), 4: (12, 24)}
"""Chebyshev points an axis: to begin with, and at most."""
SPARE = {1: 1, 2: 1, 3: 1, 4: 2}
"""How much closer than its share of eps an axis should come: errors of slices add up less and less favourably."""
LARGEST = 20_000
"""Tokens of one head: beyond, its scores no longer fit a batch."""


class TooRough(ValueError):
    """The function is not resolved by the samples a grid may take; `error` is what is left between them."""

    def __init__(self, reason: str, error: float = math.inf) -> None:
        super().__init__(reason)
        self.error = error


class Search:
    """Sizes and keys for f on a box, tried from the smallest product of keys upwards.

    f takes one array a variable and returns (components, ...) on their broadcast shape.
    """

    def __init__(self, f: Function, box: Box, eps: float, dtype: str = "float64") -> None:
        self.box, self.eps, self.dtype = tuple(box), eps, dtype
        self.nodes, self.samples = _resolved(f, self.box, eps)
        self.between = [_between(len(z), *ends) for z, ends in zip(self.nodes, self.box, strict=True)]
        self.checks = f(*np.meshgrid(*self.between, indexing="ij", sparse=True))
        self.size = float(np.abs(self.samples).max()) or 1.0
        unit, dims = ROUNDOFF[dtype], len(self.box)
        wanted = CAP[dims] if dtype == "float64" else 30.0
        total = max(9.0, min(wanted, eps / (300 * unit * self.size)))
        self.cap = self.size * total ** (1 / dims)
        self.ladders = [self._ladder(k) for k in range(dims)]

    def _ladder(self, k: int) -> dict[int, Descended]:
        """Keys for axis k: all slices along it, compressed to their principal directions."""
        slices = np.moveaxis(self.samples, k + 1, -1).reshape(-1, len(self.nodes[k]))
        _, sigma, rows = np.linalg.svd(slices, full_matrices=False)
        kept = min(40, max(1, int((sigma > 0.02 * self.eps).sum())))
        spread = slices.shape[0] ** -0.5 * 3  # a slice may be three times its root mean square
        y = rows[:kept] * (sigma[:kept, None] * spread)
        most = max(3, min(64, len(self.nodes[k]) // 2))
        return ladder(self.nodes[k], y, self.eps / (len(self.box) * SPARE[len(self.box)]), self.cap, most)

    def sizes(self) -> list[tuple[int, ...]]:
        """Numbers of keys an axis, fewest tokens first, without the hopeless ones."""
        ranges = [[p for p, fit in found.items() if fit.worst < 3 * self.eps] or [max(found)] for found in self.ladders]
        every = [p for p in product(*ranges) if math.prod(p) <= LARGEST]
        return sorted(every, key=lambda p: (math.prod(p), max(p)))

    def head(self, sizes: Sequence[int]) -> TensorHead:
        """The head of these sizes, as stored: keys rounded, then values solved for the rounded keys.

        The emphasis that levels the error of each axis need not level that of their product: the better one is kept.
        """
        fits = [found[p] for found, p in zip(self.ladders, sizes, strict=True)]
        axes, emphases = self._axes(fits), [fit.emphasis for fit in fits]
        level = self._solved(axes, emphases)
        if all(e is None for e in emphases):
            return level
        return min((level, self._solved(axes, [None] * len(axes))), key=self.error)

    def _axes(self, fits: Sequence[Descended]) -> list[Axis]:
        calm = [best_reference(fit.keys, fit.values, fit.z, fit.reference) for fit in fits]
        keys = [lines(fit.keys, reference) for fit, reference in zip(fits, calm, strict=True)]
        largest = sum(float(np.abs(b).max()) for _, b in keys) or 1.0
        quantum = 2.0 ** (math.ceil(math.log2(largest)) + 1 - BITS[self.dtype])
        rounded = [np.round(b / quantum) * quantum for _, b in keys]
        starts = [b[0] for b in rounded[1:]]  # the first axis carries the common offset: one way to write each head
        offsets = [rounded[0] + sum(starts), *(b - start for b, start in zip(rounded[1:], starts, strict=True))]
        return [Axis(_cast(a, self.dtype), b) for (a, _), b in zip(keys, offsets, strict=True)]

    def _solved(self, axes: Sequence[Axis], emphases: Sequence[Array | None]) -> TensorHead:
        values = self.samples
        for k, (axis, z, emphasis) in enumerate(zip(axes, self.nodes, emphases, strict=True)):
            along = np.moveaxis(values, k + 1, -1)
            lam = penalty(self.eps, self.cap, len(z), len(axis))
            solved, _ = solve_values(axis.weights(z).T, along.reshape(-1, len(z)), lam, emphasis)
            values = np.moveaxis(solved.reshape(*along.shape[:-1], len(axis)), -1, k + 1)
        return TensorHead(tuple(axes), _cast(np.moveaxis(values, 0, -1), self.dtype))

    def error(self, head: TensorHead) -> float:
        """The largest error half-way between the fitted points, and at the ends."""
        return float(np.abs(head.grid(self.between) - self.checks).max())

    def find(self, aim: float) -> TensorHead | None:
        """The smallest head whose sampled error is at most `aim`, or None."""
        for sizes in self.sizes():
            if sum(found[p].worst for found, p in zip(self.ladders, sizes, strict=True)) > 4 * aim:
                continue
            head = self.head(sizes)
            if self.error(head) <= aim:
                return head
        return None

    def best(self) -> TensorHead:
        """The largest head of the ladders: what a refusal measures."""
        return self.head([max(found) for found in self.ladders])


def _resolved(f: Function, box: Box, eps: float) -> tuple[list[Array], Array]:
    """Chebyshev points an axis, enough of them that the last coefficients of f are far below eps, and f there."""
    first, most = SAMPLES[len(box)]
    counts = [first] * len(box)
    while True:
        nodes = [
            (hi + lo) / 2 + (hi - lo) / 2 * np.cos((np.arange(m) + 0.5) * np.pi / m)
            for m, (lo, hi) in zip(counts, box, strict=True)
        ]
        values = f(*np.meshgrid(*nodes, indexing="ij", sparse=True))
        if not np.isfinite(values).all():
            raise TooRough("it is not finite everywhere on the domain")
        tails = [_tail(values, k + 1) for k in range(len(box))]
        rough = [t > max(0.03 * eps, 1e-14 * float(np.abs(values).max())) for t in tails]
        if not any(rough):
            return nodes, values
        if any(r and m >= most for r, m in zip(rough, counts, strict=True)):
            raise TooRough(f"{most} samples an axis leave it unresolved by {max(tails):.1g}", max(tails))
        counts = [min(most, math.ceil(1.5 * m)) if r else m for m, r in zip(counts, rough, strict=True)]


def _between(count: int, lo: float, hi: float) -> Array:
    """The extrema of T_count on [lo, hi]: between the Chebyshev points, and the ends."""
    return np.clip((hi + lo) / 2 + (hi - lo) / 2 * np.cos(np.arange(count + 1) * np.pi / count), lo, hi)


def _tail(values: Array, axis: int) -> float:
    """The largest of the last three Chebyshev coefficients along an axis."""
    m = values.shape[axis]
    k = np.arange(m - 3, m)
    matrix = 2 / m * np.cos(k[:, None] * (np.arange(m) + 0.5) * np.pi / m)
    return float(np.abs(np.tensordot(matrix, values, (1, axis))).max())


def _cast(x: Array, dtype: str) -> Array:
    return x.astype(dtype).astype(np.float64)


def cost(f: Function, box: Box, eps: float) -> int:
    """How many tokens a grid would take for any number of variables: the keys of each axis, from a few slices
    along it.
    """
    rng = np.random.default_rng(0)
    others = [[lo + (hi - lo) * t for lo, hi in box] for t in (*rng.uniform(0, 1, 6), 0.0, 0.5, 1.0)]
    tokens = 1
    for k, interval in enumerate(box):

        def slices(z: Array, k: int = k) -> Array:
            points = [[z if i == k else np.full_like(z, x) for i, x in enumerate(other)] for other in others]
            return np.concatenate([f(*point) for point in points])

        search = Search(slices, [interval], eps)
        tokens *= max(search.ladders[0])
    return tokens
