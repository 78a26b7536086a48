"""Every token attends to copies of itself: the block form of a table that multiplies.

Paper (In-Context Algorithm Emulation, Thm 3.1): the *Linear* in front of the attention repeats token c over a grid,
copy j holding slope_j k(x_c) as its key and level_j v(x_c) as its value, and a constant C keeps each query inside its
own block.  Here, in the limit C -> infinity, where each block is a softmax of its own:

    out_c = (x_c +) sum_h output_h( sum_j p_j level_hj v_h(x_c) ),
    p = softmax_j(slope_hj q_h(x_c) . k_h(x_c) + offset_hj).

The score is a product of two parts of the token (a weight and a datum, say), and so is what comes out: that is how
attention multiplies. The grid is stored once; `dense()` writes the copies out as tokens, with a table of who sees whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headsmith.network.affine import Affine
from headsmith.network.attention import Attention
from headsmith.network.layer import SILENT, Layer, Tap
from headsmith.network.maps import Dense, Map, _parameter, heads_last
from headsmith.refusal import Refusal

Grid = Tensor | Sequence[Any]


class Copies(Layer):
    """out_c = (x_c +) sum_h output_h(v_h(x_c) sum_j p_j level_hj); slopes, offsets and levels are (heads, copies).

    A product of two features, x tanh(x y), written over a third:

    >>> from headsmith.network import Select
    >>> Copies(
    ...     query=Select([[0]], 3), key=Select([[1]], 3), value=Select([[0]], 3), output=Select.writing([[2]], 3),
    ...     slopes=[[-1.0, 1.0]], offsets=[[0.0, 0.0]], levels=[[-1.0, 1.0]], residual=True,
    ... )(torch.tensor([[2.0, 0.5, 0.0]], dtype=torch.float64))[..., 2]
    tensor([1.5232], dtype=torch.float64)
    """

    kind = "copies"
    hook_names = (
        *(f"attn.hook_{name}" for name in ("q", "k", "v", "attn_scores", "pattern", "z")),
        "hook_attn_out",
    )

    def __init__(
        self,
        query: Map,
        key: Map,
        value: Map,
        output: Map,
        slopes: Grid,
        offsets: Grid,
        levels: Grid,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output, self.residual = query, key, value, output, residual
        self.slopes, self.offsets, self.levels = map(_parameter, (slopes, offsets, levels))
        if query.heads is None or {key.heads, value.heads, output.heads} != {query.heads}:
            raise Refusal("the four maps of a layer of copies must have a heads axis of the same length.")
        self.heads = query.heads
        grids = {self.slopes.shape, self.offsets.shape, self.levels.shape}
        if len(grids) > 1 or self.slopes.dim() != 2 or len(self.slopes) != self.heads:
            raise Refusal(f"slopes, offsets and levels must all have shape ({self.heads}, copies).")
        if query.rows != key.rows or len({query.features, key.features, value.features}) != 1:
            raise Refusal("query, key and value must read the same features, and queries must meet keys.")
        if value.rows != output.features or (residual and output.rows != query.features):
            raise Refusal("the output map must read the values and, with residual, write the features that are read.")

    @property
    def copies(self) -> int:
        """Copies of each token, the keys of every head."""
        return self.slopes.shape[1]

    @property
    def width_in(self) -> int:
        """Features that the queries read."""
        return self.query.features

    @property
    def width_out(self) -> int:
        """Features that the output writes."""
        return self.output.rows

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """p = softmax_j(slope_j (q . k) + offset_j) and (sum_j p_j level_j) v: the copies are never made."""
        query, key = tap("attn.hook_q", self.query(x), -2), tap("attn.hook_k", self.key(x), -2)
        product = torch.einsum("...i,...i->...", query, key).unsqueeze(-1)
        over = (self.heads, *[1] * (product.dim() - 2), self.copies)
        scores = torch.addcmul(self.offsets.view(over), product, self.slopes.view(over))
        pattern = tap("attn.hook_pattern", torch.softmax(tap("attn.hook_attn_scores", scores, -3), -1), -3)
        level = (pattern * self.levels.view(over)).sum(-1, keepdim=True)
        head = tap("attn.hook_z", level * tap("attn.hook_v", self.value(x), -2), -2)
        if not tap.wants("hook_attn_out"):
            return self.output.onto(x if self.residual else None, heads_last(head))
        out = tap("hook_attn_out", self.output.onto(None, heads_last(head)))
        return x + out if self.residual else out

    def dense(self, tokens: int) -> list[Layer]:
        """The copies as tokens: (c, j) holds x_c, then per head slope_j k, offset_j and level_j v; (c, 0) asks."""
        count, width, rows, size = self.copies, self.width_in, self.query.rows, self.value.rows
        query, key, value, output = (m.dense().double() for m in (self.query, self.key, self.value, self.output))
        block = rows + 1 + size
        wide = width + 1 + self.heads * block
        spread = torch.zeros(count, wide, width, dtype=torch.float64)
        bias = torch.zeros(count, wide, dtype=torch.float64)
        spread[:, :width], bias[:, width] = torch.eye(width), 1.0
        maps = [torch.zeros(self.heads, r, wide, dtype=torch.float64) for r in (rows + 1, rows + 1, size)]
        for h in range(self.heads):
            at = width + 1 + h * block
            spread[:, at : at + rows] = self.slopes[h, :, None, None].double() * key[h]
            bias[:, at + rows] = self.offsets[h]
            spread[:, at + rows + 1 : at + block] = self.levels[h, :, None, None].double() * value[h]
            maps[0][h, :rows, :width], maps[0][h, rows, width] = query[h], 1.0
            maps[1][h, :, at : at + rows + 1] = torch.eye(rows + 1)
            maps[2][h, :, at + rows + 1 : at + block] = torch.eye(size)
        write = torch.zeros(self.heads, wide if self.residual else self.width_out, size, dtype=torch.float64)
        write[:, : self.width_out] = output
        owner = torch.arange(tokens).repeat_interleave(count)
        copy = Affine(Dense(spread.repeat(tokens, 1, 1)), bias.repeat(tokens, 1), owner.tolist())
        asks, keys, values = map(Dense, maps)
        seen = owner[:, None] == owner
        attend = Attention(asks, keys, values, Dense(write), visible=seen, residual=self.residual)
        keep = torch.eye(write.shape[1], dtype=torch.float64)[: self.width_out]
        return [copy, attend, Affine(Dense(keep), None, range(0, tokens * count, count))]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> Copies:
        """Q before, K before, V before, after^T O; slopes, offsets and levels are numbers of the heads and stay."""
        query, key, value = (m.between(before, None) for m in (self.query, self.key, self.value))
        output = self.output.between(None, after)
        return Copies(query, key, value, output, self.slopes, self.offsets, self.levels, self.residual)

    def flops(self, tokens: int, width: int) -> int:
        """Maps, q . k, eight operations a copy (score, softmax, level), and the value's multiple."""
        maps = sum(m.flops() for m in (self.query, self.key, self.value, self.output))
        each = 2 * self.query.rows - 1 + 8 * self.copies + self.value.rows
        return tokens * (maps + self.heads * (each + (self.value.rows if self.residual else 0)))

    def dense_parameters(self, tokens: int, width: int) -> int:
        """Counted on the textbook layers of one token."""
        return sum(p.numel() for layer in self.dense(1) for p in layer.parameters())

    def unusual(self) -> str | None:
        """A stock transformer does not copy its tokens."""
        return "tokens that attend to copies of themselves"

    def config(self) -> dict[str, Any]:
        """The shape (heads, copies) and the maps."""
        maps = {part: getattr(self, part).config() for part in ("query", "key", "value", "output")}
        return {"kind": self.kind, "grid": list(self.slopes.shape), "residual": self.residual, **maps}

    def summary(self) -> str:
        """1 head of 2 x 1, 11 copies, residual."""
        plural = "s" if self.heads > 1 else ""
        tail = ", residual" if self.residual else ""
        return f"{self.heads} head{plural} of {self.query.rows} x {self.value.rows}, {self.copies} copies{tail}"
