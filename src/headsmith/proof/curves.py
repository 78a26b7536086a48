"""What an activation and its slope add to the error of a step: gates, whose slopes are 0 or 1, and numbers.

E bounds |computed - exact| of the letter beside it, `own` is what rounding adds. `size` is |V| |p|, the terms of z:
units that read one z, as here, do not depend on it (those of `proof.summed` do).

    gates    p = r(z)         E_p = E_z where open, floor E_z where shut, + own
             delta = r' q     E   = r' E_q + own, where rounding can tell on which side of the kink z is
    numbers  p = r(z)         E_p = (|r'| + own' + bend E_z / 2) E_z + own      r' being the number that was computed
             delta = r' q     E   = (|r'| + E_slope) E_q + E_slope |q| + own    E_slope = bend E_z + own'

Smoothness are means of stored values over a softmax of three keys, k z, log 2 and -k z, or tables that were proved.

SOFT, for three keys. After the maximum is subtracted a score is off by u gap, log 2 by u log 2, exp by 4 u. A weight
p_j <= exp(-gap_j) has p_j gap_j <= 1/e, and the mean moves by at most sum p_j x_j |v_j - mean|, where the values lie
within 2 of each other and sum p_j |v_j - mean| <= 1: (4 + log 2) + 4/e < 6.2 u. The sum of weights, a division by its
inverse, three products and two sums are 2 + 2 + 1 + 2 roundings of at most 1, and the multiple is one more: 14.2 u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from headsmith.functions.kinks import Kinked
from headsmith.functions.smooth import Smooth
from headsmith.proof.rounding import Format, gamma

SOFT = 16  # units of roundoff; the rest is for terms of second order


@dataclass(frozen=True)
class Kinks:
    """An activation that is a few ReLUs itself. `worst`: every unit is taken to be on its worse side."""

    kinked: Kinked
    worst: bool = False

    def bent(self, z: Tensor, slope: Tensor, error: Tensor, size: Tensor, fmt: Format) -> Tensor:
        """E of r(z): nothing where relu is shut; z - 1 and a sum beyond 1; a product and a coefficient of a leak."""
        u, floor = fmt.unit, self.kinked.floor
        if self.kinked.name == "hard tanh":
            flat = z.abs() - error >= 1
            return error * (~flat | self.worst) + u * z.abs() * (z.abs() > 1)
        shut, leaks = z + error <= 0, ((z < 0) | self.worst) * (floor > 0)
        return torch.where(shut, floor * error, error) + (gamma(2, u) * floor * z.abs() + fmt.tiny) * leaks

    def doubtful(self, z: Tensor, error: Tensor) -> Tensor:
        """Whether z is in the gap, or rounding cannot tell on which side of a kink it is."""
        room = self.kinked.room(z)
        return ~(((room >= self.kinked.gap) & (room > error)) | (room + error <= 0))

    def handed(
        self, q: Tensor, e_q: Tensor, z: Tensor, slope: Tensor, e_z: Tensor, size: Tensor, fmt: Format
    ) -> Tensor:
        """E of slope q: the slope times E_q, and q - (1 - floor) q where a leak is what remains."""
        floor, u = self.kinked.floor, fmt.unit
        shut = floor * e_q + (gamma(3, u) * (q.abs() + e_q) + fmt.tiny * (q != 0) if floor else 0.0)
        return torch.maximum(e_q, shut) if self.worst else torch.where(self.kinked.room(z) > 0, e_q, shut)

    @property
    def steep(self) -> float:
        """The largest slope."""
        return 1.0

    def highest(self, z: Tensor) -> Tensor:
        """The largest |r| of numbers up to z."""
        return z.clamp(max=1.0) if self.kinked.name == "hard tanh" else z

    def worsened(self) -> Kinks:
        """Every unit on its worse side."""
        return replace(self, worst=True)

    approximates: ClassVar[bool] = False

    def exact(self) -> Kinks:
        """Kinks are exact in exact arithmetic."""
        return self


@dataclass(frozen=True)
class Slip:
    """|computed - exact| <= approximation + fixed + each |z|, the last two by rounding."""

    approximation: float = 0.0
    fixed: float = 0.0
    each: float = 0.0

    def of(self, z: Tensor) -> Tensor:
        """At each z."""
        return self.approximation + self.fixed + self.each * z.abs()


def added(slips: Sequence[Slip]) -> Slip:
    """Of a sum."""
    return Slip(*(sum(getattr(slip, part) for slip in slips) for part in ("approximation", "fixed", "each")))


@dataclass(frozen=True)
class Smoothness:
    """An activation whose value and slope are worked out: sums of at most two terms, a multiple of z among them."""

    smooth: Smooth
    value: Slip
    slope: Slip

    def bent(self, z: Tensor, slope: Tensor, error: Tensor, size: Tensor, fmt: Format) -> Tensor:
        """E of r(z)."""
        steep = slope.abs() + self._own(z, slope, fmt) + self.smooth.bend * error / 2
        return steep * error + self.value.of(z) + fmt.unit * self.highest(z.abs()) + fmt.tiny

    def doubtful(self, z: Tensor, error: Tensor) -> Tensor:
        """A smooth function has no kinks."""
        return torch.zeros_like(z, dtype=torch.bool)

    def handed(
        self, q: Tensor, e_q: Tensor, z: Tensor, slope: Tensor, e_z: Tensor, size: Tensor, fmt: Format
    ) -> Tensor:
        """E of slope q: a product, and a sum with one that is 0."""
        off = self._own(z, slope, fmt) + self.smooth.bend * e_z
        return (slope.abs() + off) * e_q + off * q.abs() + gamma(2, fmt.unit) * (slope * q).abs() + fmt.tiny

    def _own(self, z: Tensor, slope: Tensor, fmt: Format) -> Tensor:
        """What the slope is off by at this z: each head, and the sum of two."""
        return self.slope.of(z) + fmt.unit * slope.abs() + fmt.tiny

    @property
    def steep(self) -> float:
        """The largest slope that is computed."""
        return self.smooth.steep + self.slope.approximation + 1e-3

    def highest(self, z: Tensor) -> Tensor:
        """The largest |r| of numbers up to z."""
        return (z + self.smooth.lift).clamp(max=self.smooth.most)

    def worsened(self) -> Smoothness:
        """Smoothness have no sides."""
        return self

    @property
    def approximates(self) -> bool:
        """Whether anything is off in exact arithmetic."""
        return bool(self.value.approximation + self.slope.approximation)

    def exact(self) -> Smoothness:
        """In exact arithmetic."""
        value, slope = Slip(self.value.approximation), Slip(self.slope.approximation)
        return Smoothness(self.smooth, value, slope)
