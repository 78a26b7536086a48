"""What will be built, how large it is and what it promises, before it is built."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from headsmith.compiler.compiled import Compiled
from headsmith.records.shown import Shown, number, upper

EPS_FLOOR = 1e-300


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """Sizes and the promised bound. `anchors` counts the keys of all heads; `build()` makes the network.

    `printed_anchors` is the size that the papers' rule would need for the same promise.
    """

    target: str
    domain: Any
    eps: float
    dtype: str
    method: str
    anchors: int
    heads: int
    layers: int
    approximation: float
    rounding: float
    printed_anchors: float

    @property
    def bound(self) -> float:
        return math.nextafter(self.approximation + self.rounding, math.inf)

    def title(self) -> str:
        return f"Plan: {self.target}"

    def rows(self) -> list[tuple[str, str]]:
        lo, hi = self.domain
        return [
            ("domain", f"[{number(lo, 6)}, {number(hi, 6)}], {self.dtype}"),
            ("method", self.method),
            ("size", size(self.anchors, self.heads, self.layers)),
            ("bound", bound_text(self.approximation, self.rounding)),
            ("asked", f"eps = {number(self.eps)}"),
            (
                "printed rule",
                "no finite size" if math.isinf(self.printed_anchors) else many(self.printed_anchors, "key"),
            ),
        ]

    def build(self) -> Compiled:
        raise TypeError(f"{type(self).__name__} describes a network; a target's own plan builds it")


def size(keys: int, heads: int, layers: int) -> str:
    return ", ".join(many(n, word) for n, word in ((keys, "key"), (heads, "head"), (layers, "layer")))


def bound_text(approximation: float, rounding: float) -> str:
    total = upper(math.nextafter(approximation + rounding, math.inf), 3)
    return f"{total} = {upper(approximation, 3)} approximation + {upper(rounding, 3)} rounding"


def many(n: float, word: str) -> str:
    """``many(1, "key")`` is ``1 key``, ``many(40001, "key")`` is ``40 001 keys``."""
    text = f"{n:,.0f}".replace(",", " ") if n < 1e9 else number(n, 2)
    return f"{text} {word}" if n == 1 else f"{text} {word}s"
