"""Truncated linear models whose weights are in the prompt: one frozen network for every w and t (Thm D.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from flint import arb
from torch import Tensor

from headsmith.compiler.request import Request
from headsmith.compiler.scalar import ScalarTask, solve
from headsmith.compiler.target import Input
from headsmith.constructions.clip import printed, printed_size, range_of
from headsmith.constructions.design import Design, many
from headsmith.constructions.printed import LARGEST, TooLarge
from headsmith.constructions.prompt_keys import PrintedPromptKeys, PromptKeys, reach
from headsmith.proof.domain import Domain, read_domain, read_interval
from headsmith.records.shown import exactly, interval
from headsmith.refusal import Refusal
from headsmith.targets.clip import Truncated
from headsmith.targets.reading import check_sizes, read_ends, read_numbers

SHARES = (0.9, 0.5, 0.3, 0.15)  # of eps, for the head: a smaller one leaves more to the rounding of long scores


@dataclass(frozen=True, eq=False)
class PromptClip(Truncated):
    """Range_[low, high](w . x_i + t_i) with w and t read from the prompt (Thm D.1).

    |w_j| <= weight and |t_i| <= shift; net(x, w, t) takes x (batch..., n, d), w (batch..., d) and t (batch..., n).
    `gains` (n, d), the v_i of the theorem, give every token a model of its own, w_i = w v_i entry by entry.

    >>> net = hs.compile(PromptClip(tokens=2, features=1), domain=(-1, 1), eps=1e-2)
    >>> net([[0.5], [-1.0]], [1.0], [0.2, -1.0]).round(decimals=1)
    tensor([ 0.7000, -1.0000], dtype=torch.float64)
    """

    kind, model = "prompt-clip", "w . x_i + t_i"
    methods = ("auto", "table", "printed")
    tokens: int
    features: int
    low: float = -1.0
    high: float = 1.0
    weight: float = 1.0
    shift: float = 1.0
    gains: Any = None

    def __post_init__(self) -> None:
        check_sizes(tokens=self.tokens, features=self.features)
        read_ends(self.low, self.high)
        numbers = isinstance(self.weight, int | float) and isinstance(self.shift, int | float)
        if not (numbers and 0 < self.weight < math.inf and 0 <= self.shift < math.inf):
            raise Refusal("weight and shift bound |w_j| and |t_i|: they must be finite, the first positive")
        if self.gains is not None:
            gains = read_numbers(self.gains, "gains", 2)
            if gains.shape != (self.tokens, self.features):
                raise Refusal(f"gains are {self.tokens} x {self.features} numbers, not {gains.shape}")
            object.__setattr__(self, "gains", gains)

    def __repr__(self) -> str:
        sizes = f"{many(self.tokens, 'token')} of {many(self.features, 'feature')}"
        ends, (w, t) = interval((self.low, self.high)), map(exactly, (self.weight, self.shift))
        own = "" if self.gains is None else ", its own gains for each token"
        return f"PromptClip of {sizes}, range {ends}, |w_j| <= {w}, |t_i| <= {t}{own}"

    def claim(self) -> str:
        return super().claim().replace("w .", "(w v_i) .") if self.gains is not None else super().claim()

    def statement(self, request: Request) -> str:
        return super().statement(request) + (f", v of SHA-256 {self.hash()}" if self.gains is not None else "")

    @property
    def stretch(self) -> tuple[float, float]:
        """The largest sum of a token's |gains|, and the largest |gain|."""
        sizes = np.ones((1, self.features)) if self.gains is None else np.abs(self.gains)
        return float(sizes.sum(1).max()), float(sizes.max())

    @property
    def inputs(self) -> dict[str, Input]:
        n, d = self.tokens, self.features
        return {"x": Input((n, d)), "w": Input((d,)), "t": Input((n,))}

    def domain(self, given: Any, dtype: str) -> Domain:
        """The user's is for x; w and t lie within `weight` and `shift`."""
        sets = {"w": read_interval((-self.weight, self.weight), dtype), "t": (0.0, 0.0)}
        if self.shift:
            sets["t"] = read_interval((-self.shift, self.shift), dtype)
        return Domain({**read_domain(given, ["x"], dtype, str(self)).sets, **sets})

    def plain(self, domain: Domain) -> Any:
        return domain["x"]

    def size(self, domain: Domain) -> float:
        return (self.high - self.low) / 2

    def exact(self, x: Any, w: Any, t: Any) -> list[arb]:
        gains = [[1.0] * self.features] * self.tokens if self.gains is None else self.gains.tolist()
        own = ([arb(a) * v for a, v in zip(w, row, strict=True)] for row in gains)
        return [self.truncated(*model) for model in zip(own, x, t, strict=True)]

    def encode(self, x: Tensor, w: Tensor, t: Tensor) -> Tensor:  # type: ignore[override]
        """Tokens (x_i, w, t_i)."""
        try:
            shape = torch.broadcast_shapes(x.shape[:-1], (*w.shape[:-1], 1), t.shape)
        except RuntimeError:
            raise Refusal("the batches of x, w and t do not broadcast together") from None
        return torch.cat([v.expand(*shape, v.shape[-1]) for v in (x, w[..., None, :], t[..., None])], -1)

    def printed_keys(self, request: Request) -> float:
        return printed_size(self.low, self.high, request.eps, self.tokens)

    def designs(self, request: Request) -> Iterator[Design]:
        low, high, eps, dtype = self.low, self.high, request.eps, request.dtype
        if request.method == "printed":
            p = printed_size(low, high, eps, self.tokens)
            yield TooLarge(p, eps) if p > LARGEST else PrintedPromptKeys.cast([printed(low, high, p, eps)], dtype)
            return
        size = reach(self, request.domain)
        for share in SHARES:
            found = solve(ScalarTask(range_of(low, high), (-size, size), share * eps, dtype, may_bias=False), "table")
            yield PromptKeys(found.part.heads)
