"""The heads that a layer really holds, read back from its tensors: what a proof about stored weights starts from.

    query (z, one),  key (slope, offset),  value:  from memory tokens, from the token itself, or from positions

Only wirings that the assemblers of this package make are understood; anything else is refused, never guessed.
"""

from __future__ import annotations

import numpy as np

from headsmith.network import Attention
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal


def heads_of(layer: Attention, one: int, positions: slice | None = None) -> list[Head]:
    """The scalar heads of a softmax layer whose queries are (variable, one).

    `one` is the feature that always holds 1; with `positions`, the keys are the data tokens, one-hot in those features.
    """
    if layer.weights != "softmax" or layer.scale != 1.0 or layer.query.rows > 2 or layer.value.rows != 1:
        raise Refusal("the stored layer is not one of scalar softmax heads")
    asked = layer.query.dense().argmax(-1)
    key, value = (m.dense().detach().double().numpy() for m in (layer.key, layer.value))
    if layer.query.rows == 2 and not bool((asked[:, 1] == one).all()):
        raise Refusal("a stored query does not read the constant one")
    if layer.query.rows == 1:  # (variable) alone: every offset is zero
        key = np.concatenate([key, np.zeros_like(key)], 1)
    found = []
    for h in range(layer.heads):
        rows: list[list[float]] = []
        source = int(asked[h, 0])
        if layer.reach == "self" and _sees_itself(layer, h):
            level = 0.0 if source == one else value[h, 0, one]
            rows.append([key[h, 0, one], key[h, 1, one], level, value[h, 0, source]])
        if positions is not None:
            seen = _seen_positions(layer, h, positions)
            block = [key[h, 0, positions][seen], key[h, 1, positions][seen], value[h, 0, positions][seen]]
            rows += [[*column, 0.0] for column in np.stack(block, -1).tolist()]
        rows += _remembered(layer, h, key[h], value[h])
        slopes, offsets, values, lines = np.array(rows, dtype=np.float64).T
        found.append(Head(slopes, offsets, values, lines))
    return found


def _remembered(layer: Attention, h: int, key: np.ndarray, value: np.ndarray) -> list[list[float]]:
    if layer.memory is None:
        return []
    memory = (layer.memory if layer.memory.dim() == 2 else layer.memory[h]).detach().double().numpy()
    if layer.memory_mask is not None:
        memory = memory[np.array(layer.memory_mask[h], dtype=bool)]
    return np.concatenate([memory @ key.T, memory @ value.T, np.zeros((len(memory), 1))], 1).tolist()


def _sees_itself(layer: Attention, h: int) -> bool:
    return layer.visible == "self" or (isinstance(layer.visible, tuple) and layer.visible[h] == "self")


def _seen_positions(layer: Attention, h: int, positions: slice) -> np.ndarray:
    count = positions.stop - positions.start
    if layer.reach != "table":
        return np.ones(count, dtype=bool)
    table = layer.table[min(h, len(layer.table) - 1)]
    if not bool((table == table[0]).all()):
        raise Refusal("the queries of a stored head see different tokens")
    return table[0].numpy()
