"""A tensor-grid head as a network, and back.

    features:   x, y, one, out | slope_x, slope_y, offset, value
    data token: x, y, 1,   0   | 0 ...                      memory token (i, j): 0 ... | a_i, a'_j, b_i + b'_j, V_ij

The score of a memory token is a dot product of three terms, and the softmax is the product of two one-dimensional
ones, because the stored offsets are exact sums. Components of a vector share the keys: one more value in every
memory token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headsmith.constructions.assemble import table_layer
from headsmith.constructions.design import Altered, Design, Tally, many
from headsmith.functions import Expression
from headsmith.network import Affine, Attention, Network, Select
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import Bound
from headsmith.proof.tensor import Axis, Box, TensorHead, prove_tensor
from headsmith.proof.tensor_rounding import prove_tensor_rounding
from headsmith.records.shown import upper

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

GOAL = {1: 0.01, 2: 0.01, 3: 0.02, 4: 0.05}
"""What the proof may add to the true error, as a share of eps, by the number of variables."""


@dataclass(frozen=True, eq=False)
class Grid(Design):
    """One head whose keys are a product of one-dimensional keys, with a value for each component."""

    name, serves = "grid", "formula"
    head: TensorHead

    @property
    def tally(self) -> Tally:
        return Tally(self.head.tokens, heads=1, layers=1)

    def size(self) -> str:
        """6 x 5 = 30 memory tokens."""
        shape = " x ".join(str(len(axis)) for axis in self.head.axes)
        return f"{shape} = {many(self.head.tokens, 'memory token')}" if len(self.head.axes) > 1 else super().size()

    def network(self, target: Any, dtype: str) -> Network:
        return grid_network(self.head, target.variables, getattr(torch, dtype))

    def prove(self, target: Any, request: Request) -> Bound:
        box = request.domain.box(target.variables)
        return prove_head(self.head, target.formulas, target.variables, box, request)

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Grid:
        return cls(stored_head(network, len(target.variables)))


def prove_head(
    head: TensorHead, formulas: Sequence[Expression], names: Sequence[str], box: Box, request: Request
) -> Bound:
    """sup |head - formulas| over the box, and its rounding."""
    goal = GOAL[len(names)] * request.eps
    rounding = prove_tensor_rounding(head, box, request.format, goal)
    if rounding > request.eps:
        raise Unprovable(f"rounding in {request.dtype} alone may cost {upper(rounding)}", 1.9 * rounding)
    proof = prove_tensor(head, formulas, names, box, goal)
    return Bound(proof.bound, rounding, least=proof.least, witness=proof.witness, cells=len(proof.cells))


def grid_network(head: TensorHead, names: Sequence[str], dtype: torch.dtype) -> Network:
    """Lift, one attention layer that reads the memory tokens, read."""
    dims, outputs = len(names), output_names(head)
    features = [*names, "one", *outputs, *memory_names(head, names)]
    width, written = len(features), range(dims + 1, dims + 1 + len(outputs))
    bias = torch.zeros(width, dtype=dtype)
    bias[dims] = 1.0
    layers = {
        "lift": Affine(Select([*range(dims), *[-1] * (width - dims)], features=dims), bias),
        "grid": grid_layer(head, range(dims + 1), written, width, dtype),
        "read": Affine(Select([*written], features=width)),
    }
    variables: dict[str, Any] = {name: ("lift", 0, slice(i, i + 1)) for i, name in enumerate(names)}
    variables |= {name: ("grid", 0, slice(i, i + 1)) for i, name in zip(written, outputs, strict=True)}
    return Network(layers, tokens=["input"], features=features, variables=variables)


def grid_layer(
    head: TensorHead, read: Sequence[int], written: Sequence[int], width: int, dtype: torch.dtype
) -> Attention:
    """One head: queries from the features `read` (the variables, then one), keys and values from the last features."""
    query, write = Select([[*read]], width), Select.writing([[*written]], width)
    return table_layer(query, memory_rows(head), head.components, write, dtype)


def output_names(head: TensorHead) -> list[str]:
    return ["out"] if head.components == 1 else [f"out.{r}" for r in range(head.components)]


def memory_names(head: TensorHead, names: Sequence[str]) -> list[str]:
    """What a memory token carries: a slope for each variable, an offset, a value for each component."""
    values = [name.replace("out", "value") for name in output_names(head)]
    return [*(f"slope_{name}" for name in names), "offset", *values]


def memory_rows(head: TensorHead) -> np.ndarray:
    """(tokens, slopes + offset + values); the offsets add up exactly, or the head is not what was proved."""
    shape = tuple(len(axis) for axis in head.axes)
    grids = np.meshgrid(*(axis.slopes for axis in head.axes), indexing="ij")
    offset = np.zeros(shape)
    exact = np.zeros(shape, dtype=object)
    for part in np.meshgrid(*(axis.offsets for axis in head.axes), indexing="ij"):
        offset = offset + part
        exact = exact + np.vectorize(Fraction, otypes=[object])(part)
    if not all(Fraction(x) == y for x, y in zip(offset.flat, exact.flat, strict=True)):
        raise Altered("the keys are not an exact product of one-dimensional keys: nothing can be proved of them")
    columns = [*(g.reshape(-1) for g in grids), offset.reshape(-1)]
    return np.concatenate([np.stack(columns, -1), head.values.reshape(-1, head.components)], -1)


def stored_head(network: Network, dims: int) -> TensorHead:
    """The head in the memory of the layer, refused unless its keys are a product of axes, exactly."""
    layer: Any = network.layers["grid"]
    memory, used = layer.memory.detach().cpu().double().numpy(), layer.key.index[0].tolist()
    slopes, offset, values = memory[:, used[:dims]], memory[:, used[dims]], memory[:, layer.value.index[0].tolist()]
    shape, inner = [], len(memory)
    for k in range(dims):
        change = np.flatnonzero(slopes[:, k] != slopes[0, k])
        block = int(change[0]) if len(change) else inner
        shape.append(inner // block)
        inner = block
    if math.prod(shape) != len(memory):
        raise Altered("the memory tokens are not a grid: nothing can be proved of them")
    slopes, offset = slopes.reshape(*shape, dims), offset.reshape(shape)
    axes = []
    for k in range(dims):
        line = tuple(slice(None) if i == k else 0 for i in range(dims))
        own = offset[line] - (offset[(0,) * dims] if k else 0.0)
        axes.append(Axis(slopes[(*line, k)], own))
    head = TensorHead(tuple(axes), values.reshape(*shape, -1))
    if not np.array_equal(
        memory_rows(head), np.concatenate([slopes.reshape(-1, dims), offset.reshape(-1, 1), values], -1)
    ):
        raise Altered("the keys are not an exact product of one-dimensional keys: nothing can be proved of them")
    return head
