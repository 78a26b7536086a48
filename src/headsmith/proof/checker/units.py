"""Perceptrons: which matrices and heads a network of a file holds, from its wiring and its tensors alone.

    lift       x_1, .., x_d, zeros, one                       at least four places, then `one`, which is 1
    linear1    one head sees its own token, so with weight 1:       z = W_1 x + b_1,   one = 1
    units l    the same heads for each unit k, written through column k of the next matrix;  z' = W (heads of z) + b
    read       the outputs

The heads of a units layer read (z_k, one). Their keys are the token itself and an empty token, or memory tokens that
all units share. The last head of a layer writes the bias and `one`: its best key leads by 1000, and exp(-1000) is 0 in
every format, so that `one` is 1. In exact arithmetic it is 10^-434 less, which `stacks` pays for.

Everything but the numbers of the heads follows from the matrices, and has to be what follows: names, indices, shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .heads import Head, Key
from .verdict import need
from .wiring import ODD, Tensor, listed, same, select

LEAD = 1000.0

Numbers = tuple[float, ...]
Tensors = dict[str, Tensor]
Sizes = tuple[int, int, int]  # units, heads of each, places of a token


@dataclass(frozen=True)
class Matrix:
    """z = rows x + bias."""

    rows: list[Numbers]
    bias: Numbers

    @property
    def columns(self) -> list[Numbers]:
        """One for each input."""
        return list(zip(*self.rows, strict=True))


def matrices_of(target: Any, tensors: dict[str, Tensor]) -> list[Matrix]:
    """The matrices of the target, each with as many inputs as the one before has outputs."""
    weights, biases = (_named(target[part], part, tensors) for part in ("weights", "biases"))
    need(weights and len(weights) == len(biases) == len(listed(target["activations"])) + 1, "the target is malformed")
    need(set(tensors) == {f"{part}.{i}" for part in ("weights", "biases") for i in range(len(weights))}, ODD)
    found: list[Matrix] = []
    for weight, bias in zip(weights, biases, strict=True):
        need(len(weight.shape) == 2 and min(weight.shape) > 0 and bias.shape == weight.shape[:1], ODD)
        need(not found or len(found[-1].rows) == weight.shape[1], "the matrices do not follow one another")
        found.append(Matrix(weight.rows(), bias.numbers))
    return found


def _named(said: Any, part: str, tensors: dict[str, Tensor]) -> list[Tensor]:
    """The tensors that the target names, in order."""
    need(said == [{"tensor": f"{part}.{i}"} for i in range(len(listed(said)))], "the target is malformed")
    return [tensors[f"{part}.{i}"] for i in range(len(said))]


def unit_heads(network: Any, tensors: Tensors, matrices: Sequence[Matrix]) -> list[tuple[Head, ...]]:
    """The heads of each units layer; rejected unless all else is what these matrices make."""
    layers = listed(network["layers"], len(matrices) + 2)
    need(same({**network, "layers": []}, _names(matrices)), ODD)
    first, last = len(matrices[0].rows[0]), len(matrices[-1].rows)
    n, end = width(first), width(last)
    plain = {"kind": "affine", "source": None}
    spread = select([*range(first), *[-1] * (n - first)], first)
    need(same(layers[0], {**plain, "name": "lift", "map": spread, "bias": [n]}), ODD)
    need(same(layers[-1], {**plain, "name": "read", "map": select([*range(last)], end), "bias": None}), ODD)
    used = {"lift.bias": Tensor((n,), (*[0.0] * (n - 1), 1.0))}
    _linear(layers[1], matrices[0], used)
    found = [_units(layer, l, matrices[l], tensors, used) for l, layer in enumerate(layers[2:-1], 1)]
    need(used == tensors, ODD)
    return found


def _names(matrices: Sequence[Matrix]) -> dict[str, Any]:
    """What a network says beside its layers: names of the first stream, and that z_l stands first behind layer l."""
    first = len(matrices[0].rows[0])
    gap = range(width(first) - 1 - first)
    features = [*(f"x.{i}" for i in range(first)), *(f"pad.{i}" for i in gap), "one"]
    variables = {f"z{l}": [l, 0, 0, len(matrix.rows)] for l, matrix in enumerate(matrices, 1)}
    return {"format": 1, "tokens": ["input"], "features": features, "variables": variables, "layers": []}


def width(units: int) -> int:
    """Places in a stream of so many units: at least four, and `one`."""
    return max(units, 4) + 1


def _attention(name: str, **parts: Any) -> dict[str, Any]:
    plain = {"kind": "attention", "weights": "softmax", "scale": (1.0).hex(), "residual": False, "memory_mask": None}
    return {**plain, "name": name, **parts}


def _linear(layer: Any, matrix: Matrix, used: Tensors) -> None:
    """The first matrix, as the value of the token itself."""
    a, b = width(len(matrix.rows[0])), width(len(matrix.rows))
    one, gap = select([[a - 1]], a), [0.0] * (a - 1 - len(matrix.rows[0]))
    value = {"kind": "dense", "shape": [1, b, a]}
    parts = {"query": one, "key": one, "value": value, "output": select([[*range(b)]], b)}
    need(same(layer, _attention("linear1", visible="self", memory=None, **parts)), ODD)
    rows = [(*row, *gap, bias) for row, bias in zip(matrix.rows, matrix.bias, strict=True)]
    empty = [(0.0,) * a] * (b - 1 - len(rows))
    used["linear1.value.weight"] = _filled((1, b, a), [*rows, *empty, (*[0.0] * (a - 1), 1.0)])


def _units(layer: Any, l: int, matrix: Matrix, tensors: Tensors, used: Tensors) -> tuple[Head, ...]:
    """The heads of one layer, the same for each of its units."""
    name, units = f"units{l}", len(matrix.rows[0])
    a, b = width(units), width(len(matrix.rows))
    count = (len(tensors[f"{name}.output.weight"].numbers) // b - 1) // units
    need(count > 0, ODD)
    gap, ends = (0.0,) * (b - 1 - len(matrix.rows)), [*[0.0] * (count * units), 1.0]
    written = zip([*matrix.columns * count, matrix.bias], ends, strict=True)
    shape = (count * units + 1, b, 1)
    used[f"{name}.output.weight"] = _filled(shape, [(*row, *gap, end) for row, end in written])
    read = {"none": _table, "self": _gates}[layer["visible"]]
    return read(layer, name, (units, count, a), {"kind": "dense", "shape": list(shape)}, tensors, used)


def _table(layer: Any, name: str, sizes: Sizes, output: Any, tensors: Tensors, used: Tensors) -> tuple[Head, ...]:
    """Memory tokens (slope, offset, value, lead, .., one) that all units share."""
    units, count, a = sizes
    memory = tensors[f"{name}.memory"]
    need(count == 1 and len(memory.shape) == 2 and memory.shape[1] == a and memory.shape[0] > 0, ODD)
    parts = {
        "query": select([[k, a - 1] for k in [*range(units), a - 1]], a),
        "key": select([[0, 1]] * units + [[3, -1]], a),
        "value": select([[2]] * units + [[a - 1]], a),
    }
    need(same(layer, _attention(name, visible="none", memory=list(memory.shape), output=output, **parts)), ODD)
    rows, gap = memory.rows(), (0.0,) * (a - 5)
    leads = [LEAD, *[0.0] * (len(rows) - 1)]
    filled = [(*row[:3], lead, *gap, 1.0) for row, lead in zip(rows, leads, strict=True)]
    used[f"{name}.memory"] = _filled(memory.shape, filled)
    return (tuple(Key(a, b, g, 0.0) for a, b, g, *_ in rows),)


def _gates(layer: Any, name: str, sizes: Sizes, output: Any, tensors: Tensors, used: Tensors) -> tuple[Head, ...]:
    """Each head sees the token itself and an empty one; its numbers are those of every unit.

    A head is either  score a z + b, value l z + g,  or, with fewer numbers,  score a z, value z.
    """
    units, count, a = sizes
    one, places = a - 1, [*[*range(units)] * count, a - 1]
    bare = layer["value"]["kind"] == "select"
    both = [[one]] if bare else [[one], [one]]
    plain, line = select([[k] for k in places], a), {"kind": "sparse", "features": a}
    parts = {
        "query": plain if bare else select([[k, one] for k in places], a),
        "key": {**line, "index": [both] * len(places)},
        "value": plain if bare else {**line, "index": [[[k, one]] for k in places]},
    }
    need(same(layer, _attention(name, visible="self", memory=[1, a], output=output, **parts)), ODD)
    used[f"{name}.memory"] = _filled((1, a), [(0.0,) * a])
    heads = _gate_heads(tensors, name, len(places), bare)[: count * units : units]
    each = [head for head in heads for _ in range(units)]
    keys = [*((head.a, head.b)[: len(both)] for head in each), (LEAD, 0.0)[: len(both)]]
    used[f"{name}.key.coefficient"] = _filled((len(places), len(both), 1), keys)
    if not bare:
        values = [*((head.l, head.g) for head in each), (1.0, 0.0)]
        used[f"{name}.value.coefficient"] = _filled((len(places), 1, 2), values)
    return tuple((head, Key(0.0, 0.0, 0.0, 0.0)) for head in heads)


def _gate_heads(tensors: Tensors, name: str, count: int, bare: bool) -> list[Key]:
    """The token's own key in every head."""
    keys = tensors[f"{name}.key.coefficient"]
    need(keys.shape == (count, 1 if bare else 2, 1), ODD)
    if bare:
        return [Key(a, 0.0, 0.0, 1.0) for (a,) in keys.rows()]
    scores, values = zip(keys.numbers[::2], keys.numbers[1::2], strict=True), tensors[f"{name}.value.coefficient"]
    need(values.shape == (count, 1, 2), ODD)
    return [Key(a, b, g, l) for (a, b), (l, g) in zip(scores, values.rows(), strict=True)]


def _filled(shape: tuple[int, ...], rows: Sequence[Sequence[float]]) -> Tensor:
    """A tensor with these rows."""
    return Tensor(shape, tuple(x for row in rows for x in row))
