"""A vector that a state holds: not always as it is, but always so that a row can read it.

    value = scale * (numbers at the stretches) + bias

A norm leaves a unit vector u behind, and gamma sqrt(d) u + beta is its value: gamma and beta are executed by whoever
reads, who multiplies the columns of the matrix by them. What a pass wrote plainly has scale 1 and bias 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.machines.tape.program import Stretch

ROUNDING = 2.0**-51  # (1/sqrt(d)) sqrt(d) is 1 up to two roundings


@dataclass(frozen=True, eq=False)
class Held:
    """Stretches of slots, in the order of the vector, and what is still to be done to them."""

    stretches: tuple[Stretch, ...]
    scale: Tensor
    bias: Tensor

    @classmethod
    def plainly(cls, *stretches: Stretch) -> Held:
        """The numbers at the stretches as they are."""
        count = sum(stretch.count for stretch in stretches)
        return cls(stretches, torch.ones(count, dtype=torch.float64), torch.zeros(count, dtype=torch.float64))

    @property
    def features(self) -> int:
        """Numbers of the vector."""
        return len(self.bias)

    @property
    def slots(self) -> set[int]:
        """Where they are."""
        return {stretch.slot for stretch in self.stretches}

    @property
    def plain(self) -> bool:
        """Whether the numbers in the slots are the vector."""
        return bool((self.scale - 1).abs().max() <= ROUNDING) and not bool(self.bias.any())

    def read(self, matrix: Tensor) -> tuple[dict[int, Tensor], Tensor]:
        """(slot -> weights, bias) of the rows matrix @ value, (rows, features)."""
        scaled = matrix if self.plain else matrix * self.scale
        weights: dict[int, Tensor] = {}
        for stretch in self.stretches:
            wide = scaled.new_zeros(len(scaled), stretch.at + stretch.count)
            wide[:, stretch.at :] = scaled[:, stretch.first : stretch.first + stretch.count]
            weights[stretch.slot] = added(weights.get(stretch.slot), wide)
        return weights, matrix @ self.bias


def added(one: Tensor | None, other: Tensor) -> Tensor:
    """The sum of two matrices of as many rows, the narrower one filled up with zeros."""
    if one is None:
        return other
    total = one.new_zeros(len(one), max(one.shape[1], other.shape[1]))
    total[:, : one.shape[1]] += one
    total[:, : other.shape[1]] += other
    return total
