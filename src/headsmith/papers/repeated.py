"""Experiments that train one setting after the other, each for several seeds at once, here or on a GPU.

    lessons(settings) -> {name: Repeated}      measured(settings, fits) -> measurements      outcome(m, settings)

The first two need torch and numpy alone. `outcome` sets beside the trained networks what is constructed, compiled or
solved, and runs where the report is made.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from headsmith.lab.train.learners import learn
from headsmith.lab.train.stacked import Repeated
from headsmith.lab.train.training import Fit
from headsmith.papers import driver
from headsmith.papers.registry import Outcome
from headsmith.records import Record

__all__ = ["Study", "main", "means", "spreads", "steepness"]

SETTING_UP = 60.0
"""Seconds to draw the samples of a training, compile it and capture it: with fewer left it is put off."""
NOTES = 10
"""Scores are taken so many times in a training; measured is what the last one says."""

Settings = Mapping[str, Any]
Fits = Mapping[str, Fit]


@dataclass(frozen=True)
class Study:
    """An experiment taken apart: its presets, tiny sizes for a trial, and the three steps from settings to rows."""

    presets: Mapping[str, Settings]
    dry: Settings
    lessons: Callable[[Settings], dict[str, Repeated]]
    measured: Callable[[Settings, Fits], dict[str, Any]]
    outcome: Callable[[dict[str, Any], Settings], Outcome]

    def here(self, settings: Settings, record: Record) -> Outcome:
        """All of it in one process: train, continue or read back in the folder beside that of the record."""
        out = record.folder.parent / "lab"
        fits = {name: _learn(lesson, out)[0] for name, lesson in self.lessons(settings).items()}
        return self.outcome(self.measured(settings, fits), settings)


def _learn(
    lesson: Repeated, out: Path, precision: str = "float32", until: Callable[[Fit], bool] = lambda _: False
) -> tuple[Fit, bool]:
    where, notes = driver.device(), min(NOTES, lesson.steps)
    return learn(lesson, out, device=where, precision=precision, notes=notes, score=lesson.score, until=until)


def means(scores: Sequence[Sequence[float]]) -> list[float]:
    """The mean over the seeds of each setting.

    >>> means([[1.0, 3.0], [2.0, 2.0]])
    [2.0, 2.0]
    """
    return [statistics.fmean(seeds) for seeds in scores]


def spreads(scores: Sequence[Sequence[float]]) -> list[float]:
    """The standard deviation over the seeds of each setting, as the papers print it.

    >>> spreads([[1.0, 3.0], [2.0, 2.0]])
    [1.0, 0.0]
    """
    return [statistics.pstdev(seeds) for seeds in scores]


def steepness(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """The slope of log error over log size, by least squares.

    >>> round(steepness([1, 2, 4], [1, 1 / 4, 1 / 16]), 9)
    -2.0
    """
    x, y = ([math.log(v) for v in values] for values in (sizes, errors))
    return statistics.linear_regression(x, y).slope


def main(prog: str, text: str, paper: str, studies: Mapping[str, Study], argv: list[str] | None) -> int:
    """The driver of a paper: one study after the other until the minutes are over."""
    options = _asked(prog, text, paper, studies, argv)
    if options.report:
        made = {f"{paper}/{name}": study for name, study in studies.items()}
        show = lambda id, m, settings: made[id].outcome(m, settings)  # noqa: E731
        return driver.report(Path(options.report), Path(options.out), show)
    late = driver.clock(options.minutes)
    for name in options.only or studies:
        study = studies[name]
        settings = {**study.presets[options.preset], **(study.dry if options.dry else {})}
        if options.probe:
            driver.probe(study.lessons(settings).items(), 3 if options.dry else 300)
        elif late(SETTING_UP):
            print(f"{name}: call again", flush=True)
        else:
            _measure(f"{paper}/{name}", study, settings, options, late)
    return 0


def _asked(
    prog: str, text: str, paper: str, studies: Mapping[str, Study], argv: list[str] | None
) -> argparse.Namespace:
    presets = next(iter(studies.values())).presets
    parser = driver.options(prog, text, presets, paper)
    parser.add_argument("--only", nargs="+", choices=sorted(studies), help="these tables or figures alone")
    parser.set_defaults(preset="full", precision="float32")
    return driver.begin(parser, argv)


def _measure(id: str, study: Study, settings: Settings, options: argparse.Namespace, late: driver.Late) -> None:
    """Train what is missing until it is late; measure when all is there.

    A seed that is lost is a result like any other, and no reason to stop those beside it.
    """
    result, fits = driver.opening(id, options.preset, settings, options.precision), {}

    def train(named: tuple[str, Repeated], _: Callable[[Fit], bool]) -> tuple[Fit, bool]:
        fits[named[0]], done = _learn(named[1], Path(options.work), options.precision, lambda _: late())
        return fits[named[0]], done

    lessons = [(f"{id}, {name}", (name, lesson)) for name, lesson in study.lessons(settings).items()]
    begun = takewhile(lambda _: not late(SETTING_UP), lessons)
    if driver.trained(begun, train, late, result["losses"], math.inf) and len(fits) == len(lessons):
        result["measurements"] = study.measured(settings, fits)
    driver.end(Path(options.out) / f"{id.split('/')[1]}.json", result)
