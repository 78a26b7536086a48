"""A network of ReLU units over whole sequences from anchors alone (softmax-universality, Thm F.2, repaired).

    f_i(X) = sum_k outer_ik relu(s_ik),    s_ik = sum_j z_ikj,    z_ikj = inner_ikj . x_j + bias_ik / n

The lift writes z_ikj on token j. Layer 1, head (i, k): the identity, read off anchors; W_O = 1 then sums over tokens.
Layer 2, head (i, k): Range_[0,b] of the sum, read off anchors, weighted by outer_ik. n N heads a layer.

With c = beta dL^2 = 1.2 and six cells of padding, anchors are the identity to 8e-7 dL; with c = 5.43 they follow Range
within 0.0615 dL; the printed choice, sharp anchors, is a staircase in both layers, off by up to dL/2.

The printed bound (G.64) multiplies the first layer's error by the size of the second layer's keys and diverges. Range
is 1-Lipschitz, so the error of a unit is that of its own head plus that of its input, and

    |net - f|_i <= sum_k |outer_ik| (e_2 + n e_1)  +  rounding

with e_1 and e_2 the proved errors of the two heads, identity and Range, on the values that can reach them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headsmith.constructions.assemble import table_layer, table_rows
from headsmith.constructions.design import Design, Short, Tally, many
from headsmith.functions import parse
from headsmith.network import Affine, Dense, Network, Select, TokenMix
from headsmith.proof.approximation import prove
from headsmith.proof.certificate import Bound
from headsmith.proof.rounding import gamma, prove_rounding
from headsmith.proof.statement import Head, Part

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

IDENTITY, RANGE, SHARP = 1.2, 5.43, 40.0
PADDING = 6
LARGEST = 1000  # anchors of one head
INNER = 21  # anchors of the identity, padding apart


@dataclass(frozen=True, eq=False)
class Anchored(Design):
    """Two tables, identity and Range, which all units share; the target's own numbers do the rest."""

    name, serves = "anchors", "relu-network"
    identity: Head
    ramp: Head
    units: int  # of all tokens

    @property
    def tally(self) -> Tally:
        return Tally(self.units * (self.identity.keys + self.ramp.keys), 2 * self.units, layers=2)

    def method(self, target: Any) -> str:
        return "identity, then Range, from anchors (Thm F.2)"

    def size(self) -> str:
        """2 x 15 heads with 33 and 58 anchors, 2 layers."""
        return f"2 x {many(self.units, 'head')} with {self.identity.keys} and {self.ramp.keys} anchors, 2 layers"

    def network(self, target: Any, dtype: str) -> Network:
        """X (n tokens, d features) -> (n tokens, 1)."""
        inner, bias, kind = target.inner, target.bias, getattr(torch, dtype)
        n, units, _, d = inner.shape
        count = n * units
        width = 2 * count + 4
        lift = np.zeros((n, width, d))
        lift[:, :count] = inner.transpose(2, 0, 1, 3).reshape(n, count, d)
        shift = np.zeros((n, width))
        shift[:, :count], shift[:, count] = bias.reshape(-1) / n, 1.0
        names = [f"z.{i}.{k}" for i in range(n) for k in range(units)]
        features = [*names, "one", *(name.replace("z", "s") for name in names), "slope", "offset", "value"]
        second = count + 1 + n + 3
        one = torch.zeros(second, dtype=kind)
        one[count] = 1.0
        outer = np.zeros((count, second, 1))
        outer[range(count), count + 1 + np.repeat(np.arange(n), units), 0] = target.outer.reshape(-1)
        asked = [[h, count] for h in range(count)]
        written = Select.writing([[count + 1 + h] for h in range(count)], width)
        weighted = Dense(torch.from_numpy(outer).to(kind))
        layers = {
            "lift": Affine(Dense(torch.from_numpy(lift).to(kind)), torch.from_numpy(shift).to(kind), range(n)),
            "identity": table_layer(Select(asked, width), table_rows(self.identity), 1, written, kind),
            "sum": TokenMix(Dense(torch.ones(1, n, dtype=kind))),
            "again": Affine(Select([*range(count + 1, 2 * count + 1), *[-1] * (second - count)], features=width), one),
            "range": table_layer(Select(asked, second), table_rows(self.ramp), 1, weighted, kind),
            "part": Affine(Select([[count + 1 + i] for i in range(n)], second), None, [0] * n),
        }
        return Network(layers, tokens=[f"token.{i}" for i in range(n)], features=features)

    def prove(self, target: Any, request: Request) -> Bound:
        n, units, _, d = target.inner.shape
        u, weight = request.format.unit, float(np.abs(target.outer).sum(1).max())
        goal = 1e-3 * request.eps / (weight * n + 1e-300)
        size, most = reach_of(target, request.domain.size("X"))
        slip = gamma(d + 4, u) * size
        e1, r1 = _errors(self.identity, "x", size + slip, request, goal)
        slip += r1
        sums = gamma(n + 1, u) * n * (size + e1 + slip)
        most += n * (e1 + slip) + sums
        e2, r2 = _errors(self.ramp, "relu(x)", most, request, goal)
        rounding = weight * (r2 + n * slip + sums) + gamma(n * units + 2, u) * weight * (most + e2 + r2)
        return Bound(weight * (e2 + n * e1) * (1 + 1e-12), rounding * (1 + 1e-9))

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Anchored:
        layers: Any = network.layers
        rows = [layers[name].memory.double().numpy()[:, -3:].T for name in ("identity", "range")]
        return cls(Head.table(*rows[0]), Head.table(*rows[1]), target.outer.size)


def anchored_design(target: Any, request: Request) -> Iterator[Anchored]:
    """Numbers of anchors from eps, for the methods "anchors" and "printed"; raises Short where they are too many."""
    n, sharp = len(target.inner), request.method == "printed"
    weight = float(np.abs(target.outer).sum(1).max())
    r, b = reach_of(target, request.domain.size("X"))
    share = 0.9 * request.eps / (weight + 1e-300) / (2.0 if sharp else 1.0)
    r, b = 1.001 * r + 1e-300, 1.01 * b + (2 * min(share, 1e300) if sharp else request.eps)
    p, q = anchors_for(share / n, 2 * r, True) if sharp else INNER, anchors_for(share, b, sharp)
    if max(p, q) > LARGEST:
        raise Short(
            f"{max(p, q)} anchors would be needed, more than {LARGEST}; method='auto' needs two keys a unit",
            request.eps * max(p, q) / LARGEST,
        )
    identity = anchored_head(-r, r, p, SHARP if sharp else IDENTITY, 0 if sharp else PADDING)
    ramp = anchored_head(0.0, b, q, SHARP if sharp else RANGE)
    yield Anchored(identity.cast(request.dtype), ramp.cast(request.dtype), target.outer.size)


def reach_of(target: Any, radius: float) -> tuple[float, float]:
    """The largest |z| and |s| for |X| <= radius."""
    parts = np.abs(target.inner).sum(3) * radius + np.abs(target.bias)[..., None] / len(target.inner)
    return float(parts.max()), float((np.abs(target.inner).sum((2, 3)) * radius + np.abs(target.bias)).max())


def _errors(head: Head, formula: str, reach: float, request: Request, goal: float) -> tuple[float, float]:
    """(approximation, rounding) of a table on [-reach, reach]."""
    reach = reach * (1 + 1e-9) + 1e-300
    part = Part("x", "y", parse(formula), (-reach, reach), (head,))
    return prove(part, goal, (0.0,)).bound, prove_rounding(part, request.format, goal).bound


def anchored_head(low: float, high: float, count: int, sharpness: float, padding: int = 0) -> Head:
    """`count` anchors on [low, high], ends included, and `padding` more on either side, valued at their places."""
    step = (high - low) / (count - 1)
    places = low + step * np.arange(-padding, count + padding)
    beta, middle = sharpness / step**2, (low + high) / 2
    return Head.table(
        beta * (places - middle), beta * middle * (middle - places) - beta / 2 * (places - middle) ** 2, places
    )


def anchors_for(error: float, reach: float, sharp: bool) -> int:
    """Anchors on [0, reach] that follow Range within `error`."""
    return 2 + math.ceil((0.5 if sharp else 0.0625) * reach / error)
