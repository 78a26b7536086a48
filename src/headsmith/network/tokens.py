"""The papers' W_O: a matrix on the *right* of the attention output, which mixes tokens, not features.

Paper (Def 2.1, tokens are columns):  Y = X W_O, W_O (tokens_in, tokens_out).
Here:  out[t] = sum_s mix[t, s] x[s].
A normal transformer has no such layer. Selection, W_O = [I; 0], is a `Select` and copies bit for bit.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from headsmith.network.layer import SILENT, Layer, Tap
from headsmith.network.maps import Map, Select
from headsmith.refusal import Refusal


class TokenMix(Layer):
    """out[t] = sum_s mix[t, s] x[s], `mix` a map from input tokens to output tokens.

    >>> from headsmith.network import Select
    >>> TokenMix(Select([1], features=2))(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.]])
    """

    kind = "tokens"

    def __init__(self, mix: Map) -> None:
        super().__init__()
        if mix.heads is not None:
            raise Refusal("token mixing takes one matrix (tokens_out, tokens_in), without a heads axis.")
        self.mix = mix

    @property
    def width_in(self) -> None:
        """Any: features are not mixed."""
        return None

    @property
    def width_out(self) -> None:
        """As many as come in."""
        return None

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """mix x: rows are tokens."""
        return self.mix(x.mT).mT

    def tokens_out(self, tokens: int) -> int:
        """Rows of the mix."""
        return self.mix.rows

    def padding_out(self, padding: Tensor | None) -> Tensor | None:
        """A selected padding token stays one; a sum of tokens is none."""
        return self.mix(padding) if padding is not None and isinstance(self.mix, Select) else None

    def dense(self, tokens: int) -> list[Layer]:
        """The same layer, its matrix written out."""
        return [TokenMix(self.mix.between(None, None))]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> TokenMix:
        """Itself: mixing tokens commutes with a change of features, so before and after must be equal."""
        return self

    def flops(self, tokens: int, width: int) -> int:
        """The mix, once for every feature."""
        return self.mix.flops() * width

    def dense_parameters(self, tokens: int, width: int) -> int:
        """tokens_out x tokens_in."""
        return self.mix.rows * self.mix.features

    def unusual(self) -> str | None:
        """A stock W_O stands on the other side and mixes features."""
        return "a W_O that mixes tokens"

    def config(self) -> dict[str, Any]:
        """The mix."""
        return {"kind": self.kind, "mix": self.mix.config()}

    def summary(self) -> str:
        """select 3 -> 1 tokens."""
        return f"{self.mix.kind} {self.mix.features} -> {self.mix.rows} tokens"
