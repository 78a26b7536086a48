"""What the trained experiments of this paper share: one attention layer with linear maps, and the comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.lab.train.training import fit
from headsmith.machines.attention import Attention
from headsmith.machines.prompts.heads import linear
from headsmith.records import Record

SHORT = 5_000
"""Fewer training steps than this are too few to judge a trained model."""

TOKENS = 20
ALGORITHMS = ("lasso", "ridge", "linear")
Batch = tuple[Tensor, Tensor, Tensor]
"""x (batch, tokens, features), w (batch, features), target (batch, tokens)"""
Source = Callable[[str, torch.Generator, int, bool], Batch]
"""(algorithm, generator, batch, unseen) -> batch; unseen asks for data that are not trained on"""


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
    """Linear, softmax attention with `heads` heads, a linear map of the features; no residual.

    Queries may come from other tokens than keys and values: forward(tokens, queries).
    """

    def __init__(self, tokens: int, width: int, hidden: int, heads: int, out: int, queries: int | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.query = Columns(tokens, queries or width, hidden)
        self.key, self.value = Columns(tokens, width, hidden), Columns(tokens, width, hidden)
        self.out = nn.Linear(hidden, out)

    def forward(self, tokens: Tensor, queries: Tensor | None = None) -> Tensor:
        asked = tokens if queries is None else queries
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(-3, -2)
            for layer, x in ((self.query, asked), (self.key, tokens), (self.value, tokens))
        )
        weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
        return self.out((weights @ v).transpose(-3, -2).flatten(-2))


class Predictor(nn.Module):
    """x . w from tokens (x, w): what the prompt models of Tables 2 and 3 have to learn."""

    def __init__(self, tokens: int, features: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.layer = Multihead(tokens, 2 * features, hidden, heads, 1)

    def forward(self, pair: tuple[Tensor, Tensor]) -> Tensor:
        x, w = pair
        return self.layer(torch.cat([x, w.unsqueeze(-2).expand_as(x)], -1)).squeeze(-1)


def train_predictor(
    source: Source,
    algorithms: Sequence[str],
    settings: Mapping[str, Any],
    features: int,
    seed: int,
    record: Record,
    name: str,
) -> Predictor:
    """A predictor trained on batches of these algorithms in turn."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Predictor(TOKENS, features, settings["hidden"], settings["heads"])

    def sample(g: torch.Generator) -> tuple[tuple[Tensor, Tensor], Tensor]:
        pick = algorithms[int(torch.randint(len(algorithms), (), generator=g))]
        x, w, y = source(pick, g, 32, False)
        return (x.float(), w.float()), y.float()

    fit(model, sample, steps=settings["steps"], rate=1e-3, schedule="constant", seed=seed, record=record, name=name)
    return model


def compare(
    source: Source, settings: Mapping[str, Any], features: int, domain: float, record: Record
) -> dict[str, Any]:
    """Mean squared errors: one frozen model for all algorithms, one model for each, and the constructed machine."""
    tests = {a: source(a, torch.Generator().manual_seed(10**6), settings["tests"], True) for a in ALGORITHMS}
    found: dict[str, Any] = {"algorithms": list(ALGORITHMS), "steps": settings["steps"], "seeds": settings["seeds"]}
    frozen, own = [], []
    for seed in range(settings["seeds"]):
        shared = train_predictor(source, ALGORITHMS, settings, features, seed, record, f"frozen-{seed}")
        frozen.append([_error(shared, tests[a]) for a in ALGORITHMS])
        singles = {a: train_predictor(source, [a], settings, features, seed, record, f"{a}-{seed}") for a in ALGORITHMS}
        own.append([_error(singles[a], tests[a]) for a in ALGORITHMS])
    found["frozen"], found["baseline"] = _mean(frozen), _mean(own)
    found["predict zero"] = [float(tests[a][2].square().mean()) for a in ALGORITHMS]
    vm = Attention(features, 1, 1, domain, 1e-8 * domain)
    found["constructed"] = [constructed(vm, tests[a]) for a in ALGORITHMS]
    found["hash"] = vm.weight_hash
    return found


def constructed(vm: Attention, batch: Batch, most: int = 8) -> float:
    """The machine's mean squared error: one frozen head, the weights of the algorithm in its prompt."""
    x, w, y = (t[:most] for t in batch)
    read = torch.stack([vm(linear(v[None]), rows).value[:, 0] for rows, v in zip(x, w, strict=True)])
    return float((read - y).square().mean())


def _error(model: nn.Module, batch: Batch) -> float:
    x, w, y = batch
    with torch.no_grad():
        return float((model((x.float(), w.float())).double() - y).square().mean())


def _mean(runs: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(column) / len(runs) for column in zip(*runs, strict=True)]
