"""What is known of a slot for every token that can stand there: sizes, a length, a sum.

    |s_k| <= sizes_k,     |s|_2 <= length,     |s_1 + ... + s_count| <= tilt
    sum_k |theta_k s_k|   <=  min(|theta| . sizes, |theta|_2 length)
    |theta . s|           <=  min(the same, |theta - c|_2 length + |c| tilt),     c = mean of theta over the count

The last is what layer norm buys: it hands on vectors of length 1 whose sum is 0, so a constant added to a row changes
nothing. Every formula is rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.proof.rounding import INFLATE

FLUSHED = 1e-100  # what squares that underflow can take from a length, and much more


@dataclass(frozen=True, eq=False)
class Known:
    """Of a slot of D numbers; infinite where nothing is known. The sum goes over the first `count` numbers."""

    sizes: Tensor
    length: float
    count: int
    tilt: float

    @classmethod
    def of(cls, sizes: Tensor, length: float = math.inf, count: int | None = None, tilt: float = math.inf) -> Known:
        """What follows of sizes, and of what else is known.

        >>> found = Known.of(torch.tensor([3.0, 4.0]))
        >>> round(found.length, 6), round(found.tilt, 6)
        (5.0, 7.0)
        """
        count = len(sizes) if count is None else count
        own = float(torch.linalg.vector_norm(sizes)) * INFLATE + FLUSHED
        return cls(sizes, min(length, own), count, min(tilt, float(sizes[:count].sum()) * INFLATE))

    def terms(self, weight: Tensor) -> Tensor:
        """sum_k |theta_k s_k| of each row theta of a table (rows, up to D), at most."""
        sizes = self.sizes[: weight.shape[1]]
        known = sizes.isfinite()
        one = weight[:, known].abs() @ sizes[known]
        one = torch.where((weight[:, ~known] != 0).any(1), math.inf, one)
        return torch.minimum(one, self._along(weight)) * INFLATE

    def values(self, weight: Tensor) -> Tensor:
        """|theta . s| of each row, at most."""
        found = self.terms(weight)
        if not self.count or not math.isfinite(self.length) or not math.isfinite(self.tilt):
            return found
        theta = torch.nn.functional.pad(weight, (0, len(self.sizes) - weight.shape[1]))
        c = theta[:, : self.count].mean(1, keepdim=True)
        centred = torch.cat([theta[:, : self.count] - c, theta[:, self.count :]], 1)
        return torch.minimum(found, (self._along(centred) + c[:, 0].abs() * self.tilt) * INFLATE)

    def _along(self, weight: Tensor) -> Tensor:
        """|theta|_2 length."""
        if not math.isfinite(self.length):
            return torch.where((weight != 0).any(1), math.inf, 0.0).to(weight)
        return (torch.linalg.vector_norm(weight, dim=1) + FLUSHED) * self.length

    def off(self, error: float) -> Known:
        """The same numbers, each wrong by so much."""
        D = len(self.sizes)
        return Known.of(
            (self.sizes + error) * INFLATE,
            (self.length + math.sqrt(D) * error) * INFLATE,
            self.count,
            (self.tilt + self.count * error) * INFLATE,
        )

    def plus(self, other: Known) -> Known:
        """The sum of two slots."""
        tilt = self.tilt + other.tilt if self.count == other.count else math.inf
        return Known.of(
            (self.sizes + other.sizes) * INFLATE, (self.length + other.length) * INFLATE, self.count, tilt * INFLATE
        )

    def within(self, domain: float) -> Known:
        """The same slot where no number of it is beyond the domain."""
        return Known.of(self.sizes.clamp(max=domain), self.length, self.count, self.tilt)
