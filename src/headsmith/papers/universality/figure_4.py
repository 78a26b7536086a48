"""Figure 4: sequence to sequence, error against p and H, for a target that is itself a small ReLU network.

d = 5, X ~ U(0, 1), Y = W_2 relu(W_1 vec X + b_1) + b_2 with 10 hidden units; two attention layers, trained for three
epochs. The paper claims 1/p and 1/H (Thm 3.14). Beside the curve stand predictors that need no attention, and the
target compiled as an MLP: softmax attention only, certified to 1e-6. It shows that the curve measures how far three
epochs of training come, not what attention can express.

(softmax-universality Figure 4.)
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from headsmith.doors.compile import compile
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.universality.trained import (
    double_score,
    mean_error,
    regression,
    seeds,
    sequences,
    slope,
    target,
)
from headsmith.records import Record
from headsmith.views.universality import sequence

PAPER = "softmax-universality"
EPOCH = 1250  # batches
NAMES = {
    "mean": "mean of each position and channel",
    "regression": "linear regression on vec X",
    "gates": "constructed, gates with beta = 10",
    "compiled": "compiled, certified to 1e-6",
}

PRESETS = {
    "smoke": {"steps": 600, "samples": 5000, "seeds": 1, "p": [10, 20], "heads": [1, 32]},
    "full": {
        "steps": 3 * EPOCH,
        "samples": 50_000,
        "seeds": 7,
        "p": [10, 12, 14, 16, 18, 20],
        "heads": [1, 2, 4, 8, 16, 32],
    },
}


def references(tokens: int, samples: int) -> dict[str, float]:
    """Held-out errors of everything that is not trained."""
    held = sequences(tokens, samples)
    flat = tuple(v.flatten(1) for v in held)
    net = compile(target(tokens), eps=1e-6, domain=(0, 1))
    first, _, last = exact = target(tokens).double()
    x = flat[2][:1000].double()
    with torch.no_grad():
        z = first(x)
        errors = {"compiled": net(x) - exact(x), "gates": last(z * torch.sigmoid(10 * z)) - exact(x)}
    found = {name: float(error.square().mean()) for name, error in errors.items()}
    return {**found, "bound": net.certificate.bound, "mean": mean_error(held), "regression": regression(flat)}


def _when_trained(text: str, holds: Callable[[Mapping[str, Any]], bool]) -> Claim:
    return Claim(text, lambda m: None if m["steps"] < 3 * EPOCH else holds(m))


CLAIMS = (
    _when_trained("the trained error falls like 1/p: slope -1 +- 0.3", lambda m: abs(m["slope p"] + 1) < 0.3),
    _when_trained("it falls like 1/H: slope -1 +- 0.3", lambda m: abs(m["slope heads"] + 1) < 0.3),
    _when_trained("every trained network is better than linear regression", lambda m: m["beats regression"]),
    Claim(
        "attention itself is not the limit: compiled, the target is met within 1e-6",
        lambda m: m["bound"] <= 1e-6 and m["compiled"] < 1e-12,
    ),
)


def self_check() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        toy = {"steps": 1, "samples": 500, "seeds": 1, "p": [10, 20], "heads": [1, 2]}
        outcome = figure_4.run(toy, Record(folder, {"kind": "figure-4"}))
        return CLAIMS[3].verdict(outcome.measurements) == "holds"


@experiment(
    f"{PAPER}/figure-4",
    CLAIMS,
    presets=PRESETS,
    self_check=self_check,
    source=PAPER,
    where="Figure 4",
    pictures={"figure-4.png": sequence},
)
def figure_4(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Left p with 10 tokens and 2 heads, right H with 20 tokens; every reference on the same held-out fifth."""
    steps, samples = settings["steps"], settings["samples"]

    def trained(tokens: int, p: int, heads: int) -> list[float]:
        return [
            record.once(
                f"score-n{tokens}-p{p}-h{heads}-{seed}",
                partial(double_score, tokens, p, heads, seed, steps, samples, record),
            )
            for seed in seeds(settings["seeds"], 1237)
        ]

    panels: dict[str, dict[str, list[float]]] = {}
    rows, worst, beats = [], {"compiled": 0.0, "bound": 0.0}, True
    for axis, tokens in (("p", 10), ("heads", 20)):
        beside, sizes = references(tokens, samples), settings[axis]
        scores = [trained(tokens, size, 2) if axis == "p" else trained(tokens, 20, size) for size in sizes]
        panel = {"sizes": list(sizes), "trained": [float(np.mean(s)) for s in scores]}
        panel |= {"spread": [float(np.std(s)) for s in scores]}
        panel |= {key: [beside[key]] * len(sizes) for key in NAMES} | {"proved": [beside["bound"] ** 2] * len(sizes)}
        for size, value in zip(sizes, panel["trained"], strict=True):
            name = f"{axis} = {size}: trained, beside it linear regression"
            rows.append(Row(name, None, value, "not stated", settings["seeds"], beside["regression"]))
        rows += [Row(f"{axis} sweep: {NAMES[key]}", None, beside[key]) for key in NAMES]
        beats = beats and max(panel["trained"]) < beside["regression"]
        worst = {key: max(value, beside[key]) for key, value in worst.items()}
        panels[axis] = panel
    m: dict[str, Any] = {"steps": steps, "panels": panels, "beats regression": beats, **worst}
    for axis, panel in panels.items():
        m[f"slope {axis}"] = slope(panel["sizes"], panel["trained"])
        rows.append(Row(f"slope in {axis}", -1, m[f"slope {axis}"]))
    return Outcome(m, rows)
