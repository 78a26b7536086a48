"""The stream of the paper's own transformer that trains: every token holds all weights (deep-optimizers, 2.1).

    x | y | one = 1 | absent = 1 - t | pace | w | p, slope and delta of every unit | q N = loss'(p(N), y)

pace = rate n / count, count being how many samples count: the paper writes the rate into the transformer, and here a
prompt may tell one for each step. w, one, absent and pace are in all tokens, samples and query. All from p on is
scratch: it is 0 at the start and at the end of every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from headsmith.constructions.training.stream import Stream


@dataclass(frozen=True)
class Sheet(Stream):
    """Places of a network of these widths.

    >>> sheet = Sheet(widths=(2, 3, 1), biases=False, bent=(1,), samples=4)
    >>> sheet.tokens, sheet.width, sheet.slices["w"], sheet.row(2, 0)
    (5, 28, slice(6, 15, None), [12, 13, 14])
    """

    extra: tuple[tuple[str, int], ...] = ()

    @property
    def tokens(self) -> int:
        """Samples and the query."""
        return self.samples + 1

    @property
    def holders(self) -> slice:
        """All of them."""
        return self.data

    def families(self) -> dict[str, int]:
        sizes = {"x": self.widths[0], "y": self.widths[-1], "one": 1, "absent": 1, "pace": 1, "w": self.parameters}
        sizes |= {f"{name} {j}": self.widths[j] for name in ("p", "slope", "delta") for j in self.layers}
        return {**sizes, f"q {self.depth}": self.widths[-1], **dict(self.extra)}

    def row(self, j: int, k: int, name: str = "w") -> list[int]:
        """Where the row of unit k of layer j is."""
        start = self.layer(j, name).start + k * self.sizes[j - 1][1]
        return [*range(start, start + self.sizes[j - 1][1])]

    def factors(self, j: int) -> tuple[list[list[int]], list[int]]:
        """What a query of each unit and the key hold, whose product is q(j): column k of V_{j+1}, delta(j+1).

        Of layer N they are loss' and one.
        """
        if j == self.depth:
            return [[row] for row in self.rows(f"q {j}")], self.rows("one")
        above = range(self.widths[j + 1])
        return [[self.row(j + 1, m)[k] for m in above] for k in range(self.widths[j])], self.rows(f"delta {j + 1}")

    def layer(self, j: int, name: str = "w") -> slice:
        """Where the rows of layer j are."""
        sizes = [rows * columns for rows, columns in self.sizes]
        start = self.slices[name].start + sum(sizes[: j - 1])
        return slice(start, start + sizes[j - 1])

    def weights(self, stream: Tensor, name: str = "w") -> list[Tensor]:
        """The matrices that the first token holds."""
        return self.split(stream[..., 0, self.slices[name]])

    def moves(self, full: Tensor, moving: Tensor) -> list[Tensor]:
        return [pushed - V for pushed, V in zip(self.weights(moving), self.weights(full), strict=True)]

    def apart(self, stream: Tensor) -> Sequence[Tensor]:
        w = stream[..., self.slices["w"]]
        return self.split((w - w[..., :1, :]).abs().amax(-2))

    def start(self, x: Tensor, y: Tensor, query: Tensor, w: Tensor) -> Tensor:
        """The tokens before the first step, but for `absent` and `pace` (batch..., tokens, width)."""
        stream = self.filled(x, y, query, w)
        stream[..., self.slices["w"]] = w.unsqueeze(-2)
        return stream

    def instruct(self, stream: Tensor, rate: Tensor, present: Tensor, corrections: tuple[float, float]) -> None:
        """Writes what a step is told: the rate (batch...), and which samples count (batch..., n)."""
        self.excuse(stream, present)
        stream[..., self.slices["pace"].start] = (rate * (self.samples / present.sum(-1))).unsqueeze(-1)
