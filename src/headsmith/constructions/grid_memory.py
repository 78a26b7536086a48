"""A permutation-equivariant map by steps, one softmax head of rank 1 and a table (low-rank-memorization, Prop. 1).

    steps       each entry of X falls into one of D cells: rank and key of the cell                  ReLU, a table
    head        H = q + o z,  z = softmax mean of the keys: an id of (token, multiset of tokens)     rank 1
    table       id of token k -> row k of f at the centres of the cells                              ReLU, a table

Let g(X) be row by row what the table holds for the cell of X. Off the ramps the network is g, whatever the order of the
tokens; multisets cover the cells with equal tokens too, which the paper drops. On a ramp both lie between the smallest
and the largest number of the table. So over a box of side W, with n tokens of d features, in the norm of L^2,

    |network - f| <= |network - g| + |g - f| <= R + A + rho,
    A^2 = L^2 n W^(nd - 1) sum over features and cells of int (x - c)^2 dx,   rho: what is stored against f(centres)
    R^2 = n W^(nd - 1) (total width of the ramps) n sum_k (range of column k)^2

Ranks and keys of the cells are ours: ranks are ordered, and keys are random numbers, so that sums of keys are not equal
by accident.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headsmith.constructions.design import Altered, Design, Short, Tally, many
from headsmith.constructions.rank_one import Steps, ramps, rank_one_layer, stored_head, stored_steps
from headsmith.functions.asked import ULPS
from headsmith.network import Affine, Layer, Network, Select
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import Bound
from headsmith.proof.context_ids import RankOne, enclosed
from headsmith.proof.rounding import INFLATE, Format
from headsmith.proof.statement import Floats
from headsmith.search.context_keys import context_keys
from headsmith.search.separation import LEAST, Axes, Occurrences, power_of_two, separated

if TYPE_CHECKING:
    from headsmith.compiler.request import Request
    from headsmith.targets.equivariant import EquivariantMap

MOST = 250_000  # tokens of all multisets together
SHARE = 0.02  # of eps, for the ramps
RAMPS = 4  # ramps that would fit into a cell, at least
FINE = 2.0**-20  # the grid of keys and ranks: differences and sums of two are numbers of float32


@dataclass(frozen=True, eq=False)
class Staircase:
    """Staircase of an interval: where each ramp between two of them begins, their slope, and (rank, key) of each cell.

    >>> cells = Staircase.of((0.0, 1.0), 4, 2.0**20, np.random.default_rng(0))
    >>> cells.left.tolist(), cells.marks[:, 0].tolist(), cells.centres((0.0, 1.0)).tolist()
    ([0.25, 0.5, 0.75], [0.0, 0.25, 0.5, 0.75], [0.125, 0.375, 0.625, 0.875])
    """

    left: Floats
    slope: Floats
    marks: Floats

    @classmethod
    def of(cls, ends: tuple[float, float], count: int, slope: float, generator: np.random.Generator) -> Staircase:
        """Equal cells up to the width of a ramp, ranks from 0 below 1, and random keys."""
        left = np.round(np.linspace(*ends, count + 1)[1:-1] * slope) / slope
        step = power_of_two(1 / count)
        keys = np.round(generator.uniform(-1, 1, count) / FINE) * FINE + 0.0
        return cls(left, np.full(count - 1, slope), np.stack([np.arange(count) * step, keys], 1))

    @property
    def steps(self) -> Steps:
        """The table that tells rank and key of the cell of an entry."""
        return Steps(self.left, self.slope, self.marks, np.zeros(self.marks.shape[1]))

    def edges(self, ends: tuple[float, float]) -> Floats:
        """Where cells begin, and where the last one ends."""
        return np.array([ends[0], *self.left, ends[1]])

    def centres(self, ends: tuple[float, float]) -> Floats:
        """The middle of each cell."""
        edges = self.edges(ends)
        return edges[:-1] / 2 + edges[1:] / 2

    def check(self, ends: tuple[float, float], dtype: str) -> None:
        """Behind its ramp an entry has the marks of its cell, to the bit.

        Ramps begin and end at floats, so no more real numbers than their width are nearest to a float inside.
        """
        beyond = self.left + 1 / self.slope
        kept = all(np.array_equal(part.astype(dtype).astype(np.float64), part) for part in (self.left, beyond))
        kept = kept and np.array_equal(beyond - self.left, 1 / self.slope)
        if not kept or not (np.frexp(self.slope)[0] == 0.5).all():
            raise Unprovable("a ramp does not begin and end at a float, or its slope is no power of two")
        if not (np.array([ends[0], *beyond]) <= [*self.left, ends[1]]).all():
            raise Unprovable("the ramps between cells are not in order, each full before the next begins")
        marks = self.marks.astype(dtype)
        if not np.array_equal(marks[:-1] + (marks[1:] - marks[:-1]), marks[1:]):
            raise Unprovable("the marks of neighbouring cells are not exact sums")


@dataclass(frozen=True, eq=False)
class GridMemory(Design):
    """Steps for each feature, the five directions of the head, and the table of f."""

    name, serves = "grid memory", "equivariant"
    tally = Tally(keys=0, heads=1, layers=1)  # no key is stored: the tokens are the keys
    tokens: int
    cells: tuple[Staircase, ...]
    head: RankOne
    steps: Steps

    @classmethod
    def of(cls, target: EquivariantMap, request: Request, count: int) -> GridMemory:
        """`count` cells an axis."""
        slope = _slope(target, request, count)
        kinds = multisets(count**target.features, target.tokens)
        lengths = np.full(len(kinds), target.tokens)
        codes = context_keys(kinds.reshape(-1), lengths)

        def cells(i: int) -> tuple[Staircase, ...]:
            generator = np.random.default_rng(i)
            return tuple(Staircase.of(request.domain["X"], count, slope, generator) for _ in range(target.features))

        def draw(i: int) -> tuple[Occurrences, Axes]:
            return Occurrences(marked(cells(i), kinds), lengths, codes), _axes(target.features, count)

        draft = separated(draw, request.format)
        if draft.margin < LEAST:
            raise Short(f"{request.dtype} cannot tell the {codes.max() + 1} contexts of {count} cells an axis apart")
        found = cells(draft.draw)
        levels = _values(target, found, kinds, request).astype(request.dtype).astype(np.float64)
        steps = ramps(draft.ids, codes, levels, np.zeros(target.features), request.dtype)
        return cls(target.tokens, found, draft.head, steps)

    @property
    def count(self) -> int:
        """Staircase an axis."""
        return len(self.cells[0].marks)

    def method(self, target: EquivariantMap) -> str:
        return f"{self.count} cells an axis, one softmax head of rank 1, a table of {len(self.steps.levels)} contexts"

    def size(self) -> str:
        units = sum(c.steps.units for c in self.cells) + self.steps.units
        return f"1 head of rank 1, {many(units, 'hidden unit')}, width {self._width}"

    @property
    def _width(self) -> int:
        return 4 * len(self.cells)

    def rows(self, target: EquivariantMap) -> list[tuple[str, str]]:
        tables = sum(c.steps.numbers for c in self.cells) + self.steps.numbers
        return [("parameters", f"{tables + 10 * len(self.cells)}, tables being stored as such")]

    def network(self, target: EquivariantMap, dtype: str) -> Network:
        """Lift, steps feature by feature, one attention layer, the table, read. Features: x, marks, y."""
        kind, d, width = getattr(torch, dtype), len(self.cells), self._width
        layers: dict[str, Layer] = {"lift": Affine(Select([*range(d), *[-1] * (width - d)], d))}
        for c, cells in enumerate(self.cells):
            layers[f"steps{c}"] = cells.steps.layer(np.eye(width)[c], kind, d + 2 * c)
        layers["attend"] = rank_one_layer(_padded(self.head, d, width), kind)
        layers["recall"] = self.steps.layer(_padded(self.head, d, width).read, kind, 3 * d)
        layers["read"] = Affine(Select([*range(3 * d, 4 * d)], width))
        n = self.tokens
        return Network(
            layers,
            tokens=[f"token.{i}" for i in range(n)],
            features=[f"{name}.{c}" for name in ("x", "mark", "y") for c in range(2 * d if name == "mark" else d)],
            variables={
                "cell": (f"steps{d - 1}", slice(0, n), slice(d, 3 * d)),
                "y": ("recall", slice(0, n), slice(3 * d, 4 * d)),
            },
        )

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> GridMemory:
        d, layers = target.features, network.layers
        head = stored_head(layers["attend"], layers["recall"])
        parts = (getattr(head, name) for name in RankOne.__dataclass_fields__)
        cut = RankOne(*(part[d : 3 * d] for part in parts))
        steps = [stored_steps(layers[f"steps{c}"]) for c in range(d)]
        cells = tuple(Staircase(s.left, s.slope, s.levels) for s in steps)
        return cls(target.tokens, cells, cut, stored_steps(layers["recall"]))

    def prove(self, target: EquivariantMap, request: Request) -> Bound:
        """The L2 error over the box, if f is equivariant and has the constant that it comes with."""
        ends = request.domain["X"]
        for cells in self.cells:
            cells.check(ends, request.dtype)
        shape = self.tokens, len(self.cells), self.steps.levels.shape[1], {len(cells.marks) for cells in self.cells}
        if shape != (target.tokens, target.features, target.features, {self.count}):
            raise Altered("the network has another shape than the map")
        kinds = multisets(self.count**target.features, self.tokens)
        lengths = np.full(len(kinds), self.tokens)
        found = enclosed(marked(self.cells, kinds), self.head, lengths, False, request.format)
        values = _values(target, self.cells, kinds, request)
        stored, certain = self.steps.recalled(found, self.head.read, request.dtype)
        if not certain.all():
            raise Unprovable(f"the table does not tell all contexts of {self.count} cells an axis apart")
        size = float(np.abs(self.steps.levels).max())  # a level is low + (high - low), with two roundings
        asked = float(np.abs(stored - values).max()) + ULPS * 2.0**-52 * float(np.abs(values).max())
        return self._bound(target, request, asked + 4 * request.format.unit * size)

    def _bound(self, target: EquivariantMap, request: Request, gap: float) -> Bound:
        """A + R, and rho, which rounding is part of."""
        ends, n, d = request.domain["X"], target.tokens, target.features
        side = ends[1] - ends[0]
        across = n * side ** (n * d - 1)
        moments = sum(_moment(cells, ends, _nearest(ends, request.format)) for cells in self.cells)
        ramp = sum(float((1 / cells.slope).sum()) for cells in self.cells)
        ranges = float((np.ptp(self.steps.levels, axis=0) ** 2).sum())
        near, far = target.lipschitz * math.sqrt(across * moments), math.sqrt(across * ramp * n * ranges)
        stored = gap * math.sqrt(n * d * side ** (n * d))
        return Bound((near + far) * INFLATE, stored * INFLATE, kind="conditional", norm=target.norm)


def _nearest(ends: tuple[float, float], fmt: Format) -> float:
    """How far a real number of the domain can be from the nearest float."""
    return fmt.unit * max(map(abs, ends)) + fmt.tiny


def _moment(cells: Staircase, ends: tuple[float, float], slip: float) -> float:
    """Sum over the cells of the integral of (x - c)^2, over all x whose nearest float is in the cell of c.

    An edge belongs to the cell below it: x may lie beyond the upper edge, and never below the lower one.
    """
    edges, centres = cells.edges(ends), cells.centres(ends)
    return float(((centres - edges[:-1]) ** 3 + (edges[1:] - centres + slip) ** 3).sum() / 3)


def _slope(target: EquivariantMap, request: Request, count: int) -> float:
    """Of all ramps: so steep that they take a small share of eps, as far as floats allow."""
    ends, n, d = request.domain["X"], target.tokens, target.features
    side = ends[1] - ends[0]
    volume = n * d * side ** (n * d - 1) * (count - 1)
    high = target.lipschitz * side * n * d
    width = min(side / count / RAMPS, max(_spacing(request), (SHARE * request.eps / max(high, 1e-300)) ** 2 / volume))
    return 1 / power_of_two(width)


def _spacing(request: Request) -> float:
    """Of the floats at the far end of the domain."""
    return 2 * request.format.unit * power_of_two(max(map(abs, request.domain["X"])))


def finest(request: Request) -> int:
    """So many cells an axis are wide enough for ramps between floats."""
    lo, hi = request.domain["X"]
    return int((hi - lo) / (RAMPS * _spacing(request)))


def multisets(kinds: int, size: int) -> np.ndarray:
    """(multisets, size): every multiset of so many kinds, in order.

    >>> multisets(2, 2).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    found = list(combinations_with_replacement(range(kinds), size))
    return np.array(found, dtype=np.int64).reshape(-1, size)


def marked(cells: tuple[Staircase, ...], kinds: np.ndarray) -> Floats:
    """(positions, 2 features): rank and key of each entry; a token of kind k has cell (k // D^c) mod D in feature c."""
    count = len(cells[0].marks)
    places = (kinds.reshape(-1) // count**c % count for c in range(len(cells)))
    return np.concatenate([c.marks[at] for c, at in zip(cells, places, strict=True)], axis=1)


def _values(target: EquivariantMap, cells: tuple[Staircase, ...], kinds: np.ndarray, request: Request) -> Floats:
    """(positions, features): f at the centres of all multisets of cells."""
    count, ends = len(cells[0].marks), request.domain["X"]
    places = (kinds // count**c % count for c in range(len(cells)))
    centres = np.stack([c.centres(ends)[at] for c, at in zip(cells, places, strict=True)], axis=-1)
    return target.values(centres).reshape(-1, target.features)


def _axes(features: int, count: int) -> Axes:
    """Ranks are read as digits of one number, keys are added."""
    read, key = np.zeros(2 * features), np.zeros(2 * features)
    read[::2] = power_of_two(1 / count) ** np.arange(features)
    key[1::2] = 1.0
    return read, key, key


def _padded(head: RankOne, first: int, width: int) -> RankOne:
    """The directions among all features."""
    parts = [np.zeros(width) for _ in range(5)]
    for part, name in zip(parts, RankOne.__dataclass_fields__, strict=True):
        part[first : first + len(head.read)] = getattr(head, name)
    return RankOne(*parts)
