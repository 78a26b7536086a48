"""Lemma 3.11: a network of ReLU units with every weight written down, near a formula in the L_p norm.

softmax-universality Lemma 3.11. Cells of g an axis on [-B, B]^N, centres v, s_i = g (x_i - v_i)/B:

    phi(s) = relu((s+1)/delta) - relu((s+1-delta)/delta) + relu((1-s)/delta) - relu((1-s-delta)/delta) - 1
    net(x) = sum_v f(v) relu(sum_i phi(s_i) - N + 1)

phi is 1 on the core |s| <= 1 - delta and 0 from |s| = 1 on, so a cell's bump is 1 on its core and 0 in all others:
there the error is at most w = L B/g, and in the shells between the cores, a share 1 - (1-delta)^N of the volume, at
most |f(v)| + |f|:

    |net - f|_p^p <= (2B)^N [ w^p + (1 - (1-delta)^N) (2 max|f|)^p ]

As printed the volume is B^N, which the error of f = 1 exceeds, and the network is said to have two layers: it has two
hidden ones. Cells of a row share their ramps, so 4 N g units are enough for the first where the print takes 4 N g^N.
`hs.compile(relu.module(), ...)` is this network in attention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import nn

from headsmith.functions import Expression, precision
from headsmith.functions.balls import ceil_float
from headsmith.functions.several import at_point, evaluator
from headsmith.proof.steepness import steepness
from headsmith.refusal import Refusal

LARGEST = 4096  # cells


@dataclass(frozen=True, eq=False)
class ExplicitRelu:
    """f, a formula in these variables, on [-half, half] in each; g cells an axis, shells of width delta.

    >>> from headsmith.functions import parse
    >>> relu = ExplicitRelu(parse("x*y"), ("x", "y"), half=1.0, g=8, delta=0.1)
    >>> relu.module()(torch.tensor([[0.625, -0.375]], dtype=torch.float64)).round(decimals=3)
    tensor([[-0.2340]], dtype=torch.float64)
    """

    f: Expression
    names: tuple[str, ...]
    half: float
    g: int
    delta: float

    def __post_init__(self) -> None:
        if not (0 < self.delta < 1 and 0 < self.half < math.inf and self.g >= 1):
            raise Refusal("cells have a positive size, and shells a share delta of it between 0 and 1")
        if self.cells > LARGEST:
            raise Refusal(f"{self.g}^{len(self.names)} cells are more than {LARGEST}: take a smaller g")

    @property
    def cells(self) -> int:
        """g^N."""
        return int(self.g ** len(self.names))

    def centres(self) -> np.ndarray:
        """(cells, N)."""
        line = self.half * (2 * np.arange(self.g) + 1 - self.g) / self.g
        return np.array(list(product(line, repeat=len(self.names))))

    def module(self) -> nn.Sequential:
        """Linear, ReLU, Linear, ReLU, Linear: float64, (batch, N) -> (batch, 1)."""
        count, line = len(self.names), self.half * (2 * np.arange(self.g) + 1 - self.g) / self.g
        first, ramps, last = (
            nn.Linear(*sizes).double()
            for sizes in ((count, 4 * count * self.g), (4 * count * self.g, self.cells), (self.cells, 1))
        )
        scale, signs, shifts = self.g / self.half, (1.0, 1.0, -1.0, -1.0), (0.0, self.delta, 0.0, self.delta)
        W, b = np.zeros((count, self.g, 4, count)), np.zeros((count, self.g, 4))
        S = np.zeros((*[self.g] * count, count, self.g, 4))
        for i, (k, v) in product(range(count), enumerate(line)):
            for r, (sign, shift) in enumerate(zip(signs, shifts, strict=True)):
                W[i, k, r, i] = sign * scale / self.delta
                b[i, k, r] = (1 - sign * scale * v - shift) / self.delta
                S[(*[slice(None)] * i, k, ..., i, k, r)] = (1.0, -1.0)[r % 2]
        values = evaluator([self.f], self.names)(*self.centres().T)[0]
        written: tuple[tuple[nn.Linear, Any, Any], ...] = (
            (first, W.reshape(-1, count), b.ravel()),
            (ramps, S.reshape(self.cells, -1), np.full(self.cells, 1.0 - 2 * count)),
            (last, values[None], np.zeros(1)),
        )
        with torch.no_grad():
            for layer, weight, bias in written:
                layer.weight.copy_(torch.from_numpy(weight))
                layer.bias.copy_(torch.from_numpy(bias))
        return nn.Sequential(first, nn.ReLU(), ramps, nn.ReLU(), last).eval().requires_grad_(False)

    def bound(self, p: float, printed: bool = False) -> float:
        """The largest |net - f|_p, in exact arithmetic on the cells; printed: with B^N for the shells' volume."""
        count = len(self.names)
        wide = steepness([self.f], self.names, [(-self.half, self.half)] * count) * self.half / self.g
        with precision(96):
            most = max(ceil_float(abs(at_point(self.f, self.names, v))) for v in self.centres().tolist()) + wide
        shells = -math.expm1(count * math.log1p(-self.delta))
        volume, share = (2 * self.half) ** count, self.half**count if printed else (2 * self.half) ** count
        return float((volume * wide**p + share * shells * (2 * most) ** p) ** (1 / p)) * (1 + 1e-9)
