"""Section 5.1: a trained head and a constructed one for tanh(w . x - y) x.

(algorithm-emulation Sec 5.1, Thm 3.1, Thm E.2.)

X ~ 10 N - 5 (20 tokens, 24 features), one w ~ N(0, 1) a token, y ~ N(0, 1); 50 000 samples, 50 epochs. The text gives
no number but calls the error minimal. tanh is exact with two keys, so that the constructed layer leaks only what its
constant C lets through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.lab.train.stacked import Repeated, Stack
from headsmith.papers.emulation.trained import ENOUGH, TOKENS, Multihead
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.repeated import Fits, Study, means, spreads
from headsmith.records import Record

PAPER = "algorithm-emulation"
D, HIDDEN = 24, 48
TESTED = 10**6
"""Test samples of seed s are drawn with seed 10^6 + s."""

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {"steps": 200, "samples": 2000, "seeds": 2, "tests": 200},
    "full": {"steps": 78_125, "samples": 50_000, "seeds": 10, "tests": 2000},
}
DRY = {"steps": 6, "samples": 64, "seeds": 2, "tests": 8}


def drawn(seed: int, samples: int) -> tuple[Tensor, Tensor, Tensor]:
    """x (samples, tokens, features), y (samples, tokens), w (samples, tokens, features)."""
    g = torch.Generator().manual_seed(seed)
    x = 10 * torch.randn(samples, TOKENS, D, generator=g) - 5
    return x, torch.randn(samples, TOKENS, generator=g), torch.randn(samples, TOKENS, D, generator=g)


def target(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """tanh(w . x - y) x."""
    return torch.tanh((x * w).sum(-1) - y).unsqueeze(-1) * x


class OneHead(nn.Module):
    """Queries from w, keys and values from (x, y), one head."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Multihead(TOKENS, D + 1, HIDDEN, 1, D, queries=D)

    def forward(self, x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return self.layer(torch.cat([x, y.unsqueeze(-1)], -1), w)


def _error(model: Any, batch: tuple[Tensor, ...]) -> Tensor:
    x, y, w = batch
    return (model(x, y, w) - target(x, y, w)).square().mean()


def lessons(settings: Mapping[str, Any]) -> dict[str, Repeated]:
    """The one training."""
    seeds, samples, tests = range(settings["seeds"]), settings["samples"], settings["tests"]

    def score(stack: Stack) -> list[float]:
        held = zip(*(drawn(TESTED + seed, tests) for seed in seeds), strict=True)
        with torch.no_grad():
            return stack.each(_error, tuple(torch.stack(v).to(stack.values[0].device) for v in held)).tolist()

    return {
        "one head": Repeated(
            {"section": "5.1", "samples": samples, "tests": tests}, tuple(seeds), lambda _: OneHead(),
            lambda seed: drawn(seed, samples), _error, settings["steps"], score=score,
        )
    }  # fmt: skip


def measured(settings: Mapping[str, Any], fits: Fits) -> dict[str, Any]:
    """Errors of every seed on fresh samples, and of who answers 0."""
    scores = fits["one head"].scores[-1]
    zero = [target(*drawn(TESTED + seed, settings["tests"])).square().mean().item() for seed in range(len(scores))]
    [mean], [spread], [size] = means([scores]), spreads([scores]), means([zero])
    m = {key: settings[key] for key in ("steps", "seeds")}
    return m | {"scores": scores, "trained": mean, "spread": spread, "predict zero": size}


def constructed(samples: int) -> tuple[float, float, float]:
    """(mean squared error, certified bound of an entry, mean square of the target) of the layer of Thm E.2."""
    from headsmith.machines.hopfield import Gradients

    x, y, w = (t.double() for t in drawn(TESTED, samples))
    layer = Gradients("tanh(x)", D, TOKENS, residual=400.0, inputs=60.0, eps=1e-3)
    results = [layer(*example) for example in zip(x, y, w, strict=True)]
    exact = target(x, y, w)
    error = float((torch.stack([r.value for r in results]) - exact).square().mean())
    return error, max(r.certificate.bound for r in results), float(exact.square().mean())


def outcome(m: dict[str, Any], settings: Mapping[str, Any]) -> Outcome:
    """The trained head and the constructed layer."""
    m["constructed"], m["certified"], _ = constructed(4)
    size, verdict = m["predict zero"], CLAIMS[1].verdict(m)
    ours = f"{m['trained']:.4g} ± {m['spread']:.2g}"
    beside = Row("constructed", None, m["constructed"], CLAIMS[2].verdict(m), None, f"zero {size:.4g}")
    return Outcome(m, [Row("trained", "minimal", ours, verdict, m["seeds"], f"zero {size:.4g}"), beside])


def _explains(part: float) -> Any:
    return lambda m: None if m["steps"] < ENOUGH else m["trained"] <= (1 - part) * m["predict zero"]


CLAIMS = (
    Claim("a trained head explains half of the target's square", _explains(0.5)),
    Claim("its error is minimal: it explains 99 % of the target's square", _explains(0.99)),
    Claim(
        "the constructed layer is exact up to 1e-12 of the target's square",
        lambda m: m["constructed"] <= 1e-12 * m["predict zero"],
    ),
)

STUDY = Study(PRESETS, DRY, lessons, measured, outcome)


def self_check() -> bool:
    """The constructed layer keeps its promise."""
    error, bound, size = constructed(1)
    return error <= bound**2 and error <= 1e-12 * size


@experiment(f"{PAPER}/section-5.1", CLAIMS, presets=PRESETS, source=PAPER, where="Sec 5.1", self_check=self_check)
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Train one head on the rule, all seeds at once; set the constructed layer beside it."""
    return STUDY.here(settings, record)
