"""What the stream of a transformer that trains has to say, however it is laid out: where w is, who is a sample.

w = V_1, ..., V_N row by row,   V_j of (units of layer j) x (units of layer j - 1, and a bias)
tokens: the samples, the query, and what else a form of training needs
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor

SCRATCH = ("z", "p", "slope", "delta", "q", "a", "fold", "cut", "odds", "square", "ahead", "spread")


@dataclass(frozen=True)
class Matrices:
    """The trained network: its widths, whether units have biases, the layers that have the activation.

    >>> Matrices(widths=(2, 3, 1), biases=True, bent=(1,)).sizes
    [(3, 3), (1, 4)]
    """

    widths: tuple[int, ...]
    biases: bool
    bent: tuple[int, ...]

    @property
    def depth(self) -> int:
        """N, the layers of the trained network."""
        return len(self.widths) - 1

    @property
    def layers(self) -> range:
        """1, ..., N."""
        return range(1, self.depth + 1)

    @property
    def units(self) -> int:
        """Units of all layers."""
        return sum(self.widths[1:])

    @property
    def fan(self) -> int:
        """The longest row, its bias included."""
        return max(self.widths[:-1]) + self.biases

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """(units, length of a row) of each layer."""
        return [(b, a + self.biases) for a, b in pairwise(self.widths)]

    @property
    def parameters(self) -> int:
        """D_N, all weights and biases."""
        return sum(rows * columns for rows, columns in self.sizes)

    def split(self, w: Tensor) -> list[Tensor]:
        """w (..., D_N) as matrices (..., out, in), the biases their last columns."""
        parts = w.split([a * b for a, b in self.sizes], -1)
        return [part.unflatten(-1, size) for part, size in zip(parts, self.sizes, strict=True)]

    def flat(self, matrices: Sequence[Tensor]) -> Tensor:
        """(..., D_N), the inverse of `split`."""
        return torch.cat([m.flatten(-2) for m in matrices], -1)


@dataclass(frozen=True)
class Stream(Matrices, ABC):
    """Families of features, one behind the other; those of a layer are called "delta 2"."""

    samples: int

    @abstractmethod
    def families(self) -> dict[str, int]:
        """Feature family -> how many features, in their order."""

    @property
    @abstractmethod
    def tokens(self) -> int:
        """Samples, the query, and whoever else there is."""

    @property
    @abstractmethod
    def holders(self) -> slice:
        """The tokens that hold w, or a part of it."""

    @abstractmethod
    def weights(self, stream: Tensor, name: str = "w") -> list[Tensor]:
        """The matrices that the tokens hold."""

    @abstractmethod
    def moves(self, full: Tensor, moving: Tensor) -> list[Tensor]:
        """g, by which a step moves each matrix, from the tokens before and after."""

    def apart(self, stream: Tensor) -> Sequence[Tensor]:
        """How far the matrices of any token are from those of the first, where every token holds all."""
        return ()

    @abstractmethod
    def start(self, x: Tensor, y: Tensor, query: Tensor, w: Tensor) -> Tensor:
        """The tokens before the first step, but for what `instruct` writes (batch..., tokens, width)."""

    @abstractmethod
    def instruct(self, stream: Tensor, rate: Tensor, present: Tensor, corrections: tuple[float, float]) -> None:
        """Writes what a step is told: the rate (batch...), which samples count (batch..., n), Adam's corrections."""

    def names(self) -> list[str]:
        """A name for every token: sample 0, ..., query."""
        return [*(f"sample {i}" for i in range(self.samples)), "query"]

    def scratch(self) -> list[int]:
        """Features that a step leaves as 0, the moves g apart."""
        return [row for name in self.slices if name.split()[0] in SCRATCH for row in self.rows(name)]

    @property
    def data(self) -> slice:
        """The tokens of samples and query."""
        return slice(0, self.samples + 1)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Feature family -> where it is."""
        sizes, ends = self.families(), [0]
        for size in sizes.values():
            ends.append(ends[-1] + size)
        return {name: slice(*place) for name, place in zip(sizes, pairwise(ends), strict=True)}

    @property
    def width(self) -> int:
        """D, the features of a token."""
        return max(place.stop for place in self.slices.values())

    def rows(self, name: str) -> list[int]:
        """The features of a family, one by one."""
        return [*range(self.slices[name].start, self.slices[name].stop)]

    def activation(self, j: int) -> str:
        """The family that holds p(j): x for the inputs, z where a layer has no activation."""
        return "x" if j == 0 else f"p {j}" if f"p {j}" in self.slices else f"z {j}"

    def reads(self, j: int) -> list[int]:
        """What the units of layer j read: p(j - 1), then the constant of their bias."""
        return self.rows(self.activation(j - 1)) + (self.rows("one") if self.biases else [])

    def handed(self, j: int) -> str:
        """The family of what layer j is handed back, before its slope: delta, where a gate leaves it in place."""
        return f"q {j}" if f"q {j}" in self.slices else f"delta {j}"

    def features(self) -> Iterator[str]:
        """A name for every feature: "z 2.0" is the first unit's in layer 2."""
        for name, place in self.slices.items():
            yield from (f"{name}.{k}" for k in range(place.stop - place.start))

    def filled(self, x: Tensor, y: Tensor, query: Tensor, w: Tensor) -> Tensor:
        """Tokens that hold x, y, and one where samples and query are."""
        batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2], query.shape[:-1], w.shape[:-1])
        stream = x.new_zeros(*batch, self.tokens, self.width)
        stream[..., : self.samples, self.slices["x"]] = x
        stream[..., : self.samples, self.slices["y"]] = y
        stream[..., self.samples, self.slices["x"]] = query
        stream[..., self.data, self.slices["one"]] = 1.0
        return stream

    def excuse(self, stream: Tensor, present: Tensor) -> None:
        """Writes who is absent: samples that do not count, and the query."""
        stream[..., : self.samples, self.slices["absent"].start] = 1 - present
        stream[..., self.samples, self.slices["absent"].start] = 1.0
