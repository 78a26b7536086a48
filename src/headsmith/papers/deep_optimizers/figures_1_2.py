"""Figures 1 and 2: R^2 against the number of examples in the prompt, for inputs that move away from those of training.

Targets are ReLU networks of N = 3, 4, 6 layers, inputs come from w1 N(-2, I) + w2 N(2, I); training has w2 = 0.
Figure 1 is about ReLU attention, figure 2 about softmax attention; figure 1 is run for both.
(deep-optimizers Figure 1, Figure 2.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from headsmith.lab.train.networks import ReluNetworks
from headsmith.papers.deep_optimizers import measured
from headsmith.papers.deep_optimizers.frame import (
    ATTENTIONS,
    NEAR,
    ORACLE,
    PAPER,
    PRESETS,
    VALIDATED,
    Measured,
    above,
    beyond,
    decided,
    judged,
    learners,
    near,
    rises,
    rows,
    value,
)
from headsmith.papers.deep_optimizers.known import linear_scores, trains
from headsmith.papers.deep_optimizers.measured import Panel
from headsmith.papers.registry import Claim, Outcome, experiment
from headsmith.records import Record

ASKED = 20
"""The number of examples at which transformers are compared with ridge."""


def panel(layers: int, far: float) -> str:
    """The name of a case."""
    return f"N = {layers}, w2 = {far:g}"


def cases(settings: Mapping[str, Any], attentions: Sequence[str]) -> list[Panel]:
    """Every depth of the target with every mixture."""
    found = []
    for layers in settings["nets"]:
        asked = {ATTENTIONS[kind]: measured.learner(settings, kind, layers) for kind in attentions}
        for far in settings["far"]:
            task = ReluNetworks(layers, settings["features"], settings["width"], far)
            found.append(Panel(panel(layers, far), task, asked))
    return found


def _falls(m: Measured) -> bool:
    """No mixture is better than the one before it, beyond two standard errors, and the last is worse than the first."""

    def curve(n: int, who: str) -> list[tuple[float, float]]:
        return [value(m, panel(n, far), who, "pooled", m["length"]) for far in m["far"]]

    curves = [curve(n, who) for n in m["nets"] for who in learners(m, panel(n, 0.0))]
    return all(beyond(c[0], c[-1]) and not any(beyond(b, a) for a, b in pairwise(c)) for c in curves)


def _forgets(m: Measured) -> bool | None:
    """Without positions there is nothing that training did not reach."""
    if m["layout"] != "interleaved":
        return None
    last = m["examples"][-1]
    return all(
        beyond(value(m, case, who, "pooled", m["length"]), value(m, case, who, "pooled", last))
        for case, who in judged(m)
        if who == ATTENTIONS["softmax"]
    )


CLAIMS = (
    decided("R^2 rises with the number of examples", rises),
    decided(
        f"without shift R^2 is less than {NEAR} below the trained network at its best epoch on the query (an oracle)",
        near(ORACLE),
    ),
    decided(f"without shift R^2 is less than {NEAR} below the trained network with an honest stop", near(VALIDATED)),
    decided("R^2 falls as w2 grows", _falls),
    decided(
        "the transformer knows more than the mean of its context",
        lambda m: above("context mean", "pooled", m, m["length"]),
    ),
    decided(f"within prompts it is above ridge at {ASKED} examples", lambda m: above("ridge", "within", m, ASKED)),
)  # fmt: skip
DECAY = Claim("softmax attention gets worse beyond the trained length, where positions are new", _forgets)


def run(settings: Mapping[str, Any], record: Record, attentions: Sequence[str]) -> Outcome:
    """Train, ask, score."""
    m = measured.measure(cases(settings, attentions), settings, record.folder.parent / "lab", record.once)
    return outcome(m, settings)


def outcome(m: dict[str, Any], settings: Mapping[str, Any]) -> Outcome:
    """The measurements with what the claims need beside them."""
    m |= {"nets": list(settings["nets"]), "far": list(settings["far"])}
    m["judged"] = [panel(layers, 0.0) for layers in m["nets"]]
    return Outcome(m, rows(m, list(dict.fromkeys([ASKED, m["length"], m["examples"][-1]]))))


def self_check() -> bool:
    """Known answers: ridge solves linear targets, the context mean does not, and the claims tell them apart."""
    near, far = panel(1, 0.0), panel(1, 0.5)
    m: dict[str, Any] = {"layout": "pairs", "length": ASKED, "steps": 10**6, "examples": [3, ASKED]}
    m |= {"nets": [1], "far": [0.0, 0.5], "judged": [near]}
    right, nothing = linear_scores(m["examples"])
    controls = {"ridge": nothing, "context mean": nothing, ORACLE: right, VALIDATED: nothing}
    relu, softmax = ATTENTIONS.values()
    # of the second mixture the transformers know nothing
    alone = {near: {relu: right, **controls}, far: {relu: nothing, **controls}}
    both = {name: {**table, softmax: nothing} for name, table in alone.items()}
    verdicts, mixed = ([claim.verdict(m | {"scores": scores}) for claim in CLAIMS] for scores in (alone, both))
    return trains() and set(verdicts) == {"holds"} and mixed[1:] == ["fails", "holds", "fails", "fails", "fails"]


def _register(number: int, attentions: Sequence[str], claims: Sequence[Claim]) -> Any:
    def figure(settings: Mapping[str, Any], record: Record) -> Outcome:
        return run(settings, record, attentions)

    def picture(m: Measured) -> Any:
        return import_module("headsmith.views.deep_optimizers").curves(m)

    return experiment(
        f"{PAPER}/figure-{number}", claims, presets=PRESETS, self_check=self_check, source=PAPER,
        where=f"Figure {number}", pictures={f"figure-{number}.png": picture},
    )(figure)  # fmt: skip


figure_1 = _register(1, ("relu", "softmax"), CLAIMS)
figure_2 = _register(2, ("softmax",), (*CLAIMS, DECAY))
