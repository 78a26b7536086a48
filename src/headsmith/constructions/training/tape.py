"""The stream of a transformer that trains a network: which token holds what, and in which features.

    sample i, query      x | y | one = 1 | absent = 1 - t | z, p, slope, delta of every unit
    unit k of layer j    w = the row v_jk, then its bias | g, its next move | unit = e_jk | ask = rate e_jk
                         of an optimizer: m, v | own = 1 | lead, lift = rate / (1 - b1^t), 1 / (1 - b2^t); ask = e_jk

The paper writes all weights into every token, D = O(N K^2) features. Here each unit of the trained network has a token
of its own, which holds its row and a one-hot name: one head of ReLU attention then computes a whole layer, because unit
k answers under its own name, and D = O(N K). What is 0 in a token is not listed: samples have no w, units no x.
m and v stay from step to step. Everything but these, x, y, one, absent, w, unit, and what a unit is told (ask, fade,
lead, lift) is scratch: it is 0 at the start and at the end of every step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tape:
    """Places of a network of these widths; `bent` lists the layers that have an activation.

    >>> tape = Tape(widths=(2, 3, 1), samples=4, biases=False, bent=(1,))
    >>> tape.tokens, tape.width, tape.slices["p 1"]
    (9, 33, slice(9, 12, None))
    """

    widths: tuple[int, ...]
    samples: int
    biases: bool
    bent: tuple[int, ...]
    extra: tuple[tuple[str, int], ...] = ()
    moments: tuple[str, ...] = ()

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
        """Units of all layers, each with a token."""
        return sum(self.widths[1:])

    @property
    def fan(self) -> int:
        """The longest row, its bias included."""
        return max(self.widths[:-1]) + self.biases

    @property
    def tokens(self) -> int:
        """Samples, the query, and one token for each unit."""
        return self.samples + 1 + self.units

    @property
    def all_units(self) -> slice:
        """The tokens of all units."""
        return slice(self.samples + 1, self.tokens)

    @property
    def data(self) -> slice:
        """The tokens of samples and query."""
        return slice(0, self.samples + 1)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Feature family -> where it is; those of a layer as "z 2"."""
        sizes = {"x": self.widths[0], "y": self.widths[-1], "one": 1, "absent": 1}
        sizes |= {f"z {j}": self.widths[j] for j in self.layers}
        sizes |= {f"{name} {j}": self.widths[j] for name in ("p", "slope") for j in self.bent}
        sizes |= {f"delta {j}": self.widths[j] for j in self.layers}
        sizes |= {"w": self.fan, "g": self.fan, **{f"unit {j}": self.widths[j] for j in self.layers}}
        sizes |= {**{f"ask {j}": self.widths[j] for j in self.layers}, **dict(self.extra)}
        if self.moments:
            sizes |= {**dict.fromkeys(self.moments, self.fan), "own": 1, "lead": 1}
        if "m" in self.moments:
            sizes |= {"lift": 1, "square": self.fan, "ahead": self.fan, "spread": self.fan}
        ends = [0]
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
        return "x" if j == 0 else f"p {j}" if j in self.bent else f"z {j}"

    def handed(self, j: int) -> str:
        """The family of what layer j is handed back, before its slope: delta, where a gate leaves it in place."""
        return f"q {j}" if f"q {j}" in self.slices else f"delta {j}"

    def reads(self, j: int) -> list[int]:
        """What the units of layer j read: p(j - 1), then the constant of their bias."""
        return self.rows(self.activation(j - 1)) + (self.rows("one") if self.biases else [])

    def row(self, j: int, name: str = "w") -> list[int]:
        """Where a unit of layer j holds its row: as many features as it reads, the bias last."""
        start = self.slices[name].start
        weights = [*range(start, start + self.widths[j - 1])]
        return weights + ([start + self.fan - 1] if self.biases else [])

    def owners(self, j: int) -> slice:
        """The tokens of the units of layer j."""
        start = self.samples + 1 + sum(self.widths[1:j])
        return slice(start, start + self.widths[j])

    def scratch(self) -> list[int]:
        """Features that a step leaves as 0, the moves g apart."""
        used = ("z", "p", "slope", "delta", "q", "fold", "cut", "odds", "square", "ahead", "spread")
        return [row for name in self.slices if name.split()[0] in used for row in self.rows(name)]

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

    def weights(self, stream: Tensor, name: str = "w") -> list[Tensor]:
        """The matrices that the unit tokens hold."""
        found = []
        for j in self.layers:
            own = stream[..., self.owners(j), self.slices[name]]
            rows = own[..., : self.widths[j - 1]]
            found.append(torch.cat([rows, own[..., -1:]], -1) if self.biases else rows)
        return found

    def flat(self, matrices: Sequence[Tensor]) -> Tensor:
        """(..., D_N), the inverse of `split`."""
        return torch.cat([m.flatten(-2) for m in matrices], -1)

    def start(self, x: Tensor, y: Tensor, query: Tensor, w: Tensor) -> Tensor:
        """The tokens before the first step, but for `ask` and `absent` (batch..., tokens, width)."""
        batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2], query.shape[:-1], w.shape[:-1])
        stream = x.new_zeros(*batch, self.tokens, self.width)
        stream[..., : self.samples, self.slices["x"]] = x
        stream[..., : self.samples, self.slices["y"]] = y
        stream[..., self.samples, self.slices["x"]] = query
        stream[..., self.data, self.slices["one"]] = 1.0
        if self.moments:
            stream[..., self.all_units, self.slices["own"]] = 1.0
        for j, matrix in zip(self.layers, self.split(w), strict=True):
            tokens = stream[..., self.owners(j), :]
            tokens[..., self.row(j)] = matrix
            tokens[..., self.slices[f"unit {j}"]] = torch.eye(self.widths[j]).to(stream)
        return stream

    def instruct(
        self, stream: Tensor, rate: Tensor, present: Tensor, corrections: tuple[float, float] = (1.0, 1.0)
    ) -> None:
        """Writes what a step is told: the rate (batch...), which samples count (batch..., n), Adam's corrections."""
        share = self.samples / present.sum(-1)
        share = share if self.moments else rate * share
        stream[..., : self.samples, self.slices["absent"].start] = 1 - present
        stream[..., self.samples, self.slices["absent"].start] = 1.0
        for j in self.layers:
            names = torch.eye(self.widths[j]).to(stream)
            stream[..., self.owners(j), self.slices[f"ask {j}"]] = share[..., None, None] * names
        if "fade" in self.slices:
            stream[..., self.all_units, self.slices["fade"]] = rate[..., None, None] * torch.eye(self.units).to(stream)
        for name, told in zip(
            ("lead", "lift"), (rate * corrections[0], stream.new_tensor(corrections[1])), strict=True
        ):
            if name in self.slices:
                stream[..., self.all_units, self.slices[name].start] = told[..., None].to(stream)

    def names(self) -> list[str]:
        """sample 0, ..., query, layer 1 / unit 0, ..."""
        units = [f"layer {j} / unit {k}" for j in self.layers for k in range(self.widths[j])]
        return [*(f"sample {i}" for i in range(self.samples)), "query", *units]

    def features(self) -> Iterator[str]:
        """A name for every feature: "z 2.0" is the first unit's in layer 2."""
        for name, place in self.slices.items():
            yield from (f"{name}.{k}" for k in range(place.stop - place.start))
