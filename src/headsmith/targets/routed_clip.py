"""Truncated linear models that are written into the row of their interval (softmax-universality Thm 3.4, general G)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from flint import arb
from torch import Tensor

from headsmith.compiler.request import Request
from headsmith.compiler.target import Input
from headsmith.constructions.design import Design, Short, many
from headsmith.constructions.routed import Routed
from headsmith.proof.domain import Domain, Interval
from headsmith.proof.rounding import gamma
from headsmith.records.shown import exactly, interval, number
from headsmith.refusal import Refusal
from headsmith.targets.clip import Truncated
from headsmith.targets.reading import read_ends, read_numbers

MOST = 1000  # keys that are proved in seconds, and rows
TRIES = 200


@dataclass(frozen=True, eq=False)
class RoutedClip(Truncated):
    """Range_[low, high](z_i) in row G(z_i) and 0 in the others, z_i = w_i . x_i + t_i.

    `edges` cut [low, high] into intervals, `into` says in which row each is written. Tokens whose z_i is nearer than
    `margin` to an edge between different rows are refused: there a continuous map has to be wrong.

    >>> clip = RoutedClip([[1.0]], [0.0], edges=[0.0], into=[1, 0], margin=0.1)
    >>> hs.compile(clip, domain=(-1, 1), eps=0.05)([[0.5]]).round(decimals=1).abs()
    tensor([[0.5000, 0.0000]], dtype=torch.float64)
    """

    kind, model = "routed clip", "w_i . x_i + t_i"
    W: Any
    t: Any
    edges: Any
    into: Any
    margin: float
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        W, t, edges = read_numbers(self.W, "W", 2), read_numbers(self.t, "t", 1), read_numbers(self.edges, "edges", 1)
        low, high = read_ends(self.low, self.high)
        if len(W) != len(t):
            raise Refusal(f"W has {many(len(W), 'row')} but t has {many(len(t), 'number')}: each token has one of each")
        if not (np.diff(np.concatenate([[low], edges, [high]])) > 0).all():
            raise Refusal(f"edges must increase inside of {interval((low, high))}")
        rows = read_numbers(self.into, "into", 1)
        if rows.shape != (len(edges) + 1,) or (rows != rows.round()).any() or not 0 <= rows.min() <= rows.max() <= MOST:
            raise Refusal(
                f"{many(len(edges), 'edge')} leave {many(len(edges) + 1, 'interval')}: give each a row, from 0 to "
                f"{MOST}"
            )
        if (
            isinstance(self.margin, bool)
            or not isinstance(self.margin, int | float)
            or not 0 < self.margin < high - low
        ):
            raise Refusal("the margin must be a positive number, smaller than the range")
        for name, value in (("W", W), ("t", t), ("edges", edges), ("into", rows), ("low", low), ("high", high)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "margin", float(self.margin))

    def __repr__(self) -> str:
        n, d = self.W.shape
        models = f"{many(n, 'truncated linear model')} in {many(d, 'feature')}"
        return f"RoutedClip of {models}, range {interval((self.low, self.high))}, into {many(self.count, 'row')}"

    @property
    def count(self) -> int:
        """Rows of the output."""
        return int(self.into.max()) + 1

    def row(self, z: float) -> int:
        """G(z)."""
        return int(self.into[np.searchsorted(self.edges, z)])

    @property
    def borders(self) -> np.ndarray:
        """The edges between different rows."""
        return self.edges[np.diff(self.into) != 0]

    def intervals(self, reach: Interval, margin: float) -> list[Interval]:
        """What is left of `reach` when all z nearer than `margin` to a border are taken out."""
        ends = [reach[0] - margin, *self.borders.tolist(), reach[1] + margin]
        cut = [(max(a + margin, reach[0]), min(b - margin, reach[1])) for a, b in pairwise(ends)]
        return [(a, b) for a, b in cut if a < b]

    def claim(self) -> str:
        return f"{super().claim()} e_G"

    def statement(self, request: Request) -> str:
        return (
            f"{super().statement(request)}, no w_i . x_i + t_i nearer than {exactly(self.margin)} to a border between "
            f"rows; w, t, edges and rows of SHA-256 {self.hash()}"
        )

    @property
    def inputs(self) -> dict[str, Input]:
        return {"x": Input(self.W.shape)}

    def exact(self, x: Any) -> list[list[arb]]:
        found = []
        for w, row, t in zip(self.W.tolist(), x, self.t.tolist(), strict=True):
            z = sum((arb(a) * b for a, b in zip(w, row, strict=True)), arb(t))
            own = self.row(float(z.mid()))
            found.append([z.max(arb(self.low)).min(arb(self.high)) if r == own else arb(0) for r in range(self.count)])
        return found

    def check(self, domain: Domain, *inputs: Any) -> None:
        """No token near a border, decided with room for the rounding of z."""
        if not len(self.borders):
            return
        x = inputs[0].detach().double().cpu().numpy()
        z = (x * self.W).sum(-1) + self.t
        slip = gamma(self.W.shape[1] + 2, 2.0**-53) * ((np.abs(x) * np.abs(self.W)).sum(-1) + np.abs(self.t))
        near = np.abs(z[..., None] - self.borders).min(-1) - slip < self.margin
        if near.any():
            place = tuple(np.argwhere(near)[0])
            found, least = number(float(z[place]), 6), exactly(self.margin)
            raise Refusal(
                f"token {int(place[-1])} has w . x + t = {found}, nearer than {least} to a border between rows: no "
                "continuous head is right there; compile with a smaller margin"
            )

    def sample(self, domain: Domain, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """At random; drawn again, token by token, until none is near a border."""
        [x] = super().sample(domain, count, generator)
        for _ in range(TRIES):
            z = (x * torch.tensor(self.W)).sum(-1) + torch.tensor(self.t)
            near = ((z[..., None] - torch.tensor(self.borders)).abs() < 1.001 * self.margin).any(-1)
            if not bool(near.any()):
                return (x,)
            x = torch.where(near[..., None], super().sample(domain, count, generator)[0], x)
        raise Refusal(f"no tokens at random keep a distance of {exactly(self.margin)} from every border")

    def encode(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens

    def designs(self, request: Request) -> Iterator[Design]:
        for eps in (request.eps, request.eps / 2, request.eps / 8):
            keys = Routed.enough(self, eps)
            if keys > MOST:
                raise Short(f"a margin of {exactly(self.margin)} asks for {keys} keys, more than {MOST}")
            yield Routed.of(self, keys, request.dtype)
