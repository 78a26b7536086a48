"""What a step is off by where softmax makes its products, and shares of attention are its rate.

product  x = q . k is rounded, a table of x is off by `slip`, and its mean times a value is rounded:
         x v' is off by (E_x + slip) |v'| + |x| E_v' + u |x v'|
share    rate / (C count) of the attention for who scores log(share / (1 - count share)) beside one who scores 0:
         off by u |score| + gamma(count + 10) of itself (exp within 4 u, those that it is divided by, their sum)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from headsmith.proof.curves import Slip
from headsmith.proof.rounding import Format


@dataclass(frozen=True)
class Products:
    """Products of numbers up to `reach` are off by `slip`; no rate reaches `most`, which is C.

    >>> heads = Products(Slip(approximation=0.5, fixed=0.25), reach=4.0, most=2.0)
    >>> heads.off, heads.exact().off
    (0.75, 0.5)
    """

    slip: Slip
    reach: float
    most: float

    @property
    def off(self) -> float:
        """What a product is off by, beside what rounding q . k is."""
        return self.slip.approximation + self.slip.fixed

    def exact(self) -> Products:
        """In exact arithmetic."""
        return replace(self, slip=Slip(self.slip.approximation))

    def told(self, rate: Tensor, count: Tensor, fmt: Format) -> Tensor:
        """What rounding a score adds to a share: as many units of roundoff as it is large."""
        return fmt.unit * torch.log(rate / ((self.most - rate) * count)).abs()
