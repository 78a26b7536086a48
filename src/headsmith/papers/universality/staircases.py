"""The printed and the repaired anchors of Thm 3.4 and Thm 3.9 that only experiments use."""

from __future__ import annotations

import math

from headsmith.constructions.clip import sentinels, staircase
from headsmith.proof.statement import Head


def printed_rule(low: float, high: float, p: int) -> Head:
    """Thm 3.4 with eps_0 = 1/p (Remark G.5): what the slope in p is measured on."""
    return staircase(low, high, p, math.log(p * (p - 2)))


def repaired_sentinels(
    low: float, high: float, tokens: int, heads: int, eps: float, c: float | None = None
) -> list[Head]:
    """Thm 3.9 where the very first sentinel carries a and the very last one b, so that the truncation is kept."""
    found = sentinels(low, high, tokens, heads, eps, c)
    found[0].values[0], found[-1].values[-1] = low, high
    return found
