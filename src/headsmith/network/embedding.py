"""Where a stream begins: the row of a table for each token id, and a vector for each place.

Paper (tokens are columns):  F(X + E).
Here:  out[t] = table[x[t]] + places[t], either of them may be missing; without a table x is the stream itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from headsmith.network.layer import SILENT, Layer, Tap, size
from headsmith.network.maps import frozen
from headsmith.refusal import Refusal


class Embedding(Layer):
    """out[t] = table[x[t]] + places[t]: ids are numbers of one feature, and name rows.

    >>> import torch
    >>> Embedding([[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.5]])(torch.tensor([[1.0]]))
    tensor([[3.0000, 4.5000]], dtype=torch.float64)
    """

    kind = "embedding"

    def __init__(
        self, table: Tensor | Sequence[Any] | None = None, places: Tensor | Sequence[Any] | None = None
    ) -> None:
        super().__init__()
        self.table, self.places = frozen(table), frozen(places)
        given = [part for part in (self.table, self.places) if part is not None]
        if not given or any(part.dim() != 2 for part in given) or len({part.shape[1] for part in given}) != 1:
            raise Refusal("an embedding is a table (ids, features), vectors (places, features), or both of one width.")
        self._width = given[0].shape[1]

    @property
    def width_in(self) -> int:
        """An id, or the stream."""
        return self._width if self.table is None else 1

    @property
    def width_out(self) -> int:
        """Columns of the table."""
        return self._width

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """table[x[t]] + places[t]."""
        y = x if self.table is None else self.table[x[..., 0].long()]
        if self.places is None:
            return y
        if x.shape[-2] > len(self.places):
            raise Refusal(f"the network knows {len(self.places)} places, not {x.shape[-2]}.")
        return y + self.places[: x.shape[-2]]

    def dense(self, tokens: int) -> list[Layer]:
        """The same layer: a table is its own textbook form."""
        return [self.rotated(None, None)]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> Embedding:
        """Rows of the table and of the places, times `after`; without a table `before` must be the same."""
        parts = (self.table, self.places)
        return Embedding(*(part if part is None or after is None else part.to(after) @ after for part in parts))

    def flops(self, tokens: int, width: int) -> int:
        """The additions of places."""
        return 0 if self.places is None else tokens * self._width

    def dense_parameters(self, tokens: int, width: int) -> int:
        """Both tables."""
        return size(self.table) + size(self.places)

    def config(self) -> dict[str, Any]:
        """The shapes of both tables."""
        shapes = (None if part is None else list(part.shape) for part in (self.table, self.places))
        return {"kind": self.kind, **dict(zip(("table", "places"), shapes, strict=True))}

    def summary(self) -> str:
        """9 ids of 4, 5 places."""
        said = [] if self.table is None else [f"{len(self.table)} ids of {self._width}"]
        return ", ".join([*said, *([] if self.places is None else [f"{len(self.places)} places"])])
