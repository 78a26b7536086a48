"""What memories share: a head of rank 1, which makes ids, and a table of ramps over the ids.

W_K = k^T, W_Q = q^T, W_V = v^T, W_O = o, each of one row or column;   level(a . H): two ReLUs for each ramp
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.constructions.assemble import tensor
from headsmith.network import Attention, Dense, Lookup
from headsmith.proof.context_ids import Enclosed, RankOne
from headsmith.proof.rounding import FORMATS
from headsmith.proof.statement import Floats
from headsmith.search.separation import free


@dataclass(frozen=True, eq=False)
class Steps:
    """The table: `left` where each ramp begins, its slope, the levels around (knots + 1, written), and the skip."""

    left: Floats
    slope: Floats
    levels: Floats
    skip: Floats

    @property
    def units(self) -> int:
        """Hidden units of the textbook form."""
        return 2 * len(self.left) + len(self.skip)

    @property
    def numbers(self) -> int:
        """How many it stores."""
        return sum(part.size for part in (self.left, self.slope, self.levels, self.skip))

    def layer(self, read: Floats, kind: torch.dtype, first: int = 0) -> Lookup:
        """The ReLU layer that reads along a direction, and writes features from `first` on."""
        left, slope, levels, skip = (tensor(x, kind) for x in (self.left, self.slope, self.levels, self.skip))
        return Lookup(tensor(read, kind), left, slope, levels, skip, range(first, first + len(self.skip)))

    def recalled(self, found: Enclosed, read: Floats, dtype: str) -> tuple[Floats, np.ndarray]:
        """(the level at each id, whether it is that in all of the enclosure: behind a full ramp, before the next)."""
        layer = self.layer(read, getattr(torch, dtype))
        low, high = (torch.from_numpy(end) for end in inside(found, dtype))
        (first, risen), (last, top) = layer.ramp(low), layer.ramp(high)
        flat = (first == last) & ((risen == 1) | (top == 0))
        flat &= bool((self.slope * FORMATS[dtype].tiny <= 1).all())  # a ramp as wide as what is flushed may be lost
        return array(layer.level(low)), flat.numpy()


def ramps(found: Enclosed, codes: np.ndarray, levels: Floats, skip: Floats, dtype: str) -> Steps:
    """A ramp in the middle half of each gap between codes, if floats allow; one that does nothing if all agree."""
    order = np.argsort(found.ids, kind="stable")
    lowest, highest = (end[order] for end in inside(found, dtype))
    at, low, high = free(lowest, highest, codes[order])
    quarter, rest = (low + share * (high.astype(np.float64) - low) for share in (0.25, 0.75))
    left = np.maximum(low, quarter.astype(dtype))
    right = np.minimum(high, np.maximum(rest.astype(dtype), np.nextafter(left, high)))
    with np.errstate(divide="ignore", invalid="ignore"):  # where there is no gap: the proof will say so
        slope = np.nextafter(1 / (right - left), np.array(np.inf, dtype))
    chosen = levels[order][np.append(at, len(order) - 1)]
    if not len(at):
        left, slope, chosen = highest.max(keepdims=True), np.ones(1), np.concatenate([chosen, chosen])
    return Steps(*(cast(part, dtype) for part in (left, slope, chosen, skip)))


def rank_one_layer(head: RankOne, kind: torch.dtype, visible: Any = "all") -> Attention:
    """W_K, W_Q, W_V of one row each, W_O of one column."""
    query, key, value = (Dense(tensor(part[None, None], kind)) for part in (head.query, head.key, head.value))
    return Attention(query, key, value, Dense(tensor(head.output[None, :, None], kind)), visible=visible, residual=True)


def stored_head(attend: Any, read: Any) -> RankOne:
    """The directions of an attention layer, and of the table that reads behind it."""
    query, key, value = (array(part.weight)[0, 0] for part in (attend.query, attend.key, attend.value))
    return RankOne(key, query, value, array(attend.output.weight)[0, :, 0], array(read.direction))


def stored_steps(layer: Any) -> Steps:
    """The numbers of a table."""
    return Steps(*(array(getattr(layer, name)) for name in ("left", "slope", "levels", "skip")))


def inside(found: Enclosed, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest number of the dtype in each enclosure: an executed id is one of them, or between.

    >>> [x.tolist() for x in inside(Enclosed(np.array([1.0]), np.array([2.0**-25])), "float32")]
    [[1.0], [1.0]]
    """
    low, high = np.nextafter(found.ids - found.radius, -np.inf), np.nextafter(found.ids + found.radius, np.inf)
    up, down = low.astype(dtype), high.astype(dtype)
    up = np.where(up < low, np.nextafter(up, np.array(np.inf, dtype)), up)
    return up, np.where(down > high, np.nextafter(down, np.array(-np.inf, dtype)), down)


def cast(x: Floats, dtype: str) -> Floats:
    """The nearest numbers of the dtype, without -0."""
    with np.errstate(over="ignore"):
        return x.astype(dtype).astype(np.float64) + 0.0


def array(x: Tensor) -> Floats:
    """Its numbers in float64."""
    found: Floats = x.detach().cpu().double().numpy()
    return found
