"""Figure 2: error against the number of tokens p, the width |b - a| of the range, and the number of heads H.

d = 10, n = 50, x ~ U(-5, 5), y_i = Range_[a,b](w_i . x_i + t_i) in channel 0 of 32, the other channels zero. The paper
trains and claims a mean squared error like 1/p, |b - a| and 1/H (Thm 3.4, Thm 3.9), and a spread over seeds that p
makes smaller. The theorems bound the error, not its square: with constructed weights the sup error has slope -1 and the
mean square -2.

(softmax-universality Figure 2.)
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from headsmith.lab.train.stacked import Repeated
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.repeated import Fits, Study, means, spreads, steepness
from headsmith.papers.universality.trained import baselines, singles
from headsmith.records import Record

PAPER = "softmax-universality"
ENOUGH = 1250
"""Batches in the 50 printed epochs of 800 samples."""
AXES = ("p", "width", "heads")
SLOPES = {"p": -1, "width": 1, "heads": -1}
FIRST = 1234

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {"steps": 200, "seeds": 1, "p": [60, 120], "width": [10, 50], "heads": [1, 16]},
    "full": {
        "steps": ENOUGH, "seeds": 10, "p": [60, 70, 80, 90, 100, 110, 120], "width": [10, 20, 30, 40, 50],
        "heads": [1, 2, 4, 8, 16],
    },
}  # fmt: skip
DRY = {"steps": 6, "seeds": 2, "p": [60, 120], "width": [10, 50], "heads": [1, 2]}

Point = tuple[int, float, int]


def sizes(settings: Mapping[str, Any]) -> dict[str, list[Point]]:
    """Of each axis: p, |b - a| and H of its points; what is not swept is p = 60, |b - a| = 50, H = 1."""
    return {
        "p": [(p, 50, 1) for p in settings["p"]],
        "width": [(60, width, 1) for width in settings["width"]],
        "heads": [(60, 50, heads) for heads in settings["heads"]],
    }


def called(point: Point) -> str:
    """What a point is called."""
    return "p = {:g}, |b - a| = {:g}, H = {:g}".format(*point)


def seeds(settings: Mapping[str, Any]) -> list[int]:
    """Those of the public code, from 1234 on."""
    return list(range(FIRST, FIRST + settings["seeds"]))


def lessons(settings: Mapping[str, Any]) -> dict[str, Repeated]:
    """One training for each point; where two axes cross, it serves both."""
    every = [point for points in sizes(settings).values() for point in points]
    return {called(point): singles(*point, seeds(settings), settings["steps"]) for point in every}


def measured(settings: Mapping[str, Any], fits: Fits) -> dict[str, Any]:
    """Held-out errors of every seed, and of what needs no attention."""
    panels: dict[str, dict[str, Any]] = {}
    for axis, points in sizes(settings).items():
        scores = [fits[called(point)].scores[-1] for point in points]
        panel = {"sizes": list(settings[axis]), "scores": scores, "trained": means(scores), "spread": spreads(scores)}
        beside = [baselines(width, seeds(settings)) for _, width, _ in points]
        panels[axis] = panel | {key: [one[key] for one in beside] for key in ("mean", "regression")}
    m: dict[str, Any] = {"steps": settings["steps"], "seeds": settings["seeds"], "panels": panels}
    return m | {f"slope {axis}": steepness(panel["sizes"], panel["trained"]) for axis, panel in panels.items()}


def outcome(m: dict[str, Any], settings: Mapping[str, Any]) -> Outcome:
    """Beside every trained point the networks of Thm 3.4 and Thm 3.9, on the same held-out samples."""
    errors = import_module("headsmith.papers.universality.constructed").truncation_errors
    rows = []
    for axis, points in sizes(settings).items():
        panel, found = m["panels"][axis], [errors(*point, seeds(settings)) for point in points]
        panel |= {key: [one[key] for one in found] for key in found[0]}
        for i, point in enumerate(points):
            beside = f"constructed {panel['repaired'][i]:.3g}, a line for each token {panel['regression'][i]:.3g}"
            ours = f"{panel['trained'][i]:.4g} ± {panel['spread'][i]:.2g}"
            rows.append(Row(f"{axis} sweep: {called(point)}", None, ours, "not stated", m["seeds"], beside))
    m |= {f"constructed slope {axis}": steepness(m["panels"][axis]["sizes"], m["panels"][axis]["repaired"])
          for axis in AXES}  # fmt: skip
    m["constructed slope sup"] = steepness(m["panels"]["p"]["sizes"], m["panels"]["p"]["printed sup"])
    rows.append(Row("predict the mean (p sweep)", None, m["panels"]["p"]["mean"][0]))
    for axis, claim in zip(AXES, CLAIMS, strict=False):
        constructed = f"constructed {m[f'constructed slope {axis}']:.3g}"
        rows.append(Row(f"slope in {axis}", SLOPES[axis], m[f"slope {axis}"], claim.verdict(m), None, constructed))
    return Outcome(m, rows)


def _below(m: Mapping[str, Any], low: str, high: str) -> bool:
    panels = m["panels"].values()
    return all(a < b for panel in panels for a, b in zip(panel[low], panel[high], strict=True))


def _when_trained(text: str, holds: Any) -> Claim:
    return Claim(text, lambda m: None if m["steps"] < ENOUGH else holds(m))


def _trained_slope(axis: str) -> Claim:
    how = {"p": "falls like 1/p", "width": "grows like |b - a|", "heads": "falls like 1/H"}[axis]
    text = f"the trained error {how}: slope {SLOPES[axis]:g} +- 0.3"
    return _when_trained(text, lambda m: abs(m[f"slope {axis}"] - SLOPES[axis]) < 0.3)


CLAIMS = (
    *map(_trained_slope, AXES),
    _when_trained(
        "more tokens make the trained spread over seeds smaller: at the largest p than at the smallest",
        lambda m: m["panels"]["p"]["spread"][-1] < m["panels"]["p"]["spread"][0],
    ),
    _when_trained(
        "the trained networks are better than a line for each token, at every size",
        lambda m: _below(m, "trained", "regression"),
    ),
    Claim("constructed, the sup error has slope -1 in p", lambda m: abs(m["constructed slope sup"] + 1) < 0.05),
    Claim("constructed, the mean square has slope -2 in p, not -1", lambda m: abs(m["constructed slope p"] + 2) < 0.15),
    Claim("the constructed network is below the trained one at every size", lambda m: _below(m, "repaired", "trained")),
)


def picture(m: Mapping[str, Any]) -> Any:
    """Three sweeps."""
    return import_module("headsmith.views.universality").sweeps(m)


STUDY = Study(PRESETS, DRY, lessons, measured, outcome)


def self_check() -> bool:
    """Constructed, the slopes are the known ones; nothing is trained."""
    errors = import_module("headsmith.papers.universality.constructed").truncation_errors
    small, large = (errors(p, 50, 1, [FIRST]) for p in (60, 120))
    sup, square = small["printed sup"] / large["printed sup"], small["repaired"] / large["repaired"]
    return 1.9 < sup < 2.1 and 3.6 < square < 4.4


@experiment(
    f"{PAPER}/figure-2", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Figure 2",
    pictures={"figure-2.png": picture},
)  # fmt: skip
def figure_2(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Three sweeps; trained over seeds, constructed, and two predictors without attention beside them."""
    return STUDY.here(settings, record)
