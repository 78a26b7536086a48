"""The layer that reads a program: head j takes its weights from token j of the prompt.

Paper (algorithm-emulation Thm 4.2, repaired; tokens are columns): Linear_j copies the row theta_j over a
grid, column r is (2 L_r theta_j, -L_r^2), and Attn_j with queries (x, 1) and values L_r returns theta_j . x.
Here: the first `rows` tokens are program tokens (theta_j, bias_j), the others data tokens (x, 1, more), and

    out[i, j] = sum_r softmax_r( (x_i, 1) . (a_r theta_j, a_r bias_j + b_r) ) L_r        about  theta_j . x_i + bias_j.

Behind these numbers a data token carries along `carried` more of its own, or, `whole`, itself from x on.

The frozen numbers are a, b, L, the same for every head: 3 (P + 1) in all, whatever the sizes. Written with
textbook matrices (`dense`) the layer is a replicating affine map, an attention layer in which head j sees the
copies of token j, and a map that drops the copies. `grouped` multiplies in another order, a_r (theta_j . x_i
+ bias_j) + b_r, which builds no keys: the same function, a little faster, other roundings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headsmith.network import Affine, Attention, Dense, Layer
from headsmith.network.files import LAYERS, Config, Shelf, flag, integer
from headsmith.network.layer import SILENT, Tap
from headsmith.network.maps import _parameter
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal

Numbers = Tensor | Sequence[float]


class Reading(Layer):
    """(rows program tokens + n data tokens, features + 1 + carried) -> (n tokens, rows + carried or, whole, + all).

    Two keys at +-1000 read w . x = 6 out of the program token w = (2, 4):

    >>> layer = Reading([-1e-3, 1e-3], [0.0, 0.0], [-1000.0, 1000.0], rows=1, features=2)
    >>> layer(torch.tensor([[2.0, 4.0, 0.0], [1.0, 1.0, 1.0]], dtype=torch.float64)).round(decimals=3)
    tensor([[6.]], dtype=torch.float64)
    """

    kind = "reading"
    hook_names = ("attn.hook_attn_scores", "attn.hook_pattern")

    def __init__(
        self,
        slopes: Numbers,
        offsets: Numbers,
        anchors: Numbers,
        *,
        rows: int,
        features: int,
        carried: int = 0,
        grouped: bool = False,
        whole: bool = False,
    ) -> None:
        super().__init__()
        self.slopes, self.offsets, self.anchors = map(_parameter, (slopes, offsets, anchors))
        self.rows, self.features, self.carried, self.grouped, self.whole = rows, features, carried, grouped, whole

    @property
    def keys(self) -> int:
        """Keys of each head."""
        return len(self.slopes)

    @property
    def table(self) -> Head:
        """The frozen numbers, as one head."""
        return Head.table(*(t.detach().cpu().double().numpy() for t in (self.slopes, self.offsets, self.anchors)))

    @property
    def width_in(self) -> int:
        """Weights and bias of a row, then what data tokens carry along."""
        return self.features + 1 + self.carried

    @property
    def taken(self) -> range:
        """The features of a data token that go along."""
        return range(0 if self.whole else self.features + 1, self.width_in)

    @property
    def width_out(self) -> int:
        """One feature a row, then what is carried."""
        return self.rows + len(self.taken)

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """sum_r softmax_r(a_r (theta_j . x_i + bias_j) + b_r) L_r for every data token i and row j."""
        slopes, offsets, anchors = self.slopes, self.offsets, self.anchors
        last = self.features + 1
        program, data = x[..., : self.rows, :last], x[..., self.rows :, :]
        if self.grouped:
            scores = (data[..., :last] @ program.mT).unsqueeze(-1) * slopes + offsets
        else:
            keys = program.unsqueeze(-2) * slopes.unsqueeze(-1)
            keys[..., -1] += offsets
            scores = (data[..., :last] @ keys.flatten(-3, -2).mT).unflatten(-1, (self.rows, -1))
        scores = tap("attn.hook_attn_scores", scores.transpose(-3, -2))
        pattern = tap("attn.hook_pattern", torch.softmax(scores, -1))
        read = (pattern @ anchors).mT
        return torch.cat([read, data[..., self.taken.start :]], -1) if self.taken else read

    def tokens_out(self, tokens: int) -> int:
        """The data tokens."""
        return tokens - self.rows

    def padding_out(self, padding: Tensor | None) -> Tensor | None:
        """That of the data tokens."""
        return None if padding is None else padding[..., self.rows :]

    def dense(self, tokens: int) -> list[Layer]:
        """Copy program token j over the grid, attend from data tokens to the copies, drop the copies."""
        slopes, offsets, anchors = self.slopes, self.offsets, self.anchors
        n, keys, width, last = tokens - self.rows, self.keys, self.width_in, self.features + 1
        total = n + self.rows * keys
        maps, bias = slopes.new_zeros(total, width + 1, width), slopes.new_zeros(total, width + 1)
        maps[:n, :width] = torch.eye(width).to(slopes)
        maps[n:, :last, :last] = slopes.repeat(self.rows)[:, None, None] * torch.eye(last).to(slopes)
        bias[n:, last - 1], bias[n:, width] = offsets.repeat(self.rows), anchors.repeat(self.rows)
        source = [*range(self.rows, tokens), *[j for j in range(self.rows) for _ in range(keys)]]
        heads = self.width_out
        sees = torch.zeros(heads, total, total, dtype=torch.bool)
        query, value = slopes.new_zeros(heads, last, width + 1), slopes.new_zeros(heads, 1, width + 1)
        query[: self.rows, :, :last] = torch.eye(last).to(slopes)
        value[: self.rows, 0, width] = 1.0
        for j in range(self.rows):
            sees[j, :n, n + j * keys : n + (j + 1) * keys] = True
        for j, feature in enumerate(self.taken, self.rows):
            sees[j, :n, :n] = torch.eye(n, dtype=torch.bool)
            value[j, 0, feature] = 1.0
        output = torch.eye(heads).to(slopes).unsqueeze(-1)
        return [
            Affine(Dense(maps), bias, source),
            Attention(Dense(query), Dense(query.clone()), Dense(value), Dense(output), visible=sees),
            Affine(Dense(torch.eye(heads).to(slopes)), None, range(n)),
        ]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> Layer:
        """Refused: rows of the prompt are read one feature after another."""
        raise Refusal("a machine reads its program feature by feature: rotate network.dense() instead.")

    def flops(self, tokens: int, width: int) -> int:
        """Keys, scores, softmax and weighted sum of every row."""
        n, last = tokens - self.rows, self.features + 1
        return self.rows * self.keys * (last + 1 + n * (2 * last + 6))

    def dense_parameters(self, tokens: int, width: int) -> int:
        """The copies, and three small matrices a head."""
        total = tokens - self.rows + self.rows * self.keys
        return total * (self.width_in + 1) ** 2 + self.width_out * 3 * (self.width_in + 1)

    def unusual(self) -> str:
        """A stock transformer has its weights in its weights."""
        return "heads that read their weights from tokens"

    def config(self) -> dict[str, Any]:
        """Sizes; slopes, offsets and anchors are tensors."""
        return {
            "kind": self.kind,
            "rows": self.rows,
            "features": self.features,
            "carried": self.carried,
            "grouped": self.grouped,
            "keys": self.keys,
            **({"whole": True} if self.whole else {}),
        }

    def summary(self) -> str:
        """12 heads of 9 keys, each reads one of 12 program tokens."""
        return f"{self.rows} heads of {self.keys} keys, each reads one of {self.rows} program tokens"


def _reading(config: Config, name: str, shelf: Shelf) -> Layer:
    columns = [shelf.take(f"{name}.{part}", [integer(config["keys"])]) for part in ("slopes", "offsets", "anchors")]
    rows, features, carried = (integer(config[part]) for part in ("rows", "features", "carried"))
    grouped, whole = flag(config["grouped"]), flag(config.get("whole", False))
    return Reading(*columns, rows=rows, features=features, carried=carried, grouped=grouped, whole=whole)


LAYERS[Reading.kind] = _reading
