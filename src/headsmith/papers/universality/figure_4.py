"""Figure 4: sequence to sequence, error against p and H, for a target that is itself a small ReLU network.

d = 5, X ~ U(0, 1), Y = W_2 relu(W_1 vec X + b_1) + b_2 with 10 hidden units; two attention layers, trained for three
epochs. The paper claims 1/p and 1/H (Thm 3.14). Beside the curve stand predictors that need no attention, and the
target compiled as an MLP: softmax attention only, certified to 1e-6. It shows that the curve measures how far three
epochs of training come, not what attention can express.

(softmax-universality Figure 4.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from headsmith.lab.train.stacked import Repeated
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.repeated import Fits, Study, means, spreads, steepness
from headsmith.papers.universality.trained import doubles, mean_error, regression, sequences
from headsmith.records import Record

PAPER = "softmax-universality"
ENOUGH = 3750
"""Batches in the three printed epochs of 40 000 samples."""
FIRST = 1237
TOKENS = {"p": 10, "heads": 20}
NAMES = {
    "mean": "mean of each position and channel",
    "regression": "linear regression on vec X",
    "coarse": "compiled, certified to 0.1",
    "compiled": "compiled, certified to 1e-6",
}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {"steps": 150, "samples": 5000, "seeds": 1, "p": [10, 20], "heads": [1, 32]},
    "full": {
        "steps": ENOUGH, "samples": 50_000, "seeds": 7, "p": [10, 12, 14, 16, 18, 20], "heads": [1, 2, 4, 8, 16, 32],
    },
}  # fmt: skip
DRY = {"steps": 6, "samples": 500, "seeds": 2, "p": [10, 20], "heads": [1, 2]}


def called(axis: str, size: int) -> str:
    """What a point is called."""
    return f"{TOKENS[axis]} tokens, {axis} = {size}"


def lessons(settings: Mapping[str, Any]) -> dict[str, Repeated]:
    """Left p with 10 tokens and 2 heads, right H with 20 tokens and p = 20."""
    seeds = range(FIRST, FIRST + settings["seeds"])

    def one(axis: str, size: int) -> Repeated:
        p, heads = (size, 2) if axis == "p" else (20, size)
        return doubles(TOKENS[axis], p, heads, seeds, settings["steps"], settings["samples"])

    return {called(axis, size): one(axis, size) for axis in TOKENS for size in settings[axis]}


def measured(settings: Mapping[str, Any], fits: Fits) -> dict[str, Any]:
    """Held-out errors of every seed, and of what needs no attention."""
    panels: dict[str, dict[str, Any]] = {}
    for axis, tokens in TOKENS.items():
        held = sequences(tokens, settings["samples"])
        scores = [fits[called(axis, size)].scores[-1] for size in settings[axis]]
        x, y, x_test, y_test = (v.flatten(1) for v in held)
        panels[axis] = {
            "sizes": list(settings[axis]), "scores": scores, "trained": means(scores), "spread": spreads(scores),
            "mean": mean_error(held), "regression": regression((x, y, x_test, y_test)),
        }  # fmt: skip
    m: dict[str, Any] = {key: settings[key] for key in ("steps", "seeds", "samples")} | {"panels": panels}
    m["beats regression"] = all(max(panel["trained"]) < panel["regression"] for panel in panels.values())
    m["beats mean"] = all(max(panel["trained"]) < panel["mean"] for panel in panels.values())
    return m | {f"slope {axis}": steepness(panel["sizes"], panel["trained"]) for axis, panel in panels.items()}


def outcome(m: dict[str, Any], settings: Mapping[str, Any]) -> Outcome:
    """Beside the trained networks the target itself, compiled; every reference on the same held-out fifth."""
    compiled_errors = import_module("headsmith.papers.universality.constructed").compiled_errors
    rows, worst = [], {"compiled": 0.0, "bound": 0.0}
    for axis, panel in m["panels"].items():
        panel |= compiled_errors(TOKENS[axis], settings["samples"])
        worst = {key: max(value, panel[key]) for key, value in worst.items()}
        for size, mean, spread in zip(panel["sizes"], panel["trained"], panel["spread"], strict=True):
            beside = f"linear regression {panel['regression']:.3g}, mean {panel['mean']:.3g}"
            ours = f"{mean:.4g} ± {spread:.2g}"
            rows.append(Row(called(axis, size), None, ours, "not stated", m["seeds"], beside))
        rows += [Row(f"{TOKENS[axis]} tokens: {NAMES[key]}", None, panel[key]) for key in NAMES]
    for claim, axis in zip(CLAIMS, m["panels"], strict=False):
        rows.append(Row(f"slope in {axis}", -1, m[f"slope {axis}"], claim.verdict(m)))
    return Outcome(m | worst, rows)


def _when_trained(text: str, holds: Callable[[Mapping[str, Any]], bool]) -> Claim:
    return Claim(text, lambda m: None if m["steps"] < ENOUGH else holds(m))


CLAIMS = (
    _when_trained("the trained error falls like 1/p: slope -1 +- 0.3", lambda m: abs(m["slope p"] + 1) < 0.3),
    _when_trained("it falls like 1/H: slope -1 +- 0.3", lambda m: abs(m["slope heads"] + 1) < 0.3),
    _when_trained("every trained network is better than the mean of each position", lambda m: m["beats mean"]),
    _when_trained("every trained network is better than linear regression", lambda m: m["beats regression"]),
    Claim(
        "attention itself is not the limit: compiled, the target is met within 1e-6",
        lambda m: m["bound"] <= 1e-6 and m["compiled"] < 1e-12,
    ),
)


def picture(m: Mapping[str, Any]) -> Any:
    """Error over p and over H."""
    return import_module("headsmith.views.universality").sequence(m)


STUDY = Study(PRESETS, DRY, lessons, measured, outcome)


def self_check() -> bool:
    """The compiled target keeps its promise; nothing is trained."""
    errors = import_module("headsmith.papers.universality.constructed").compiled_errors
    return CLAIMS[-1].verdict(errors(10, 500)) == "holds"


@experiment(
    f"{PAPER}/figure-4", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Figure 4",
    pictures={"figure-4.png": picture},
)  # fmt: skip
def figure_4(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Two sweeps; trained over seeds, compiled, and what needs no attention beside them."""
    return STUDY.here(settings, record)
