"""From settings to numbers: train the transformers, ask them and their controls the same prompts, score everybody.

The measurements are plain numbers: `scores[case][learner][name]` is a list over `examples`, where name is pooled,
within, or one of these with `_error`; `targets[case]` says what was to be learnt. A figure's claims, table and picture
read nothing else, so that they can be made on another machine than the one that trained.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headsmith.lab.read.scores import flat, score
from headsmith.lab.train.learners import QUERIES, Learner, learn
from headsmith.lab.train.networks import ReluNetworks
from headsmith.lab.train.sweep import spread
from headsmith.lab.train.training import Fit
from headsmith.lab.train.transformer import Pairs, Shape
from headsmith.papers.deep_optimizers.controls import Test, closed_form, test_prompts, trained_networks
from headsmith.papers.driver import device, device_name

__all__ = ["Panel", "about", "called", "guesses", "learner", "measure", "scored", "train_all"]

Settings = Mapping[str, Any]
Guesses = dict[str, Tensor]
TEST_SEED = 77
APART = 3.0
"""Answers that are more than so many times larger or smaller than in training are flagged."""


@dataclass(frozen=True)
class Panel:
    """One panel: its name, the task that is asked, and the learners (by name) that answer."""

    name: str
    task: ReluNetworks
    learners: Mapping[str, Learner]


def learner(settings: Settings, attention: str, layers: int, blocks: int | None = None, seed: int = 0) -> Learner:
    """The transformer of these settings for targets of so many layers."""
    made = {key: settings[key] for key in ("layout", "length", "positions", "steps", "rate", "batch", "curriculum")}
    shape = Shape(blocks or settings["blocks"], settings["heads"], settings["tokens"], settings["stretch"], attention)
    return Learner(shape, ReluNetworks(layers, settings["features"], settings["width"]), seed=seed, **made)


def train_all(
    learners: Sequence[Learner],
    out: Path | None,
    until: Callable[[Fit], bool] = lambda _: False,
    precision: str = "tf32",
) -> list[tuple[Fit, bool]]:
    """Every learner trained, continued or read back; on a CPU two and more at once, one process each."""
    where = device()
    if where == "cpu" and out is not None and len(learners) > 1 and (os.cpu_count() or 1) > 1:
        jobs = [{"learner": asdict(one), "out": str(out)} for one in learners]
        for _ in spread(jobs, min(os.cpu_count() or 1, len(jobs)), "headsmith.lab.train.learners"):
            pass
    return [learn(one, out, device=where, until=until, precision=precision) for one in learners]


def measure(
    cases: Sequence[Panel], settings: Settings, out: Path, once: Callable[..., Any], precision: str = "tf32"
) -> dict[str, Any]:
    """The measurements of all cases; `once(name, compute)` keeps what was computed before an interruption."""
    distinct = list({repr(one): one for case in cases for one in case.learners.values()}.values())
    fits = {
        repr(one): fit for one, (fit, _) in zip(distinct, train_all(distinct, out, precision=precision), strict=True)
    }
    scores, targets = {}, {}
    for number, case in enumerate(cases):
        models = {name: fits[repr(one)].model for name, one in case.learners.items()}
        found = once(f"case-{number}", lambda case=case, models=models: _asked(case.task, models, settings))
        scores[case.name], targets[case.name] = found["scores"], found["targets"]
    some = distinct[0]
    training = {called(one): {"steps": fits[repr(one)].steps, "losses": fits[repr(one)].losses} for one in distinct}
    return {
        "examples": list(settings["examples"]), "length": some.length, "layout": some.layout, "steps": some.steps,
        "prompts": settings["prompts"], "cases": [case.name for case in cases], "scores": scores, "targets": targets,
        "training": training, "device": device_name(),
    }  # fmt: skip


def called(learner: Learner) -> str:
    """What a transformer is called where several are trained."""
    return f"{learner.shape.attention}, {learner.shape.blocks} blocks, N = {learner.task.layers}"


def about(test: Test) -> dict[str, Any]:
    """What the targets are: constant (a share), their size (1 in training), how much of Var y lies between prompts.

    Where most are constant, R^2 is 0/0 or that of the mean alone; where they are much larger or smaller than in
    training, a transformer is asked about numbers that it has never seen. Both are flagged.
    """
    constant, size = flat(test.points), float(test.y.square().mean().sqrt())
    inside, every = (test.points - test.means.unsqueeze(-1)).square().mean(), test.points.var()
    between = float(1 - inside / every) if every > 0 else 0.0
    flag = f"answers {size:.2g} times as large as in training" if not 1 / APART <= size <= APART else ""
    if constant > 0.5:
        flag = f"{constant:.0%} of the targets are constant"
    return {"constant": constant, "size": size, "between": between, "flag": flag}


def _asked(task: ReluNetworks, models: Mapping[str, torch.nn.Module], settings: Settings) -> dict[str, Any]:
    """Scores of everybody at every number of examples, on the same prompts; nobody is asked about constants."""
    queries = QUERIES if any(isinstance(model, Pairs) for model in models.values()) else 1
    sizes = list(settings["examples"])
    test = test_prompts(task, settings["prompts"], max(sizes) + queries, TEST_SEED, device())
    targets = about(test)
    if targets["constant"] > 0.5:
        return {"scores": {}, "targets": targets}
    few = Test(*(part[: settings["baseline_prompts"]] for part in test))
    answered = {name: guesses(model.to(device()), test, sizes, queries) for name, model in models.items()}
    table: dict[str, dict[str, list[float | None]]] = {}
    for k in sizes:
        everybody: Guesses = {name: found[k] for name, found in answered.items()} | closed_form(test, k, queries)
        everybody |= trained_networks(few, task, k, queries)
        for name, guess in everybody.items():
            asked = few if name.startswith("trained") else test
            for key, value in scored(guess, asked, k, queries).items():
                table.setdefault(name, {}).setdefault(key, []).append(value)
    return {"scores": table, "targets": targets}


def scored(guess: Tensor, asked: Test, examples: int, queries: int) -> dict[str, float | None]:
    """The score of guesses (P, Q)."""
    return asdict(score(guess, asked.split(examples, queries)[3], asked.means))


@torch.no_grad()
def guesses(
    model: torch.nn.Module, test: Test, sizes: Sequence[int], queries: int, chunk: int = 400
) -> dict[int, Tensor]:
    """Examples -> the guesses (P, Q) of a trained transformer; interleaved, one pass answers for every size."""
    rows = [Test(*parts) for parts in zip(*(part.split(chunk) for part in test), strict=True)]
    if isinstance(model, Pairs):
        asked = {k: [part.split(k, queries) for part in rows] for k in sizes}
        return {k: torch.cat([model(X, y, x) for X, y, x, _ in parts]) for k, parts in asked.items()}
    every = torch.cat([model(part.x, part.y) for part in rows])
    return {k: every[:, k : k + 1] for k in sizes}
