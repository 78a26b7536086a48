"""One head that truncates z and writes it into the row of its interval, right away from the borders between rows.

The print lets anchor k write into any row G(k) and claims, with the sharpness for two leaders, the bound that it has
for one row, max(|a|, |b|) eps_0 + (b - a)/p. Where z ties between anchors of different rows the head writes half into
each, half of |z| away from either; a continuous map cannot do anything else. So the claim is made where it can hold, at
least `margin` away from every edge between rows:

    |row r of the head - [G(z) = r] Range(z)| <= sup over the intervals between the edges, each proved by itself.

The anchors are uniform with both ends, c = 5.43 as ever. Anchors switch half a step from an edge at most, and weights
fall from there like exp(-c distance/dL): dL = margin c / (c/2 + ln(2 M/eps)) is fine enough.
(softmax-universality Thm 3.4 with a general G, repaired.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headsmith.constructions.clip import SHARPNESS, preactivation, range_of, smoother
from headsmith.constructions.design import Altered, Design, Tally
from headsmith.functions import parse
from headsmith.network import Affine, Attention, Dense, Network, Select
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import exact, prove_part
from headsmith.proof.statement import Head, Part

if TYPE_CHECKING:
    from headsmith.compiler.request import Request


@dataclass(frozen=True, eq=False)
class Routed(Design):
    """Slopes and offsets of one head, and a row of values for each of its keys."""

    name, serves = "routed", "routed clip"
    slopes: np.ndarray
    offsets: np.ndarray
    values: np.ndarray  # (keys, rows)

    @property
    def tally(self) -> Tally:
        return Tally(len(self.slopes), heads=1, layers=1)

    @classmethod
    def of(cls, target: Any, keys: int, dtype: str) -> Routed:
        """Uniform anchors, each in the row of its own interval."""
        anchors = np.linspace(target.low, target.high, keys)
        step = anchors[1] - anchors[0]
        head = smoother(anchors, anchors, SHARPNESS / step**2).cast(dtype)
        values = np.zeros((keys, target.count))
        values[range(keys), [target.row(z) for z in anchors]] = head.values
        return cls(head.slopes, head.offsets, values)

    @staticmethod
    def enough(target: Any, eps: float) -> int:
        """Keys after which what leaks into a wrong row is below eps/2."""
        most = max(abs(target.low), abs(target.high))
        steps = (SHARPNESS / 2 + math.log(max(4 * most / eps, 2.0))) / SHARPNESS
        fine = min(target.margin / steps, eps / 0.13)
        return 1 + math.ceil((target.high - target.low) / fine)

    def network(self, target: Any, dtype: str) -> Network:
        kind, rows = getattr(torch, dtype), target.count
        width = 4 + rows  # z, one | slope, offset, values
        weight, shift = (torch.tensor(v).to(kind) for v in (target.W, target.t))
        lift = torch.zeros(len(shift), width, 1, dtype=kind)
        lift[:, 0, 0] = 1.0
        bias = torch.zeros(len(shift), width, dtype=kind)
        bias[:, 1] = 1.0
        memory = torch.zeros(len(self.slopes), width, dtype=torch.float64)
        memory[:, 2], memory[:, 3], memory[:, 4:] = map(torch.tensor, (self.slopes, self.offsets, self.values))
        read = Attention(
            Select([[0, 1]], width),
            Select([[2, 3]], width),
            Select([[*range(4, width)]], width),
            Select.writing([[*range(rows)]], rows),
            visible="none",
            memory=memory.to(kind),
        )
        layers = {
            "models": Affine(Dense(weight[:, None, :]), shift[:, None]),
            "lift": Affine(Dense(lift), bias),
            "route": read,
        }
        return Network(layers, tokens=[f"token.{i}" for i in range(len(shift))])

    def prove(self, target: Any, request: Request) -> Bound:
        """Each row on each interval between edges, as far from them as the margin and the rounding of z leave."""
        z, worst, rounded, cells = preactivation(target, request), 0.0, 0.0, 0
        inner = target.margin - z.total
        if not inner > 0:
            raise Altered("the margin is smaller than the rounding of w . x + t")
        for low, high in target.intervals(z.reach, inner):
            for row in range(target.count):
                wanted = range_of(target.low, target.high) if row == target.row((low + high) / 2) else parse("0*x")
                part = Part(
                    "z", "out", wanted, (low, high), (Head.table(self.slopes, self.offsets, self.values[:, row]),)
                )
                own = prove_part(part, request.dtype, exact((low, high)))
                worst, rounded = max(worst, own.approximation.bound), max(rounded, own.rounding.bound)
                cells += len(own.approximation.edges) - 1
        return Bound(
            math.nextafter(worst + z.approximation, math.inf),
            math.nextafter(rounded + z.rounding, math.inf),
            cells=cells,
        )

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Routed:
        layer: Any = network.layers["route"]
        memory = layer.memory.detach().double().numpy()
        if memory.shape[1] != 4 + target.count:
            raise Altered("the keys hold values for another number of rows")
        return cls(memory[:, 2].copy(), memory[:, 3].copy(), memory[:, 4:].copy())
