"""Truncated linear models with constructed weights: what Thm 3.4 and Thm 3.9 claim of the sup error, measured.

Thm 3.4 errs like |b - a|/p, and does so exactly, since b is no anchor. Thm 3.9 claims |b - a|/((n - 2) H) and loses the
truncation altogether: outside [a, b] its outermost sentinels return 0. With a and b in them the slopes come out, and
heads that telescope need an eighth of the anchors for the same error.

(softmax-universality Thm 3.4, Thm 3.9.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headsmith.constructions import clip as rules
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.repeated import steepness
from headsmith.papers.universality.staircases import printed_rule, repaired_sentinels
from headsmith.proof.statement import Head
from headsmith.records import Record
from headsmith.views.universality import truncation

PAPER = "softmax-universality"
LOW, HIGH, SHARP = -1.0, 2.0, 40.0

PRESETS = {
    "smoke": {
        "points": 8001,
        "p": [8, 16, 32, 64],
        "width": [1, 2, 4, 8],
        "heads": [4, 8, 16, 32],
        "tokens": [6, 10, 18],
    },
    "full": {
        "points": 100_001,
        "p": [8, 16, 32, 64, 128, 256],
        "width": [1, 2, 4, 8, 16],
        "heads": [2, 4, 8, 16, 32, 64],
        "tokens": [6, 10, 18, 34, 66],
    },
}


def sup(heads: list[Head], low: float, high: float, points: int) -> float:
    """max |heads - Range| on a grid that reaches beyond both ends."""
    z = np.linspace(low - 1, high + 1, points)
    return float(np.abs(sum(head(z) for head in heads) - np.clip(z, low, high)).max())


def _is(name: str, value: float, within: float) -> Any:
    return lambda m: abs(m[name] - value) < within


CLAIMS = (
    Claim("Thm 3.4: the error falls like 1/p (slope -1 +- 0.02)", _is("slope p", -1, 0.02)),
    Claim("Thm 3.4: it grows like |b - a| (slope 1 +- 0.02)", _is("slope width", 1, 0.02)),
    Claim("Thm 3.9 as printed: the error is at most (b - a)/((n - 2) H)", lambda m: m["printed within bound"]),
    Claim("Thm 3.9 repaired: it falls like 1/H (slope -1 +- 0.02)", _is("slope heads", -1, 0.02)),
    Claim("Thm 3.9 repaired: it falls like 1/(n - 2) (slope -1 +- 0.02)", _is("slope tokens", -1, 0.02)),
    Claim(
        "telescoping heads err by 0.0615 of a step, whatever n and H are",
        lambda m: all(abs(v - 0.0615) < 1.5e-3 for v in m["steps"]),
    ),
)


def self_check() -> bool:
    """Thm 3.9 as printed is refuted; every other claim holds."""
    measured = measure(PRESETS["smoke"])
    return all(claim.verdict(measured) == ("fails" if claim is CLAIMS[2] else "holds") for claim in CLAIMS)


def measure(settings: Mapping[str, Any]) -> dict[str, Any]:
    n, points = 6, settings["points"]
    sweeps = {
        "p": [sup([printed_rule(-1, 1, p)], -1, 1, points) for p in settings["p"]],
        "width": [sup([printed_rule(-w / 2, w / 2, 16)], -w / 2, w / 2, points) for w in settings["width"]],
        "printed": [sup(rules.sentinels(LOW, HIGH, n, H, 1e-3), LOW, HIGH, points) for H in settings["heads"]],
        "heads": [sup(repaired_sentinels(LOW, HIGH, n, H, 1e-3, SHARP), LOW, HIGH, points) for H in settings["heads"]],
        "tokens": [
            sup(repaired_sentinels(LOW, HIGH, k, 8, 1e-3, SHARP), LOW, HIGH, points) for k in settings["tokens"]
        ],
        "telescoping": [sup(rules.telescope(LOW, HIGH, n, H), LOW, HIGH, points) for H in settings["heads"]],
    }
    bounds = [(HIGH - LOW) / ((n - 2) * H) for H in settings["heads"]]
    z = np.linspace(LOW - 1, HIGH + 1, 601)
    curves = {
        "printed": sum(h(z) for h in rules.sentinels(LOW, HIGH, n, 4, 1e-3)),
        "repaired sentinels": sum(h(z) for h in repaired_sentinels(LOW, HIGH, n, 4, 1e-3, SHARP)),
        "telescoping": sum(h(z) for h in rules.telescope(LOW, HIGH, n, 4)),
    }
    return {
        "sizes": {key: list(settings[key]) for key in ("p", "width", "heads", "tokens")},
        "sweeps": sweeps,
        "bounds": bounds,
        "steps": [
            e * (n - 1) * H / (HIGH - LOW) for e, H in zip(sweeps["telescoping"], settings["heads"], strict=True)
        ],
        "printed within bound": all(e <= b for e, b in zip(sweeps["printed"], bounds, strict=True)),
        "slope p": steepness(settings["p"], sweeps["p"]),
        "slope width": steepness(settings["width"], sweeps["width"]),
        "slope heads": steepness(settings["heads"], sweeps["heads"]),
        "slope tokens": steepness([k - 2 for k in settings["tokens"]], sweeps["tokens"]),
        "z": z.tolist(),
        "exact": np.clip(z, LOW, HIGH).tolist(),
        "curves": {name: np.asarray(curve).tolist() for name, curve in curves.items()},
    }


@experiment(
    f"{PAPER}/truncation",
    CLAIMS,
    presets=PRESETS,
    self_check=self_check,
    source=PAPER,
    where="Thm 3.4, Thm 3.9",
    pictures={"truncation.png": truncation},
)
def run_truncation(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Slopes of the sup error, the printed heads beside their repair, and the number of heads for eps = 1e-3."""
    m = measure(settings)
    rows = [
        Row("Thm 3.4: slope in p", -1, m["slope p"], CLAIMS[0].verdict(m)),
        Row("Thm 3.4: slope in |b - a|", 1, m["slope width"], CLAIMS[1].verdict(m)),
        Row(
            f"Thm 3.9 as printed, H = {settings['heads'][-1]}",
            m["bounds"][-1],
            m["sweeps"]["printed"][-1],
            CLAIMS[2].verdict(m),
        ),
        Row(f"Thm 3.9 repaired, H = {settings['heads'][-1]}", m["bounds"][-1], m["sweeps"]["heads"][-1], "holds"),
        Row("Thm 3.9 repaired: slope in H", -1, m["slope heads"], CLAIMS[3].verdict(m)),
        Row("Thm 3.9 repaired: slope in n - 2", -1, m["slope tokens"], CLAIMS[4].verdict(m)),
        Row(
            "heads for 1e-3, n = 10, range 3: printed size and ours",
            rules.sentinel_size(LOW, HIGH, 10, 1e-3),
            rules.telescope_size(LOW, HIGH, 10, 1e-3),
        ),
    ]
    return Outcome(m, rows)
