"""Random ReLU networks as in-context tasks: one network per prompt, drawn on the device that trains.

    y = V_N relu(V_{N-1} ... relu(V_1 x)),   entries of V_j ~ N(m, 1),   x ~ (1 - w) N(-c, I) + w N(c, I)

with c = (2, .., 2) (deep-optimizers, App G; N matrices, no biases, one real answer.)  Unscaled, such a network answers
with numbers of size 1e3 to 1e6. ReLU networks are positively homogeneous, so one constant for each matrix leaves the
task what it is: V_1 is divided by sqrt(d), the others by sqrt(K / 2), the answer by sqrt(1 + |c|^2 / d). Then, for
m = 0, E y^2 = |x|^2 / (5 d) given x, and 1 in all, at every depth and for every mixture.

The paper's m = 0.5 and -0.5 are far outside what it trains on: at width 200 the first makes answers ten to a thousand
times larger, and with the second the units of the second layer are all off, so y = 0 whatever x is. `shift` counts in
1 / sqrt(K); `literal` takes it as printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headsmith.refusal import Refusal

__all__ = ["CENTRE", "Drawn", "ReluNetworks", "answers"]

CENTRE = 2.0
"""|c_i|: the inputs lie about (-2, .., -2) in training."""


class Drawn(NamedTuple):
    """Examples of many prompts: x (prompts, count, d), y (prompts, count)."""

    x: Tensor
    y: Tensor


def answers(matrices: list[Tensor], x: Tensor) -> Tensor:
    """V_N relu(.. relu(V_1 x)) of every network, (prompts, count): matrices (prompts, out, in), x (prompts, count, in).

    >>> answers([torch.ones(1, 2, 1), torch.ones(1, 1, 2)], torch.tensor([[[3.0], [-1.0]]]))
    tensor([[6., 0.]])
    """
    *hidden, last = matrices
    for matrix in hidden:
        x = (x @ matrix.mT).relu()
    return (x @ last.mT).squeeze(-1)


@dataclass(frozen=True)
class ReluNetworks:
    """N matrices, d inputs, K units in each hidden layer; `far` is the weight w of the component about +c.

    >>> ReluNetworks(3, features=5, width=32).draw(64, 20).y.shape
    torch.Size([64, 20])
    """

    layers: int = 3
    features: int = 20
    width: int = 200
    far: float = 0.0
    shift: float = 0.0
    literal: bool = False

    def __post_init__(self) -> None:
        if self.layers < 1 or self.features < 1 or self.width < 1 or not 0 <= self.far <= 1:
            raise Refusal(
                f"a random network needs layers, features and width of at least 1 and a share 0 <= far <= 1; got "
                f"{self.layers}, {self.features}, {self.width} and {self.far}"
            )

    @property
    def mean(self) -> float:
        """The mean m of the parameters before scaling."""
        return self.shift if self.literal else self.shift / math.sqrt(self.width)

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """(out, in) of V_1, .., V_N."""
        widths = [self.features, *[self.width] * (self.layers - 1), 1]
        return [(out, into) for into, out in pairwise(widths)]

    def networks(self, prompts: int, generator: torch.Generator | None = None, **where: Any) -> list[Tensor]:
        """V_1, .., V_N of every prompt, each (prompts, out, in), scaled."""
        made = []
        for j, (out, into) in enumerate(self.sizes):
            matrix = torch.empty(prompts, out, into, **where).normal_(self.mean, 1.0, generator=generator)
            made.append(matrix.mul_(1 / math.sqrt(into) if j == 0 else math.sqrt(2 / into)))
        made[-1] /= math.sqrt(1 + CENTRE**2)
        return made

    def inputs(self, prompts: int, count: int, generator: torch.Generator | None = None, **where: Any) -> Tensor:
        """x (prompts, count, d); the component is drawn for each example."""
        x = torch.empty(prompts, count, self.features, **where).normal_(generator=generator)
        if self.far == 0:
            return x.sub_(CENTRE)
        side = torch.empty(prompts, count, 1, **where).uniform_(generator=generator) < self.far
        return x.add_(torch.where(side, CENTRE, -CENTRE))

    def draw(self, prompts: int, count: int, generator: torch.Generator | None = None, **where: Any) -> Drawn:
        """So many prompts of so many examples, each prompt with a network of its own; `where` is device and dtype."""
        matrices = self.networks(prompts, generator, **where)
        x = self.inputs(prompts, count, generator, **where)
        return Drawn(x, answers(matrices, x))
