"""Figure 4: sequence to sequence, error against p and H, for a target that is itself a small ReLU network.

d = 5, X ~ U(0, 1), Y = W_2 relu(W_1 vec X + b_1) + b_2 with 10 hidden units; two attention layers, trained for three
epochs. The paper claims 1/p and 1/H (Thm 3.14). Beside the curve stand predictors that need no attention, and the
target compiled as an MLP: softmax attention only, certified to 1e-6. It shows that the curve measures how far three
epochs of training come, not what attention can express.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.universality.trained import Double, mean_error, regression, seeds, slope, split, train
from headsmith.records import Run
from headsmith.targets.mlp import plan_mlp
from headsmith.views.universality import sequence

PAPER = "softmax-universality"
FEATURES, UNITS, EPOCH = 5, 10, 1250

PRESETS = {
    "smoke": {"steps": 600, "samples": 5000, "seeds": 1, "p": [10, 20], "heads": [1, 32]},
    "full": {"steps": 3 * EPOCH, "samples": 50_000, "seeds": 7, "p": [10, 12, 14, 16, 18, 20], "heads": [1, 2, 4, 8, 16, 32]},
}  # fmt: skip


@cache
def target(tokens: int) -> nn.Sequential:
    """W_2 relu(W_1 vec X + b_1) + b_2, all entries N(0, 1), seed 42."""
    g = torch.Generator().manual_seed(42)
    model = nn.Sequential(nn.Linear(tokens * FEATURES, UNITS), nn.ReLU(), nn.Linear(UNITS, tokens * FEATURES))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=g))
    return model.eval()


def data(tokens: int, samples: int) -> tuple[Tensor, ...]:
    g = torch.Generator().manual_seed(42)
    x = torch.rand(samples, tokens, FEATURES, generator=g)
    with torch.no_grad():
        y = target(tokens)(x.flatten(1)).reshape_as(x)
    return split(x, y)


def references(tokens: int, samples: int) -> dict[str, float]:
    """Held-out errors of everything that is not trained."""
    held = data(tokens, samples)
    flat = tuple(v.flatten(1) for v in held)
    model = target(tokens)
    net = plan_mlp(model, eps=1e-6, domain=(0, 1)).build()
    x = flat[2][:1000].double()
    with torch.no_grad():
        exact = nn.Sequential(*model).double()(x)
        z = x @ model[0].weight.double().T + model[0].bias.double()  # type: ignore[union-attr,operator]
        gates = (z * torch.sigmoid(10 * z)) @ model[2].weight.double().T + model[2].bias.double()  # type: ignore[union-attr,operator]
        found = {"compiled": float((net(x) - exact).square().mean()), "gates": float((gates - exact).square().mean())}
    model.float()
    return {**found, "bound": net.certificate.bound, "mean": mean_error(held), "regression": regression(flat)}


CLAIMS = (
    Claim("the trained error falls like 1/p: slope -1 +- 0.3", lambda m: None if m["steps"] < 3 * EPOCH else abs(m["slope p"] + 1) < 0.3),
    Claim("it falls like 1/H: slope -1 +- 0.3", lambda m: None if m["steps"] < 3 * EPOCH else abs(m["slope heads"] + 1) < 0.3),
    Claim("the trained networks are better than linear regression", lambda m: None if m["steps"] < 3 * EPOCH else m["beats regression"]),
    Claim("attention itself is not the limit: compiled, the target is met within 1e-6", lambda m: m["bound"] <= 1e-6 and m["compiled"] < 1e-12),
)  # fmt: skip


def self_check() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        toy = {"steps": 1, "samples": 500, "seeds": 1, "p": [10, 20], "heads": [1, 2]}
        outcome = figure_4.run(toy, Run(folder, {"kind": "figure-4"}))
        return CLAIMS[3].verdict(outcome.measurements) == "holds"


@experiment(
    f"{PAPER}/figure-4", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Figure 4",
    pictures={"figure-4.png": sequence},
)  # fmt: skip
def figure_4(settings: Mapping[str, Any], record: Run) -> Outcome:
    """Left p with 10 tokens and 2 heads, right H with 20 tokens; every reference on the same held-out fifth."""
    panels, rows, worst, beats = {}, [], {"compiled": 0.0, "bound": 0.0}, True
    for axis, tokens, hidden in (("p", 10, 16), ("heads", 20, 32)):
        beside = references(tokens, settings["samples"])
        panel: dict[str, list[float]] = {"sizes": list(settings[axis]), "trained": [], "spread": []}
        for size in settings[axis]:
            p, heads = (size, 2) if axis == "p" else (20, size)
            scores = []
            for seed in seeds(settings["seeds"], 1237):
                name = f"n{tokens}-p{p}-h{heads}-{seed}"

                def one(seed: int = seed, name: str = name, p: int = p, heads: int = heads) -> float:
                    torch.manual_seed(seed)
                    model = Double(FEATURES, hidden, tokens, p, heads)  # noqa: B023
                    return train(model, data(tokens, settings["samples"]), settings["steps"], seed, record, name)  # noqa: B023

                scores.append(record.once(f"score-{name}", one))
            panel["trained"].append(float(np.mean(scores)))
            panel["spread"].append(float(np.std(scores)))
            rows.append(
                Row(
                    f"{axis} = {size}: trained, beside it linear regression",
                    None,
                    panel["trained"][-1],
                    "not stated",
                    len(scores),
                    beside["regression"],
                )
            )
        for key in ("mean", "regression", "gates", "compiled"):
            panel[key] = [beside[key]] * len(settings[axis])
            rows.append(Row(f"{axis} sweep: {NAMES[key]}", None, beside[key]))
        beats = beats and max(panel["trained"]) < beside["regression"]
        worst = {key: max(value, beside[key]) for key, value in worst.items()}
        panels[axis] = panel
    m: dict[str, Any] = {"steps": settings["steps"], "panels": panels, "beats regression": bool(beats), **worst}
    for axis, panel in panels.items():
        m[f"slope {axis}"] = slope(panel["sizes"], panel["trained"])
        rows.append(Row(f"slope in {axis}", -1, m[f"slope {axis}"]))
    return Outcome(m, rows)


NAMES = {
    "mean": "mean of each position and channel",
    "regression": "linear regression on vec X",
    "gates": "constructed, gates with beta = 10",
    "compiled": "compiled, certified to 1e-6",
}
