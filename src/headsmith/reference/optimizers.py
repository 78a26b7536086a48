"""Optimizers, in balls or floats: how a step moves a weight whose gradient (weight decay included) is g.

    gd        w <- w - rate g
    momentum  v <- beta v + g                      w <- w - rate v                      v = 0 at the start
    adam      m <- b1 m + (1 - b1) g               m^ = m / (1 - b1^t)                  m = v = 0 at the start
              v <- b2 v + (1 - b2) g^2             v^ = v / (1 - b2^t)
              w <- w - rate m^ / sqrt(v^ + root)

The root is inside: with a constant behind the square root the step would jump where g crosses 0 (v^ = 0, m^ / |m^|).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb

from headsmith.functions import precision


@dataclass(frozen=True)
class Optimizer:
    """One of the three, and its numbers; those of the others are 0.

    >>> Optimizer("momentum", beta=0.5).moved(arb(1), arb(2), [arb(4)], arb(0.25), 1)
    (0, (4.00000000000000,))
    """

    name: str = "gd"
    beta: float = 0.0
    betas: tuple[float, float] = (0.0, 0.0)
    root: float = 0.0

    @property
    def moments(self) -> tuple[str, ...]:
        """The numbers that it keeps of each weight."""
        return {"gd": (), "momentum": ("v",), "adam": ("m", "v")}[self.name]

    def corrections(self, t: int) -> tuple[float, float]:
        """(1 / (1 - b1^t), 1 / (1 - b2^t)) of step t = 1, 2, ..., rounded once; 1 for who corrects nothing."""
        if self.name != "adam":
            return 1.0, 1.0
        with precision(128):
            first, second = (float((1 / (1 - arb(b) ** t)).mid()) for b in self.betas)
        return first, second

    def moved(
        self, w: Any, g: Any, kept: Sequence[Any], rate: Any, t: int, read: Callable[[float], Any] = arb
    ) -> tuple[Any, tuple[Any, ...]]:
        """(w', the moments behind the step) from the moments before it; of tensors, read=float."""
        if self.name == "momentum":
            v = self.beta * kept[0] + g
            return w - rate * v, (v,)
        if self.name == "adam":
            b1, b2 = map(read, self.betas)
            m, v = b1 * kept[0] + (1 - b1) * g, b2 * kept[1] + (1 - b2) * g * g
            return w - rate * (m / (1 - b1**t)) / (v / (1 - b2**t) + read(self.root)).sqrt(), (m, v)
        return w - rate * g, ()
