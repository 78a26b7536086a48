"""Figure 2: error against the number of tokens p, the width |b - a| of the range, and the number of heads H.

d = 10, n = 50, x ~ U(-5, 5), y_i = Range_[a,b](w_i . x_i + t_i) in channel 0 of 32, the other channels zero. The paper
trains and claims a mean squared error like 1/p, |b - a| and 1/H (Thm 3.4, Thm 3.9). The theorems bound the error, not
its square: with constructed weights the sup error has slope -1 and the mean square -2.

(softmax-universality Figure 2.)
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from headsmith.constructions import clip as rules
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.universality.staircases import printed_rule, repaired_sentinels
from headsmith.papers.universality.trained import clipped, mean_error, regression, seeds, single_score, slope
from headsmith.records import Record
from headsmith.views.universality import sweeps

PAPER = "softmax-universality"
HIDDEN = 32  # channels, of which 31 are zero
ENOUGH = 50  # epochs, as printed
STEPS = 25  # batches in an epoch

PRESETS = {
    "smoke": {"epochs": 8, "seeds": 1, "p": [60, 120], "width": [10, 50], "heads": [1, 16]},
    "full": {
        "epochs": 50,
        "seeds": 10,
        "p": [60, 70, 80, 90, 100, 110, 120],
        "width": [10, 20, 30, 40, 50],
        "heads": [1, 2, 4, 8, 16],
    },
}


def constructed(p: int, width: float, heads: int, z: np.ndarray) -> dict[str, float]:
    """Mean squared error over the 32 channels, and the sup error, of weights that are written down."""
    low, high = -width / 2, width / 2
    exact = np.clip(z, low, high)
    shapes = {
        "printed": [printed_rule(low, high, p)] if heads == 1 else repaired_sentinels(low, high, p, heads, 1e-3),
        "repaired": rules.telescope(low, high, p, heads),
    }
    found = {}
    for name, own in shapes.items():
        error = sum(head(z) for head in own) - exact
        found[name], found[f"{name} sup"] = float((error**2).mean()) / HIDDEN, float(np.abs(error).max())
    return found


def _trained_slope(axis: str, printed: float) -> Claim:
    how = {"p": "falls like 1/p", "width": "grows like |b - a|", "heads": "falls like 1/H"}[axis]
    return Claim(
        f"the trained error {how}: slope {printed:g} +- 0.3",
        lambda m: None if m["epochs"] < ENOUGH else abs(m[f"slope {axis}"] - printed) < 0.3,
    )


CLAIMS = (
    _trained_slope("p", -1),
    _trained_slope("width", 1),
    _trained_slope("heads", -1),
    Claim("constructed, the sup error has slope -1 in p", lambda m: abs(m["constructed slope sup"] + 1) < 0.05),
    Claim("constructed, the mean square has slope -2 in p, not -1", lambda m: abs(m["constructed slope p"] + 2) < 0.15),
    Claim("the constructed network is below the trained one at every size", lambda m: m["constructed wins"]),
)


def self_check() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        toy = {"epochs": 1, "seeds": 1, "p": [60, 120], "width": [10, 50], "heads": [1, 2], "steps": 2}
        outcome = figure_2.run(toy, Record(folder, {"kind": "figure-2"}))
        return all(claim.verdict(outcome.measurements) == "holds" for claim in CLAIMS[3:5])  # without training


@experiment(
    f"{PAPER}/figure-2",
    CLAIMS,
    presets=PRESETS,
    self_check=self_check,
    source=PAPER,
    where="Figure 2",
    pictures={"figure-2.png": sweeps},
)
def figure_2(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Three sweeps; trained over seeds, constructed, and two predictors without attention beside them."""
    steps = settings.get("steps", settings["epochs"] * STEPS)

    def trained(p: int, width: float, heads: int) -> list[float]:
        return [
            record.once(
                f"score-p{p}-w{width}-h{heads}-{seed}",
                partial(single_score, p, width, heads, seed, steps, record),
            )
            for seed in seeds(settings["seeds"], 1234)
        ]

    panels: dict[str, dict[str, list[float]]] = {}
    rows = []
    for axis, sizes in (("p", settings["p"]), ("width", settings["width"]), ("heads", settings["heads"])):
        points = []
        for size in sizes:
            p, width, heads = {"p": (size, 50, 1), "width": (60, size, 1), "heads": (60, 50, size)}[axis]
            scores, (*held, z) = trained(p, width, heads), clipped(width, 1234)
            point = {"sizes": size, "trained": float(np.mean(scores)), "spread": float(np.std(scores))}
            point |= constructed(p, width, heads, z.numpy())
            point |= {"mean": mean_error(tuple(held)), "regression": token_regression(tuple(held))}
            points.append(point)
            name = f"{axis} = {size}: trained, beside it the constructed network"
            rows.append(Row(name, None, point["trained"], "not stated", len(scores), point["repaired"]))
        panels[axis] = {key: [point[key] for point in points] for key in points[0]}
    wins = all(a < b for panel in panels.values() for a, b in zip(panel["repaired"], panel["trained"], strict=True))
    m: dict[str, Any] = {"epochs": settings["epochs"], "panels": panels, "constructed wins": wins}
    for axis, panel in panels.items():
        m[f"slope {axis}"] = slope(panel["sizes"], panel["trained"])
        m[f"constructed slope {axis}"] = slope(panel["sizes"], panel["repaired"])
    m["constructed slope sup"] = slope(panels["p"]["sizes"], panels["p"]["printed sup"])
    rows.append(Row("predict the mean (p sweep)", None, panels["p"]["mean"][0]))
    rows.append(Row("linear regression for each token (p sweep)", None, panels["p"]["regression"][0]))
    for axis, printed in (("p", -1), ("width", 1), ("heads", -1)):
        name = f"slope in {axis}: trained, beside it constructed"
        rows.append(Row(name, printed, m[f"slope {axis}"], "not stated", None, m[f"constructed slope {axis}"]))
    return Outcome(m, rows)


def token_regression(held: tuple[torch.Tensor, ...]) -> float:
    """Linear regression of each label on its own token, averaged over every fifth token and the 32 channels."""
    x, y, x_test, y_test = held
    errors = [regression((x[:, i], y[:, i, :1], x_test[:, i], y_test[:, i, :1])) for i in range(0, x.shape[1], 5)]
    return float(np.mean(errors)) / HIDDEN
