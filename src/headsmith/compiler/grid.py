"""From formulas of several variables to one head on a tensor grid whose certified error meets eps, or a refusal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headsmith.compiler.requests import read_domain
from headsmith.compiler.scalar import Short
from headsmith.functions import Expression, Unresolved
from headsmith.functions.expression import JUMPS
from headsmith.heads.grid import Search, TooRough, cost
from headsmith.proof.approximation import Unprovable
from headsmith.proof.box import box_text
from headsmith.proof.certificate import SLACK
from headsmith.proof.rounding import FORMATS
from headsmith.proof.tensor import TensorHead, TensorProof, prove_tensor
from headsmith.proof.tensor_rounding import prove_tensor_rounding
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal

Box = tuple[tuple[float, float], ...]

VARIABLES = 4
KINKS = ("abs", "relu", "min", "max", "clip")
GOAL = {1: 0.01, 2: 0.01, 3: 0.02, 4: 0.05}
"""What the proof may add to the true error, as a share of eps, by the number of variables."""
AIMS = (0.8, 0.55, 0.3, 0.1)
"""Sampled errors to look for, as shares of eps; with up to three variables 0.95 comes first."""


def forge_grid(
    expressions: tuple[Expression, ...], names: tuple[str, ...], box: Box, eps: float, dtype: str
) -> tuple[TensorHead, TensorProof, float]:
    """The smallest head found whose proved error meets eps."""
    goal = GOAL[len(names)] * eps
    try:
        search = Search(evaluator(expressions, names), box, eps, dtype)
    except TooRough as rough:
        raise Short(str(rough), rough.error) from None
    best, reason, seen = math.inf, "", -1
    for aim in AIMS if len(names) == VARIABLES else (0.95, *AIMS):
        head = search.find(aim * eps)
        if head is None:
            break
        if head.tokens == seen:
            continue
        seen = head.tokens
        rounding = prove_tensor_rounding(head, box, FORMATS[dtype], goal)
        if rounding > eps:
            best, reason = min(best, rounding), f"rounding in {dtype} alone may cost {upper(rounding)}"
            continue
        try:
            proof = prove_tensor(head, expressions, names, box, goal)
        except (Unprovable, Unresolved) as error:
            best, reason = min(best, search.error(head)), f"{error}; the error measured is {search.error(head):.1e}"
            continue
        total = (proof.bound + rounding) * SLACK
        if total <= eps:
            return head, proof, rounding
        best, reason = min(best, total), f"the smallest bound found is {upper(min(best, total))}"
    if not reason:
        head = search.best()
        best = search.error(head)
        reason = f"a grid of {head.tokens} tokens leaves an error of {best:.1e}"
    raise Short(reason, best)


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


def read_box(domain: Any, names: Sequence[str], dtype: str, title: str) -> Box:
    """One interval a variable: a mapping by name, or one pair for all of them."""
    if domain is None:
        example = ", ".join(f'"{name}": (-1, 1)' for name in names)
        raise Refusal(f"{title} needs a domain, such as domain={{{example}}}")
    if not isinstance(domain, Mapping):
        return (read_domain(domain, dtype),) * len(names)
    if set(domain) != set(names):
        raise Refusal(
            f"the domain names {', '.join(map(str, domain))}, but {title} has the variables {', '.join(names)}"
        )
    return tuple(read_domain(domain[name], dtype) for name in names)


def refuse_edges(expressions: Sequence[Expression], names: Sequence[str], box: Box, title: str) -> None:
    """Jumps have no continuous approximation, kinks across a box no small grid: both are named."""
    points = np.meshgrid(*(np.linspace(lo, hi, 9) for lo, hi in box), indexing="ij")
    for node in {node for f in expressions for node in f.order if node.variables}:
        if node.op in JUMPS:
            raise Refusal(
                f"{title} jumps where {node} does: no continuous head comes within half the jump; compile the pieces"
            )
        if node.op in KINKS:
            first, second = (
                (node.children[0], *node.children[1:2])
                if node.op in ("min", "max", "clip")
                else (node.children[0], None)
            )
            gap = evaluator([first], names)(*points)
            gap = gap if second is None else gap - evaluator([second], names)(*points)
            if gap.min() < 0 < gap.max():
                raise Refusal(
                    f"{title} has the kink of {node} inside the box: a grid of smooth weights follows "
                    "it only to first order; "
                    "as a torch nn.Sequential of Linear and ReLU it is compiled with gates"
                )


def printed_cells(expressions: Sequence[Expression], names: Sequence[str], box: Box, eps: float) -> float:
    """g^N with omega_f(B/g) <= eps/2 (softmax-universality, Lemma 3.11), the slopes of f taken from samples."""
    nodes = [np.linspace(lo, hi, 9) for lo, hi in box]
    grid = evaluator(expressions, names)(*np.meshgrid(*nodes, indexing="ij"))
    rise = sum(float(np.abs(np.diff(grid, axis=k + 1)).max()) * 8 for k in range(len(box)))
    return float(max(1, math.ceil(rise / eps))) ** len(box)


def too_many(title: str, expressions: Sequence[Expression], names: Sequence[str], box: Box, eps: float) -> Refusal:
    """More variables than a grid is good for: what it would cost, and what there is instead."""
    try:
        tokens = f"about {cost(evaluator(expressions, names), box, eps):,} tokens".replace(",", " ")
    except TooRough as rough:
        tokens = f"more tokens than can be counted ({rough})"
    return Refusal(
        f"{title} has {len(names)} variables: a grid would take {tokens} for eps = {number(eps)}, and "
        "is proved for at most "
        f"{VARIABLES} variables; write it as a sum of formulas of fewer variables, or as a torch nn.Sequential"
    )


def refusal(
    title: str,
    expressions: tuple[Expression, ...],
    names: tuple[str, ...],
    box: Box,
    eps: float,
    dtype: str,
    short: Short,
) -> Refusal:
    """What was asked, why it cannot be had, and an eps that was just tried and can."""
    if short.best == math.inf and "finite" in short.reason:
        raise Refusal(
            f"{title} is not finite everywhere for {box_text(names, box)}: choose a box that leaves the pole out"
        )
    asked = f"{title} within {number(eps)} in {dtype} for {box_text(names, box)} cannot be certified: {short.reason}"
    reachable = max(2 * eps, 2 * short.best if math.isfinite(short.best) else 0.0)
    for _ in range(3):
        reachable = float(upper(reachable))
        try:
            forge_grid(expressions, names, box, reachable, dtype)
        except Short:
            reachable *= 8
        else:
            return Refusal(f"{asked}; eps = {reachable:g} can be had")
    return Refusal(f"{asked}; nor can eps = {reachable / 8:.1g}: a grid wants a smooth function on a smaller box")
