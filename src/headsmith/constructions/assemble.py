"""Parts to network: the residual stream holds the variables, memory tokens hold the keys.

    features:   x, one, u1, ..., y | slope, offset, value
    data token: x, 1,   0, ..., bias | 0, 0, 0          memory token j: 0, ... | a_j, b_j, g_j

A head's query copies (variable, one) and its key reads (slope, offset), so the score is a_j z + b_j, a dot product of
two terms. A head that attends to itself reads its own key and value from `one` and the variable. Heads that need only
what is already computed share a layer. Everything but the keys is an index: copying is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headsmith.network import Affine, Attention, Map, Network, Select, Sparse
from headsmith.proof.statement import Head, Part


def assemble(parts: Sequence[Part], dtype: torch.dtype = torch.float64) -> Network:
    """The network of a program: lift, one attention layer per level of dependence, read."""
    levels = {parts[0].input: 0}
    for part in parts:
        levels[part.output] = max(levels.get(part.output, 0), levels[part.input] + 1)
    depth = max(levels.values())
    names = [parts[0].input, "one", *(name for name in levels if name != parts[0].input)]
    features = [*names, "slope", "offset", "value"]
    width, place = len(features), {name: i for i, name in enumerate(features)}
    bias = [0.0] * width
    bias[1] = 1.0
    for part in parts:
        bias[place[part.output]] += part.bias
    layers: dict[str, Affine | Attention] = {
        "lift": Affine(Select([0] + [-1] * (width - 1), features=1), tensor(bias, dtype))
    }
    variables: dict[str, tuple[int | str, int | str, slice]] = {
        parts[0].input: ("lift", 0, slice(0, 1)),
        "one": ("lift", 0, slice(1, 2)),
    }
    for level in range(1, depth + 1):
        now = [part for part in parts if levels[part.input] == level - 1]
        wires = [(place[part.input], place[part.output], head) for part in now for head in part.heads]
        if wires:
            layers[f"level{level}"] = _layer(wires, width, place, dtype)
        for part in now:
            variables[part.output] = (len(layers) - 1, 0, slice(place[part.output], place[part.output] + 1))
    layers["read"] = Affine(Select([place[parts[-1].output]], features=width))
    return Network(layers, tokens=["input"], features=features, variables=variables)


def _layer(wires: list[tuple[int, int, Head]], width: int, place: dict[str, int], dtype: torch.dtype) -> Attention:
    """Heads (source feature, target feature, head) side by side, each with its own memory tokens."""
    one, slope, offset, value = (place[name] for name in ("one", "slope", "offset", "value"))
    stored = [table_rows(head)[1:] if head.attends_to_itself else table_rows(head) for *_, head in wires]
    longest = max(len(rows) for rows in stored)
    memory = np.zeros((len(wires), longest, width))
    mask = np.zeros((len(wires), longest), dtype=bool)
    for h, rows in enumerate(stored):
        memory[h, : len(rows), [slope, offset, value]] = rows.T
        mask[h, : len(rows)] = True
    own = [head.attends_to_itself for *_, head in wires]
    query = Select([[source, one] for source, *_ in wires], width)
    key: Select | Sparse = Select([[slope, offset]] * len(wires), width)
    read: Select | Sparse = Select([[value]] * len(wires), width)
    if any(own):
        keys = [
            [[1.0, h.slopes[0]], [1.0, h.offsets[0]]] if o else [[1.0, 0.0]] * 2
            for (*_, h), o in zip(wires, own, strict=True)
        ]
        values = [
            [[1.0, h.lines[0], h.values[0]]] if o else [[1.0, 0.0, 0.0]] for (*_, h), o in zip(wires, own, strict=True)
        ]
        key = Sparse([[[slope, one], [offset, one]]] * len(wires), tensor(keys, dtype), width)
        read = Sparse([[[value, source, one]] for source, *_ in wires], tensor(values, dtype), width)
    return Attention(
        query,
        key,
        read,
        Select.writing([[target] for _, target, _ in wires], width),
        visible=["self" if o else "none" for o in own],
        memory=tensor(memory, dtype) if longest else None,
        memory_mask=None if mask.all() else mask.tolist(),
        residual=True,
    )


def table_layer(query: Map, rows: np.ndarray, values: int, write: Map, dtype: torch.dtype) -> Attention:
    """Heads that share memory tokens, whose last features hold `rows`: slopes and offset, then this many values."""
    width, heads = query.features, query.heads or 1
    first, value = width - rows.shape[1], width - values
    memory = torch.zeros(len(rows), width, dtype=torch.float64)
    memory[:, first:] = torch.from_numpy(rows)
    return Attention(
        query,
        Select([[*range(first, value)]] * heads, width),
        Select([[*range(value, width)]] * heads, width),
        write,
        visible="none",
        memory=memory.to(dtype),
        residual=True,
    )


def table_rows(head: Head) -> np.ndarray:
    """(keys, 3): slope, offset and value of each."""
    return np.stack([head.slopes, head.offsets, head.values], -1)


def tensor(values: Any, dtype: torch.dtype) -> torch.Tensor:
    """A copy of these numbers in this dtype."""
    return torch.tensor(np.asarray(values, dtype=np.float64), dtype=dtype)
