"""What a network does with one input: which key each head reads, with how much weight, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from headsmith.network import Attention
from headsmith.records.shown import Shown, number, upper

if TYPE_CHECKING:
    from headsmith.targets.formula import FormulaNetwork


@dataclass(frozen=True)
class Reading:
    """One head at one input: it reads `input` and adds `result` to `output`; keys by weight, the largest first."""

    layer: int
    head: int
    input: str
    output: str
    keys: tuple[tuple[str, float, float], ...]  # name, weight, value
    result: float


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    formula: str
    x: float
    value: float
    error: float
    readings: tuple[Reading, ...]

    def title(self) -> str:
        return f"{self.formula} at x = {self.x:.6g}: {self.value:.12g}, off by at most {upper(self.error)}"

    def rows(self) -> list[tuple[str, str]]:
        return [
            (
                f"layer {r.layer} head {r.head}",
                f"{r.input} -> {r.output}  "
                + " + ".join(f"{number(w)} x {number(v, 4)} ({name})" for name, w, v in r.keys[:4])
                + (" + ..." if len(r.keys) > 4 else "")
                + f" = {number(r.result, 6)}",
            )
            for r in self.readings
        ]


def explain(net: FormulaNetwork, x: float) -> Explanation:
    tensor = torch.tensor(x, dtype=net.dtype)
    value = float(net(tensor))
    trace, names = net.network.trace(net.encode(tensor)), net.network.features
    readings: list[Reading] = []
    for i, layer in enumerate(net.network.layers.values()):
        if not isinstance(layer, Attention):
            continue
        pattern = trace[f"blocks.{i}.attn.hook_pattern"][:, 0, :]
        own = trace.get(f"blocks.{i}.attn.hook_v")
        stored = trace.get(f"blocks.{i}.attn.hook_memory_v")
        for h in range(layer.heads):
            values = [] if own is None else [("itself", float(own[0, h, 0]))]
            if stored is not None:
                values += [(f"key {j}", float(stored[j, h, 0])) for j in range(len(stored))]
            keys = [(name, float(w), v) for (name, v), w in zip(values, pattern[h].tolist(), strict=True) if w > 0]
            keys.sort(key=lambda key: -key[1])
            source = int(layer.query.dense()[h, 0].argmax())
            target = int(layer.output.dense()[h, :, 0].argmax())
            readings.append(
                Reading(
                    i, h, names[source], names[target], tuple(keys), float(trace[f"blocks.{i}.attn.hook_z"][0, h, 0])
                )
            )
    return Explanation(net.plan.target, x, value, float(net.certify(tensor)), tuple(readings))
