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

from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.constructions.training.stream import Stream


@dataclass(frozen=True)
class TrainingTape(Stream):
    """Places of a network of these widths; `bent` lists the layers that have an activation.

    >>> tape = TrainingTape(widths=(2, 3, 1), samples=4, biases=False, bent=(1,))
    >>> tape.tokens, tape.width, tape.slices["p 1"]
    (9, 33, slice(9, 12, None))
    """

    extra: tuple[tuple[str, int], ...] = ()
    moments: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Samples, the query, and one token for each unit."""
        return self.samples + 1 + self.units

    @property
    def holders(self) -> slice:
        """The tokens of all units."""
        return slice(self.samples + 1, self.tokens)

    def families(self) -> dict[str, int]:
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
        return sizes

    def row(self, j: int, name: str = "w") -> list[int]:
        """Where a unit of layer j holds its row: as many features as it reads, the bias last."""
        start = self.slices[name].start
        weights = [*range(start, start + self.widths[j - 1])]
        return weights + ([start + self.fan - 1] if self.biases else [])

    def owners(self, j: int) -> slice:
        """The tokens of the units of layer j."""
        start = self.samples + 1 + sum(self.widths[1:j])
        return slice(start, start + self.widths[j])

    def weights(self, stream: Tensor, name: str = "w") -> list[Tensor]:
        """The matrices that the unit tokens hold."""
        found = []
        for j in self.layers:
            own = stream[..., self.owners(j), self.slices[name]]
            rows = own[..., : self.widths[j - 1]]
            found.append(torch.cat([rows, own[..., -1:]], -1) if self.biases else rows)
        return found

    def moves(self, full: Tensor, moving: Tensor) -> list[Tensor]:
        return self.weights(moving, "g")

    def start(self, x: Tensor, y: Tensor, query: Tensor, w: Tensor) -> Tensor:
        """The tokens before the first step, but for `ask` and `absent` (batch..., tokens, width)."""
        stream = self.filled(x, y, query, w)
        if self.moments:
            stream[..., self.holders, self.slices["own"]] = 1.0
        for j, matrix in zip(self.layers, self.split(w), strict=True):
            tokens = stream[..., self.owners(j), :]
            tokens[..., self.row(j)] = matrix
            tokens[..., self.slices[f"unit {j}"]] = torch.eye(self.widths[j]).to(stream)
        return stream

    def instruct(self, stream: Tensor, rate: Tensor, present: Tensor, corrections: tuple[float, float]) -> None:
        share = self.samples / present.sum(-1)
        share = share if self.moments else rate * share
        self.excuse(stream, present)
        for j in self.layers:
            names = torch.eye(self.widths[j]).to(stream)
            stream[..., self.owners(j), self.slices[f"ask {j}"]] = share[..., None, None] * names
        if "fade" in self.slices:
            stream[..., self.holders, self.slices["fade"]] = rate[..., None, None] * torch.eye(self.units).to(stream)
        for name, told in (("lead", rate * corrections[0]), ("lift", stream.new_tensor(corrections[1]))):
            if name in self.slices:
                stream[..., self.holders, self.slices[name].start] = told[..., None].to(stream)

    def names(self) -> list[str]:
        """sample 0, ..., query, layer 1 / unit 0, ..."""
        units = [f"layer {j} / unit {k}" for j in self.layers for k in range(self.widths[j])]
        return [*super().names(), *units]
