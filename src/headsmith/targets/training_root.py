"""Adam's reciprocal root: the table that carries it, or a refusal that says what would."""

from __future__ import annotations

import math
from functools import lru_cache

from headsmith.compiler.scalar import ScalarTask, solve
from headsmith.constructions.design import Short
from headsmith.constructions.optimizing import reciprocal
from headsmith.proof.domain import exactly
from headsmith.proof.statement import Head
from headsmith.records.shown import upper
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
