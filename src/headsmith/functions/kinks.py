"""Activations that are a few ReLUs themselves: their values are exact, and their slopes are gates.

relu       relu(z)                                          open(z) = z
leaky      relu(z) - a relu(-z)                             open(z) = z, the slope a remains when it is shut
hard tanh  relu(z) - relu(z - 1) - relu(-z) + relu(-z - 1)  open(z) = 1 - |z|
identity   z                                                always open
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

GAP = 2.0**-40  # costs nothing: a power of two scales exactly, and only signs are read
CLOSE = {"float64": 2.0**-40, "float32": 2.0**-23}  # of hard tanh, where 1 - 1/gap must be a number of the format
LEAK = 0.01  # torch's leaky ReLU


@dataclass(frozen=True)
class Kinked:
    """`value`: (slope, shift, coefficient) of each relu(slope z + shift); `penalty`: the (slope, shift) that sum to c.

    >>> Kinked.of("hard tanh", "float64").value[1]
    (1.0, -1.0, -1.0)
    """

    name: str
    value: tuple[tuple[float, float, float], ...]
    penalty: tuple[tuple[float, float], ...]
    gap: float
    floor: float = 0.0  # the slope that is left when the gate is shut

    @classmethod
    def of(cls, name: str, dtype: str) -> Kinked:
        """One of relu, leaky, hard tanh, identity."""
        if name == "hard tanh":
            gap = CLOSE[dtype]
            value = ((1.0, 0.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 0.0, -1.0), (-1.0, -1.0, 1.0))
            return cls(name, value, ((1 / gap, 1 - 1 / gap), (-1 / gap, 1 - 1 / gap)), gap)
        above, penalty = (1.0, 0.0, 1.0), ((-1 / GAP, 1.0),)
        if name == "leaky":
            return cls(name, (above, (-1.0, 0.0, -LEAK)), penalty, GAP, LEAK)
        return cls(name, (above,), penalty, GAP)

    def room(self, z: Tensor) -> Tensor:
        """open(z): how far z is on the open side of its nearest kink."""
        return 1 - z.abs() if self.name == "hard tanh" else z
