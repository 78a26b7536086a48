"""One step of gradient descent on an N-layer network in 2N blocks of ReLU attention and MLP (Transformers are Deep
Optimizers, Thm 1 and 5, in a compact form).

    forward j    z(j) = V_j p(j-1)                   p(j) = r(z(j)),  c(j) = relu(1 - open(z(j)) / gap)     j = 1 .. N
    loss         in block N                          delta(N) = loss'(f - y), 0 for who is absent
    backward j   q(j) = V_{j+1}' delta(j+1)          delta(j) = r' q,  by the gate of c(j)                  j = N-1 .. 1
    update       g = -rate (1/n) sum_i delta p'      w <- box(w + g),  scratch <- 0
                 of an optimizer: g = (1/n) sum_i delta p', and what `optimizing` makes of it

Every product is one of two tokens: of a sample and a unit (`tape`). relu(t) - relu(-t) = t takes two heads; unit k
answers under its one-hot name, and T in the values undoes the 1/T of the attention. The paper needs element-wise
multiplication layers and r' as a sum of ReLUs, which for ReLU nets does not exist (r' jumps; erratum E2). Here a slope
is a gate: open(z) is z, or 1 - |z| for hard tanh, and c is 0 where open(z) >= gap, at least 1 where open(z) <= 0;

    gate(q, c) = relu(q - LOCK c) - relu(-q - LOCK c)  is  q  where c = 0,  0  where c >= 1 and |q| <= LOCK.

What is proved. In exact arithmetic a step is w <- box(w - rate gradient): no sum of ReLUs stands for anything, provided
|q| and |f - y| are at most LOCK, which is checked at every step. A unit with 0 < open(z) < gap has a slope between
those on the two sides of its kink, and so has one whose z rounding cannot tell from the kink: a step takes subgradients
there. `proof.perturbation` counts such units; where it counts none, the gradient is the gradient. Rounding perturbs it
by e, and |e|_2 is bounded from the very tokens of the step. A step with a larger bound than was promised is refused.
Adam's reciprocal root is a table: its error times |m^| is the approximation part of the bound, also of each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch

from headsmith.constructions.design import Tally
from headsmith.constructions.rule import copied_head
from headsmith.constructions.training.form import Form, Plan, Snapshots, Variable
from headsmith.constructions.training.kinked_units import KinkedUnits
from headsmith.constructions.training.multiplying import even
from headsmith.constructions.training.optimizing import kept, optimizing, prove_root
from headsmith.constructions.training.smooth_units import SmoothUnits
from headsmith.constructions.training.stream import Stream
from headsmith.constructions.training.tape import TrainingTape
from headsmith.functions.kinks import Kinked
from headsmith.functions.smooth import SMOOTH, Smooth
from headsmith.network import Attention, Layer, Network, Select
from headsmith.network.hidden import SIGNS, Hidden, Terms, everyone, heads, mlp, scaled
from headsmith.proof.moments import RootTable
from headsmith.proof.perturbation import LOCK, Law, Pass
from headsmith.proof.statement import Head
from headsmith.records.shown import upper

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

EXTRA: dict[str, Callable[[int], tuple[int, int]]] = {
    "gd": lambda fan: (0, 0),
    "momentum": lambda fan: (1, 1),
    "adam": lambda fan: (3, 2 * fan + 2),
}
"""optimizer -> its attention layers and heads, for rows of this length"""


@dataclass(frozen=True, eq=False)
class CompactTraining(Form):
    """2N blocks a step; all numbers are those of the target, the gap and the lock."""

    name, asked = "compact training", "auto"
    steps: int
    units: tuple[int, ...]
    extra: tuple[int, int] = (0, 0)  # attention layers and heads of a step beside those of products
    root: Head | None = None  # Adam's table
    tables: tuple[Head, ...] = ()  # those of the activation

    @property
    def _tables(self) -> tuple[Head, ...]:
        return self.tables if self.root is None else (*self.tables, self.root)

    @property
    def tally(self) -> Tally:
        keys, depth = sum(self.units) + sum(table.keys for table in self._tables), len(self.units)
        return Tally(keys, 2 * (3 * depth - 1) + self.extra[1], (2 * depth + self.extra[0]) * self.steps + depth)

    def method(self, target: Any) -> str:
        blocks = 2 * len(self.units) + self.extra[0]
        table = "".join(f", a table of {table.keys} keys" for table in self._tables)
        return f"compact, {blocks} blocks a step and {len(self.units)} to read out{table}"

    def block(self, target: Any, dtype: str) -> Iterator[tuple[str, Layer]]:
        tape, kind, units = tape_of(target), getattr(torch, dtype), units_of(target.activation, self.tables, dtype)
        for j in tape.layers:
            yield f"forward{j}", forward(tape, j, kind)
            if j in tape.bent:
                yield from units.forward(tape, j, kind)
        outputs = "odds" if target.squashed else tape.activation(tape.depth)
        if target.squashed:
            yield "squash", squash(tape, kind)
        yield "loss", mlp(losses(tape, target.slopes, outputs), tape.width, kind)
        for j in reversed(tape.layers):
            if j < tape.depth:
                yield f"backward{j}", backward(tape, j, kind)
            if j in tape.bent:
                yield f"gate{j}", units.backward(tape, j, kind)
        if target.decay and not tape.moments:
            yield "shrink", shrink(tape, target.decay, kind)
        yield "descend", update(tape, kind)
        if tape.moments:
            yield from optimizing(tape, target.optimized, target.decay, self.root, kind)
        yield "clean", mlp(cleaning(tape, target.project), tape.width, kind)

    def variables(self, stream: Any, j: int, layers: Sequence[str]) -> Iterator[Variable]:
        yield from super().variables(stream, j, layers)
        at, units, moments = f"layer {j} / ", stream.owners(j), stream.moments
        for name in moments:
            words = {"m": "first moment", "v": "second moment" if "m" in moments else "velocity"}
            yield at + words[name], ("carry", units, _span(stream.row(j, name)))
        yield at + "update", (last_move(layers), units, _span(stream.row(j, "g")))
        yield at + "weights", ("clean", units, _span(stream.row(j)))

    def least(self, target: Any, request: Request) -> tuple[float, str]:
        """A weight is rounded; and a table of Adam's root is off by so much of |m^|_2, of which half of eps is kept."""
        found, reason = super().least(target, request)
        if self.root is None:
            return found, reason
        size = request.domain["v"][1]
        table = prove_root(self.root, target.optimized, size, request.dtype).approximation
        off = 2 * table * math.sqrt(target.matrices.parameters * size)
        return (off, f"its table of 1/sqrt(v + root) is off by {upper(table)}") if off > found else (found, reason)

    def law(self, target: Any, request: Request) -> Law:
        """What the error bound of a step has to know, the tables proved."""
        dtype, root = request.dtype, RootTable()
        if self.root is not None:
            found = prove_root(self.root, target.optimized, request.domain["v"][1], dtype)
            root = RootTable(found.approximation, found.rounding)
        curve = units_of(target.activation, self.tables, dtype).curve(dtype)
        return self._law(target, request, curve, optimizer=target.optimized, table=root)

    def approximates(self, target: Any) -> bool:
        """Only tables do."""
        return bool(self._tables)

    def worst(self, target: Any, request: Request) -> tuple[float, float]:
        """Every number as large as the domain allows."""
        found: tuple[float, float] = target.worst(request, self.law(target, request))
        return found

    @staticmethod
    def stream(target: Any) -> TrainingTape:
        """One token for each unit."""
        return tape_of(target)

    def watched(self, network: Network) -> tuple[str, str, str]:
        """The gradient may fade before an optimizer makes a move of it."""
        names = list(network.layers)
        return "fade" if "fade" in names else "descend", last_move(names), names[-1]

    def held(self, target: Any, seen: Snapshots, told: Plan, turns: range) -> Pass:
        """Of an optimizer its moments, too."""
        step, tape = super().held(target, seen, told, turns), self.stream(target)
        full, moving, _ = (part.double() for part in seen)
        return replace(step, kept=kept(tape, target.optimized, full, moving, turns)) if tape.moments else step

    @classmethod
    def of(cls, target: Any, root: Head | None, tables: Sequence[Head] = ()) -> CompactTraining:
        """The sizes are those of the target."""
        found = list(_extra(target, tape_of(target)))
        extra = sum(layers for layers, _ in found), sum(heads for _, heads in found)
        return cls(target.steps, target.widths[1:], extra, root, tuple(tables))

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> CompactTraining:
        root = copied_head(network.layers["root"]) if "root" in network.layers else None
        return cls.of(target, root, stored_tables(network, target))


def _extra(target: Any, tape: TrainingTape) -> Iterator[tuple[int, int]]:
    """(attention layers, heads) of a step: the optimizer, smooth activations, a sigmoid an output, a decay."""
    yield EXTRA[target.optimized.name](tape.fan)
    if target.activation in SMOOTH:
        smooth = Smooth.of(target.activation)
        each = len(smooth.value) + len(smooth.slope) + 2
        yield 3 * len(tape.bent), each * sum(tape.widths[j] for j in tape.bent)
    if target.squashed:
        yield 1, tape.widths[-1]
    if target.decay and not tape.moments:
        yield 1, 1


@lru_cache(maxsize=64)
def tape_of(target: Any) -> TrainingTape:
    """Where everything is in the stream."""
    matrices, moments = target.matrices, target.optimized.moments
    extra = (("odds", matrices.widths[-1]),) * target.squashed
    extra += (("fade", matrices.units),) * (target.decay > 0 and not moments)
    if target.activation in SMOOTH:
        families = ("q", *(table.reads for table in Smooth.of(target.activation).searched))
        extra += tuple((f"{name} {j}", matrices.widths[j]) for j in matrices.bent for name in families)
    return TrainingTape(matrices.widths, matrices.biases, matrices.bent, target.samples, extra, moments)


def units_of(activation: str, tables: Sequence[Head], dtype: str) -> KinkedUnits | SmoothUnits:
    """How units have this activation."""
    if activation in SMOOTH:
        return SmoothUnits(Smooth.of(activation), tuple(tables))
    return KinkedUnits(Kinked.of(activation, dtype))


def stored_tables(network: Network, target: Any) -> list[Head]:
    """The tables that were searched, of value and slope, which all units share."""
    if target.activation not in SMOOTH or not tape_of(target).bent:
        return []
    smooth, first = Smooth.of(target.activation), tape_of(target).bent[0]
    parts = (("bend", smooth.value), ("slope", smooth.slope))
    return [copied_head(network.layers[f"{name}{first}"]) for name, found in parts if found[0].formula]


def _span(rows: Sequence[int]) -> slice:
    return slice(rows[0], rows[-1] + 1)


def last_move(layers: Sequence[str]) -> str:
    """The layer behind which g is the move of w."""
    return next(name for name in ("root", "pace", "descend") if name in layers)


# attention: products of a sample and a unit


def forward(tape: TrainingTape, j: int, dtype: torch.dtype) -> Attention:
    """z(j): a sample asks with p(j-1), the key of unit k is its row, and it answers T e_k."""
    query = heads([scaled(tape.reads(j), sign) for sign in SIGNS], tape.width, dtype)
    value = heads([scaled(tape.rows(f"unit {j}"), sign * tape.tokens) for sign in SIGNS], tape.width, dtype)
    return everyone(query, Select([tape.row(j)] * 2, tape.width), value, [tape.rows(f"z {j}")] * 2, tape.width)


def backward(tape: TrainingTape, j: int, dtype: torch.dtype) -> Attention:
    """q(j) = V_{j+1}' delta(j+1): a sample asks with delta, the key of unit k is its name, and it answers its row."""
    query = heads([scaled(tape.rows(f"delta {j + 1}"), sign) for sign in SIGNS], tape.width, dtype)
    names, columns = Select([tape.rows(f"unit {j + 1}")] * 2, tape.width), tape.row(j + 1)[: tape.widths[j]]
    value = heads([scaled(columns, sign * tape.tokens) for sign in SIGNS], tape.width, dtype)
    return everyone(query, names, value, [tape.rows(tape.handed(j))] * 2, tape.width)


def update(tape: TrainingTape, dtype: torch.dtype) -> Attention:
    """g = -rate (1/n) sum_i delta_i[k] p_i(j-1): unit k asks with rate e_k, samples have delta as key and answer p.

    Of an optimizer: the gradient itself, for which units ask with e_k.
    """
    share = tape.tokens / tape.samples * (-1 if tape.moments else 1)
    pairs = [(j, sign) for j in tape.layers for sign in SIGNS]
    query = Select(even([tape.rows(f"ask {j}") for j, _ in pairs]), tape.width)
    key = heads([scaled(tape.rows(f"delta {j}"), sign) for j, sign in pairs], tape.width, dtype)
    value = heads([_spread(tape, j, -sign * share) for j, sign in pairs], tape.width, dtype)
    return everyone(query, key, value, [tape.rows("g")] * len(pairs), tape.width)


def shrink(tape: TrainingTape, decay: float, dtype: torch.dtype) -> Attention:
    """g -= rate decay w: unit k asks with rate e_k, its key is its name, so that none but itself answers."""
    units = [r for j in tape.layers for r in tape.rows(f"unit {j}")]
    value = heads([scaled(tape.rows("w"), -decay * tape.tokens)], tape.width, dtype)
    asks, names = (Select([rows], tape.width) for rows in (tape.rows("fade"), units))
    return everyone(asks, names, value, [tape.rows("g")], tape.width)


def _spread(tape: TrainingTape, j: int, coefficient: float) -> list[Terms]:
    """p(j-1) at the places of a row of layer j, the bias last."""
    place = dict(zip(tape.row(j, "g"), tape.reads(j), strict=True))
    return [{place[r]: coefficient} if r in place else {} for r in tape.rows("g")]


def squash(tape: Stream, dtype: torch.dtype) -> Attention:
    """sigmoid(f): softmax over two stored keys -1/2 and 1/2 with the values 0 and 1, one head for each output."""
    [key], [value], outputs = tape.rows("one"), tape.rows("absent"), tape.rows(tape.activation(tape.depth))
    memory = torch.zeros(2, tape.width, dtype=dtype)
    memory[0, key], memory[1, key], memory[1, value] = -0.5, 0.5, 1.0
    return Attention(
        Select([[f] for f in outputs], tape.width),
        Select([[key]] * len(outputs), tape.width),
        Select([[value]] * len(outputs), tape.width),
        Select.writing([[odds] for odds in tape.rows("odds")], tape.width),
        visible="none",
        memory=memory,
        residual=True,
    )


# MLPs: what a token does by itself


def losses(tape: Stream, slopes: Sequence[tuple[float, float]], outputs: str) -> Iterator[Hidden]:
    """delta(N) = sum of out (relu(f - y - shift) - relu(y - f - shift)) over (shift, out), 0 for who is absent."""
    [one], [absent] = tape.rows("one"), tape.rows("absent")
    for f, y, delta in zip(tape.rows(outputs), tape.rows("y"), tape.rows(tape.handed(tape.depth)), strict=True):
        for shift, out in slopes:
            for sign in SIGNS:
                yield Hidden({f: sign, y: -sign, one: -shift, absent: -LOCK}, {delta: sign * out})


def cleaning(tape: TrainingTape, box: tuple[float, float] | None) -> Iterator[Hidden]:
    """w <- w + g, cut off at the ends of the box; g and all scratch <- 0."""
    for w, g in zip(tape.rows("w"), tape.rows("g"), strict=True):
        for sign in SIGNS:
            yield Hidden({g: sign}, {w: sign, g: -sign})
        if box is not None:
            yield Hidden({w: 1.0, g: 1.0}, {w: -1.0}, bias=-box[1])
            yield Hidden({w: -1.0, g: -1.0}, {w: 1.0}, bias=box[0])
    for row in tape.scratch():
        for sign in SIGNS:
            yield Hidden({row: sign}, {row: -sign})
