"""What an activation and its slope that are sums of ReLUs add to the error of a step (deep-optimizers, Lemmas 2, 3, 5).

    f(z) = sum_h c_h relu(a_h z + b_h)          E_f = sup |f - r| + r's share of E_z + rounded
    rounded = gamma(adds + terms) (sum |c a| |V| |p| + sum |c b|)

In the paper's heads each ReLU works out z = V p by itself, and rounds it by itself, so that |V| |p| is what is rounded;
where all of them read one z it is |z|. A slope with jumps, that of ReLU, is a ramp of width `gap` beside the kink.
Outside of it the ramp is the slope but for rounding, |z| / gap times larger than elsewhere, and that is read off the
very slope that was computed. Inside, and where rounding cannot tell, it is one of the slopes beside the kink.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.proof.curves import Kinks, Smoothness
from headsmith.proof.relu_sums import ReluSum
from headsmith.proof.rounding import Format, gamma

IN_EXACT_ARITHMETIC = Format("exact", 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Summed:
    """An activation `curve`, known but for rounding, whose value and slope are these sums.

    adds      roundings of a term beside one for each term of a sum
    together  whether all ReLUs of a unit read the same z
    """

    curve: Kinks | Smoothness
    value: ReluSum
    slope: ReluSum
    adds: int
    together: bool

    def bent(self, z: Tensor, slope: Tensor, error: Tensor, size: Tensor, fmt: Format) -> Tensor:
        """E of r(z), z being off by `error` in exact arithmetic."""
        steep = slope.abs() + self._rounded(self.slope, z, size, fmt)
        moved = self.curve.bent(z, steep, error, size, IN_EXACT_ARITHMETIC)
        return moved + self._rounded(self.value, z, size, fmt)

    def doubtful(self, z: Tensor, error: Tensor) -> Tensor:
        """Whether z is on the ramp, or rounding cannot tell on which side of a kink it is."""
        return self.curve.doubtful(z, error)

    def handed(
        self, q: Tensor, e_q: Tensor, z: Tensor, slope: Tensor, e_z: Tensor, size: Tensor, fmt: Format
    ) -> Tensor:
        """E of slope q: a product, and a sum with one that is 0."""
        off = self._off(z, slope, e_z, size, fmt)
        return (slope.abs() + off) * e_q + off * q.abs() + gamma(2, fmt.unit) * (slope * q).abs() + fmt.tiny

    def _off(self, z: Tensor, slope: Tensor, e_z: Tensor, size: Tensor, fmt: Format) -> Tensor:
        """What the slope is off by: of a kink, how far it is from that of its side, or from those of both sides."""
        if isinstance(self.curve, Smoothness):
            own = self.curve.slope.approximation + self._rounded(self.slope, z, size, fmt)
            return own + self.curve.smooth.bend * e_z
        floor = self.curve.kinked.floor
        side = torch.where(self.curve.kinked.room(z) > 0, torch.ones_like(z), floor)
        return (slope - torch.where(self.doubtful(z, e_z), slope.clamp(floor, 1.0), side)).abs()

    def _rounded(self, terms: ReluSum, z: Tensor, size: Tensor, fmt: Format) -> Tensor:
        count = self.adds + len(terms)
        found = gamma(count, fmt.unit) * (terms.steep * (z.abs() if self.together else size) + terms.level)
        return found + count * (len(terms) + terms.total) * fmt.tiny

    @property
    def approximates(self) -> bool:
        """Whether anything is off in exact arithmetic."""
        return self.curve.approximates

    def exact(self) -> Summed:
        """In exact arithmetic: the format alone says that nothing rounds."""
        return self
