"""One step of gradient descent by softmax attention alone (in place of Transformers are Deep Optimizers, Thm 6).

    forward j    z(j) = V_j p(j-1)                 a head of copies for each unit (`multiplying`)
                 p(j) = r(z(j)), and its slope     MLP; of smooth activations softmax heads, as in `smooth_units`
    loss         q = loss'(p(N), y)                MLP
    backward j   q(j) = V_{j+1}' delta(j+1)        a head of copies for each unit, delta = r' q by the gate of an MLP;
                                                   of smooth activations the slope is the third factor of that head
    outer        a(j) = delta(j) p(j-1)'           a head of copies for each unit
    descend      w <- w - rate mean a              one softmax head over all tokens
    clean        w <- box(w), scratch <- 0         MLP

2 N + 1 blocks of attention and MLP a step for activations with kinks. Every token holds all weights (`softmax_sheet`),
so that V p is a product of numbers of one token. Who is absent scores -LOCK and has no attention at all, the query
among them; the others score `ask`, and one stored token of zeros scores 0. So a sample has the share
rate / (C count), and its value is -C (a + decay w): masks, mini-batches, rate and weight decay are this one softmax.

The paper's Theorem 6 has the same claim for a look-up table of 10^153 entries (E13). Nothing here is an element-wise
multiplication layer; what is no layer of a stock transformer is that a token attends to stored multiples of itself.

What is proved. A product of numbers up to R is off by what is proved of the one table that all heads share, which is
rounding but for 1e-16 R. R is 16 times the largest number of the data, and each number that a head multiplies is held
to it. Gates and smooth units are those of the compact form, whose proof this is (`proof.perturbation`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headsmith.constructions.design import Tally
from headsmith.constructions.training.compact import losses, squash, stored_tables, units_of
from headsmith.constructions.training.form import Form, Plan, Snapshots, Variable
from headsmith.constructions.training.multiplying import STEPS, Factors, multiply, slip
from headsmith.constructions.training.printed_training import cleaning
from headsmith.constructions.training.softmax_sheet import SoftmaxSheet, above
from headsmith.functions.smooth import SMOOTH, Smooth
from headsmith.network import Attention, Layer, Network, Select
from headsmith.network.hidden import heads, mlp
from headsmith.proof.perturbation import LOCK, Counts, Law, Pass
from headsmith.proof.products import Products
from headsmith.proof.statement import Head
from headsmith.records.shown import exactly, upper
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

WIDER = 16  # times the largest number of the data is what a head multiplies
ENDS = (2.0**-20, LOCK)  # ends of R: both formats hold its table, and no gate shuts out numbers beyond LOCK


@dataclass(frozen=True, eq=False)
class SoftmaxTraining(Form):
    """2 N + 1 blocks a step for activations with kinks; `limit` is R, a power of two."""

    name, asked, plain = "softmax training", "softmax", "plain gradient descent"
    steps: int
    units: tuple[int, ...]
    limit: float
    sizes: tuple[int, int]  # attention layers and heads of a step
    tables: tuple[Head, ...] = ()  # those of the activation

    @property
    def tally(self) -> Tally:
        layers, heads = self.sizes
        keys = 2 * STEPS + 1 + sum(table.keys for table in self.tables)
        return Tally(keys, heads, layers * self.steps + len(self.units))

    def method(self, target: Any) -> str:
        table = "".join(f", a table of {part.keys} keys" for part in self.tables)
        blocks = f"{self.sizes[0]} blocks a step and {len(self.units)} to read out"
        return f"softmax, {blocks}, products up to {exactly(self.limit)}{table}"

    @classmethod
    def beyond(cls, target: Any) -> str:
        """There are no features for moments."""
        return "optimizer=" if target.optimizer != "gd" else ""

    @property
    def lost(self) -> str:
        return "which its heads do not multiply: scale the data, or compile for a wider domain"

    def approximates(self, target: Any) -> bool:
        """Sums of finitely many Gaussians do."""
        return True

    def least(self, target: Any, request: Request) -> tuple[float, str]:
        """A weight is rounded, and a product is."""
        found, reason = super().least(target, request)
        table = slip(self.limit, request.dtype)
        one = 2 * max(table.approximation, table.fixed)
        if one <= found:
            return found, reason
        return one, f"a product of numbers up to {exactly(self.limit)} alone may be off by {upper(one / 2)}"

    @staticmethod
    def stream(target: Any) -> SoftmaxSheet:
        """All weights in every token."""
        found, families = target.matrices, list[tuple[str, int]]()
        if target.squashed:
            families.append(("odds", found.widths[-1]))
        if target.activation in SMOOTH:
            searched = [part.reads for part in Smooth.of(target.activation).searched]
            families += [(f"{name} {j}", found.widths[j]) for j in found.bent for name in searched]
            families += [(f"q {j}", found.widths[j]) for j in found.bent if j == found.depth]
        return SoftmaxSheet(found.widths, found.biases, found.bent, target.samples, tuple(families), above(target.rate))

    def block(self, target: Any, dtype: str) -> Iterator[tuple[str, Layer]]:
        sheet, kind = self.stream(target), getattr(torch, dtype)
        units, last = units_of(target.activation, self.tables, dtype), sheet.depth
        for j in sheet.layers:
            yield f"forward{j}", multiply(forward(sheet, j), sheet.width, self.limit, kind)
            if j in sheet.bent:
                yield from units.forward(sheet, j, kind)
        outputs = "odds" if target.squashed else sheet.activation(last)
        if target.squashed:
            yield "squash", squash(sheet, kind)
        yield "loss", mlp(losses(sheet, target.slopes, outputs), sheet.width, kind)
        smooth = target.activation in SMOOTH
        for j in reversed(sheet.layers):
            if _handed(sheet, j, smooth):
                yield f"backward{j}", multiply(backward(sheet, j, smooth), sheet.width, self.limit, kind)
            if j in sheet.bent and not smooth:
                yield f"gate{j}", units.backward(sheet, j, kind)
        yield "outer", multiply(outer(sheet), sheet.width, self.limit, kind)
        yield "descend", descend(sheet, target.decay, kind)
        yield "clean", mlp(cleaning(sheet, target.project), sheet.width, kind)

    def variables(self, stream: Any, j: int, layers: Sequence[str]) -> Iterator[Variable]:
        yield from super().variables(stream, j, layers)
        yield f"layer {j} / gradient", ("outer", slice(0, stream.samples), stream.layer(j, "a"))
        yield f"layer {j} / weights", ("clean", 0, stream.layer(j))

    def law(self, target: Any, request: Request) -> Law:
        """The curve of the compact form, and what is proved of products."""
        dtype, most = request.dtype, self.stream(target).most
        curve = units_of(target.activation, self.tables, dtype).curve(dtype)
        products = Products(slip(self.limit, dtype), self.limit, most)
        return self._law(target, request, curve, counts=shares(target.samples), products=products)

    def watched(self, network: Network) -> tuple[str, str, str]:
        """The gradient is known where each sample has its part of it."""
        return "outer", "descend", "clean"

    def held(self, target: Any, seen: Snapshots, told: Plan, turns: range) -> Pass:
        """What the absent hand back has no weight."""
        step, here = super().held(target, seen, told, turns), told[1].double().unsqueeze(-1)
        return replace(step, deltas=[here * delta for delta in step.deltas])

    def read_out(self, target: Any, network: Network, tokens: Tensor) -> Tensor:
        """Half a step more, in which the query's numbers count."""
        found, sheet = super().read_out(target, network, tokens), self.stream(target)
        for j in sheet.layers:
            largest = float(found[..., sheet.data, sheet.slices[f"z {j}"]].abs().amax())
            if not largest <= self.limit:
                raise Refusal(f"the answer needs numbers beyond {exactly(self.limit)}, {self.lost}")
        return found

    @classmethod
    def of(cls, target: Any, request: Request, tables: Sequence[Head]) -> SoftmaxTraining:
        """R is WIDER times the data, or the next power of two."""
        most = max(request.domain.size("x"), request.domain.size("y"), float(target.biases), ENDS[0])
        limit = min(2.0 ** math.ceil(math.log2(WIDER * most)), ENDS[1])
        counts = [*_heads(target)]
        return cls(target.steps, target.matrices.widths[1:], limit, (len(counts), sum(counts)), tuple(tables))

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> SoftmaxTraining:
        return cls.of(target, request, stored_tables(network, target))


def shares(samples: int) -> Counts:
    """How often a term of a step is rounded, beside once for each sample.

    A share: exp of its own and those that it is divided by, their sum, an inverse and a product, n + 10; the rate as
    told, delta times p, and the sum with its products, n + 2. Of decay w: its coefficient, a product, and the sum.
    """
    return Counts(row=0, column=0, gradient=samples + 12, decay=2 * samples + 15)


def _heads(target: Any) -> Iterator[int]:
    """How many heads each layer of attention has."""
    sheet, smooth = SoftmaxTraining.stream(target), SMOOTH.get(target.activation)
    back = [j for j in sheet.layers if _handed(sheet, j, smooth is not None)]
    yield from (sheet.widths[j] for j in (*sheet.layers, *back))
    for parts in (smooth.value, smooth.slope) if smooth else ():
        yield from (len(parts) * sheet.widths[j] for j in sheet.bent)
    if target.squashed:
        yield sheet.widths[-1]
    yield from (sheet.units, 1)


def _handed(sheet: SoftmaxSheet, j: int, smooth: bool) -> bool:
    """Whether delta(j) is a product: of layer N that of a slope."""
    return j < sheet.depth or (smooth and j in sheet.bent)


def forward(sheet: SoftmaxSheet, j: int) -> list[Factors]:
    """z(j)[k] = v_jk . p(j-1)."""
    one, levels = sheet.rows("one"), sheet.rows(f"z {j}")
    return [Factors(sheet.reads(j), sheet.row(j, k), one, [z]) for k, z in enumerate(levels)]


def backward(sheet: SoftmaxSheet, j: int, smooth: bool) -> list[Factors]:
    """q(j)[k] = <column k of V_{j+1}, delta(j+1)>, of layer N loss'; times the slope where it is a number."""
    asks, key = sheet.factors(j)
    sloped = smooth and j in sheet.bent
    times = [[row] for row in sheet.rows(f"slope {j}")] if sloped else [sheet.rows("one")] * sheet.widths[j]
    return [
        Factors(ask, key, value, [delta])
        for ask, value, delta in zip(asks, times, sheet.rows(f"delta {j}"), strict=True)
    ]


def outer(sheet: SoftmaxSheet) -> list[Factors]:
    """a(j)[k] = delta(j)[k] p(j-1), of all layers."""
    return [
        Factors([delta], sheet.rows("one"), sheet.reads(j), sheet.row(j, k, "a"))
        for j in sheet.layers
        for k, delta in enumerate(sheet.rows(f"delta {j}"))
    ]


def descend(sheet: SoftmaxSheet, decay: float, dtype: torch.dtype) -> Attention:
    """w -= sum over who is present of rate / (C count) times C (a + decay w): who is absent scores -LOCK."""
    [ask], [one], [absent] = (sheet.rows(name) for name in ("ask", "one", "absent"))
    rows = zip(sheet.rows("a"), sheet.rows("w"), strict=True)
    value = [{a: -sheet.most, **({w: -sheet.most * decay} if decay else {})} for a, w in rows]
    return Attention(
        heads([[{ask: 1.0}, {one: -LOCK}]], sheet.width, dtype),
        Select([[one, absent]], sheet.width),
        heads([value], sheet.width, dtype),
        Select.writing([sheet.rows("w")], sheet.width),
        memory=torch.zeros(1, sheet.width, dtype=dtype),
        residual=True,
    )
