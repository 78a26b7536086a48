"""Figure 2: error against the number of tokens p, the width |b - a| of the range, and the number of heads H.

d = 10, n = 50, x ~ U(-5, 5), y_i = Range_[a,b](w_i . x_i + t_i) in channel 0 of 32, the other channels zero. The paper
trains and claims a mean squared error like 1/p, |b - a| and 1/H (Thm 3.4, Thm 3.9). The theorems bound the error, not
its square: with constructed weights the sup error has slope -1 and the mean square -2.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from headsmith.heads import clip as rules
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.universality.trained import Single, mean_error, regression, seeds, slope, split, train
from headsmith.records import Run
from headsmith.views.universality import sweeps

PAPER = "softmax-universality"
TOKENS, FEATURES, HIDDEN, SAMPLES = 50, 10, 32, 1000
ENOUGH = 50  # epochs, as printed
STEPS = 25  # batches in an epoch

PRESETS = {
    "smoke": {"epochs": 8, "seeds": 1, "p": [60, 120], "width": [10, 50], "heads": [1, 16]},
    "full": {"epochs": 50, "seeds": 10, "p": [60, 70, 80, 90, 100, 110, 120], "width": [10, 20, 30, 40, 50], "heads": [1, 2, 4, 8, 16]},
}  # fmt: skip


def data(width: float, seed: int) -> tuple[torch.Tensor, ...]:
    g = torch.Generator().manual_seed(seed)
    w, t = torch.randn(TOKENS, FEATURES, generator=g), torch.randn(TOKENS, generator=g)
    x = 10 * torch.rand(SAMPLES, TOKENS, FEATURES, generator=g) - 5
    y = torch.zeros(SAMPLES, TOKENS, HIDDEN)
    z = (x * w).sum(-1) + t
    y[..., 0] = z.clamp(-width / 2, width / 2)
    return *split(x, y), z[SAMPLES * 4 // 5 :].double()


def constructed(p: int, width: float, heads: int, z: np.ndarray) -> dict[str, float]:
    """Mean squared error over the 32 channels, and the sup error, of weights that are written down."""
    low, high = -width / 2, width / 2
    exact = np.clip(z, low, high)
    shapes = {
        "printed": [rules.printed_rule(low, high, p)]
        if heads == 1
        else rules.sentinels(low, high, p, heads, 1e-3, True),
        "repaired": rules.telescope(low, high, p, heads),
    }
    found = {}
    for name, own in shapes.items():
        error = sum(head(z) for head in own) - exact
        found[name], found[f"{name} sup"] = float((error**2).mean()) / HIDDEN, float(np.abs(error).max())
    return found


CLAIMS = (
    Claim("the trained error falls like 1/p: slope -1 +- 0.3", lambda m: None if m["epochs"] < ENOUGH else abs(m["slope p"] + 1) < 0.3),
    Claim("it grows linearly with |b - a|: slope 1 +- 0.3", lambda m: None if m["epochs"] < ENOUGH else abs(m["slope width"] - 1) < 0.3),
    Claim("it falls like 1/H: slope -1 +- 0.3", lambda m: None if m["epochs"] < ENOUGH else abs(m["slope heads"] + 1) < 0.3),
    Claim("constructed, the sup error has slope -1 in p", lambda m: abs(m["constructed slope sup"] + 1) < 0.05),
    Claim("constructed, the mean square has slope -2 in p, not -1", lambda m: abs(m["constructed slope p"] + 2) < 0.15),
    Claim("the constructed network is below the trained one at every size", lambda m: m["constructed wins"]),
)  # fmt: skip


def self_check() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        toy = {"epochs": 1, "seeds": 1, "p": [60, 120], "width": [10, 50], "heads": [1, 2], "steps": 2}
        outcome = figure_2.run(toy, Run(folder, {"kind": "figure-2"}))
        return CLAIMS[3].verdict(outcome.measurements) == "holds"


@experiment(
    f"{PAPER}/figure-2", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Figure 2",
    pictures={"figure-2.png": sweeps},
)  # fmt: skip
def figure_2(settings: Mapping[str, Any], record: Run) -> Outcome:
    """Three sweeps; trained over seeds, constructed, and two predictors without attention beside them."""
    known: dict[tuple[int, float, int], list[float]] = {}
    steps = settings.get("steps", settings["epochs"] * STEPS)

    def trained(p: int, width: float, heads: int) -> list[float]:
        scores = []
        for seed in seeds(settings["seeds"], 1234):
            name = f"p{p}-w{width}-h{heads}-{seed}"

            def one(seed: int = seed, name: str = name) -> float:
                torch.manual_seed(seed)
                model = Single(FEATURES, HIDDEN, TOKENS, p, heads)
                return train(model, data(width, seed)[:4], steps, seed, record, name)

            scores.append(record.once(f"score-{name}", one))
        return scores

    panels, rows, wins = {}, [], True
    for axis, sizes in (("p", settings["p"]), ("width", settings["width"]), ("heads", settings["heads"])):
        panel: dict[str, list[float]] = {
            "sizes": list(sizes), "trained": [], "spread": [], "printed": [], "repaired": [], "sup": [], "mean": [], "regression": [],
        }  # fmt: skip
        for size in sizes:
            p, width, heads = {"p": (size, 50, 1), "width": (60, size, 1), "heads": (60, 50, size)}[axis]
            scores = known.setdefault((p, width, heads), trained(p, width, heads))
            *pieces, z = data(width, 1234)
            held = tuple(pieces)
            built = constructed(p, width, heads, z.numpy())
            label = [(v[..., None, :], y[..., :1][..., None, :]) for v, y in ((held[0], held[1]), (held[2], held[3]))]
            line = np.mean([regression((label[0][0][:, i, 0], label[0][1][:, i, 0], label[1][0][:, i, 0], label[1][1][:, i, 0])) for i in range(0, TOKENS, 5)])  # fmt: skip
            values = {
                "trained": float(np.mean(scores)), "spread": float(np.std(scores)), "printed": built["printed"],
                "repaired": built["repaired"], "sup": built["printed sup"], "mean": mean_error(held), "regression": float(line) / HIDDEN,
            }  # fmt: skip
            for key, value in values.items():
                panel[key].append(value)
            wins = wins and built["repaired"] < values["trained"]
            rows.append(
                Row(
                    f"{axis} = {size}: trained, beside it the constructed network",
                    None,
                    values["trained"],
                    "not stated",
                    len(scores),
                    built["repaired"],
                )
            )
        panels[axis] = panel
    m: dict[str, Any] = {"epochs": settings["epochs"], "panels": panels, "constructed wins": bool(wins)}
    for axis, panel in panels.items():
        m[f"slope {axis}"] = slope(panel["sizes"], panel["trained"])
        m[f"constructed slope {axis}"] = slope(panel["sizes"], panel["repaired"])
    m["constructed slope sup"] = slope(panels["p"]["sizes"], panels["p"]["sup"])
    last = panels["p"]
    rows.append(Row("predict the mean (p sweep)", None, last["mean"][0]))
    rows.append(Row("linear regression for each token (p sweep)", None, last["regression"][0]))
    for axis, printed in (("p", -1), ("width", 1), ("heads", -1)):
        rows.append(
            Row(
                f"slope in {axis}: trained, beside it constructed",
                printed,
                m[f"slope {axis}"],
                "not stated",
                None,
                m[f"constructed slope {axis}"],
            )
        )
    return Outcome(m, rows)
