"""Truncated linear models (softmax-universality): n tokens, each with its own w_i and t_i, truncated by one layer.

method   auto     two gates: attend to yourself or to a null token, any eps            (App. H, App. I, layer 3)
         table    one head of constant values on searched keys                         (Thm 3.4, better)
         heads    H heads whose keys are the n tokens themselves, telescoping           (Thm 3.9, repaired)
         printed  Cor G.6's anchors, or with heads=H the sentinels of Thm 3.9, which fail
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from flint import arb
from torch import Tensor

from headsmith.compiler.program import forge
from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target
from headsmith.constructions import clip as rules
from headsmith.constructions.clip import KeysOnMemory, KeysOnTokens
from headsmith.constructions.design import Design, Short, many
from headsmith.constructions.printed import LARGEST, TooLarge
from headsmith.proof.certificate import SLACK
from headsmith.proof.domain import Interval
from headsmith.proof.statement import Head
from headsmith.records.shown import interval, upper
from headsmith.refusal import Refusal
from headsmith.search.question import Question
from headsmith.search.search import search
from headsmith.search.table import Unreached
from headsmith.targets.reading import check_sizes, read_ends, read_numbers

QUICK = 100  # keys of telescoping heads that are proved in a second


class Truncated(Target):
    """Range_[low, high] of one number for each token; what Clip and PromptClip share."""

    model: ClassVar[str]
    low: float
    high: float

    def claim(self) -> str:
        return f"Range_{interval((self.low, self.high))}({self.model})"

    def statement(self, request: Request) -> str:
        n, d = self.inputs["x"].shape
        return f"{super().statement(request)}, at each of {many(n, 'token')} of {many(d, 'feature')}"

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0]

    def truncated(self, w: Any, x: Any, t: float) -> arb:
        """Range(w . x + t) in balls."""
        z = sum((arb(a) * b for a, b in zip(w, x, strict=True)), arb(t))
        return z.max(arb(self.low)).min(arb(self.high))


@dataclass(frozen=True, eq=False)
class Clip(Truncated):
    """Range_[low, high](w_i . x_i + t_i), one truncated linear model for each of n tokens.

    softmax-universality, Def 3.2.

    W (n tokens, d features), t (n tokens); net(x) takes x (batch..., n, d) to (batch..., n). `heads` asks for the
    multi-head form, so many heads with the tokens as keys (Thm 3.9); compile(..., heads=4) says the same.

    >>> Clip([[1.0, 2.0], [0.5, -1.0]], [0.0, 0.25])
    Clip of 2 truncated linear models in 2 features, range [-1, 1]
    """

    kind, model = "clip", "w_i . x_i + t_i"
    methods = ("auto", "table", "heads", "printed")
    options = ("heads",)
    W: Any
    t: Any
    low: float = -1.0
    high: float = 1.0
    heads: int | None = None

    def __post_init__(self) -> None:
        W, t = read_numbers(self.W, "W", 2), read_numbers(self.t, "t", 1)
        if len(W) != len(t):
            rows, numbers = many(len(W), "row"), many(len(t), "number")
            raise Refusal(f"W has {rows} but t has {numbers}: each token has one row and one number")
        for name, value in zip(("W", "t", "low", "high"), (W, t, *read_ends(self.low, self.high)), strict=True):
            object.__setattr__(self, name, value)
        if self.heads is not None:
            check_sizes(heads=self.heads)

    def __repr__(self) -> str:
        n, d = self.W.shape
        models, ends = many(n, "truncated linear model"), interval((self.low, self.high))
        return f"Clip of {models} in {many(d, 'feature')}, range {ends}"

    def statement(self, request: Request) -> str:
        return f"{super().statement(request)}, w and t of SHA-256 {self.hash()}"

    @property
    def inputs(self) -> dict[str, Input]:
        return {"x": Input(self.W.shape)}

    def exact(self, x: Any) -> list[arb]:
        return list(map(self.truncated, self.W.tolist(), x, self.t.tolist()))

    def printed_keys(self, request: Request) -> float:
        """2 (b - a)/eps, in one head or in heads of n - 2 anchors and two sentinels."""
        n = len(self.t)
        if (self.heads or request.method == "heads") and n > 2:
            return rules.sentinel_size(self.low, self.high, n, request.eps) * n
        return rules.printed_size(self.low, self.high, request.eps, n)

    def designs(self, request: Request) -> Iterator[Design]:
        n, low, high, eps, dtype = len(self.t), self.low, self.high, request.eps, request.dtype
        on_tokens = self.heads is not None or request.method == "heads"
        if on_tokens and n < 3:
            raise Refusal(f"{many(n, 'token')} cannot be the keys of a head: pad the prompt to 3, or leave `heads` out")
        if request.method == "printed":
            p = rules.printed_size(low, high, eps, n)
            if self.heads:
                yield KeysOnTokens.cast(rules.sentinels(low, high, n, self.heads, eps), dtype)
            else:
                yield TooLarge(p, eps) if p > LARGEST else KeysOnMemory.cast([rules.printed(low, high, p, eps)], dtype)
            return
        z = rules.preactivation(self, request)
        room = (eps / SLACK - z.total) * (1 - 1e-9)  # what is left of eps for the heads
        if room <= 0:
            raise Short(f"w . x + t alone costs {upper(z.total)}", 2 * SLACK * z.total)
        if on_tokens:
            yield from self._telescoping(z.reach, room, dtype)
        else:
            [part] = forge(rules.range_of(low, high), z.reach, room, dtype, request.method)
            yield KeysOnMemory(part.heads, part.bias)

    def _telescoping(self, reach: Interval, room: float, dtype: str) -> Iterator[Design]:
        """Uniform anchors where they are enough for these heads, else searched keys, the same in every head."""
        low, high, n = self.low, self.high, len(self.t)
        least, most = rules.telescope_size(low, high, n, room), LARGEST // n
        count = self.heads or least
        sure = rules.telescope_error(low, high, n, self.heads or max(1, QUICK // n))
        if count > most:
            raise Short(f"{count} heads are more than the {most} that are built on {n} tokens", sure)
        if least <= count:
            yield KeysOnTokens.cast(rules.telescope(low, high, n, count), dtype)
        piece, shifted = (0.0, (high - low) / count), (reach[0] - high, reach[1] - low)
        try:
            found = search(Question(rules.range_of(*piece), *shifted, 0.7 * room / count, piece, dtype=dtype))
        except Unreached as failure:
            raise Short(failure.reason, failure.best.total * count if failure.best else math.inf) from None
        if len(found) > n:
            raise Short(f"{count} heads of {n} keys do not reach it, Thm 3.9 repaired asks for heads={least}", sure)
        table = Head.table(found.slopes, found.offsets, found.values)
        yield KeysOnTokens.cast(rules.telescoped(low, high, count, table), dtype)
