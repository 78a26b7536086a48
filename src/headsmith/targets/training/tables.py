"""Tables that a training needs, of Adam's reciprocal root and of activations: or a refusal that says what would do."""

from __future__ import annotations

import math
from functools import lru_cache

from headsmith.compiler.scalar import ScalarTask, solve
from headsmith.constructions.design import Short
from headsmith.constructions.training.optimizing import reciprocal
from headsmith.functions.smooth import Mean, Smooth
from headsmith.proof.statement import Head
from headsmith.records.shown import exactly, upper
from headsmith.reference.optimizers import Optimizer
from headsmith.refusal import Refusal


def near_enough(share: float, parameters: int, size: float) -> float:
    """table |m^|_2 <= share, where |m^| <= sqrt(v^) in every entry, as it is for gradients that stay what they are."""
    return share / math.sqrt(parameters * size)


@lru_cache(maxsize=16)
def root_table(optimizer: Optimizer, size: float, near: float, dtype: str) -> Head:
    """1 / sqrt(v + root) for v in [0, size], proved within `near`."""
    task = ScalarTask(reciprocal(optimizer), (0.0, size), near, dtype, "v", may_bias=False)
    try:
        [head] = solve(task, "table").part.heads
    except Short as short:
        root = exactly(optimizer.root)
        raise Refusal(
            f"no table of 1/sqrt(v + root) carries the root {root} for v up to {exactly(size)} within {upper(near)} in "
            f"{dtype} ({short.reason}): take a larger root or eps, or a smaller v"
        ) from None
    return head


def activation_tables(name: str, share: float, dtype: str) -> tuple[Head, ...]:
    """The tables of a smooth activation, each proved within share / 1024, or what the dtype has room for.

    Errors grow on their way through the layers: the nearer the tables, the more prompts keep what is promised.
    """
    smooth = Smooth.of(name)
    for grows in (1024, 128):
        try:
            return tuple(_table(part, smooth.range(part), share / grows, dtype) for part in smooth.searched)
        except Short:
            continue
    try:
        return tuple(_table(part, smooth.range(part), share / 16, dtype) for part in smooth.searched)
    except Short as short:
        other = " or dtype='float64'" * (dtype == "float32")
        raise Refusal(
            f"no table carries {name} within {upper(share / 16)} in {dtype} ({short.reason}): take a larger eps{other}"
        ) from None


@lru_cache(maxsize=64)
def _table(part: Mean, domain: tuple[float, float], near: float, dtype: str) -> Head:
    [head] = solve(ScalarTask(part.expression, domain, near, dtype, may_bias=False), "table").part.heads
    return head
