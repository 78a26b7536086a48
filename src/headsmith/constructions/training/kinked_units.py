"""Units with a few kinks, relu, leaky and hard tanh, in the tokens of a training: a slope is a gate, which c shuts.

bend    p <- r(z), c <- relu(1 - open(z) / gap)                                 MLP
gate    q <- relu(q - LOCK c) - relu(-q - LOCK c) + what a leak leaves          MLP
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from headsmith.constructions.training.stream import Stream
from headsmith.functions.kinks import Kinked
from headsmith.network import Layer
from headsmith.network.hidden import SIGNS, Hidden, mlp
from headsmith.proof.curves import Kinks
from headsmith.proof.perturbation import LOCK


@dataclass(frozen=True)
class KinkedUnits:
    """The layers of such units in layer j, and what they add to the error of a step."""

    kinked: Kinked

    def forward(self, tape: Stream, j: int, dtype: torch.dtype) -> Iterator[tuple[str, Layer]]:
        """From z to p and c."""
        yield f"bend{j}", mlp(bends(tape, j, self.kinked), tape.width, dtype)

    def backward(self, tape: Stream, j: int, dtype: torch.dtype) -> Layer:
        """From q to delta."""
        return mlp(gates(tape, j, self.kinked), tape.width, dtype)

    def curve(self, dtype: str) -> Kinks:
        """For the error bound."""
        return Kinks(self.kinked)


def bends(tape: Stream, j: int, kinked: Kinked) -> Iterator[Hidden]:
    """p = r(z), and the penalty c in the place of the slope."""
    [one] = tape.rows("one")
    for z, p, c in zip(*(tape.rows(f"{name} {j}") for name in ("z", "p", "slope")), strict=True):
        for slope, shift, out in kinked.value:
            yield Hidden({z: slope, one: shift}, {p: out})
        for slope, shift in kinked.penalty:
            yield Hidden({z: slope, one: shift}, {c: 1.0})


def gates(tape: Stream, j: int, kinked: Kinked) -> Iterator[Hidden]:
    """q becomes q where c = 0 and `floor` q where c >= 1; c becomes the slope."""
    [one], floor = tape.rows("one"), kinked.floor
    for q, c in zip(tape.rows(f"delta {j}"), tape.rows(f"slope {j}"), strict=True):
        for sign in SIGNS:
            yield Hidden({q: sign, c: -LOCK}, {q: sign * (1 - floor)})
        for sign in SIGNS:
            yield Hidden({q: sign}, {q: -sign * (1 - floor)})
        yield Hidden({c: 1.0}, {c: -1.0})
        yield Hidden({one: 1.0, c: -LOCK}, {c: 1 - floor})
        if floor:
            yield Hidden({one: 1.0}, {c: floor})
