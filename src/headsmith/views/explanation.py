"""What a network does with one input: which keys each head reads, with how much weight, and what comes of it.

One way for every kind: the network is traced, each attention head of each layer says what it looked at, and each table
what it looked up, and between which neighbours the number stands there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from headsmith.constructions.design import many
from headsmith.network import Affine, Attention, Copies, Lookup, Network, TokenMix
from headsmith.records.shown import Shown, number, upper
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.compiled import Compiled

READINGS = 48  # above so many, only the first token's are told
WIRES = 3  # features of one head that are named


@dataclass(frozen=True)
class HeadReading:
    """One number that a head makes at one token: it reads `input`, and `result` = sum weight x value goes to `output`.

    Keys by weight, the largest first. A head whose values have several components has a reading for each.
    """

    layer: int
    head: int
    token: str
    input: str
    output: str
    keys: tuple[tuple[str, float, float], ...]  # name, weight, value
    result: float

    @property
    def place(self) -> str:
        """Which head."""
        return f"layer {self.layer} head {self.head}"

    def told(self) -> str:
        """0.6 x 0.25 (token.1) + 0.4 x 0.5 (token.0) = 0.35, the four largest weights."""
        terms = " + ".join(f"{number(w)} x {number(v, 4)} ({name})" for name, w, v in self.keys[:4])
        return f"{self.input} -> {self.output}  {terms}{' + ...' * (len(self.keys) > 4)} = {number(self.result, 6)}"


@dataclass(frozen=True)
class TableReading:
    """What a table gives one token: its `number` is on a step between `ends`, and there `level` stands.

    On a ramp between two steps `risen` is how far it has come, else 1. `behind` heads the number is a context's id.
    """

    layer: int
    token: str
    input: str
    output: str
    number: float
    step: int
    steps: int
    ends: tuple[float, float]
    risen: float
    level: tuple[float, ...]
    behind: bool

    @property
    def place(self) -> str:
        """Which table."""
        return f"layer {self.layer} table"

    def told(self) -> str:
        """Id -0.301 is on step 2 of 4, from -0.38 to -0.19: 1."""
        what = ("id " if self.behind else "") + number(self.number, 6)
        ramp = f"{number(self.risen)} up the ramp to" if self.risen < 1 else "on"
        where = f"{ramp} step {self.step} of {self.steps}, from {number(self.ends[0], 6)} to {number(self.ends[1], 6)}"
        return f"{self.input} -> {self.output}  {what} is {where}: {', '.join(number(y, 6) for y in self.level)}"


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """The readings of one input, the output, and its error in balls where the target is known."""

    target: str
    inputs: dict[str, Any]
    value: Any
    error: float | None
    readings: tuple[HeadReading, ...]
    tables: tuple[TableReading, ...] = ()
    left_out: int = 0

    def title(self) -> str:
        at = ", ".join(f"{name} = {_short(value)}" for name, value in self.inputs.items())
        off = "" if self.error is None else f", off by at most {upper(self.error)}"
        return f"{self.target} at {at}: {_short(self.value)}{off}"

    def rows(self) -> list[tuple[str, str]]:
        both: list[HeadReading | TableReading] = [*self.readings, *self.tables]
        every = sorted(both, key=lambda r: r.layer)
        several = len({r.token for r in every}) > 1
        told = [(r.place + (f" at {r.token}" if several else ""), r.told()) for r in every]
        return told + [("...", f"{many(self.left_out, 'reading')} more")] * bool(self.left_out)


def explain(net: Compiled, given: Sequence[Any], named: Mapping[str, Any]) -> Explanation:
    """The explanation of one input, not of a batch."""
    inputs = net.accept(given, named)
    shapes = [wanted.shape for wanted in net.target.inputs.values()]
    if any(x.dim() != len(shape) for x, shape in zip(inputs, shapes, strict=False)):
        raise Refusal(f"explain takes one input: net.explain({', '.join(net.target.arguments)}), without a batch")
    tokens = net.encode(*inputs)
    every = list(_readings(net.network, tokens))
    readings = every if len(every) <= READINGS else [r for r in every if r.token == every[0].token][:READINGS]
    heads = tuple(r for r in readings if isinstance(r, HeadReading))
    tables = tuple(r for r in readings if isinstance(r, TableReading))
    names = zip(net.target.inputs, inputs, strict=False)
    error = float(torch.as_tensor(net.certify(*inputs)).max()) if net.target.known else None
    values = {name: x.tolist() for name, x in names}
    return Explanation(str(net.target), values, net(*inputs).tolist(), error, heads, tables, len(every) - len(readings))


def _readings(network: Network, tokens: Tensor) -> Iterator[HeadReading | TableReading]:
    trace = network.trace(tokens)
    for i, layer, names, asked in _walked(network, tokens.shape[-2]):
        for q in asked:
            if isinstance(layer, Lookup):
                yield _looked_up(network, trace, i, q, names[q])
            elif isinstance(layer, Attention | Copies):
                yield from _at(network, layer, trace, i, q, names)


def attending(network: Network, count: int) -> Iterator[tuple[int, Attention | Copies, list[str], list[int]]]:
    """(place, layer, names of its tokens, those that the next layer reads) of each layer of heads, of `count`
    tokens that come in.
    """
    for i, layer, names, asked in _walked(network, count):
        if isinstance(layer, Attention | Copies):
            yield i, layer, names, asked


def _walked(network: Network, count: int) -> Iterator[tuple[int, Any, list[str], list[int]]]:
    """The same of every layer."""
    layers, names = list(network.layers.items()), list(network.inputs[:count])
    for i, (_, layer) in enumerate(layers):
        yield i, layer, names, _asked(layers[i + 1 :], len(names))
        names = _named(layers[i], names)


def _looked_up(network: Network, trace: Mapping[str, Tensor], i: int, q: int, name: str) -> TableReading:
    """What the table of layer i gives token q: behind a full ramp its own step, before the first ramp step 1."""
    layers = list(network.layers.values())
    layer = cast(Lookup, layers[i])
    t = trace[f"blocks.{i}.mlp.hook_read"][q]
    knot, risen = (x.item() for x in layer.ramp(t))
    left, right = layer.left.tolist(), (layer.left + 1 / layer.slope).tolist()
    at = int(knot) + (risen > 0)
    ends = (left[int(knot)], right[int(knot)]) if 0 < risen < 1 else ([-math.inf, *right][at], [*left, math.inf][at])
    source = _features(network, i - 1, q, layer.direction.abs())
    target = _features(network, i, q, torch.zeros_like(layer.direction).index_fill(0, layer.places, 1.0))
    written = [
        key for key, (where, _, part) in network.variables.items() if (where, part.start) == (i, layer.writes[0])
    ]
    behind = any(isinstance(other, Attention) for other in layers[:i])
    return TableReading(
        i, name, source, (*written, target)[0], float(t), at + 1, len(left) + 1, ends, risen or 1.0,
        tuple(layer.level(t).tolist()), behind,
    )  # fmt: skip


def _at(
    network: Network, layer: Attention | Copies, trace: Mapping[str, Tensor], i: int, q: int, names: list[str]
) -> Iterator[HeadReading]:
    """What each head of a layer makes at token q, number by number."""
    pattern, result = (trace[f"blocks.{i}.attn.hook_{name}"] for name in ("pattern", "z"))
    asks, carries, writes = (m.dense().abs() for m in (layer.query, layer.value, layer.output))
    keys = key_names(layer, names)
    for h in range(layer.heads):
        for c in range(result.shape[-1]):
            written = writes[h, :, c]
            rows = zip(keys, pattern[h, q].tolist(), _values(layer, trace, i, h, q, c), strict=True)
            seen = tuple(sorted((row for row in rows if row[1] > 0), key=lambda row: -row[1]))
            if seen and bool(written.any()):
                source = _features(network, i - 1, q, asks[h].sum(0)) or _features(network, i - 1, q, carries[h, c])
                target = _features(network, i, q, written) or "one"
                yield HeadReading(i, h, names[q], source or "one", target, seen, float(result[q, h, c]))


def key_names(layer: Attention | Copies, names: Sequence[str]) -> list[str]:
    """What a token can look at in a layer of tokens with these names, in the order of its attention pattern."""
    if isinstance(layer, Copies):
        return [f"copy {j}" for j in range(layer.copies)]
    own = {"none": [], "self": ["itself"]}.get(layer.reach, list(names))
    return [*own, *(f"key {j}" for j in range(layer.memory_tokens))]


def _values(layer: Attention | Copies, trace: Mapping[str, Tensor], i: int, h: int, q: int, c: int) -> list[float]:
    """Component c of the value behind each key of head h."""
    own, stored = (trace.get(f"blocks.{i}.attn.hook_{name}") for name in ("v", "memory_v"))
    if isinstance(layer, Copies):
        return [] if own is None else (layer.levels[h] * own[q, h, c]).tolist()
    found = [] if own is None else [own[q, h, c]] if layer.reach == "self" else list(own[:, h, c])
    return [float(v) for v in (*found, *([] if stored is None else stored[:, h, c]))]


def _asked(later: Sequence[tuple[str, Any]], count: int) -> list[int]:
    """The tokens that the next layer reads: what the others are told is lost."""
    layer = later[0][1] if later else None
    if isinstance(layer, Affine) and layer.source is not None:
        return sorted({s for s in layer.source if s >= 0})
    if isinstance(layer, TokenMix):
        return torch.nonzero(layer.mix.dense().abs().sum(0)).flatten().tolist()
    return list(range(count))


def _named(layer: tuple[str, Any], names: list[str]) -> list[str]:
    """The names of the tokens that leave a layer: those that entered, as often as they are copied, or new ones."""
    name, made = layer
    if isinstance(made, Affine) and made.source is not None:
        copies = [made.source[:q].count(s) for q, s in enumerate(made.source)]
        own = zip(made.source, copies, strict=True)
        return [f"token {q}" if s < 0 else names[s] + f" copy {k}" * bool(k) for q, (s, k) in enumerate(own)]
    count = made.tokens_out(len(names))
    return names if count == len(names) else [f"{name}.{q}" for q in range(count)]


def _features(network: Network, at: int, token: int, weights: Tensor) -> str:
    """The features with weight, by the newest name they have behind layer `at`; the constant goes unsaid."""
    places = [int(f) for f in torch.nonzero(weights).flatten()]
    names = list(dict.fromkeys(_feature(network, at, token, f) for f in places))
    names = [name for name in names if name != "one"]
    return ", ".join(names[:WIRES]) + ", ..." * (len(names) > WIRES)


def _feature(network: Network, at: int, token: int, place: int) -> str:
    """A variable of this token that stands there, else the feature's own name."""
    held = [
        (layer, name if where.stop - where.start == 1 else f"{name}[{place - where.start}]")
        for name, (layer, own, where) in network.variables.items()
        if layer <= at and own == token and where.start <= place < where.stop
    ]
    if held:
        return max(held)[1]
    return network.features[place] if place < len(network.features) else f"feature {place}"


def _short(value: Any) -> str:
    if isinstance(value, list):
        flat = _listed(value)
        return flat if len(flat) < 60 else flat[:56] + " ..."
    return f"{value:.12g}"


def _listed(value: Any) -> str:
    """[3, 1, 0.25]: whole numbers as such."""
    return f"[{', '.join(map(_listed, value))}]" if isinstance(value, list) else f"{value:.12g}"
