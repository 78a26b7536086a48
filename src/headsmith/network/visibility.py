"""Who may look at whom, and what a query makes of its scores.

Every pattern among data tokens is a band: query i sees key j when low <= i - j <= high. So heads with
different patterns share one comparison, and "self" and "none", the two that scalar heads and gates use, need
no tokens x tokens table at all. A query that sees nothing gets weight 0 everywhere, never NaN, in the values
and in the gradients.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor

from headsmith.refusal import Refusal

FAR = 2**40
FEW = 2  # keys: in layers of many such heads (gates), softmax is ten times faster along the first axis than the last
BANDS = {"all": (-FAR, FAR), "causal": (0, FAR), "strict": (1, FAR), "self": (0, 0), "none": (1, 0)}
WEIGHTS = ("softmax", "relu", "hardmax")


def bands(patterns: tuple[str, ...]) -> Tensor:
    """(2, heads, 1, 1): the lowest and the highest i - j that each head sees."""
    for pattern in patterns:
        if pattern not in BANDS:
            raise Refusal(f"no visibility is called {pattern!r}; there are {', '.join(BANDS)} and boolean tables.")
    return torch.tensor([BANDS[p] for p in patterns]).T.reshape(2, -1, 1, 1)


def in_band(band: Tensor, tokens: int) -> Tensor:
    """(heads, tokens, tokens) bool: does query i see key j?"""
    place = torch.arange(tokens, device=band.device)
    distance = place.unsqueeze(1) - place
    return (distance >= band[0]) & (distance <= band[1])


def over_batch(table: Tensor, batch: int) -> Tensor:
    """(heads, queries, keys) -> (heads, 1, ..., 1, queries, keys) with `batch` ones."""
    return table.reshape(table.shape[0], *[1] * batch, *table.shape[1:])


def join(data: Tensor | None, memory: Tensor | None, shape: tuple[int, int]) -> Tensor | None:
    """One table over [data keys, memory keys]; None = all visible, `shape` = how many keys of each."""
    if data is None and memory is None:
        return None
    if 0 in shape:
        return data if shape[1] == 0 else memory
    some = cast(Tensor, data if data is not None else memory)
    parts = [some.new_ones(()).expand(*[1] * some.dim()) if part is None else part for part in (data, memory)]
    front = torch.broadcast_shapes(parts[0].shape[:-1], parts[1].shape[:-1])
    return torch.cat([part.expand(*front, keys) for part, keys in zip(parts, shape, strict=True)], -1)


def hide(scores: Tensor, visible: Tensor | None, sighted: bool) -> Tensor:
    """-inf at hidden keys, in place; `sighted` promises that no query is blind, else blind rows stay."""
    if visible is None:
        return scores
    return scores.masked_fill_(~visible if sighted else ~visible & visible.any(-1, keepdim=True), -math.inf)


def weigh(scores: Tensor, visible: Tensor | None, weights: str, sighted: bool) -> Tensor:
    """Attention weights over the last axis of hidden-filled scores; rows of blind queries are 0.

    softmax  exp(s_j) / sum_i exp(s_i)
    relu     max(s_j, 0) / number of visible keys
    hardmax  uniform over the maximisers
    """
    if weights == "softmax" and scores.shape[-1] <= FEW < scores.shape[0]:
        pattern = torch.softmax(scores.movedim(-1, 0), 0).movedim(0, -1)
    elif weights == "softmax":
        pattern = torch.softmax(scores, -1)
    elif weights == "relu":
        count = scores.shape[-1] if visible is None else visible.sum(-1, keepdim=True).clamp(min=1)
        pattern = torch.relu(scores) / count
    else:
        best = (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)
        pattern = best / best.sum(-1, keepdim=True)
    return pattern if visible is None or sighted else pattern.masked_fill(~visible, 0)
