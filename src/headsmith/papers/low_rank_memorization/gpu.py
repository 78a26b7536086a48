"""Figure 1 on a GPU, in calls that end in time: `python -m headsmith.papers.low_rank_memorization.gpu --minutes 9`.

What a call does is said in `papers/driver.py`. The machine may be offline: --data is a folder with the train.txt that
`conll.py` fetches elsewhere. --dry trains on made-up sentences.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headsmith.lab.train.learners import learn
from headsmith.lab.train.taggers import Tagger
from headsmith.lab.train.training import Fit
from headsmith.papers import driver
from headsmith.papers.low_rank_memorization.conll import conll2003
from headsmith.papers.low_rank_memorization.figure_1 import PAPER, PRESETS, first, last, outcome
from headsmith.papers.low_rank_memorization.synthetic import made_up
from headsmith.papers.low_rank_memorization.tagging import PARTS, Scoring, measure, scorer, taggers

__all__ = ["main"]

DRY = {"epochs": 3, "batch": 4, "width": 4, "hidden": 8, "depths": [1, 2], "controls": [1], "seeds": 2, "notes": 4}


def main(argv: list[str] | None = None) -> int:
    """Train, score and write; or probe; or report."""
    options, settings = _asked(argv)
    out, work = Path(options.out), Path(options.work)
    if options.report:
        return driver.report(Path(options.report), out, lambda _, m, __: outcome(m))
    late = driver.clock(options.minutes)
    data = made_up() if options.dry else first(conll2003(folder=options.data), settings["sentences"])
    every = [(f"{name}, seed {one.seed}", one) for name, seeds in taggers(settings, data).items() for one in seeds]
    if options.probe:
        driver.probe([(name, one) for name, one in every if one.seed == 0], 3 if options.dry else 300)
        return 0
    corpus = every[0][1].corpus
    score, worst = scorer(corpus, data), 2 * math.log(int(corpus.tags.max()) + 1)  # twice that of a blind guess

    def train(tagger: Tagger, until: Callable[[Fit], bool] = lambda _: False) -> tuple[Fit, bool]:
        where, notes = driver.device(), settings["notes"]
        return learn(tagger, work, device=where, precision=options.precision, notes=notes, score=score, until=until)

    def again(tagger: Tagger, _: Scoring) -> Fit:
        return train(tagger)[0]

    result = driver.opening(f"{PAPER}/figure-1", options.preset, settings, options.precision)
    if driver.trained(every, train, late, result["losses"], worst):
        result["measurements"] = measure(settings, data, again) | {"device": result["device"]}
        _print(result["measurements"])
    return driver.end(out / "figure-1.json", result)


def _print(m: dict[str, Any]) -> None:
    for name in m["curves"]:
        shares = ", ".join(f"{part} {last(m, name, part)[0]:.5f}" for part in PARTS)
        print(f"{name:32s} {shares}", flush=True)


def _asked(argv: list[str] | None) -> tuple[argparse.Namespace, dict[str, Any]]:
    """The options, and the settings that they change."""
    parser = driver.options("headsmith.papers.low_rank_memorization.gpu", str(__doc__), PRESETS, PAPER)
    parser.add_argument("--data", type=Path, help="folder with train.txt of the corpus, if not where it is fetched to")
    for name, kind in (("epochs", int), ("rate", float), ("seeds", int)):
        parser.add_argument(f"--{name}", type=kind)
    options = driver.begin(parser, argv)
    given = {key: getattr(options, key) for key in ("epochs", "rate", "seeds")}
    changed = {key: value for key, value in given.items() if value is not None}
    return options, {**PRESETS[options.preset], **(DRY if options.dry else {}), **changed}


if __name__ == "__main__":
    raise SystemExit(main())
