"""Perceptrons: which matrices and heads a network of a file holds, from its wiring and its tensors alone.

    lift       x_1, .., x_d, zeros, one                       at least four places, then `one`, which is 1
    linear1    one head sees its own token, so with weight 1:       z = W_1 x + b_1,   one = 1
    units l    the same heads for each unit k, written through column k of the next matrix;  z' = W (heads of z) + b
    read       the outputs

The heads of a units layer read (z_k, one). Their keys are the token itself and an empty token, or memory tokens that
all units share. The last head of a layer writes the bias and `one`: its best key leads by 1000, and exp(-1000) is 0 in
every format. In exact arithmetic it is 10^-434, which is paid for as `DUST`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .heads import Head, Key
from .verdict import need
from .wiring import ODD, Tensor, listed, names_of, select

LEAD = 1000.0
DUST = 1e-200  # of a sum of sizes; numbers up to LARGEST make of 10^-434 less than that
LARGEST = 1e100

Numbers = tuple[float, ...]
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
        need(all(abs(x) < LARGEST for x in (*weight.numbers, *bias.numbers)), "the weights are too large", 2)
        found.append(Matrix(weight.rows(), bias.numbers))
    return found


def _named(said: Any, part: str, tensors: dict[str, Tensor]) -> list[Tensor]:
    """The tensors that the target names, in order."""
    need(said == [{"tensor": f"{part}.{i}"} for i in range(len(listed(said)))], "the target is malformed")
    return [tensors[f"{part}.{i}"] for i in range(len(said))]


def unit_heads(network: Any, tensors: dict[str, Tensor], matrices: Sequence[Matrix]) -> list[tuple[Head, ...]]:
    """The heads of each units layer; rejected unless all else is what these matrices make."""
    names_of(network)
    first, last = len(matrices[0].rows[0]), len(matrices[-1].rows)
    n, end, layers = width(first), width(last), listed(network["layers"], len(matrices) + 2)
    plain = {"kind": "affine", "source": None}
    spread = select([*range(first), *[-1] * (n - first)], first)
    need(layers[0] == {**plain, "name": "lift", "map": spread, "bias": [n]}, ODD)
    need(layers[-1] == {**plain, "name": "read", "map": select([*range(last)], end), "bias": None}, ODD)
    used = {"lift.bias": (*[0.0] * (n - 1), 1.0)}
    _linear(layers[1], matrices[0], used)
    found = [_units(layer, l, matrices[l], tensors, used) for l, layer in enumerate(layers[2:-1], 1)]
    need(set(used) == set(tensors), ODD)
    need(all(tensors[name].numbers == numbers for name, numbers in used.items()), ODD)
    return found


def width(units: int) -> int:
    """Places in a stream of so many units: at least four, and `one`."""
    return max(units, 4) + 1


def _attention(name: str, **parts: Any) -> dict[str, Any]:
    plain = {"kind": "attention", "weights": "softmax", "scale": (1.0).hex(), "residual": False, "memory_mask": None}
    return {**plain, "name": name, **parts}


def _linear(layer: Any, matrix: Matrix, used: dict[str, Numbers]) -> None:
    """The first matrix, as the value of the token itself."""
    a, b = width(len(matrix.rows[0])), width(len(matrix.rows))
    one, gap = select([[a - 1]], a), [0.0] * (a - 1 - len(matrix.rows[0]))
    value = {"kind": "dense", "shape": [1, b, a]}
    parts = {"query": one, "key": one, "value": value, "output": select([[*range(b)]], b)}
    need(layer == _attention("linear1", visible="self", memory=None, **parts), ODD)
    rows = [(*row, *gap, bias) for row, bias in zip(matrix.rows, matrix.bias, strict=True)]
    empty = [(0.0,) * a] * (b - 1 - len(rows))
    used["linear1.value.weight"] = _flat([*rows, *empty, (*[0.0] * (a - 1), 1.0)])


def _units(
    layer: Any, l: int, matrix: Matrix, tensors: dict[str, Tensor], used: dict[str, Numbers]
) -> tuple[Head, ...]:
    """The heads of one layer, the same for each of its units."""
    name, units = f"units{l}", len(matrix.rows[0])
    a, b = width(units), width(len(matrix.rows))
    count, left = divmod(len(tensors[f"{name}.output.weight"].numbers) // b - 1, units)
    need(count > 0 and left == 0, ODD)
    written = [*matrix.columns * count, matrix.bias]
    gap = (0.0,) * (b - 1 - len(matrix.rows))
    ends = [0.0] * (count * units) + [1.0]
    used[f"{name}.output.weight"] = _flat([(*row, *gap, end) for row, end in zip(written, ends, strict=True)])
    output = {"kind": "dense", "shape": [count * units + 1, b, 1]}
    read = {"none": _table, "self": _gates}.get(str(layer["visible"]))
    need(read is not None, ODD)
    return read(layer, name, (units, count, a), output, tensors, used) if read else ()


def _table(
    layer: Any,
    name: str,
    sizes: tuple[int, int, int],
    output: Any,
    tensors: dict[str, Tensor],
    used: dict[str, Numbers],
) -> tuple[Head, ...]:
    """Memory tokens (slope, offset, value, lead, .., one) that all units share."""
    units, count, a = sizes
    memory = tensors[f"{name}.memory"]
    need(count == 1 and len(memory.shape) == 2 and memory.shape[1] == a and memory.shape[0] > 0, ODD)
    parts = {
        "query": select([[k, a - 1] for k in [*range(units), a - 1]], a),
        "key": select([[0, 1]] * units + [[3, -1]], a),
        "value": select([[2]] * units + [[a - 1]], a),
    }
    need(layer == _attention(name, visible="none", memory=list(memory.shape), output=output, **parts), ODD)
    rows = memory.rows()
    gap = (0.0,) * (a - 5)
    leads = [LEAD, *[0.0] * (len(rows) - 1)]
    used[f"{name}.memory"] = _flat([(*row[:3], lead, *gap, 1.0) for row, lead in zip(rows, leads, strict=True)])
    return (tuple(Key(a, b, g, 0.0) for a, b, g, *_ in rows),)


def _gates(
    layer: Any,
    name: str,
    sizes: tuple[int, int, int],
    output: Any,
    tensors: dict[str, Tensor],
    used: dict[str, Numbers],
) -> tuple[Head, ...]:
    """Each head sees the token itself and an empty one; its numbers are those of every unit."""
    units, count, a = sizes
    one, places = a - 1, [*[*range(units)] * count, a - 1]
    bare = layer["value"]["kind"] == "select"
    both = [[one]] if bare else [[one], [one]]
    parts = {
        "query": select([[k] if bare else [k, one] for k in places], a),
        "key": {"kind": "sparse", "features": a, "index": [both] * len(places)},
        "value": select([[k] for k in places], a)
        if bare
        else {"kind": "sparse", "features": a, "index": [[[k, one]] for k in places]},
    }
    need(layer == _attention(name, visible="self", memory=[1, a], output=output, **parts), ODD)
    used[f"{name}.memory"] = (0.0,) * a
    heads = _gate_heads(tensors, name, len(both), bare)[: count * units : units]
    need(len(heads) == count, ODD)
    each = [head for head in heads for _ in range(units)]
    rows = [(head.a, head.b)[: len(both)] for head in each]
    used[f"{name}.key.coefficient"] = _flat([*rows, (LEAD, 0.0)[: len(both)]])
    if not bare:
        used[f"{name}.value.coefficient"] = _flat([*((head.l, head.g) for head in each), (1.0, 0.0)])
    return tuple((head, Key(0.0, 0.0, 0.0, 0.0)) for head in heads)


def _gate_heads(tensors: dict[str, Tensor], name: str, numbers: int, bare: bool) -> list[Key]:
    """The token's own key in every head."""
    keys = tensors[f"{name}.key.coefficient"]
    need(keys.shape[1:] == (numbers, 1), ODD)
    scores = [keys.numbers[i : i + numbers] for i in range(0, len(keys.numbers), numbers)]
    if bare:
        return [Key(a, 0.0, 0.0, 1.0) for (a,) in scores]
    values = tensors[f"{name}.value.coefficient"]
    need(values.shape == (len(scores), 1, 2), ODD)
    return [Key(a, b, g, l) for (a, b), (l, g) in zip(scores, values.rows(), strict=True)]


def _flat(rows: Sequence[Sequence[float]]) -> Numbers:
    return tuple(x for row in rows for x in row)
