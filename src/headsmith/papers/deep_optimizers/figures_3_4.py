"""Figures 3 and 4: R^2 against the number of examples, for target networks whose parameters are drawn elsewhere.

Targets are ReLU networks of N = 4 layers with entries of N(m, 1), inputs come from N(-2, I); training has m = 0.
Figure 3 is about ReLU attention, figure 4 about softmax attention. The paper prints m = -0.5 and 0.5. At its width of
200 the first gives y = 0 for every x, the second answers an order of magnitude above all that was trained on; both are
kept as cases of their own, flagged, and no claim about transformers rests on them. What is judged is m = -0.5 / sqrt(K)
and 0.5 / sqrt(K): a shift that a network of K units still lets through.
(deep-optimizers Figure 3, Figure 4.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from headsmith.lab.train.networks import ReluNetworks
from headsmith.papers.deep_optimizers import frame, measured
from headsmith.papers.deep_optimizers.frame import (
    ATTENTIONS,
    NEAR,
    ORACLE,
    PAPER,
    VALIDATED,
    Measured,
    above,
    decided,
    near,
    rises,
    rows,
)
from headsmith.papers.deep_optimizers.known import linear_scores, trains
from headsmith.papers.deep_optimizers.measured import Panel
from headsmith.papers.registry import Claim, Outcome, experiment
from headsmith.records import Record

SHIFTS = {"nets": [4], "shifts": [0.0, -0.5, 0.5], "literal": [-0.5, 0.5]}
PRESETS = {name: settings | SHIFTS for name, settings in frame.PRESETS.items()}
ASKED = 20
"""The number of examples at which transformers are compared with ridge."""


def panel(shift: float, literal: bool = False) -> str:
    """The name of a case.

    >>> panel(-0.5), panel(0.5, literal=True)
    ('N(-0.5/√K, I)', 'N(0.5, I) as printed')
    """
    if literal:
        return f"N({shift:g}, I) as printed"
    return f"N({shift:g}/√K, I)" if shift else "N(0, I)"


def cases(settings: Mapping[str, Any], attentions: Sequence[str]) -> list[Panel]:
    """Every shift in units of 1 / sqrt(K), then the printed ones, asked of transformers trained without any."""
    [layers] = settings["nets"]
    asked = {ATTENTIONS[kind]: measured.learner(settings, kind, layers) for kind in attentions}
    shifts = [(m, False) for m in settings["shifts"]] + [(m, True) for m in settings["literal"]]
    features, width = settings["features"], settings["width"]
    return [
        Panel(panel(m, literal), ReluNetworks(layers, features, width, shift=m, literal=literal), asked)
        for m, literal in shifts
    ]


def _usable(m: Measured) -> bool:
    return not any(m["targets"][panel(shift, literal=True)]["flag"] for shift in m["literal"])


CLAIMS = (
    decided("R^2 rises with the number of examples, whatever the parameters", rises),
    decided(
        f"for all three distributions R^2 is less than {NEAR} below the trained network at its best epoch on the query "
        "(an oracle)",
        near(ORACLE),
    ),
    decided(
        f"for all three distributions R^2 is less than {NEAR} below the trained network with an honest stop",
        near(VALIDATED),
    ),
    decided(
        "for all three distributions the transformer knows more than the mean of its context",
        lambda m: above("context mean", "pooled", m, m["length"]),
    ),
    decided(
        f"for all three distributions it is above ridge within prompts at {ASKED} examples",
        lambda m: above("ridge", "within", m, ASKED),
    ),
    Claim("N(-0.5, I) and N(0.5, I) as printed give targets that depend on x and are as large as in training", _usable),
)


def run(settings: Mapping[str, Any], record: Record, attentions: Sequence[str]) -> Outcome:
    """Train, ask, score."""
    m = measured.measure(cases(settings, attentions), settings, record.folder.parent / "lab", record.once)
    return outcome(m, settings)


def outcome(m: dict[str, Any], settings: Mapping[str, Any]) -> Outcome:
    """The measurements with what the claims need beside them."""
    m |= {"literal": list(settings["literal"]), "judged": [panel(shift) for shift in settings["shifts"]]}
    return Outcome(m, rows(m, list(dict.fromkeys([ASKED, m["length"], m["examples"][-1]]))))


def self_check() -> bool:
    """Known answers: a transformer that fails at one shift fails the claims, and the printed targets are constant."""
    m: dict[str, Any] = {"layout": "pairs", "length": ASKED, "steps": 10**6, "examples": [3, ASKED], "literal": [-0.5]}
    m["judged"] = [panel(0.0), panel(0.5)]
    right, nothing = linear_scores(m["examples"])
    controls = {"ridge": nothing, "context mean": nothing, ORACLE: right, VALIDATED: right}
    good = {case: {ATTENTIONS["relu"]: right, **controls} for case in m["judged"]}
    bad = good | {panel(0.5): {ATTENTIONS["relu"]: nothing, **controls}}
    # twenty prompts of the printed size say what the targets are: scaled, then literal
    looked = [
        measured.about(measured.test_prompts(ReluNetworks(4, 20, 200, shift=-0.5, literal=literal), 20, 1, 0, "cpu"))
        for literal in (False, True)
    ]
    verdicts = [
        [claim.verdict(m | {"scores": scores, "targets": {panel(-0.5, literal=True): seen}}) for claim in CLAIMS]
        for scores, seen in ((good, looked[0]), (bad, looked[1]))
    ]
    return trains() and set(verdicts[0]) == {"holds"} and set(verdicts[1][1:]) == {"fails"}


def _register(number: int, kind: str) -> Any:
    def figure(settings: Mapping[str, Any], record: Record) -> Outcome:
        return run(settings, record, (kind,))

    def picture(m: Measured) -> Any:
        return import_module("headsmith.views.deep_optimizers").curves(m)

    return experiment(
        f"{PAPER}/figure-{number}", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER,
        where=f"Figure {number}", pictures={f"figure-{number}.png": picture},
    )(figure)  # fmt: skip


figure_3 = _register(3, "relu")
figure_4 = _register(4, "softmax")
