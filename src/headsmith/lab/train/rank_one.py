"""Transformers whose attention has rank 1, and what they are compared with: no layer norm, ReLU, one head a block.

    h <- h + o (v1 . h) softmax[(v1 . h)(v2 . h)],   h <- h + W_2 relu(W_1 h + b_1) + b_2,   tag = argmax (W h + b)

Keys and values share v1, scores are not scaled (low-rank-memorization, eq. 3 and 20). Tokens begin as a learned vector
of the word plus one of the position. The kinds of attention:

    rank-1    as above
    mean      v2 = 0: o times the mean of v1 . h over the sentence
    none      no attention: a function of the word and its position
    full      one head as wide as a token, query, key, value and output matrices of its own, scores / sqrt(width)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from headsmith.lab.train.transformer import MultiHead, Shape, weigh
from headsmith.refusal import Refusal

__all__ = ["KINDS", "RankOneAttention", "RankOneShape", "RankOneTransformer"]

KINDS = ("rank-1", "mean", "none", "full")


class RankOneShape(NamedTuple):
    """Blocks, width of a token, width of the hidden layer, kind of attention."""

    blocks: int = 1
    width: int = 128
    hidden: int = 512
    attention: str = "rank-1"


class RankOneAttention(nn.Module):
    """o (v1 . h) softmax[(v1 . h)(v2 . h)] over the visible tokens, (B, n, width); without scores, o times a mean.

    >>> RankOneAttention(8)(torch.randn(2, 5, 8), torch.ones(2, 5, dtype=torch.bool)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, width: int, scores: bool = True) -> None:
        super().__init__()
        self.pair = nn.Parameter(torch.empty(1 + scores, width).normal_(std=1 / math.sqrt(width)))  # v1, v2
        self.out = nn.Parameter(torch.empty(width).normal_(std=1 / math.sqrt(width)))

    def forward(self, h: Tensor, visible: Tensor) -> Tensor:
        keys = h @ self.pair[0]
        queries = h @ self.pair[1] if len(self.pair) > 1 else torch.zeros_like(keys)
        weights = weigh(queries.unsqueeze(-1) * keys.unsqueeze(-2), visible.unsqueeze(-2), "softmax")
        return (weights @ keys.unsqueeze(-1)) * self.out


class FullRank(nn.Module):
    """One head as wide as a token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.head = MultiHead(Shape(1, 1, width))

    def forward(self, h: Tensor, visible: Tensor) -> Tensor:
        return self.head(h, h, visible[:, None, None, :])


class RankOneBlock(nn.Module):
    """Attention and feed-forward layer, each added to its input."""

    def __init__(self, shape: RankOneShape) -> None:
        super().__init__()
        made = {
            "rank-1": RankOneAttention,
            "mean": lambda width: RankOneAttention(width, scores=False),
            "full": FullRank,
        }
        self.attention = made[shape.attention](shape.width) if shape.attention != "none" else None
        self.mlp = nn.Sequential(
            nn.Linear(shape.width, shape.hidden), nn.ReLU(), nn.Linear(shape.hidden, shape.width)
        )  # fmt: skip

    def forward(self, h: Tensor, visible: Tensor) -> Tensor:
        if self.attention is not None:
            h = h + self.attention(h, visible)
        return h + self.mlp(h)


class RankOneTransformer(nn.Module):
    """Word ids (B, n) and which of them are there -> scores of the tags (B, n, tags).

    `length` is the number of positions there are vectors for.

    >>> model = RankOneTransformer(RankOneShape(2, 8, 16), words=20, length=7, tags=3)
    >>> words = torch.randint(20, (4, 6))
    >>> model(words, words >= 0).shape
    torch.Size([4, 6, 3])
    """

    def __init__(self, shape: RankOneShape, words: int, length: int, tags: int) -> None:
        super().__init__()
        if min(shape[:3]) < 1 or shape.attention not in KINDS:
            raise Refusal(
                f"such a transformer needs at least one block, width and hidden unit, and attention "
                f"{', '.join(KINDS)}; got {tuple(shape)}"
            )
        self.words, self.positions = nn.Embedding(words, shape.width), nn.Embedding(length, shape.width)
        self.blocks = nn.ModuleList(RankOneBlock(shape) for _ in range(shape.blocks))
        self.tag = nn.Linear(shape.width, tags)

    def forward(self, words: Tensor, there: Tensor) -> Tensor:
        h = self.words(words) + self.positions.weight[: words.shape[1]]
        for block in self.blocks:
            h = block(h, there)
        return self.tag(h)
