"""The models that the paper trains: one attention layer with linear maps, as its text describes them.

Nothing here needs more than torch and numpy, so that the long runs can be made on any machine and read on another.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

TOKENS = 20
ENOUGH = 50_000
"""Fewer training steps than this are too few to judge a trained model; the printed trainings have 78 125 and more."""


class Columns(nn.Module):
    """The paper's *Linear* (Def 2.2): every token has a matrix and a bias of its own."""

    def __init__(self, tokens: int, width: int, out: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(width)
        self.weight = nn.Parameter(torch.empty(tokens, width, out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(tokens, out).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("...tw,two->...to", x, self.weight) + self.bias


class Multihead(nn.Module):
    """Linear, softmax attention with `heads` heads that share `hidden` features, a linear map; no residual.

    Where heads do not divide hidden, some are one feature narrower: 524 on eight heads is 66 four times and 65 four
    times. They are kept as wide as the others, with a column of zeros. Queries may come from other tokens than keys and
    values: forward(tokens, queries).
    """

    live: Tensor

    def __init__(self, tokens: int, width: int, hidden: int, heads: int, out: int, queries: int | None = None) -> None:
        super().__init__()
        sizes = torch.tensor([len(part) for part in torch.arange(hidden).tensor_split(heads)])
        wide = int(sizes.max())
        self.heads, whole = heads, heads * wide
        self.query = Columns(tokens, queries or width, whole)
        self.key, self.value = Columns(tokens, width, whole), Columns(tokens, width, whole)
        self.out = nn.Linear(whole, out)
        live = (torch.arange(wide) < sizes[:, None]).float()
        self.register_buffer("live", live[:, None])
        self.register_buffer("scale", (live / sizes[:, None].sqrt())[:, None])

    def forward(self, tokens: Tensor, queries: Tensor | None = None) -> Tensor:
        asked = tokens if queries is None else queries
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(-3, -2)
            for layer, x in ((self.query, asked), (self.key, tokens), (self.value, tokens))
        )
        weights = torch.softmax((q * self.scale) @ k.mT, -1)
        return self.out((weights @ (v * self.live)).transpose(-3, -2).flatten(-2))


class Predictor(nn.Module):
    """x . w from tokens (x, w): what the prompt models of Tables 2 and 3 have to learn."""

    def __init__(self, tokens: int, features: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.layer = Multihead(tokens, 2 * features, hidden, heads, 1)

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        return self.layer(torch.cat([x, w.unsqueeze(-2).expand_as(x)], -1)).squeeze(-1)
