"""What a network does with one input: which keys each head reads, with how much weight, and what comes of it.

One way for every kind: the network is traced, and each attention head of each layer says what it looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headsmith.network import Attention, Copies, Layer, Network
from headsmith.records.shown import Shown, number, upper
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.compiled import Compiled

READINGS = 48  # above so many, only the first token's are told


@dataclass(frozen=True)
class HeadReading:
    """One head at one token: it reads `input` and adds `result` to `output`; keys by weight, the largest first."""

    layer: int
    head: int
    token: str
    input: str
    output: str
    keys: tuple[tuple[str, float, float], ...]  # name, weight, value
    result: float


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """The readings of one input, the output, and its error in balls where the target is known."""

    target: str
    inputs: dict[str, Any]
    value: Any
    error: float | None
    readings: tuple[HeadReading, ...]

    def title(self) -> str:
        at = ", ".join(f"{name} = {_short(value)}" for name, value in self.inputs.items())
        off = "" if self.error is None else f", off by at most {upper(self.error)}"
        return f"{self.target} at {at}: {_short(self.value)}{off}"

    def rows(self) -> list[tuple[str, str]]:
        several = len({r.token for r in self.readings}) > 1
        return [
            (
                f"layer {r.layer} head {r.head}" + (f" at {r.token}" if several else ""),
                f"{r.input} -> {r.output}  "
                + " + ".join(f"{number(w)} x {number(v, 4)} ({name})" for name, w, v in r.keys[:4])
                + (" + ..." if len(r.keys) > 4 else "")
                + f" = {number(r.result, 6)}",
            )
            for r in self.readings
        ]


def explain(net: Compiled, given: Sequence[Any], named: Mapping[str, Any]) -> Explanation:
    """The explanation of one input, not of a batch."""
    inputs = net.accept(given, named)
    shapes = [wanted.shape for wanted in net.target.inputs.values()]
    if any(x.dim() != len(shape) for x, shape in zip(inputs, shapes, strict=False)):
        raise Refusal(f"explain takes one input: net.explain({', '.join(net.target.arguments)}), without a batch")
    tokens = net.encode(*inputs)
    readings = list(_readings(net.network, tokens))
    if len(readings) > READINGS:
        readings = [r for r in readings if r.token == readings[0].token][:READINGS]
    names = zip(net.target.inputs, inputs, strict=False)
    error = float(torch.as_tensor(net.certify(*inputs)).max()) if net.target.known else None
    values = {name: x.tolist() for name, x in names}
    return Explanation(str(net.target), values, net(*inputs).tolist(), error, tuple(readings))


def _readings(network: Network, tokens: Tensor) -> list[HeadReading]:
    trace, found = network.trace(tokens), []
    for i, layer in enumerate(network.layers.values()):
        if not isinstance(layer, Attention | Copies):
            continue
        pattern = trace[f"blocks.{i}.attn.hook_pattern"]
        result = trace[f"blocks.{i}.attn.hook_z"]
        for q in range(pattern.shape[1]):
            for h in range(pattern.shape[0]):
                keys = _keys(layer, trace, i, h, q, pattern[h, q])
                if keys:
                    source, target = _wires(network, layer, h)
                    found.append(HeadReading(i, h, _token(network, q), source, target, keys, float(result[q, h, 0])))
    return found


def _keys(
    layer: Layer, trace: Mapping[str, Tensor], i: int, h: int, q: int, weights: Tensor
) -> tuple[tuple[str, float, float], ...]:
    """(name, weight, first value) of the keys that get any weight, the largest first."""
    names: list[tuple[str, float]] = []
    if isinstance(layer, Copies):
        names = [(f"copy {j}", float(v)) for j, v in enumerate(layer.levels[h])]
    own, stored = (trace.get(f"blocks.{i}.attn.hook_{name}") for name in ("v", "memory_v"))
    if isinstance(layer, Attention) and own is not None:
        seen = [("itself", q)] if layer.reach == "self" else [(f"token {j}", j) for j in range(len(own))]
        names = [(name, float(own[j, h, 0])) for name, j in seen]
    if stored is not None:
        names += [(f"key {j}", float(stored[j, h, 0])) for j in range(len(stored))]
    rows = [(name, float(w), v) for (name, v), w in zip(names, weights.tolist(), strict=True) if w > 0]
    return tuple(sorted(rows, key=lambda row: -row[1]))


def _wires(network: Network, layer: Any, h: int) -> tuple[str, str]:
    """The features that a head reads and writes, by name where the stream has names."""
    source = int(layer.query.dense()[min(h, len(layer.query.dense()) - 1), 0].abs().argmax())
    target = int(layer.output.dense()[h, :, 0].abs().argmax())
    return _feature(network, source), _feature(network, target)


def _feature(network: Network, place: int) -> str:
    return network.features[place] if place < len(network.features) else f"feature {place}"


def _token(network: Network, place: int) -> str:
    return network.inputs[place] if place < len(network.inputs) else f"token {place}"


def _short(value: Any) -> str:
    if isinstance(value, list):
        flat = str(value)
        return flat if len(flat) < 60 else flat[:56] + " ..."
    return f"{value:.12g}"
