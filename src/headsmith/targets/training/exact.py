"""What the forward pass of a training equals, in balls: its steps one by one, and all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from flint import arb, arb_mat

from headsmith.reference.backpropagation import Backpropagation

Held = tuple[arb_mat, ...]  # a matrix and its moments


def gradient(target: Any) -> Backpropagation:
    """The gradient of the loss."""
    bend = arb(target.bend) if target.bend < math.inf else None

    def slope(f: arb, y: arb) -> arb:
        if target.squashed:
            return 1 / (1 + (-f).exp()) - y
        return f - y if bend is None else (f - y).max(-bend).min(bend)

    return Backpropagation(target.activation, target.matrices.bent, target.biases, slope)


def moved(
    target: Any, before: Sequence[Held], data: Sequence[Any], rate: float, present: Sequence[float], t: int
) -> list[Held]:
    """(w', its moments) of step t = 1, 2, ... from w and its moments, layer by layer; data are x and y."""
    x, y = map(arb_mat, data)
    slopes = gradient(target).gradient([V for V, *_ in before], x, y, present)
    return [_stepped(target, part, slope, arb(rate), t) for part, slope in zip(before, slopes, strict=True)]


def _stepped(target: Any, before: Held, slope: arb_mat, rate: arb, t: int) -> Held:
    """One layer, entry by entry."""
    found = []
    for g, w, *kept in zip(slope.entries(), *(part.entries() for part in before), strict=True):
        after, moments = target.optimized.moved(w, g + w * arb(target.decay), kept, rate, t)
        boxed = after if target.project is None else after.max(arb(target.project[0])).min(arb(target.project[1]))
        found.append((boxed, *moments))
    rows, columns = slope.nrows(), slope.ncols()
    return tuple(arb_mat(rows, columns, [*part]) for part in zip(*found, strict=True))


def trained(target: Any, x: Any, y: Any, query: Any, w: Any, rates: Any = None, masks: Any = None) -> list[Any]:
    """The last w and f(query)."""
    rates = rates or [target.rate] * target.steps
    masks = masks or [[1.0] * target.samples] * target.steps
    rows = [arb_mat(part.tolist()) for part in target.matrices.split(torch.tensor(w, dtype=torch.float64))]
    state: list[Held] = [(V, *[V * 0] * len(target.optimized.moments)) for V in rows]
    for t, (rate, present) in enumerate(zip(rates, masks, strict=True), 1):
        state = moved(target, state, (x, y), rate, present, t)
    rows = [V for V, *_ in state]
    answer = gradient(target).outputs(rows, arb_mat([query]))[2]
    return [v for V in (*rows, answer) for row in V.tolist() for v in row]
