"""How long to train: four recipes, from a second to the paper's half million steps.

Everything the paper observes is there after two thousand steps; the rest sharpens it.  The size gamma of the
learned weights is mostly a clock reading (it creeps down like t^(-1/6)), so longer presets show a smaller
one.  Short presets start split, with heads alternating in sign: from PyTorch's own start two heads often
agree first and spend thousands of steps on the single-head plateau.  A rate that decays to almost zero
removes Adam's noise and leaves the predictor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from headsmith.refusal import Refusal

__all__ = ["PRESETS", "Recipe", "recipe"]


@dataclass(frozen=True)
class Recipe:
    """steps, peak rate, batch, schedule ("cosine" or "constant") and start ("split" or "default")."""

    steps: int
    rate: float
    batch: int
    schedule: str
    init: str

    FLOOR = 1e-5

    def rate_at(self, step: int) -> float:
        """The learning rate of step 0, 1, ..., steps - 1.

        >>> PRESETS["quick"].rate_at(0)
        0.003
        """
        if self.schedule == "constant":
            return self.rate
        low = min(self.FLOOR, self.rate)
        return low + (self.rate - low) * 0.5 * (1 + math.cos(math.pi * step / self.steps))


PRESETS = {
    "smoke": Recipe(2_000, 5e-3, 128, "cosine", "split"),
    "quick": Recipe(8_000, 3e-3, 256, "cosine", "split"),
    "good": Recipe(40_000, 3e-3, 256, "cosine", "default"),
    "paper": Recipe(500_000, 1e-3, 256, "constant", "default"),
}


def recipe(preset: str = "quick", **changes: object) -> Recipe:
    """A preset, with whatever is not None in `changes` replaced.

    >>> recipe("smoke", steps=100).steps
    100
    """
    if preset not in PRESETS:
        raise Refusal(f"no preset is called {preset!r}; there are {', '.join(PRESETS)}")
    given: dict[str, Any] = {k: v for k, v in changes.items() if v is not None}
    made = replace(PRESETS[preset], **given)
    if made.steps < 1 or made.batch < 1 or not 0 < made.rate < math.inf:
        raise Refusal(
            f"training needs steps >= 1, batch >= 1 and a rate > 0; got {made.steps}, {made.batch}, {made.rate}"
        )
    if made.init not in ("split", "default"):
        raise Refusal(f"init={made.init!r}: choose split (heads alternate in sign) or default (PyTorch's)")
    if made.schedule not in ("cosine", "constant"):
        raise Refusal(f"schedule={made.schedule!r}: choose cosine or constant")
    return made
