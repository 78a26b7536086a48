"""X -> A X B: A acts on features, B mixes tokens (softmax-universality, Lemma I.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb_mat
from torch import Tensor

from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target
from headsmith.constructions.design import Design
from headsmith.constructions.product import PRINTED_SHARE, Mixture
from headsmith.proof.domain import Domain, read_domain
from headsmith.refusal import Refusal
from headsmith.targets.reading import read_numbers

LARGEST = 400_000
"""Products A_ik B_rj that the proof goes through in balls."""


@dataclass(frozen=True, eq=False)
class Product(Target):
    """X -> A X B for X (features, tokens). B may have any sign. Without a domain, X lies in [-1, 1].

    >>> swap = Product([[1.0, 2.0]], [[0.0, 1.0], [1.0, 0.0]])      # X -> [[1, 2]] X with its columns swapped
    >>> hs.compile(swap, domain=(-9, 9), eps=1e-12)([[3.0, 4.0], [5.0, 6.0]]).round(decimals=9)
    tensor([[16., 13.]], dtype=torch.float64)
    """

    kind = "product"
    methods = ("auto", "printed")
    A: Any
    B: Any

    def __post_init__(self) -> None:
        for name in ("A", "B"):
            object.__setattr__(self, name, read_numbers(getattr(self, name), name, 2))

    def __str__(self) -> str:
        return f"A X B with A {_shape(self.A)} and B {_shape(self.B)}"

    @property
    def inputs(self) -> dict[str, Input]:
        return {"X": Input((self.A.shape[1], self.B.shape[0]))}

    def claim(self) -> str:
        return "A X B"

    def statement(self, request: Request) -> str:
        return f"{super().statement(request)}, in every entry of {self} of SHA-256 {self.hash()}"

    def domain(self, given: Any, dtype: str) -> Domain:
        return read_domain((-1, 1) if given is None else given, ["X"], dtype, str(self))

    def exact(self, X: list[list[float]]) -> Any:
        return (arb_mat(self.A.tolist()) * arb_mat(X) * arb_mat(self.B.tolist())).tolist()

    def encode(self, *inputs: Tensor) -> Tensor:
        """(..., features, tokens) -> (..., tokens, features)."""
        return inputs[0].mT

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens.mT

    def designs(self, request: Request) -> Iterator[Design]:
        products = self.A.size * self.B.size
        if products > LARGEST:
            raise Refusal(
                f"{self} has {products} coefficients to prove: up to {LARGEST} can be had; compile blocks of rows of A"
            )
        if request.method == "auto":
            yield Mixture.of(self.A, self.B, request.dtype)
        elif (self.B > 0).all() or (self.B < 0).all():
            yield Mixture.of(self.A, self.B, request.dtype, 0.0, PRINTED_SHARE)
        else:
            raise Refusal(
                "Lemma I.1 as printed takes the logarithm of every entry of B, and some are not positive: "
                "method='auto' adds a floor"
            )


def _shape(M: np.ndarray) -> str:
    return " x ".join(map(str, M.shape))
