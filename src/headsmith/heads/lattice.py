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
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from headsmith.network import Affine, Attention, Network, Select
from headsmith.proof.tensor import Axis, TensorHead
from headsmith.refusal import Refusal


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
    rows = memory_rows(head)
    memory = torch.zeros(len(rows), width, dtype=torch.float64)
    first, values = width - rows.shape[1], width - head.components
    memory[:, first:] = torch.from_numpy(rows)
    return Attention(
        Select([[*read]], width),
        Select([[*range(first, values)]], width),
        Select([[*range(values, width)]], width),
        Select.writing([[*written]], width),
        visible="none",
        memory=memory.to(dtype),
        residual=True,
    )


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
    assert all(Fraction(x) == y for x, y in zip(offset.flat, exact.flat, strict=True))
    columns = [*(g.reshape(-1) for g in grids), offset.reshape(-1)]
    return np.concatenate([np.stack(columns, -1), head.values.reshape(-1, head.components)], -1)


def stored_head(network: Network, dims: int, layer: str = "grid") -> TensorHead:
    """The head in the memory of a layer, refused unless its keys are a product of axes, exactly."""
    memory = network.layers[layer].memory.detach().cpu().double().numpy()  # type: ignore[union-attr, operator]
    used = network.layers[layer].key.index[0].tolist()  # type: ignore[union-attr, index]
    slopes, offset = memory[:, used[:dims]], memory[:, used[dims]]
    values = memory[:, network.layers[layer].value.index[0].tolist()]  # type: ignore[union-attr, index]
    shape, inner = [], len(memory)
    for k in range(dims):
        change = np.flatnonzero(slopes[:, k] != slopes[0, k])
        block = int(change[0]) if len(change) else inner
        shape.append(inner // block)
        inner = block
    if math.prod(shape) != len(memory):
        raise Refusal("the memory tokens are not a grid: nothing can be proved of them")
    slopes, offset = slopes.reshape(*shape, dims), offset.reshape(shape)
    axes = []
    for k in range(dims):
        line = tuple(slice(None) if i == k else 0 for i in range(dims))
        own = offset[line] - (offset[(0,) * dims] if k else 0.0)
        axes.append(Axis(slopes[(*line, k)], own))
    head = TensorHead(tuple(axes), values.reshape(*shape, -1))
    try:
        same = np.array_equal(
            memory_rows(head), np.concatenate([slopes.reshape(-1, dims), offset.reshape(-1, 1), values], -1)
        )
    except AssertionError:
        same = False
    if not same:
        raise Refusal("the keys are not an exact product of one-dimensional keys: nothing can be proved of them")
    return head
