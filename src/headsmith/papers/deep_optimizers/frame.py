"""What the figures of this paper share: sizes, the names of learners, and how a score is read off the measurements.

The paper trains 12 blocks for 500 000 steps on prompts x_1, y_1, .., x_50, y_50, x_51; `full` is that. `good` is the
same with 80 000 steps, `smoke` a small relative that a CPU trains in a minute: prompts of one token per pair
(the format of the theory, Sec 2.1) for targets with 3 inputs and 32 units.

Not stated in the paper and chosen here: targets of 200 units without biases or output activation, scaled to E y^2 = 1;
Adam, one cycle, peak rate 1e-4, as in the code that the paper builds on (with 3e-4 the training of `good` diverged
after 2400 steps, with 1e-3 after 1200), 4e-3 for `smoke`; gradients clipped at 1; MLPs of 4 x 256 units, which agree
with the quoted cost; in the interleaved format a curriculum over the features, as in that code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headsmith.papers.registry import Claim, Row, beyond

PAPER = "deep-optimizers"
ATTENTIONS = {"relu": "ReLU attention", "softmax": "softmax attention"}
VALIDATED, ORACLE = "trained, validated", "trained, oracle"
SEEDS = 1
NEAR = 0.05
"""What "near the trained network" may mean, in pooled R^2."""

SMOKE: dict[str, Any] = {
    "layout": "pairs", "length": 20, "positions": 0, "steps": 1_500, "rate": 4e-3, "batch": 64, "curriculum": 0.0,
    "blocks": 3, "heads": 4, "tokens": 48, "stretch": 4, "features": 3, "width": 32, "nets": [3],
    "far": [0.0, 0.1, 0.3, 0.5], "examples": [3, 5, 10, 15, 20, 25, 30], "prompts": 2_000, "baseline_prompts": 100,
}  # fmt: skip
GOOD: dict[str, Any] = {
    "layout": "interleaved", "length": 50, "positions": 76, "steps": 80_000, "rate": 1e-4, "batch": 64,
    "curriculum": 0.3, "blocks": 12, "heads": 8, "tokens": 256, "stretch": 4, "features": 20, "width": 200, "nets": [3],
    "far": [0.0, 0.1, 0.3, 0.5], "examples": [2, 5, 10, 15, 20, 30, 40, 50, 60, 75], "prompts": 6_400,
    "baseline_prompts": 1_600,
}  # fmt: skip
PRESETS = {"smoke": SMOKE, "good": GOOD, "full": GOOD | {"steps": 500_000, "nets": [3, 4, 6]}}

Measured = Mapping[str, Any]


def value(m: Measured, case: str, who: str, key: str, examples: int) -> tuple[float, float]:
    """A score and its standard error; nan where there is none."""
    found = m["scores"][case][who]
    at = m["examples"].index(examples)
    score, error = found[key][at], found[f"{key}_error"][at]
    return (math.nan, math.nan) if score is None else (score, error)


def trained_enough(m: Measured) -> bool:
    """Below this many steps a transformer is still near its start, or says the context mean."""
    return m["steps"] >= (20_000 if m["layout"] == "interleaved" else 1_000)


def decided(text: str, holds: Callable[[Measured], bool]) -> Claim:
    """A claim about trained transformers, open while they are too short of steps."""
    return Claim(text, lambda m: holds(m) if trained_enough(m) else None)


def learners(m: Measured, case: str) -> list[str]:
    """The transformers among those that were asked."""
    return [who for who in m["scores"][case] if who.split(",")[0] in ATTENTIONS.values()]


def judged(m: Measured) -> list[tuple[str, str]]:
    """(case, transformer) for all cases on which a figure's claims are judged."""
    return [(case, who) for case in m["judged"] for who in learners(m, case)]


def rises(m: Measured) -> bool:
    """Whether pooled R^2 at the trained length is above that at the least number of examples."""
    first, last = m["examples"][0], m["length"]
    return all(
        beyond(value(m, case, who, "pooled", last), value(m, case, who, "pooled", first)) for case, who in judged(m)
    )


def near(control: str) -> Callable[[Measured], bool]:
    """Whether pooled R^2 at the trained length is less than NEAR below that of a control."""

    def holds(m: Measured) -> bool:
        k = m["length"]
        return all(
            value(m, case, who, "pooled", k)[0] > value(m, case, control, "pooled", k)[0] - NEAR
            for case, who in judged(m)
        )

    return holds


def above(control: str, key: str, m: Measured, examples: int) -> bool:
    """Whether a score is above that of a control at so many examples."""
    return all(
        beyond(value(m, case, who, key, examples), value(m, case, control, key, examples)) for case, who in judged(m)
    )


def rows(m: Measured, examples: Sequence[int]) -> list[Row]:
    """Everybody's score, pooled and within prompts; the paper prints curves without numbers."""
    made = []
    for case in m["cases"]:
        found, flag = sorted(m["scores"][case], key=_order), m["targets"][case]["flag"]
        if not found:
            made.append(Row(case, None, f"not asked: {flag}"))
        for k in examples:
            made += [
                Row(f"{case}, {k} examples: {who}", None, _shown(m, case, who, k), "not stated", _seeds(who))
                for who in found
            ]
    return made


def _order(who: str) -> tuple[bool, str, list[int], str]:
    """Transformers first, by kind and depth."""
    kind = who.split(",")[0]
    return kind not in ATTENTIONS.values(), kind, [int(word) for word in who.split() if word.isdigit()], who


def _seeds(who: str) -> int | None:
    return SEEDS if who.split(",")[0] in ATTENTIONS.values() else None


def _shown(m: Measured, case: str, who: str, examples: int) -> str:
    (pooled, a), (within, b) = (value(m, case, who, key, examples) for key in ("pooled", "within"))
    flag = m["targets"][case]["flag"]
    return f"{pooled:.3f} ± {a:.3f}, within prompts {within:.3f} ± {b:.3f}" + (f" (flagged: {flag})" if flag else "")
