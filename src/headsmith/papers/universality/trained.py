"""The models that the paper trains, as its text and public code describe them, and what they are compared with.

The "linear map A" in front of the attention is a token-wise Linear, a gain for each position, and learned tokens after
the n given ones, up to p in all. Attention is torch's own, with biases, 1/sqrt(d_head) and an output matrix; the first
n tokens are read. Adam with rate 1e-3 on mean squared error; batches of 32 are drawn with replacement. Nothing here
needs more than torch and numpy, so that the long runs can be made on any machine and read on another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from headsmith.lab.train.training import fit
from headsmith.records import Record

BATCH = 32


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


class Single(nn.Module):
    """Figure 2: lift, one attention layer, the first n tokens."""

    def __init__(self, features: int, hidden: int, tokens: int, total: int, heads: int) -> None:
        super().__init__()
        self.lift, self.tokens = Lift(features, hidden, tokens, total), tokens
        self.attention = nn.MultiheadAttention(hidden, heads, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.lift(x)
        return self.attention(y, y, y, need_weights=False)[0][:, : self.tokens]


class Double(nn.Module):
    """Figure 4: lift, attention, Linear, attention, Linear."""

    def __init__(self, features: int, hidden: int, tokens: int, total: int, heads: int) -> None:
        super().__init__()
        self.lift, self.tokens = Lift(features, hidden, tokens, total), tokens
        self.first, self.second = (nn.MultiheadAttention(hidden, heads, batch_first=True) for _ in range(2))
        self.between, self.last = nn.Linear(hidden, hidden), nn.Linear(hidden, features)

    def forward(self, x: Tensor) -> Tensor:
        y = self.lift(x)
        y = self.between(self.first(y, y, y, need_weights=False)[0])
        return self.last(self.second(y, y, y, need_weights=False)[0])[:, : self.tokens]


def clipped(width: float, seed: int) -> tuple[Tensor, ...]:
    """Figure 2: y_i = Range(w_i . x_i + t_i) in channel 0 of 32; train and test halves, then z of the test half."""
    tokens, features, channels, samples = 50, 10, 32, 1000
    g = torch.Generator().manual_seed(seed)
    w, t = torch.randn(tokens, features, generator=g), torch.randn(tokens, generator=g)
    x = 10 * torch.rand(samples, tokens, features, generator=g) - 5
    z = (x * w).sum(-1) + t
    y = torch.zeros(samples, tokens, channels)
    y[..., 0] = z.clamp(-width / 2, width / 2)
    return *split(x, y), z[samples * 4 // 5 :].double()


def target(tokens: int) -> nn.Sequential:
    """Figure 4: W_2 relu(W_1 vec X + b_1) + b_2 with 10 units, all entries N(0, 1), seed 42."""
    g = torch.Generator().manual_seed(42)
    model = nn.Sequential(nn.Linear(tokens * 5, 10), nn.ReLU(), nn.Linear(10, tokens * 5))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=g))
    return model.eval()


def sequences(tokens: int, samples: int) -> tuple[Tensor, ...]:
    """Figure 4: X ~ U(0, 1), tokens of 5 features, and the target of each."""
    g = torch.Generator().manual_seed(42)
    x = torch.rand(samples, tokens, 5, generator=g)
    with torch.no_grad():
        return split(x, target(tokens)(x.flatten(1)).reshape_as(x))


def single_score(p: int, width: float, heads: int, seed: int, steps: int, record: Record | None = None) -> float:
    """One run of Figure 2."""
    torch.manual_seed(seed)
    name = f"p{p}-w{width}-h{heads}-{seed}"
    return train(Single(10, 32, 50, p, heads), clipped(width, seed)[:4], steps, seed, record, name)


def double_score(
    tokens: int, p: int, heads: int, seed: int, steps: int, samples: int, record: Record | None = None
) -> float:
    """One run of Figure 4; 16 channels for 10 tokens, 32 for 20."""
    torch.manual_seed(seed)
    model = Double(5, 16 if tokens == 10 else 32, tokens, p, heads)
    return train(model, sequences(tokens, samples), steps, seed, record, f"n{tokens}-p{p}-h{heads}-{seed}")


def train(model: nn.Module, data: tuple[Tensor, ...], steps: int, seed: int, record: Record | None, name: str) -> float:
    """Mean squared error on the held-out fifth after `steps` batches, on a GPU if there is one.

    On the CPU an interrupted run continues from its checkpoint; on a GPU, where it is short, it starts again.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y, x_test, y_test = (v.to(device) for v in data)

    def sample(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        rows = torch.randint(len(x), (BATCH,), generator=generator).to(device)
        return x[rows], y[rows]

    def score(trained: nn.Module) -> float:
        return float((trained(x_test) - y_test).square().mean())

    made = fit(
        model.to(device), sample, steps=steps, rate=1e-3, schedule="constant", evaluate=score, notes=1, seed=seed,
        record=record if device.type == "cpu" else None, name=name,
    )  # fmt: skip
    model.cpu()
    return made.scores[-1]


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


def slope(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """The slope of log error over log size."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def seeds(count: int, first: int) -> list[int]:
    return list(range(first, first + count))
