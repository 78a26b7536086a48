"""Figure 5: R^2 against the number of blocks of the transformer, for both attentions at 15, 30 and 45 examples.

The paper trains transformers of 4, 6, 8 and 10 blocks and says that deeper is better. It does not say of how many
layers the target networks are; here N = 3. The trained networks and the closed forms that stand beside the curves do
not depend on the number of blocks. (deep-optimizers Figure 5.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from headsmith.lab.train.networks import ReluNetworks
from headsmith.papers.deep_optimizers import frame, measured
from headsmith.papers.deep_optimizers.frame import ATTENTIONS, PAPER, Measured, decided, rows, value
from headsmith.papers.deep_optimizers.known import linear_scores, trains
from headsmith.papers.deep_optimizers.measured import Panel
from headsmith.papers.registry import Outcome, beyond, experiment
from headsmith.records import Record

SMOKE = frame.PRESETS["smoke"] | {"depths": [1, 2, 3, 4], "examples": [6, 12, 18]}
LARGE = {"nets": [3], "depths": [4, 6, 8, 10], "examples": [15, 30, 45]}
PRESETS = {"smoke": SMOKE} | {name: frame.PRESETS[name] | LARGE for name in ("good", "full")}


def panel(layers: int) -> str:
    """The name of the only case."""
    return f"N = {layers}"


def who(kind: str, blocks: int) -> str:
    """The name of a transformer.

    >>> who("relu", 4)
    'ReLU attention, 4 blocks'
    """
    return f"{ATTENTIONS[kind]}, {blocks} block{'s' * (blocks > 1)}"


def cases(settings: Mapping[str, Any], attentions: Sequence[str]) -> list[Panel]:
    """Transformers of every depth, on the same prompts."""
    [layers] = settings["nets"]
    asked = {
        who(kind, blocks): measured.learner(settings, kind, layers, blocks)
        for kind in attentions
        for blocks in settings["depths"]
    }
    return [Panel(panel(layers), ReluNetworks(layers, settings["features"], settings["width"]), asked)]


def _score(m: Measured, kind: str, blocks: int, key: str, examples: int) -> tuple[float, float]:
    return value(m, m["judged"][0], who(kind, blocks), key, examples)


def _deeper(m: Measured, key: str) -> bool:
    """No depth is worse than the one before it, beyond two standard errors, and the last is better than the first."""
    curves = [
        [_score(m, kind, blocks, key, k) for blocks in m["depths"]] for kind in m["attentions"] for k in m["examples"]
    ]
    return all(beyond(c[-1], c[0]) and not any(beyond(a, b) for a, b in pairwise(c)) for c in curves)


def _rises(m: Measured) -> bool:
    return all(
        beyond(_score(m, kind, blocks, "pooled", b), _score(m, kind, blocks, "pooled", a))
        for kind in m["attentions"]
        for blocks in m["depths"]
        for a, b in [(m["examples"][0], m["examples"][-1])]
    )


def _above(control: str, m: Measured) -> bool:
    """The deepest transformers within prompts, at the largest number of examples."""
    k, deepest = m["examples"][-1], m["depths"][-1]
    other = value(m, m["judged"][0], control, "within", k)
    return all(beyond(_score(m, kind, deepest, "within", k), other) for kind in m["attentions"])


CLAIMS = (
    decided("deeper is better: pooled R^2 rises with the number of blocks", lambda m: _deeper(m, "pooled")),
    decided("within prompts too R^2 rises with the number of blocks", lambda m: _deeper(m, "within")),
    decided("at every depth R^2 rises with the number of examples", _rises),
    decided("within prompts the deepest knows more than the mean of its context", lambda m: _above("context mean", m)),
    decided("within prompts the deepest is above ridge", lambda m: _above("ridge", m)),
)


def run(settings: Mapping[str, Any], record: Record, attentions: Sequence[str]) -> Outcome:
    """Train, ask, score."""
    m = measured.measure(cases(settings, attentions), settings, record.folder.parent / "lab", record.once)
    return outcome(m, settings)


def outcome(m: dict[str, Any], settings: Mapping[str, Any]) -> Outcome:
    """The measurements with what the claims need beside them."""
    [layers] = settings["nets"]
    m |= {"depths": list(settings["depths"]), "judged": [panel(layers)]}
    m["attentions"] = [kind for kind in ATTENTIONS if who(kind, m["depths"][0]) in m["scores"][panel(layers)]]
    return Outcome(m, rows(m, m["examples"]))


def self_check() -> bool:
    """Known answers: of two depths, ridge and the context mean on linear targets, the first must be the deeper one."""
    m: dict[str, Any] = {"layout": "pairs", "length": 20, "steps": 10**6, "examples": [3, 20], "depths": [1, 2]}
    m |= {"judged": [panel(1)], "attentions": ["relu"]}
    right, nothing = linear_scores(m["examples"])
    controls = {"ridge": nothing, "context mean": nothing}
    verdicts = []
    for shallow, deep in ((nothing, right), (right, nothing)):
        scores = {panel(1): {who("relu", 1): shallow, who("relu", 2): deep, **controls}}
        verdicts.append([claim.verdict(m | {"scores": scores}) for claim in CLAIMS])
    up, down = verdicts
    return trains() and {*up[:2], *up[3:]} == {"holds"} and {*down[:2], *down[3:]} == {"fails"}


def picture(m: Measured) -> Any:
    """R^2 over depth, one column for each number of examples."""
    return import_module("headsmith.views.deep_optimizers").depths(m)


@experiment(
    f"{PAPER}/figure-5", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Figure 5",
    pictures={"figure-5.png": picture},
)  # fmt: skip
def figure_5(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Both attentions."""
    return run(settings, record, ("relu", "softmax"))
