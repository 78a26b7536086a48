"""The models that the paper trains, as its text and public code describe them, and what they are compared with.

The "linear map A" in front of the attention is a token-wise Linear, a gain for each position, and learned tokens after
the n given ones, up to p in all. Attention is that of torch, with biases, 1/sqrt(d_head) and an output matrix; the
first n tokens are read. Adam with rate 1e-3 on mean squared error, batches of 32, epoch after epoch; all seeds of a
setting train at once. Nothing here needs more than torch and numpy, so that the long runs can be made on any machine
and read on another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor, nn

from headsmith.lab.train.stacked import Repeated, Stack, squared

TESTED = 500
"""Held-out samples that are asked at once."""


class Lift(nn.Module):
    """Tokens (batch, n, d) -> (batch, p, hidden): Linear, gain for each position, p - n learned tokens."""

    def __init__(self, features: int, hidden: int, tokens: int, total: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, hidden)
        self.gain = nn.Parameter(torch.ones(tokens, hidden))
        extra = torch.linspace(-1, 1, total - tokens)[:, None].repeat(1, hidden)
        self.extra = nn.Parameter(extra) if total > tokens else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x) * self.gain
        return y if self.extra is None else torch.cat([y, self.extra.expand(len(x), -1, -1)], 1)


class SelfAttention(nn.Module):
    """torch.nn.MultiheadAttention(hidden, heads, batch_first=True), its start included, in operations that stack."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.into, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        nn.init.xavier_uniform_(self.into.weight)
        for bias in (self.into.bias, self.out.bias):
            nn.init.zeros_(bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(-3, -2) for part in self.into(x).chunk(3, -1))
        weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
        return self.out((weights @ v).transpose(-3, -2).flatten(-2))


class Single(nn.Module):
    """Figure 2: lift, one attention layer, the first n tokens."""

    def __init__(self, features: int, hidden: int, tokens: int, total: int, heads: int) -> None:
        super().__init__()
        self.lift, self.tokens = Lift(features, hidden, tokens, total), tokens
        self.attention = SelfAttention(hidden, heads)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(self.lift(x))[:, : self.tokens]


class Double(nn.Module):
    """Figure 4: lift, attention, Linear, attention, Linear."""

    def __init__(self, features: int, hidden: int, tokens: int, total: int, heads: int) -> None:
        super().__init__()
        self.lift, self.tokens = Lift(features, hidden, tokens, total), tokens
        self.first, self.second = (SelfAttention(hidden, heads) for _ in range(2))
        self.between, self.last = nn.Linear(hidden, hidden), nn.Linear(hidden, features)

    def forward(self, x: Tensor) -> Tensor:
        y = self.between(self.first(self.lift(x)))
        return self.last(self.second(y))[:, : self.tokens]


def models(seed: int) -> tuple[Tensor, Tensor]:
    """Figure 2: w_i ~ N(0, I) and t_i ~ N(0, 1) of 50 tokens with 10 features, fixed for a run."""
    g = torch.Generator().manual_seed(seed)
    return torch.randn(50, 10, generator=g), torch.randn(50, generator=g)


@cache
def clipped(width: float, seed: int) -> tuple[Tensor, ...]:
    """Figure 2: y_i = Range(w_i . x_i + t_i) in channel 0 of 32; 800 samples to train on and 200 held out."""
    channels, samples = 32, 1000
    w, t = models(seed)
    x = 10 * torch.rand(samples, *w.shape, generator=torch.Generator().manual_seed(10**6 + seed)) - 5
    y = torch.zeros(samples, len(t), channels)
    y[..., 0] = ((x * w).sum(-1) + t).clamp(-width / 2, width / 2)
    return split(x, y)


def target(tokens: int) -> nn.Sequential:
    """Figure 4: W_2 relu(W_1 vec X + b_1) + b_2 with 10 units, all entries N(0, 1), seed 42."""
    g = torch.Generator().manual_seed(42)
    model = nn.Sequential(nn.Linear(tokens * 5, 10), nn.ReLU(), nn.Linear(10, tokens * 5))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=g))
    return model.eval()


@cache
def sequences(tokens: int, samples: int) -> tuple[Tensor, ...]:
    """Figure 4: X ~ U(0, 1), tokens of 5 features, and the target of each."""
    g = torch.Generator().manual_seed(42)
    x = torch.rand(samples, tokens, 5, generator=g)
    with torch.no_grad():
        return split(x, target(tokens)(x.flatten(1)).reshape_as(x))


def singles(p: int, width: float, heads: int, seeds: Sequence[int], steps: int) -> Repeated:
    """Figure 2 at one size: every seed has its own models and samples."""
    return Repeated(
        {"figure": 2, "p": p, "width": width, "heads": heads}, tuple(seeds), lambda _: Single(10, 32, 50, p, heads),
        lambda seed: clipped(width, seed)[:2], squared, steps, compiled=False,
        score=lambda stack: held_out(stack, [clipped(width, seed)[2:] for seed in seeds]),
    )  # fmt: skip


def doubles(tokens: int, p: int, heads: int, seeds: Sequence[int], steps: int, samples: int) -> Repeated:
    """Figure 4 at one size: 16 channels for 10 tokens, 32 for 20; one target and one set of samples for all seeds."""
    hidden = 16 if tokens == 10 else 32
    return Repeated(
        {"figure": 4, "tokens": tokens, "p": p, "heads": heads, "samples": samples}, tuple(seeds),
        lambda _: Double(5, hidden, tokens, p, heads), lambda _: sequences(tokens, samples)[:2], squared, steps,
        score=lambda stack: held_out(stack, [sequences(tokens, samples)[2:]] * len(seeds)), compiled=False,
    )  # fmt: skip


def held_out(stack: Stack, tests: Sequence[tuple[Tensor, ...]]) -> list[float]:
    """The mean squared error of every seed on samples x, y of its own that it was not trained on."""
    x, y = (torch.stack(parts) for parts in zip(*tests, strict=True))
    device, total = stack.values[0].device, torch.zeros(len(x), dtype=torch.float64)
    with torch.no_grad():
        for asked, right in zip(x.split(TESTED, 1), y.split(TESTED, 1), strict=True):
            errors = (stack(asked.to(device)) - right.to(device)).square()
            total += errors.flatten(1).sum(1, dtype=torch.float64).cpu()
    return (total / y[0].numel()).tolist()


def split(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """Four fifths to train on, one fifth held out."""
    cut = len(x) * 4 // 5
    return x[:cut], y[:cut], x[cut:], y[cut:]


def regression(data: tuple[Tensor, ...]) -> float:
    """Held-out error of linear least squares on the whole input, or token by token where that is given."""
    x, y, x_test, y_test = (v.double() for v in data)
    ones = [torch.cat([v, torch.ones_like(v[..., :1])], -1) for v in (x, x_test)]
    weights = torch.linalg.lstsq(ones[0], y).solution
    return float((ones[1] @ weights - y_test).square().mean())


def mean_error(data: tuple[Tensor, ...]) -> float:
    """Held-out error of predicting the training mean of each position and channel."""
    return float((data[1].mean(0) - data[3]).square().mean())


@cache
def _baselines(width: float, seed: int) -> dict[str, float]:
    x, y, x_test, y_test = clipped(width, seed)
    lines = [regression((x[:, i], y[:, i, :1], x_test[:, i], y_test[:, i, :1])) for i in range(x.shape[1])]
    return {"mean": mean_error((x, y, x_test, y_test)), "regression": sum(lines) / len(lines) / y.shape[-1]}


def baselines(width: float, seeds: Sequence[int]) -> dict[str, float]:
    """Figure 2: held-out errors of predicting the mean, and of a line for each token, averaged over the seeds."""
    found = [_baselines(width, seed) for seed in seeds]
    return {key: sum(one[key] for one in found) / len(found) for key in found[0]}
