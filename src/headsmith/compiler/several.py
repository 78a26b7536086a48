"""From formulas of several variables to one head on a tensor grid whose certified error meets eps, or a refusal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from headsmith.compiler.request import Request
from headsmith.constructions.design import Short
from headsmith.functions import Expression
from headsmith.functions.misbehaviour import PIECES, refuse_edges
from headsmith.functions.several import evaluator
from headsmith.proof.tensor import TensorHead
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.search.tensor_grid import Search, TooRough, cost

Box = tuple[tuple[float, float], ...]

VARIABLES = 4
AIMS = (0.8, 0.55, 0.3, 0.1)
"""Sampled errors to look for, as shares of eps; with up to three variables 0.95 comes first."""


def grid_heads(
    title: str,
    formulas: tuple[Expression, ...],
    names: Sequence[str],
    box: Box,
    request: Request,
    instead: str = PIECES,
) -> Iterator[TensorHead]:
    """Heads on a grid whose sampled error is below eps, the smallest first; raises Short after the last."""
    refuse_edges(formulas, names, box, title, instead)
    eps = request.eps
    try:
        search = Search(evaluator(formulas, names), box, eps, request.dtype)
    except TooRough as rough:
        if rough.error == math.inf and "finite" in str(rough):
            raise Refusal(
                f"{title} is not finite everywhere for {request.domain}: choose a box that leaves the pole out"
            ) from None
        raise Short(str(rough), rough.error) from None
    seen = -1
    for aim in AIMS if len(names) == VARIABLES else (0.95, *AIMS):
        head = search.find(aim * eps)
        if head is None:
            break
        if head.tokens != seen:
            seen = head.tokens
            yield head
    head = search.best()
    best = search.error(head)
    raise Short(f"a grid of {head.tokens} tokens leaves an error of {best:.1e}", best)


def printed_cells(f: Any, box: Box, eps: float) -> float:
    """g^N with omega_f(B/g) <= eps/2 (softmax-universality, Lemma 3.11), the slopes of f taken from samples."""
    ends = np.array(box)[..., None]
    x = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * np.random.default_rng(0).random((len(box), 2000))
    here, rise = f(*x), 0.0
    for k, (lo, hi) in enumerate(box):
        moved = x.copy()
        moved[k] += 1e-4 * (hi - lo)
        rise += float(np.nanmax(np.abs(f(*moved) - here))) / 1e-4
    with suppress(OverflowError):
        return float(max(1, math.ceil(rise / eps))) ** len(box)
    return math.inf


def too_many(title: str, f: Any, box: Box, eps: float, instead: str) -> Refusal:
    """More variables than a grid is good for: what it would cost, and what there is instead."""
    try:
        tokens = f"about {number(float(cost(f, box, eps)), 2)} tokens"
    except TooRough as rough:
        tokens = f"more tokens than can be counted ({rough})"
    return Refusal(
        f"{title} has {len(box)} variables: a grid would take {tokens} for eps = {number(eps)}, and is proved for at "
        f"most {VARIABLES} variables; the printed bumps need g^N = {number(printed_cells(f, box, eps), 2)} cells; "
        f"{instead}"
    )
