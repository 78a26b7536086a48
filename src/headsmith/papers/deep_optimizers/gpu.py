"""A preset on a GPU, in calls that end in time: `python -m headsmith.papers.deep_optimizers.gpu --minutes 9`.

What a call does is said in `papers/driver.py`; here is what is trained for each figure, and what is asked then.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headsmith.lab.train.learners import Learner
from headsmith.lab.train.training import Fit
from headsmith.papers import driver
from headsmith.papers.deep_optimizers import figure_5, figures_1_2, figures_3_4, measured
from headsmith.papers.deep_optimizers.frame import ATTENTIONS, PAPER
from headsmith.papers.registry import Outcome
from headsmith.records import Record

__all__ = ["main"]

MEASURING = 150.0
"""Seconds that asking everybody may take: with fewer left it is put off to the next call."""
WORST = 2.0
"""Twice the loss of who always answers 0 (E y^2 = 1 in training): two trainings that were lost reached 3 and 8."""
FIGURES: dict[int, tuple[Any, tuple[str, ...]]] = {
    1: (figures_1_2, ("softmax", "relu")), 2: (figures_1_2, ("softmax",)), 3: (figures_3_4, ("relu",)),
    4: (figures_3_4, ("softmax",)), 5: (figure_5, ("softmax", "relu")),
}  # fmt: skip
"""The module of a figure and its attentions, in the order in which they are trained."""
DRY = {
    "steps": 3, "blocks": 1, "heads": 2, "tokens": 8, "width": 8, "features": 3, "batch": 64, "length": 20,
    "positions": 23, "examples": [3, 20, 22], "prompts": 30, "baseline_prompts": 6, "far": [0.0, 0.5],
    "depths": [1, 2],
}  # fmt: skip


def outcome(id: str, m: dict[str, Any], settings: dict[str, Any]) -> Outcome:
    """Rows and measurements of the figure of that id."""
    module, _ = FIGURES[int(id.rpartition("-")[2])]
    made: Outcome = module.outcome(m, settings)
    return made


def main(argv: list[str] | None = None) -> int:
    """Train, ask and write; or probe; or report."""
    options, settings = _asked(argv)
    out, work = Path(options.out), Path(options.work)
    if options.report:
        return driver.report(Path(options.report), out, outcome)
    module, attentions = FIGURES[options.figure]
    attentions = options.attention or attentions
    if options.probe:
        layers = settings["nets"][0]
        driver.probe(
            [(kind, measured.learner(settings, kind, layers)) for kind in attentions], 3 if options.dry else 300
        )
        return 0
    late, cases = driver.clock(options.minutes), module.cases(settings, attentions)
    learners = list({repr(one): one for case in cases for one in case.learners.values()}.values())
    id = f"{PAPER}/figure-{options.figure}"
    result = driver.opening(id, options.preset, settings, options.precision)

    def train(learner: Learner, until: Callable[[Fit], bool]) -> tuple[Fit, bool]:
        [made] = measured.train_all([learner], work, until, options.precision)
        return made

    named = [(measured.called(learner), learner) for learner in learners]
    if driver.trained(named, train, late, result["losses"], WORST) and not late(MEASURING):
        record = Record(work, {"kind": id, "settings": settings, "attentions": list(attentions)})
        result["measurements"] = measured.measure(cases, settings, work, record.once, options.precision)
        _print(result["measurements"])
    return driver.end(out / f"figure-{options.figure}.json", result)


def _print(m: dict[str, Any]) -> None:
    for case, found in m["scores"].items():
        for who, table in found.items():
            within = " ".join("  –  " if v is None else f"{v:.3f}" for v in table["within"])
            pooled = " ".join("  –  " if v is None else f"{v:.3f}" for v in table["pooled"])
            print(f"{case:16s} {who:20s} pooled {pooled}  within {within}", flush=True)


def _asked(argv: list[str] | None) -> tuple[argparse.Namespace, dict[str, Any]]:
    """The options, and the settings that they change."""
    parser = driver.options("headsmith.papers.deep_optimizers.gpu", str(__doc__), figures_1_2.PRESETS, PAPER)
    parser.add_argument("--figure", type=int, default=1, choices=sorted(FIGURES))
    parser.add_argument("--attention", nargs="*", choices=sorted(ATTENTIONS), help="train and ask these alone")
    parser.add_argument("--nets", type=int, nargs="*", help="layers of the targets")
    for name, kind in (("steps", int), ("rate", float), ("curriculum", float), ("batch", int), ("layout", str)):
        parser.add_argument(f"--{name}", type=kind)
    options = driver.begin(parser, argv)
    given = {key: getattr(options, key) for key in ("steps", "rate", "curriculum", "batch", "layout", "nets")}
    changed = {key: value for key, value in given.items() if value is not None}
    module, _ = FIGURES[options.figure]
    dry = {key: value for key, value in DRY.items() if key in module.PRESETS[options.preset]} if options.dry else {}
    return options, {**module.PRESETS[options.preset], **dry, **changed}


if __name__ == "__main__":
    raise SystemExit(main())
