"""An MLP written unit by unit, and rows of attention with coefficients: few terms each, and no dense matrix.

x <- x + sum_h writes_h relu(reads_h . x + bias_h)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headsmith.network import Attention, FeedForward, Map, Select, Sparse

Terms = Mapping[int, float]
SIGNS = (1.0, -1.0)  # t = relu(t) - relu(-t): what ReLUs pass on takes two of them


@dataclass(frozen=True)
class Hidden:
    """One hidden unit: relu(sum of coefficient times feature + bias), added to `writes` by these coefficients."""

    reads: Terms
    writes: Terms
    bias: float = 0.0


def mlp(units: Iterable[Hidden], width: int, dtype: torch.dtype) -> FeedForward:
    """The units as one residual layer; what a feature is given is added in the order of the units.

    >>> layer = mlp([Hidden({0: 1.0}, {1: 2.0}), Hidden({0: -1.0}, {1: -2.0})], 2, torch.float64)
    >>> layer(torch.tensor([[-3.0, 1.0]], dtype=torch.float64))
    tensor([[-3., -5.]], dtype=torch.float64)
    """
    found = list(units)
    up = sparse([unit.reads for unit in found], width, dtype)
    written = [{h: unit.writes[row] for h, unit in enumerate(found) if row in unit.writes} for row in range(width)]
    bias = torch.tensor([unit.bias for unit in found], dtype=dtype)
    return FeedForward(up, sparse(written, len(found), dtype), bias if bool(bias.any()) else None, residual=True)


def sparse(rows: Sequence[Terms], features: int, dtype: torch.dtype) -> Sparse:
    """One row for each mapping of feature to coefficient, in their order."""
    index, coefficient = _table(rows, max(1, *map(len, rows)))
    return Sparse(index, torch.tensor(coefficient, dtype=dtype), features)


def heads(rows: Sequence[Sequence[Terms]], features: int, dtype: torch.dtype) -> Sparse:
    """The same for each head; short heads are filled up with rows that are 0."""
    most, terms = max(map(len, rows)), max(len(row) for head in rows for row in head)
    tables = [_table([*head, *[{}] * (most - len(head))], max(1, terms)) for head in rows]
    coefficient = torch.tensor([c for _, c in tables], dtype=dtype)
    return Sparse([index for index, _ in tables], coefficient, features)


def _table(rows: Sequence[Terms], terms: int) -> tuple[list[list[int]], list[list[float]]]:
    padded = [[*row.items(), *[(0, 0.0)] * (terms - len(row))] for row in rows]
    return [[f for f, _ in row] for row in padded], [[float(c) for _, c in row] for row in padded]


def scaled(features: Iterable[int], coefficient: float) -> list[Terms]:
    """One row for each feature, times the coefficient."""
    return [{f: coefficient} for f in features]


def everyone(query: Map, key: Map, value: Map, writes: list[list[int]], width: int) -> Attention:
    """out_i = x_i + sum_heads (1/T) sum_s relu(query_i . key_s) value_s, over all T tokens."""
    return Attention(query, key, value, Select.writing(writes, width), weights="relu", residual=True)


def itself(query: Map, key: Map, value: Map, writes: list[list[int]], width: int) -> Attention:
    """out = x + sum_heads relu(query . key) value, all three of one token."""
    options: dict[str, Any] = {"visible": "self", "weights": "relu", "residual": True}
    return Attention(query, key, value, Select.writing(writes, width), **options)
