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
from headsmith.functions.expression import JUMPS
from headsmith.proof.domain import exactly
from headsmith.proof.tensor import TensorHead
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.search.tensor_grid import Search, TooRough, cost

Box = tuple[tuple[float, float], ...]

VARIABLES = 4
KINKS = ("abs", "relu", "min", "max", "clip")
AIMS = (0.8, 0.55, 0.3, 0.1)
"""Sampled errors to look for, as shares of eps; with up to three variables 0.95 comes first."""


def grid_heads(
    title: str, formulas: tuple[Expression, ...], names: Sequence[str], box: Box, request: Request
) -> Iterator[TensorHead]:
    """Heads on a grid whose sampled error is below eps, the smallest first; raises Short after the last."""
    refuse_edges(formulas, names, box, title)
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


def evaluator(expressions: Sequence[Expression], names: Sequence[str]) -> Any:
    """(components, ...) in float64."""

    def f(*points: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(*(p.shape for p in points))
        by_name = dict(zip(names, points, strict=True))
        with np.errstate(all="ignore"):
            values = [
                np.broadcast_to(g(**{n: by_name[n] for n in g.variables}) if g.variables else float(g.at()), shape)
                for g in expressions
            ]
        return np.stack(values)

    return f


def refuse_edges(expressions: Sequence[Expression], names: Sequence[str], box: Box, title: str) -> None:
    """Jumps have no continuous approximation, kinks across a box and vertical edges no small grid: all are named."""
    nodes = {node for f in expressions for node in f.order if node.variables}
    for node in nodes:
        if node.op in JUMPS:
            raise Refusal(
                f"{title} jumps where {node} does: no continuous head comes within half the jump; compile the pieces"
            )
    for f in expressions:
        _refuse_vertical(f, names, box, title)
    for node in nodes:
        if node.op in KINKS and _bends(node, names, box):
            raise Refusal(
                f"{title} has the kink of {node} inside the box: a grid of smooth weights follows "
                "it only to first order; "
                "as a torch nn.Sequential of Linear and ReLU it is compiled with gates"
            )


def _bends(node: Expression, names: Sequence[str], box: Box) -> bool:
    """Whether what a kinked function reads crosses a kink: 0, or what min, max and clip compare it with."""
    points = np.meshgrid(*(np.linspace(lo, hi, 9) for lo, hi in box), indexing="ij")
    read, *against = (evaluator([child], names)(*points) for child in node.children)
    gaps = [read - other for other in against] or [read]
    return any(gap.min() < 0 < gap.max() for gap in gaps)


def _refuse_vertical(f: Expression, names: Sequence[str], box: Box, title: str) -> None:
    """Ends of a variable where f has no value, or leaves it infinitely steep, as sqrt(x) does at 0."""
    middle = [(lo + hi) / 2 for lo, hi in box]
    for k, ends in enumerate(box):
        for end, other in (ends, ends[::-1]):
            steps = (other - end) * np.array([0.0, 2.0**-30, 2.0**-15])
            points = [end + steps if i == k else np.full(3, m) for i, m in enumerate(middle)]
            at, near, far = evaluator([f], names)(*points)[0]
            if not np.isfinite(at):
                what = "has no value"
            elif abs(near - at) > 2.0**-10 * abs(far - at) > 0:  # smooth functions give 2^-15
                what = "is infinitely steep"
            else:
                continue
            raise Refusal(
                f"{title} {what} at {names[k]} = {exactly(end)}, an end of the box: a grid of smooth weights does not "
                "follow it; choose a box that leaves it out"
            )


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
