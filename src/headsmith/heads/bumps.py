"""The paper's sequence networks with every weight written out: bumps on a grid of cells, then attention that picks one.

softmax-universality, Lemmas 3.11, 3.12, 3.13, Thm 3.14, Cor 3.15. X has entries in [mid - B, mid + B]; g cells an
axis; s = g (X_ti - v_ti)/B in the cell with centre v.

    layer 1   R_v = sum over entries of Range_[0,1] of a rising and of a falling ramp in s      2 d heads a cell
    layer 2   softmax over cells of beta2 R R', values f(v); all queries find the same cell     averaged over them

    printed        ramps s/delta, -s/delta (the bias 1/delta is missing), and W_O = 1, which sums g^(dn) equal columns
    core           ramps (s+1)/delta, (1-s)/delta: right inside the cells, averages a line at their walls (L_p only)
    straddling     ramps (s+1+delta)/(2 delta), (1+delta-s)/(2 delta): they meet at the wall, so the sup norm converges

With straddling ramps the best cell has R at least 1/2 above any cell with some |s| >= 1 + delta: each entry gives
the best cell 3/2 or more and never less than another, and gives that one 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch

from headsmith.network import Affine, Attention, Dense, Network, Select, Sparse, TokenMix
from headsmith.proof.statement import Head

SHARPNESS = 5.43  # beta dL^2 at which a head of anchors follows Range within 0.0615 dL
RAMPS = ("straddling", "core", "printed")


@dataclass(frozen=True)
class Bumps:
    """The sizes of a bump network: g cells an axis on [mid - half, mid + half], ramps of width delta."""

    tokens: int
    features: int
    g: int
    mid: float
    half: float
    delta: float
    beta: float
    anchors: int = 2
    ramps: str = "straddling"
    reader: str = "attention"
    average: bool = True

    @property
    def entries(self) -> int:
        return self.tokens * self.features

    @property
    def cells(self) -> int:
        return self.g**self.entries

    @property
    def heads(self) -> int:
        return 2 * self.features * self.cells

    def centres(self) -> np.ndarray:
        """(cells, tokens, features)."""
        line = self.mid + self.half * (2 * np.arange(self.g) + 1 - self.g) / self.g
        return np.array(list(product(line, repeat=self.entries))).reshape(-1, self.tokens, self.features)

    def range_head(self) -> Head:
        """Range_[0,1] from evenly spaced anchors, both ends among them."""
        places = np.linspace(0.0, 1.0, self.anchors)
        beta = SHARPNESS * (self.anchors - 1) ** 2 if self.anchors > 2 else 40.0
        return Head.table(beta * places, -beta * places**2 / 2, places)

    def ramp(self) -> tuple[float, float]:
        """(slope in s, bias): the rising ramp is slope s + bias, the falling one -slope s + bias."""
        if self.ramps == "straddling":
            return 1 / (2 * self.delta), (1 + self.delta) / (2 * self.delta)
        return 1 / self.delta, (1 / self.delta if self.ramps == "core" else 0.0)


def bump_network(bumps: Bumps, values: np.ndarray, dtype: torch.dtype = torch.float64) -> Network:
    """values (cells, tokens, features): f at the centres."""
    n, d, cells = bumps.tokens, bumps.features, bumps.cells
    slope, bias = bumps.ramp()
    names = [*(f"x.{i}" for i in range(d)), *(f"position.{t}" for t in range(n)), "one"]
    first = len(names)
    names += [*(f"cell.{j}" for j in range(cells)), "slope", "offset", "value"]
    width = len(names)
    lifted = torch.zeros(n, width, dtype=torch.float64)
    lifted[:, d : d + n] = torch.eye(n)
    lifted[:, first - 1] = 1.0
    head = bumps.range_head()
    memory = torch.zeros(bumps.anchors, width, dtype=torch.float64)
    memory[:, -3:] = torch.from_numpy(np.stack([head.slopes, head.offsets, head.values], -1))
    index, coefficient, written = [], [], []
    scale = bumps.g / bumps.half
    for j, centre in enumerate(bumps.centres()):
        for i in range(d):
            for sign in (1.0, -1.0):
                index.append([[i, *range(d, d + n)], [first - 1] * (n + 1)])
                offsets = [bias - sign * slope * scale * float(v) for v in centre[:, i]]
                coefficient.append([[sign * slope * scale, *offsets], [1.0, *[0.0] * n]])
                written.append([first + j])
    heads = len(index)
    ramps = Attention(
        Sparse(index, _tensor(coefficient, dtype), width),
        Select([[width - 3, width - 2]] * heads, width),
        Select([[width - 1]] * heads, width),
        Select.writing(written, width),
        visible="none",
        memory=memory.to(dtype),
        residual=True,
    )
    table = torch.zeros(cells, 2 + n * d, dtype=torch.float64)
    table[:, 1] = 1.0
    table[:, 2:] = torch.from_numpy(values.reshape(cells, n * d))
    spread = Affine(
        Select([[first + j, *[-1] * (1 + n * d)] for j in range(cells)], width), table.to(dtype), [0] * cells
    )
    outputs = [*range(2, 2 + n * d)]
    read = Attention(
        Select([[0 if bumps.reader == "attention" else 1]], 2 + n * d),
        Select([[0]], 2 + n * d),
        Select([outputs], 2 + n * d),
        Select.writing([[*range(n * d)]], n * d),
        visible="all",
        scale=bumps.beta,
    )
    share = 1 / cells if bumps.average else 1.0
    layers = {
        "lift": Affine(Select([*range(d), *[-1] * (width - d)], features=d), lifted.to(dtype), range(n)),
        "ramps": ramps,
        "sum": TokenMix(Dense(torch.ones(1, n, dtype=dtype))),
        "spread": spread,
        "pick": read,
        "mix": TokenMix(Dense(torch.full((1, cells), share, dtype=dtype))),
        "part": Affine(Select([[t * d + i for i in range(d)] for t in range(n)], n * d), None, [0] * n),
    }
    return Network(layers, tokens=[f"token.{t}" for t in range(n)], features=names)


def _tensor(values: Sequence[Any], dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).to(dtype)
