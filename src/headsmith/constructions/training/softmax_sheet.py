"""The stream of a transformer that trains by softmax attention alone: every token holds all weights, as the paper's do.

    x | y | one = 1 | absent = 1 - t | ask | w | z of every unit, p and slope of those that bend, delta | a

ask = log(rate / ((C - rate) count)), count being how many samples count: a sample that scores `ask` beside one stored
token, which scores 0, has the share rate / (C count) of the attention. a(j) = delta(j) p(j-1)' is what a sample has to
say of every weight. All from z on is scratch: it is 0 at the start and at the end of every step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from flint import arb
from torch import Tensor

from headsmith.constructions.training.sheet import Sheet
from headsmith.functions.balls import precision
from headsmith.records.shown import exactly
from headsmith.refusal import Refusal

LEAST = 2.0**-40  # of `most`: shares of attention are far from where numbers of any format are flushed to 0


@dataclass(frozen=True)
class SoftmaxSheet(Sheet):
    """Places of a network of these widths; `most` is C, which no rate reaches.

    >>> sheet = SoftmaxSheet(widths=(2, 3, 1), biases=False, bent=(1,), samples=4, most=0.25)
    >>> sheet.tokens, sheet.width, sheet.slices["ask"], sheet.row(2, 0, "a")
    (5, 38, slice(5, 6, None), [35, 36, 37])
    """

    most: float = 1.0

    def families(self) -> dict[str, int]:
        sizes = {"x": self.widths[0], "y": self.widths[-1], "one": 1, "absent": 1, "ask": 1, "w": self.parameters}
        sizes |= {f"z {j}": self.widths[j] for j in self.layers}
        sizes |= {f"{name} {j}": self.widths[j] for name in ("p", "slope") for j in self.bent}
        sizes |= {f"delta {j}": self.widths[j] for j in self.layers}
        return {**sizes, "a": self.parameters, **dict(self.extra)}

    def instruct(self, stream: Tensor, rate: Tensor, present: Tensor, corrections: tuple[float, float]) -> None:
        """Writes what a step is told: the rate (batch...), and which samples count (batch..., n)."""
        self.excuse(stream, present)
        if stream.is_meta:  # who reads a file asks for shapes first, which have no numbers
            return
        rates, counts = torch.broadcast_tensors(rate, present.sum(-1))
        pairs = zip(rates.flatten().tolist(), counts.flatten().tolist(), strict=True)
        scores = rate.new_tensor([score(self.most, *pair) for pair in pairs]).reshape(rates.shape)
        stream[..., self.slices["ask"].start] = scores.unsqueeze(-1)


@lru_cache(maxsize=4096)
def score(most: float, rate: float, count: float) -> float:
    """log(rate / ((most - rate) count)), the nearest float64.

    >>> score(0.5, 0.25, 4.0) == -math.log(4)
    True
    """
    if not LEAST * most <= rate < most:
        raise Refusal(
            f"with method='softmax' a rate is a share of attention, from {exactly(LEAST * most)} up to but not "
            f"{exactly(most)} here, not {exactly(rate)}: compile for a rate that is nearer to it, or with method='auto'"
        )
    with precision(128):
        return float((arb(rate) / ((arb(most) - arb(rate)) * arb(count))).log())


def above(rate: float) -> float:
    """C: the power of two of which a rate is at least a 32nd, and less than a 16th; schedules may begin there.

    >>> above(0.1), above(0.25)
    (2.0, 8.0)
    """
    return 2.0 ** (math.frexp(rate)[1] + 4)
