"""The papers' *Linear*: a token-wise affine map that may also repeat, drop and invent tokens.

Paper (Def 2.2, tokens are columns):  sum_m P_m Z R_m + const, each column of R_m having one non-zero entry.
Here:  out[t] = map_t(x[source[t]]) + bias[t].
One input token may feed many outputs (replication); source -1 reads nothing, so the token is its bias alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headsmith.network.layer import SILENT, Layer, Tap, size
from headsmith.network.maps import Map, Select, frozen
from headsmith.refusal import Refusal


class Affine(Layer):
    """out[t] = map(x[source[t]]) + bias, no source = token by token.

    A map with a heads axis holds one matrix for each output token.

    >>> lift = Affine(Select([0, -1, -1], features=1), bias=[0.0, 1.0, 0.0])
    >>> lift(torch.tensor([[2.5]], dtype=torch.float64))
    tensor([[2.5000, 1.0000, 0.0000]], dtype=torch.float64)
    """

    kind = "affine"
    place: Tensor
    void: Tensor

    def __init__(
        self, map: Map, bias: Tensor | Sequence[Any] | None = None, source: Sequence[int] | None = None
    ) -> None:
        super().__init__()
        self.map, self.bias = map, frozen(bias)
        self.source = None if source is None else tuple(int(s) for s in source)
        if self.source is not None:
            if not self.source or min(self.source) < -1:
                raise Refusal("the sources of an affine layer are input tokens 0, 1, ... or -1 for none.")
            place = torch.tensor(self.source)
            self.register_buffer("place", place.clamp(min=0), persistent=False)
            self.register_buffer("void", place < 0, persistent=False)
        self._void = self.source is not None and -1 in self.source
        if self.bias is not None and self.bias.shape not in {(map.rows,), (self.count, map.rows)}:
            raise Refusal(
                f"the bias of an affine layer must have shape ({map.rows},) or (output tokens, {map.rows}), "
                f"not {tuple(self.bias.shape)}."
            )
        if map.heads is not None and self.source is not None and map.heads != len(self.source):
            raise Refusal(f"{map.heads} maps for {len(self.source)} output tokens: give one map, or one per token.")

    @property
    def count(self) -> int | None:
        """Number of output tokens, where the layer fixes it."""
        return self.map.heads if self.source is None else len(self.source)

    @property
    def width_in(self) -> int:
        """Columns of the map."""
        return self.map.features

    @property
    def width_out(self) -> int:
        """Rows of the map."""
        return self.map.rows

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """y[t] = map_t(x[source[t]]) + bias[t], with 0 for x where source[t] = -1."""
        if self.source is not None:
            x = x.index_select(-2, self.place)
            if self._void:
                x = x.masked_fill(self.void.unsqueeze(-1), 0)
        if self.map.heads is not None:
            y = self.map.each(x.movedim(-2, 0)).movedim(0, -2)
        elif isinstance(self.map, Select) and self.bias is not None:
            return self.map.onto(self.bias, x)
        else:
            y = self.map(x)
        return y if self.bias is None else y + self.bias

    def tokens_out(self, tokens: int) -> int:
        """As many as there are sources or maps; as came in where there is one map for all."""
        return tokens if self.count is None else self.count

    def padding_out(self, padding: Tensor | None) -> Tensor | None:
        """A copy of a padding token is one; a token that was made is none."""
        if padding is None or self.source is None:
            return padding
        return padding.index_select(-1, self.place) & ~self.void

    def dense(self, tokens: int) -> list[Layer]:
        """The same layer, its map written out."""
        return [self.rotated(None, None)]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> Affine:
        """after^T W before, and the bias as b after."""
        bias = self.bias if self.bias is None or after is None else self.bias.to(after) @ after
        return Affine(self.map.between(before, after), bias, self.source)

    def flops(self, tokens: int, width: int) -> int:
        """Each token that comes out: its map, and an addition for each entry of the bias."""
        count = self.tokens_out(tokens)
        once = self.map.flops() // (self.map.heads or 1)
        return count * (once + (0 if self.bias is None else self.map.rows))

    def dense_parameters(self, tokens: int, width: int) -> int:
        """Every matrix and the bias."""
        return (self.map.heads or 1) * self.map.rows * self.map.features + size(self.bias)

    def unusual(self) -> str | None:
        """One matrix for all tokens is stock; a matrix for each is not."""
        return "an affine layer with a matrix for each token" if self.map.heads is not None else None

    def config(self) -> dict[str, Any]:
        """The map, the shape of the bias and the sources."""
        source = None if self.source is None else list(self.source)
        shape = None if self.bias is None else list(self.bias.shape)
        return {"kind": self.kind, "map": self.map.config(), "bias": shape, "source": source}

    def summary(self) -> str:
        """select 1 -> 2 + bias, 3 tokens out."""
        tokens = "" if self.source is None else f", {len(self.source)} tokens out"
        bias = "" if self.bias is None else " + bias"
        return f"{self.map.kind} {self.map.features} -> {self.map.rows}{bias}{tokens}"
