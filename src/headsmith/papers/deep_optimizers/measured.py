"""From settings to numbers: train the transformers, ask them and their controls the same prompts, score everybody.

The measurements are plain numbers: `scores[task][learner][name]` is a list over `examples`, where name is pooled,
within, or one of these with `_error`. A figure's claims, table and picture read nothing else, so that they can be made
on another machine than the one that trained.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headsmith.lab.read.scores import Score, flat, score
from headsmith.lab.train.learners import QUERIES, Learner, learn
from headsmith.lab.train.networks import ReluNetworks
from headsmith.lab.train.sweep import spread
from headsmith.lab.train.training import Fit
from headsmith.lab.train.transformer import Pairs, Shape
from headsmith.papers.deep_optimizers.controls import Test, closed_form, test_prompts, trained_networks

__all__ = ["Panel", "device", "guesses", "learner", "measure", "scored", "train_all"]

Settings = Mapping[str, Any]
Guesses = dict[str, Tensor]
TEST_SEED = 77


@dataclass(frozen=True)
class Panel:
    """One panel: its name, the task that is asked, and the learners (by name) that answer."""

    name: str
    task: ReluNetworks
    learners: Mapping[str, Learner]


def device() -> str:
    """The CPU, or the device that the environment variable HEADSMITH_DEVICE names."""
    return os.environ.get("HEADSMITH_DEVICE", "cpu")


def learner(settings: Settings, attention: str, layers: int, blocks: int | None = None, seed: int = 0) -> Learner:
    """The transformer of these settings for targets of so many layers."""
    made = {key: settings[key] for key in ("layout", "length", "positions", "steps", "rate", "batch", "curriculum")}
    shape = Shape(blocks or settings["blocks"], settings["heads"], settings["tokens"], settings["stretch"], attention)
    return Learner(shape, ReluNetworks(layers, settings["features"], settings["width"]), seed=seed, **made)


def train_all(
    learners: Sequence[Learner], out: Path | None, until: Callable[[], bool] = lambda: False, precision: str = "tf32"
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
    scores, empty = {}, {}
    for number, case in enumerate(cases):
        models = {name: fits[repr(one)].model for name, one in case.learners.items()}
        found = once(f"case-{number}", lambda case=case, models=models: _asked(case.task, models, settings))
        scores[case.name], empty[case.name] = found["scores"], found["flat"]
    some = distinct[0]
    training = {
        f"{one.shape.attention}, {one.shape.blocks} blocks, N = {one.task.layers}": {
            "steps": fits[repr(one)].steps, "losses": fits[repr(one)].losses,
        }
        for one in distinct
    }  # fmt: skip
    return {
        "examples": list(settings["examples"]), "length": some.length, "layout": some.layout, "steps": some.steps,
        "prompts": settings["prompts"], "scores": scores, "flat": empty, "training": training, "device": device_name(),
    }  # fmt: skip


def device_name() -> str:
    """The name of the GPU that is used, or CPU."""
    return torch.cuda.get_device_name() if device().startswith("cuda") else "CPU"


def _asked(task: ReluNetworks, models: Mapping[str, torch.nn.Module], settings: Settings) -> dict[str, Any]:
    """Scores of everybody at every number of examples, on the same prompts."""
    pairs = any(isinstance(model, Pairs) for model in models.values())
    queries = QUERIES if pairs else 1
    sizes = list(settings["examples"])
    test = test_prompts(task, settings["prompts"], max(sizes) + queries, TEST_SEED, device())
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
    return {"scores": table, "flat": flat(test.points)}


def scored(guess: Tensor, asked: Test, examples: int, queries: int) -> dict[str, float | None]:
    """The score of guesses (P, Q); none where most functions are constant: there R^2 is 0/0 or the mean's alone."""
    if flat(asked.points) > 0.5:
        return asdict(Score(None, None, None, None))
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
