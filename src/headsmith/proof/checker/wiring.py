"""The heads that a network of a file holds, read from its wiring and its tensors alone.

    lift      features:  x, one, u1, .., out | slope, offset, value      each variable begins as its bias
    levels    a head reads (variable, one) as its query and adds into another variable; its keys are memory tokens,
              (slope, offset) scored and (value) summed, and perhaps the token itself
    read      the outputs

A layer computes all its heads from the stream before it. So a variable is what its heads add up to only for readers
in later layers: no layer may write what it, or an earlier one, has read. A wiring that differs in anything from this
description is not one this checker knows, and is rejected.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass, field
from typing import Any

from .heads import Head, Key
from .rounding import Format
from .verdict import need

ODD = "the network is wired in a way that this checker does not know"
TOKENS = 1 << 22  # numbers in one tensor


@dataclass(frozen=True)
class Tensor:
    """Numbers of a file, row by row."""

    shape: tuple[int, ...]
    numbers: tuple[float, ...]

    def rows(self) -> list[tuple[float, ...]]:
        """The innermost rows."""
        width = self.shape[-1] if self.shape else 1
        return [self.numbers[i : i + width] for i in range(0, len(self.numbers), width)] if width else []


def tensor(raw: Any, fmt: Format) -> Tensor:
    """A tensor of the safetensors reader; every number finite."""
    shape = tuple(raw["shape"])
    count = math.prod(shape)
    need(count <= TOKENS, "the file is too large for this checker", 2)
    numbers = struct.unpack(f"<{count}{fmt.code}", bytes(raw["data"]))
    need(all(map(math.isfinite, numbers)), "the file holds numbers that are not finite")
    return Tensor(shape, numbers)


@dataclass
class Wires:
    """The heads of each (input, output), how each variable begins, and what is read at the end."""

    source: str
    outputs: list[str]
    bias: dict[str, float]
    heads: dict[tuple[str, str], list[Head]] = field(default_factory=dict)


def whole(value: Any, low: int, high: int) -> int:
    """An integer in a range, and no bool."""
    need(type(value) is int and low <= value <= high, ODD)
    return value


def same(found: Any, expected: Any) -> bool:
    """Whether both are the same JSON, in which 1, 1.0 and true are three things."""
    return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


def listed(value: Any, count: int | None = None) -> list[Any]:
    """A list, of so many entries."""
    need(isinstance(value, list) and (count is None or len(value) == count), ODD)
    return value


def names_of(network: Any) -> list[str]:
    """The features: different strings; one input token."""
    names = listed(network["features"])
    need(all(isinstance(name, str) for name in names) and len(set(names)) == len(names), ODD)
    need(same([network["tokens"], network["format"]], [["input"], 1]), ODD)
    return names


def select(index: Any, features: int) -> dict[str, Any]:
    """A map that picks features."""
    return {"kind": "select", "features": features, "index": index}


def lift_and_read(network: Any, tensors: dict[str, Tensor], inputs: int) -> tuple[tuple[float, ...], list[int]]:
    """(the bias of the stream, the features that are read): the first and last layers are what they should be."""
    lift, *_, last = network["layers"]
    n = len(network["features"])
    bias = tensors.get("lift.bias")
    need(bias is not None and bias.shape == (n,) and n > inputs, ODD)
    spread = select([*range(inputs), *[-1] * (n - inputs)], inputs)
    plain = {"kind": "affine", "source": None}
    need(same(lift, {**plain, "name": "lift", "map": spread, "bias": [n]}), ODD)
    ends = listed(last["map"]["index"])
    need(ends and all(type(end) is int and 0 <= end < n for end in ends), ODD)
    need(same(last, {**plain, "name": "read", "map": select(ends, n), "bias": None}), ODD)
    numbers = bias.numbers if bias is not None else ()
    need(not any(numbers[:inputs]) and numbers[inputs] == 1, ODD)
    return numbers, ends


def scalar_wires(network: Any, tensors: dict[str, Tensor]) -> Wires:
    """The heads of a program, layer by layer."""
    names = names_of(network)
    n = len(names)
    need(n >= 6, ODD)
    bias, ends = lift_and_read(network, tensors, 1)
    need(not any(bias[n - 3 :]), ODD)
    wires = Wires(names[0], [names[end] for end in ends], dict(zip(names[2 : n - 3], bias[2 : n - 3], strict=True)))
    read: set[int] = set()
    used = {"lift.bias"}
    for layer in network["layers"][1:-1]:
        sources, targets = _scalar_layer(layer, n)
        read |= set(sources)
        need(not read & set(targets), "a layer writes a variable that it or an earlier layer has read")
        heads = _heads(layer, tensors, sources, n, used)
        for head, s, t in zip(heads, sources, targets, strict=True):
            wires.heads.setdefault((names[s], names[t]), []).append(head)
    need(all(2 <= end < n - 3 for end in ends) and used == set(tensors), ODD)
    return wires


def _scalar_layer(layer: Any, n: int) -> tuple[list[int], list[int]]:
    """(what each head reads, what it writes); everything else about the layer is fixed, but for its memory."""
    own = _seen(layer)
    h, plain = len(listed(layer["query"]["index"])), not any(own)
    sources = [whole(listed(q, 2)[0], 0, n - 4) for q in layer["query"]["index"]]
    need(all(s != 1 for s in sources), ODD)
    targets = [_written(listed(rows, n)) for rows in listed(layer["output"]["index"], h)]
    need(h > 0 and all(1 < t < n - 3 for t in targets), ODD)
    slope, offset, value = n - 3, n - 2, n - 1
    key = [[slope, offset] if plain else [[slope, 1], [offset, 1]]] * h
    read = [[value] if plain else [[value, s, 1]] for s in sources]
    kind = "select" if plain else "sparse"
    usual = {
        "kind": "attention",
        "name": layer["name"],
        "weights": "softmax",
        "scale": (1.0).hex(),
        "residual": True,
        "visible": layer["visible"],
        "memory": layer["memory"],
        "memory_mask": layer["memory_mask"],
        "query": select([[s, 1] for s in sources], n),
        "key": {"kind": kind, "features": n, "index": key},
        "value": {"kind": kind, "features": n, "index": read},
        "output": select([[-1] * t + [0] + [-1] * (n - 1 - t) for t in targets], 1),
    }
    need(same(layer, usual), ODD)
    return sources, targets


def _seen(layer: Any) -> list[bool]:
    """Whether each head sees the token itself."""
    seen, h = layer["visible"], len(listed(layer["query"]["index"]))
    words = [seen] * h if isinstance(seen, str) else listed(seen, h)
    need(all(word in ("self", "none") for word in words), ODD)
    return [word == "self" for word in words]


def _written(row: list[Any]) -> int:
    need(row.count(0) == 1 and all(entry in (0, -1) and type(entry) is int for entry in row), ODD)
    return row.index(0)


def _heads(layer: Any, tensors: dict[str, Tensor], sources: list[int], n: int, used: set[str]) -> list[Head]:
    """The keys of each head: itself, then its memory tokens."""
    own, name = _seen(layer), layer["name"]
    need(isinstance(name, str), ODD)
    h = len(sources)
    memory = _memory(layer, tensors, h, n, used)
    keys = values = None
    if any(own):
        used |= {f"{name}.key.coefficient", f"{name}.value.coefficient"}
        keys, values = (tensors.get(f"{name}.{part}.coefficient") for part in ("key", "value"))
        need(keys is not None and keys.shape == (h, 2, 2) and values is not None and values.shape == (h, 1, 3), ODD)
    found = []
    for i in range(h):
        head = list(memory[i])
        if keys is not None and values is not None:
            (one, a), (two, b) = keys.rows()[2 * i : 2 * i + 2]
            three, line, constant = values.rows()[i]
            need(one == two == three == 1 and (own[i] or not (a or b or line or constant)), "a key is scaled")
            head = [Key(a, b, constant, line), *head] if own[i] else head
        need(head, "a head has no keys")
        found.append(tuple(head))
    return found


def _memory(layer: Any, tensors: dict[str, Tensor], h: int, n: int, used: set[str]) -> list[list[Key]]:
    """(slope, offset, value) of the memory tokens of each head; they hold nothing else."""
    name, shape, mask = layer["name"], layer["memory"], layer["memory_mask"]
    if shape is None:
        need(mask is None, ODD)
        return [[] for _ in range(h)]
    stored = tensors.get(f"{name}.memory")
    used.add(f"{name}.memory")
    need(stored is not None and list(stored.shape) == shape and len(shape) == 3 and shape[::2] == [h, n], ODD)
    count, rows = shape[1], stored.rows() if stored is not None else []
    kept = [[1] * count] * h if mask is None else [listed(row, count) for row in listed(mask, h)]
    need(all(type(bit) is int and bit in (0, 1) for row in kept for bit in row), ODD)
    need(not any(any(row[: n - 3]) for row in rows), "a memory token is not only a key")
    keys = [Key(a, b, g, 0.0) for a, b, g in (row[n - 3 :] for row in rows)]
    return [[keys[i * count + j] for j in range(count) if kept[i][j]] for i in range(h)]  # a masked one weighs nothing
