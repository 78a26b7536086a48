"""A GPT-2-style transformer that guesses the next answer: softmax or ReLU attention, everything else the same.

    h <- h + O attention(norm(h)),   h <- h + W_2 gelu(W_1 norm(h)),   guess = w . norm(h)

One of two ways to write a prompt down:

    interleaved   x_1, y_1, x_2, y_2, ..   causal, learned absolute positions; the token of x_i guesses y_i, so that one
                  sequence asks at every length (deep-optimizers, App G)
    pairs         one token (x_i, y_i, 1) per example and (x, 0, 0) per query; every token sees all examples and nothing
                  else, there are no positions: the order of the examples cannot matter (deep-optimizers, Sec 2.1)

Softmax attention weighs the visible tokens by exp(s) / sum exp(s); ReLU attention by relu(s) / (number of visible
tokens), s = q.k / sqrt(width of a head) (deep-optimizers, Def 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headsmith.refusal import Refusal

__all__ = ["Block", "Interleaved", "MultiHead", "Pairs", "Shape", "Transformer"]


@dataclass(frozen=True)
class Shape:
    """Blocks, heads, width of a token, width of the hidden layer of the MLP in tokens' widths, kind of attention."""

    blocks: int = 12
    heads: int = 8
    width: int = 256
    stretch: int = 4
    attention: str = "softmax"

    def __post_init__(self) -> None:
        if min(self.blocks, self.heads, self.width, self.stretch) < 1 or self.width % self.heads:
            raise Refusal(
                f"a transformer needs at least one block and a width that its heads divide; got blocks={self.blocks}, "
                f"heads={self.heads}, width={self.width}, stretch={self.stretch}"
            )
        if self.attention not in ("softmax", "relu"):
            raise Refusal(f"attention={self.attention!r}: choose softmax or relu")


def weigh(scores: Tensor, visible: Tensor, kind: str) -> Tensor:
    """The weights of the visible tokens (..., queries, keys); `visible` is True or False and broadcasts to the scores.

    >>> weigh(torch.tensor([[1.0, -1.0, 3.0]]), torch.tensor([[True, True, False]]), "relu")
    tensor([[0.5000, 0.0000, 0.0000]])
    """
    if kind == "softmax":
        return scores.masked_fill(~visible, -math.inf).softmax(-1)
    return scores.relu() * (visible / visible.sum(-1, keepdim=True))


class MultiHead(nn.Module):
    """Multi-head attention of `asking` tokens (B, Q, width) over `asked` ones (B, T, width)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.kind = shape.heads, shape.attention
        self.query, self.out = nn.Linear(shape.width, shape.width), nn.Linear(shape.width, shape.width)
        self.pair = nn.Linear(shape.width, 2 * shape.width)  # keys and values

    def forward(self, asking: Tensor, asked: Tensor, visible: Tensor) -> Tensor:
        q = self.query(asking).unflatten(-1, (self.heads, -1)).transpose(-3, -2)
        k, v = self.pair(asked).unflatten(-1, (2, self.heads, -1)).movedim(-3, 0).transpose(-3, -2)
        weights = weigh(q @ k.mT / math.sqrt(q.shape[-1]), visible, self.kind)
        return self.out((weights @ v).transpose(-3, -2).flatten(-2))


class Block(nn.Module):
    """Attention, then MLP, each on the normalised tokens and added to them.

    The first `keys` tokens are the keys; the tokens before `first` are not asked for and not returned.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.attention = MultiHead(shape)
        hidden = shape.stretch * shape.width
        self.mlp = nn.Sequential(nn.Linear(shape.width, hidden), nn.GELU("tanh"), nn.Linear(hidden, shape.width))

    def forward(self, h: Tensor, visible: Tensor, keys: int, first: int = 0) -> Tensor:
        seen = self.attention_norm(h)
        h = h[:, first:] + self.attention(seen[:, first:], seen[:, :keys], visible)
        return h + self.mlp(self.mlp_norm(h))


class Transformer(nn.Module):
    """Tokens (B, T, inputs) -> one number per token (B, T); `positions` is the number of learned positions, or 0.

    With `keys`, the first so many tokens are the keys, and the numbers are those of the other tokens.
    """

    def __init__(self, shape: Shape, inputs: int, positions: int = 0) -> None:
        super().__init__()
        self.read = nn.Linear(inputs, shape.width)
        self.positions = nn.Parameter(torch.empty(positions, shape.width).normal_(std=0.02)) if positions else None
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.blocks))
        self.norm, self.guess = nn.LayerNorm(shape.width), nn.Linear(shape.width, 1)
        self._start(shape)

    def _start(self, shape: Shape) -> None:
        """GPT-2's start: N(0, 0.02^2), the maps that write into the residual smaller by sqrt(2 blocks), biases 0.

        For narrow tokens 0.02 is small; 1/sqrt(width) / 3 agrees with it at 256.
        """
        deviation = 0.32 / math.sqrt(shape.width)
        for name, parameter in self.blocks.named_parameters():
            if parameter.ndim == 2:
                writes = name.endswith(("attention.out.weight", "mlp.2.weight"))
                nn.init.normal_(parameter, std=deviation / (math.sqrt(2 * shape.blocks) if writes else 1))
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens: Tensor, visible: Tensor, keys: int | None = None) -> Tensor:
        h = self.read(tokens)
        if self.positions is not None:
            h = h + self.positions[: h.shape[1]]
        count = h.shape[1] if keys is None else keys
        *others, last = self.blocks
        for block in others:
            h = block(h, visible, count)
        h = last(h, visible, count, keys or 0)
        return self.guess(self.norm(h)).squeeze(-1)


class Interleaved(nn.Module):
    """x_1, y_1, x_2, y_2, ..: forward(x, y) guesses every y_i from x_i and the pairs before it, (B, n).

    `length` is the number of examples that positions are kept for; `centre` is subtracted from x, which the bias of the
    first map could do as well, but learns late.

    >>> model = Interleaved(Shape(1, 2, 8), features=3, length=6)
    >>> model(torch.randn(4, 6, 3), torch.randn(4, 6)).shape
    torch.Size([4, 6])
    """

    def __init__(self, shape: Shape, features: int, length: int, centre: float = 0.0) -> None:
        super().__init__()
        self.length, self.centre = length, centre
        self.transformer = Transformer(shape, features + 1, 2 * length)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        batch, count, features = x.shape
        if count > self.length:
            raise Refusal(f"this transformer has positions for {self.length} examples, and was given {count}")
        tokens = x.new_zeros(batch, count, 2, features + 1)
        tokens[:, :, 0, :features] = x - self.centre
        tokens[:, :, 1, features] = y
        visible = torch.ones(2 * count, 2 * count, dtype=torch.bool, device=x.device).tril()
        return self.transformer(tokens.flatten(1, 2), visible)[:, ::2]

    def predict(self, X: Tensor, y: Tensor, x: Tensor) -> Tensor:
        """The guess at x (B, d) after the examples X (B, L, d), y (B, L)."""
        return self(torch.cat([X, x.unsqueeze(1)], 1), torch.cat([y, torch.zeros_like(y[:, :1])], 1))[:, -1]


class Pairs(nn.Module):
    """(x_i, y_i, 1), .., (x, 0, 0): forward(X, y, queries) guesses the answer of every query, (B, Q).

    `seen` (B, L) says which examples are there; all, unless given.

    >>> model = Pairs(Shape(1, 2, 8), features=3)
    >>> model(torch.randn(4, 6, 3), torch.randn(4, 6), torch.randn(4, 2, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(self, shape: Shape, features: int, centre: float = 0.0) -> None:
        super().__init__()
        self.centre = centre
        self.transformer = Transformer(shape, features + 2)

    def forward(self, X: Tensor, y: Tensor, queries: Tensor, seen: Tensor | None = None) -> Tensor:
        there = torch.stack([y, torch.ones_like(y)], -1)
        examples = torch.cat([X - self.centre, there], -1)
        asked = torch.cat([queries - self.centre, torch.zeros_like(queries[..., :2])], -1)
        visible = torch.ones_like(y, dtype=torch.bool) if seen is None else seen
        keys = y.shape[1]
        return self.transformer(torch.cat([examples, asked], 1), visible[:, None, None, :], keys)

    def predict(self, X: Tensor, y: Tensor, x: Tensor) -> Tensor:
        """The guess at x (B, d) after the examples X (B, L, d), y (B, L)."""
        return self(X, y, x.unsqueeze(1))[:, 0]
