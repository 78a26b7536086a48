"""Networks of ReLU units over whole sequences, one number a token (softmax-universality, Thm I.2 and Thm F.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat
from torch import Tensor

from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target
from headsmith.constructions.anchored import anchored_design
from headsmith.constructions.design import Design, Short, many
from headsmith.constructions.native import Gates
from headsmith.proof.certificate import SLACK
from headsmith.refusal import Refusal
from headsmith.targets.reading import read_numbers


@dataclass(frozen=True, eq=False)
class ReluNetwork(Target):
    """f_i(X) = sum_k outer[i, k] relu(sum_j inner[i, k, j] . x_j + bias[i, k]) for X (tokens, features).

    inner (tokens, units, tokens, features), outer and bias (tokens, units).

    >>> distance = ReluNetwork([[[[1.0]], [[-1.0]]]], [[1.0, 1.0]])      # one token of one feature: |x|
    >>> hs.compile(distance, domain=(-1, 1), eps=1e-6)([[-0.25]]).round(decimals=5)
    tensor([0.2500], dtype=torch.float64)
    """

    kind = "relu-network"
    methods = ("auto", "anchors", "printed")
    inner: Any
    outer: Any
    bias: Any = None

    def __post_init__(self) -> None:
        inner, outer = read_numbers(self.inner, "inner", 4), read_numbers(self.outer, "outer", 2)
        bias = read_numbers(np.zeros_like(outer) if self.bias is None else self.bias, "bias", 2)
        n, units, tokens, _ = inner.shape
        if not n == tokens or not outer.shape == bias.shape == (n, units):
            raise Refusal(
                "inner must have shape (tokens, units, tokens, features), outer and bias (tokens, units), not "
                f"{inner.shape}, {outer.shape} and {bias.shape}"
            )
        for name, array in (("inner", inner), ("outer", outer), ("bias", bias)):
            object.__setattr__(self, name, array)

    def __str__(self) -> str:
        n, units, _, d = self.inner.shape
        return f"network of {many(units, 'ReLU unit')} over {many(n, 'token')} of {many(d, 'feature')}"

    @property
    def inputs(self) -> dict[str, Input]:
        return {"X": Input(self.inner.shape[2:])}

    def claim(self) -> str:
        return "f(X)"

    def statement(self, request: Request) -> str:
        return f"{super().statement(request)}, at every token, f the {self} of SHA-256 {self.hash()}"

    def exact(self, X: list[list[float]]) -> list[arb]:
        _n, units, _, _ = self.inner.shape
        x = arb_mat([[value] for row in X for value in row])
        found = []
        for inner, outer, bias in zip(self.inner, self.outer.tolist(), self.bias.tolist(), strict=True):
            sums = (arb_mat(inner.reshape(units, -1).tolist()) * x).entries()
            found.append(sum((a * (s + t).max(0) for a, s, t in zip(outer, sums, bias, strict=True)), arb(0)))
        return found

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0]

    def designs(self, request: Request) -> Iterator[Design]:
        """One: gates as sharp as what rounding leaves of eps asks for; anchors where the method says so."""
        if request.method != "auto":
            yield from anchored_design(self, request)
            return
        rough = Gates.within(self, np.inf).rounding(self, request.domain.size("X"), request.format)
        left = request.eps / SLACK - rough
        if not left > 0:
            raise Short(f"rounding in {request.dtype} alone may cost {rough * SLACK:.1e}", rough * SLACK)
        yield Gates.within(self, left, request.dtype)
