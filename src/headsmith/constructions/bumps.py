"""The paper's sequence networks with every weight written out: bumps on a grid of cells, then attention that picks one.

softmax-universality, Lemmas 3.11, 3.12, 3.13, Thm 3.14, Cor 3.15. X has entries in [mid - B, mid + B]; g cells an
axis; s = g (X_ti - v_ti)/B in the cell with centre v.

    layer 1   R_v = sum over entries of Range_[0,1] of a rising and of a falling ramp in s      2 d heads a cell
    layer 2   softmax over cells of beta2 R R', values f(v); all queries find the same cell     averaged over them

    printed        ramps s/delta, -s/delta (the bias 1/delta is missing), and W_O = 1, which sums g^(dn) equal columns
    core           ramps (s+1)/delta, (1-s)/delta: right inside the cells, averages a line at their walls (L_p only)
    straddling     ramps (s+1+delta)/(2 delta), (1+delta-s)/(2 delta): they meet at the wall, so the sup norm converges

With straddling ramps the best cell has R at least 1/2 above any cell with some |s| >= 1 + delta: each entry gives
the best cell 3/2 or more and never less than another, and gives that one 1. So the repaired network has a sup-norm
theorem: with e the error of the sums R, L the Lipschitz constant of f in the largest entry, and the values v off by o,

    |net - f| <= L (1 + delta) B/g + o + osc(v) g^(dn) exp(-beta (dn - e) (1/2 - 2 e))

(without the factor dn - e for the softmax reader). Rounding of the first layer is part of e, as a perturbation of
Range, which is 1-Lipschitz; rounding of the second is at most (4 g^(dn) + 40) u max|v|, and 4u of its scores.

As printed the cell may be a wrong one, and what is left holds of any weights: each output is between N min v and
N max v, N = g^(dn) or, averaged, 1, and f between min v - (L B/g + o) and max v + (L B/g + o); their largest difference
is proved, and is above eps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headsmith.constructions.assemble import table_layer, table_rows
from headsmith.constructions.design import Altered, Design, Tally, many
from headsmith.functions import parse, precision
from headsmith.functions.balls import ceil_float
from headsmith.network import Affine, Attention, Dense, Network, Select, Sparse, TokenMix
from headsmith.proof.approximation import prove
from headsmith.proof.certificate import Bound
from headsmith.proof.domain import Domain
from headsmith.proof.rounding import Format, gamma, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.proof.steepness import steepness
from headsmith.proof.tensor_samples import NOISE, refuse_contradicted
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

SHARPNESS = 5.43  # beta dL^2 at which a head of anchors follows Range within 0.0615 dL
METHODS = {"bumps": "Thm 3.14, repaired", "softmax": "Cor 3.15, repaired", "printed": "Thm 3.14 as printed"}
SCALAR = {"bumps": "Lemma 3.12, repaired", "softmax": "Lemma 3.13, repaired", "printed": "Lemma 3.12 as printed"}
LARGEST = 1024
"""Cells: the second layer compares all pairs of them."""
DELTA = 0.25


@dataclass(frozen=True)
class Bumps:
    """The sizes of a bump network: g cells an axis on [mid - half, mid + half], ramps of width delta."""

    tokens: int
    features: int
    g: int
    mid: float
    half: float
    delta: float
    beta: float
    anchors: int = 2
    ramps: str = "straddling"
    reader: str = "attention"
    average: bool = True

    @property
    def entries(self) -> int:
        return self.tokens * self.features

    @property
    def cells(self) -> int:
        return self.g**self.entries

    @property
    def heads(self) -> int:
        return 2 * self.features * self.cells

    def centres(self) -> np.ndarray:
        """(cells, tokens, features)."""
        line = self.mid + self.half * (2 * np.arange(self.g) + 1 - self.g) / self.g
        return np.array(list(product(line, repeat=self.entries))).reshape(-1, self.tokens, self.features)

    def range_head(self) -> Head:
        """Range_[0,1] from evenly spaced anchors, both ends among them."""
        places = np.linspace(0.0, 1.0, self.anchors)
        beta = SHARPNESS * (self.anchors - 1) ** 2 if self.anchors > 2 else 40.0
        return Head.table(beta * places, -beta * places**2 / 2, places)

    def ramp(self) -> tuple[float, float]:
        """(slope in s, bias): the rising ramp is slope s + bias, the falling one -slope s + bias."""
        if self.ramps == "straddling":
            return 1 / (2 * self.delta), (1 + self.delta) / (2 * self.delta)
        return 1 / self.delta, (1 / self.delta if self.ramps == "core" else 0.0)


@dataclass(frozen=True, eq=False)
class Cells(Design):
    """A bump on each cell and a value for each: f at its centre, as near as the dtype holds it."""

    name, serves = "cells", "sequence"
    bumps: Bumps
    values: np.ndarray  # (cells, tokens, features), or (cells, 1, 1) of a scalar map

    @property
    def tally(self) -> Tally:
        return Tally(self.bumps.anchors, self.bumps.heads + 1, layers=2)

    @property
    def printed(self) -> bool:
        """Whether it is the paper's own, of which nothing can be proved."""
        return self.bumps.ramps == "printed"

    @property
    def promises(self) -> bool:
        return not self.printed

    def method(self, target: Any) -> str:
        word = "printed" if self.printed else "softmax" if self.bumps.reader == "softmax" else "bumps"
        return f"{(SCALAR if target.scalar else METHODS)[word]}: bumps on a grid of cells"

    def size(self) -> str:
        """g^(dn) = 6^2 = 36 cells, 72 heads in layer 1."""
        b = self.bumps
        return f"g^(dn) = {b.g}^{b.entries} = {many(b.cells, 'cell')}, {many(b.heads, 'head')} in layer 1"

    def network(self, target: Any, dtype: str) -> Network:
        return bump_network(self.bumps, self.values, getattr(torch, dtype))

    def prove(self, target: Any, request: Request) -> Bound:
        """The theorem; of the printed network what holds whichever cells are picked."""
        half = slope_of(target, request.domain) * self.bumps.half / self.bumps.g
        kind = "conditional" if target.code else "proved"
        if self.printed:
            return Bound(*anyhow(self.bumps, self.values, half + self._off(target), request.format), kind=kind)
        sharp, rounding = leak(self.bumps, self.values, request.format)
        walls = half * (1 + self.bumps.delta)
        return Bound((walls + self._off(target) + sharp) * (1 + 1e-12), rounding, kind=kind)

    def _off(self, target: Any) -> float:
        """max |value - f| at the centres."""
        centres = self.bumps.centres()
        if not target.code:
            with precision(96):
                truth = [ball for centre in centres.tolist() for ball in target.exact(centre)]
                return max(ceil_float(abs(y - v)) for y, v in zip(truth, self.values.ravel().tolist(), strict=True))
        b, found = self.bumps, target.evaluate(*centres.reshape(self.bumps.cells, -1).T)
        refuse_contradicted(found.reshape(-1, *[b.g] * b.entries), [np.unique(centres)] * b.entries, target.lipschitz)
        off = np.abs(self.values.reshape(b.cells, -1).T - found)
        return float(off.max()) + NOISE * float(np.abs(found).max())

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Cells:
        table: Any = network.layers["spread"].bias
        cells, entries = len(table), target.tokens * target.features
        g, anchors = round(cells ** (1 / entries)), int(network.layers["ramps"].memory_tokens)  # type: ignore[arg-type]
        bumps = replace(_bumps(target, request, g), anchors=anchors, beta=float(network.layers["pick"].scale))  # type: ignore[arg-type]
        if bumps.cells != cells or min(anchors - 1, bumps.beta) <= 0:
            raise Altered("the stored cells are no grid")
        return cls(bumps, table[:, 2:].double().numpy().reshape(cells, *target.shape))


def bumps_for(target: Any, request: Request) -> Iterator[Cells]:
    """The grid that the theorem asks for; refuses, with an eps that fits, where it is too large."""
    entries, need = target.tokens * target.features, _need(target, request.domain)
    if need == math.inf:
        raise Refusal(
            f"the slope of {target} could not be bounded for {request.domain}: no grid of cells is fine enough"
        )
    g = max(2, math.ceil(need / request.eps))
    if g**entries > LARGEST:
        had = finest(target, request.domain)
        raise Refusal(
            f"bumps within {number(request.eps)} need g^(dn) = {g}^{entries} cells and as many memory tokens: at most "
            f"{LARGEST} fit; eps = {upper(had)} can be had, and method='auto' needs far fewer where f is smooth"
        )
    bumps = _bumps(target, request, g)
    values = target.evaluate(*bumps.centres().reshape(bumps.cells, -1).T).T
    values = values.reshape(-1, *target.shape).astype(request.dtype).astype(np.float64) + 0.0
    if request.method != "printed":
        needed = math.log(bumps.cells * (float(np.ptp(values)) + 1e-300) / (0.02 * request.eps) + 2)
        bumps = replace(bumps, beta=needed / (0.4 * (0.9 * entries if bumps.reader == "attention" else 1.0)))
    yield Cells(bumps, values)


def _need(target: Any, domain: Domain) -> float:
    """eps g, for the grid that the theorem asks for: L (1 + delta) B, with a tenth left to the rest."""
    lo, hi = domain["X"]
    return slope_of(target, domain) * (1 + DELTA) * (hi - lo) / 2 / 0.9


def finest(target: Any, domain: Domain) -> float:
    """The least eps that the largest grid has."""
    return 1.01 * _need(target, domain) / int((LARGEST + 0.5) ** (1 / (target.tokens * target.features)))


def _bumps(target: Any, request: Request, g: int) -> Bumps:
    """The sizes that follow from what is asked, for g cells an axis."""
    lo, hi = request.domain["X"]
    common = Bumps(target.tokens, target.features, g, (lo + hi) / 2, (hi - lo) / 2, DELTA, 1.0)
    if request.method == "printed":
        return replace(common, delta=0.1, beta=30.0, ramps="printed", average=False)
    if request.method not in METHODS:
        raise Altered(f"method {request.method!r} makes no bumps")
    reader = "softmax" if request.method == "softmax" else "attention"
    return replace(common, anchors=1 + 4 * common.entries, reader=reader)


@lru_cache(maxsize=8)
def slope_of(target: Any, domain: Domain) -> float:
    """L with |f(X) - f(Y)| <= L max|X - Y|: proved for formulas, the user's for code."""
    return target.lipschitz if target.code else steepness(target.f, target.variables, target.box(domain))


def leak(bumps: Bumps, values: np.ndarray, fmt: Format) -> tuple[float, float]:
    """(what other cells add to the values near the best one, rounding) of a straddling network; infinite when the
    sums are not sharp enough to tell cells apart.
    """
    n = bumps.entries
    slope, bias = bumps.ramp()
    reach = slope * 2 * bumps.g + bias
    part = Part("z", "r", parse("clip(z, 0, 1)"), (-reach, reach), (bumps.range_head().cast(fmt.name),))
    own = prove(part, 1e-4, (0.0, 1.0)).bound + prove_rounding(part, fmt, 1e-4).bound
    terms = slope * bumps.g / bumps.half * (abs(bumps.mid) + bumps.half) * 2 + bias
    shift = gamma(bumps.tokens + 6, fmt.unit) * terms
    e = 2 * n * (own + shift) + gamma(2 * n + 2, fmt.unit) * (2 * n + 1)
    gap, weight = 0.5 - 2 * e, (n - e if bumps.reader == "attention" else 1.0)
    largest = bumps.beta * (2 * n + e) * (2 * n + e if bumps.reader == "attention" else 1.0)
    spread, size = float(np.ptp(values.reshape(len(values), -1), axis=0).max()), float(np.abs(values).max())
    if gap <= 0 or weight <= 0:
        return math.inf, 0.0
    rest = bumps.cells * math.exp(-bumps.beta * weight * gap + 8 * fmt.unit * largest)
    return spread * rest, (4 * bumps.cells + 40) * fmt.unit * size


def anyhow(bumps: Bumps, values: np.ndarray, around: float, fmt: Format) -> tuple[float, float]:
    """(how far f can be from any sum of weighted means of the values, rounding), f within `around` of their range."""
    times = 1 if bumps.average else bumps.cells
    columns = values.reshape(len(values), -1)
    low, high, most = columns.min(0), columns.max(0), float(np.abs(values).max())
    apart = float(np.maximum(times * high - low, high - times * low).max())
    rounding = (4 * bumps.cells + 40) * fmt.unit * times * most
    return (apart + around) * (1 + 1e-12), rounding


def bump_network(bumps: Bumps, values: np.ndarray, dtype: torch.dtype = torch.float64) -> Network:
    """values (cells, tokens, features): f at the centres; fewer for a map into fewer numbers."""
    n, d, cells = bumps.tokens, bumps.features, bumps.cells
    slope, bias = bumps.ramp()
    names = [*(f"x.{i}" for i in range(d)), *(f"position.{t}" for t in range(n)), "one"]
    first = len(names)
    names += [*(f"cell.{j}" for j in range(cells)), "slope", "offset", "value"]
    width = len(names)
    lifted = torch.zeros(n, width, dtype=torch.float64)
    lifted[:, d : d + n] = torch.eye(n)
    lifted[:, first - 1] = 1.0
    index, coefficient, written = [], [], []
    scale = bumps.g / bumps.half
    for j, centre in enumerate(bumps.centres()):
        for i in range(d):
            for sign in (1.0, -1.0):
                index.append([[i, *range(d, d + n)], [first - 1] * (n + 1)])
                offsets = [bias - sign * slope * scale * float(v) for v in centre[:, i]]
                coefficient.append([[sign * slope * scale, *offsets], [1.0, *[0.0] * n]])
                written.append([first + j])
    query = Sparse(index, torch.tensor(coefficient, dtype=torch.float64).to(dtype), width)
    rows, columns = values.shape[1:]
    count = rows * columns
    table = torch.zeros(cells, 2 + count, dtype=torch.float64)
    table[:, 1] = 1.0
    table[:, 2:] = torch.tensor(values.reshape(cells, count))
    spread = Affine(
        Select([[first + j, *[-1] * (1 + count)] for j in range(cells)], width), table.to(dtype), [0] * cells
    )
    outputs = [*range(2, 2 + count)]
    read = Attention(
        Select([[0 if bumps.reader == "attention" else 1]], 2 + count),
        Select([[0]], 2 + count),
        Select([outputs], 2 + count),
        Select.writing([[*range(count)]], count),
        visible="all",
        scale=bumps.beta,
    )
    share = 1 / cells if bumps.average else 1.0
    layers = {
        "lift": Affine(Select([*range(d), *[-1] * (width - d)], features=d), lifted.to(dtype), range(n)),
        "ramps": table_layer(query, table_rows(bumps.range_head()), 1, Select.writing(written, width), dtype),
        "sum": TokenMix(Dense(torch.ones(1, n, dtype=dtype))),
        "spread": spread,
        "pick": read,
        "mix": TokenMix(Dense(torch.full((1, cells), share, dtype=dtype))),
        "part": Affine(
            Select([[t * columns + i for i in range(columns)] for t in range(rows)], count), None, [0] * rows
        ),
    }
    return Network(layers, tokens=[f"token.{t}" for t in range(n)], features=names)
