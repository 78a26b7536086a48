"""Section 5.1: a trained head and a constructed one for tanh(w . x - y) x.

(algorithm-emulation Sec 5.1, Thm 3.1, Thm E.2.)

X ~ 10 N - 5 (20 tokens, 24 features), one w ~ N(0, 1) a token, y ~ N(0, 1). The text gives no numbers. tanh
is exact with two keys, so that the constructed layer leaks only what its constant C lets through.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.lab.train.training import fit
from headsmith.machines.hopfield import Gradients
from headsmith.papers.emulation.trained import SHORT, Multihead
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.records import Record

D, N, HIDDEN = 24, 20, 48


def _draw(g: torch.Generator, batch: int) -> tuple[Tensor, Tensor, Tensor]:
    x = 10 * torch.randn(batch, N, D, generator=g) - 5
    return x, torch.randn(batch, N, generator=g), torch.randn(batch, N, D, generator=g)


def _target(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    return torch.tanh((x * w).sum(-1) - y).unsqueeze(-1) * x


class OneHead(nn.Module):
    """Queries from w, keys and values from (x, y), one head."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Multihead(N, D + 1, HIDDEN, 1, D, queries=D)

    def forward(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        x, y, w = batch
        return self.layer(torch.cat([x, y.unsqueeze(-1)], -1), w)


def trained(seed: int, steps: int, record: Record) -> float:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = OneHead()

    def loss(head: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        return (head(batch) - _target(*batch)).square().mean()

    fit(
        model,
        lambda g: _draw(g, 32),
        steps=steps,
        schedule="constant",
        loss=loss,
        seed=seed,
        record=record,
        name=f"fit-{seed}",
    )
    test = _draw(torch.Generator().manual_seed(10**6), 256)
    with torch.no_grad():
        return float((model(test) - _target(*test)).square().mean())


def constructed(samples: int) -> tuple[float, float, float]:
    """(mean squared error, certified bound of an entry, mean square of the target)."""
    x, y, w = (t.double() for t in _draw(torch.Generator().manual_seed(10**6), samples))
    layer = Gradients("tanh(x)", D, N, residual=400.0, inputs=60.0, eps=1e-3)
    results = [layer(*example) for example in zip(x, y, w, strict=True)]
    exact = _target(x, y, w)
    error = float((torch.stack([r.value for r in results]) - exact).square().mean())
    return error, max(r.certificate.bound for r in results), float(exact.square().mean())


CLAIMS = (
    Claim(
        "a trained head explains most of the target",
        lambda m: None if m["steps"] < SHORT else m["trained"] < 0.5 * m["predict zero"],
    ),
    Claim(
        "the constructed layer is exact up to 1e-12 of the target's square",
        lambda m: m["constructed"] <= 1e-12 * m["predict zero"],
    ),
)


def self_check() -> bool:
    error, bound, size = constructed(1)
    return error <= bound**2 and error <= 1e-12 * size


@experiment(
    "algorithm-emulation/section-5.1",
    CLAIMS,
    presets={"smoke": {"steps": 200, "seeds": 1}, "full": {"steps": 78_000, "seeds": 10}},
    source="algorithm-emulation",
    where="Sec 5.1",
    self_check=self_check,
)
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Train one head on the rule; set the constructed layer beside it."""
    seeds, steps = settings["seeds"], settings["steps"]
    errors = [record.once(f"error-{s}", partial(trained, s, steps, record)) for s in range(seeds)]
    error, bound, size = constructed(4)
    m = {
        "trained": math.fsum(errors) / seeds,
        "constructed": error,
        "certified": bound,
        "predict zero": size,
        "steps": steps,
    }
    return Outcome(
        m,
        [
            Row("trained", None, m["trained"], CLAIMS[0].verdict(m), seeds, size),
            Row("constructed", None, error, CLAIMS[1].verdict(m), None, size),
        ],
    )
