"""`train`: from one line to trained models, their history and their diagnosis.

A run is found again by what was asked: the folder carries the hash of task, recipe and seed, holds a
checkpoint that is replaced whole every few seconds, and is marked done at the end.  Asking again reads it
back; asking after an interruption continues it, to the same last bit as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headsmith.lab.theory.activations import Activation
from headsmith.lab.theory.activations import activation as named_activation
from headsmith.lab.train.models import AttentionModel
from headsmith.lab.train.presets import Recipe
from headsmith.lab.train.presets import recipe as named_recipe
from headsmith.lab.train.reduced import ReducedTrainer
from headsmith.lab.train.tasks import Sampled, Task
from headsmith.lab.train.trainer import Trainer, check_device
from headsmith.records import Record, progress
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.lab.read.diagnose import Diagnosis
    from headsmith.lab.read.report import Report

__all__ = ["Run", "seed_list", "train"]


@dataclass(frozen=True, repr=False)
class Run:
    """Trained replicas: `steps` (S,), `loss` (S, R), `kq` (S, R, H, D, D), `ov` (S, R, H, N, D) and the
    settings.
    """

    task: Task
    heads: int
    activation: Activation
    recipe: Recipe
    preset: str
    seeds: tuple[int, ...]
    steps: Tensor
    loss: Tensor
    kq: Tensor
    ov: Tensor
    folders: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Run({self.heads} head{'s' * (self.heads > 1)}, {self.task.features} features, length {self.task.length}, "
            f"{self.activation.name}, {self.preset}: {int(self.steps[-1])} steps, seeds {list(self.seeds)})"
        )

    def model(self, seed_index: int = 0, step_index: int = -1) -> AttentionModel:
        """The layer of one seed at one noted step (the last unless given)."""
        kq, ov = self.kq[step_index, seed_index], self.ov[step_index, seed_index]
        return AttentionModel.from_products(kq.double(), ov.double(), self.task.features, self.activation)

    @cached_property
    def models(self) -> list[AttentionModel]:
        """The trained layer of every seed."""
        return [self.model(i) for i in range(len(self.seeds))]

    @cached_property
    def diagnoses(self) -> list[Diagnosis]:
        """The diagnosis of every seed."""
        from headsmith.lab.read.diagnose import diagnose

        return [diagnose(model, self.task) for model in self.models]

    def omega(self) -> Tensor:
        """omega over time, (S, R, H)."""
        d = self.task.features
        return self.kq[..., :d, :d].diagonal(dim1=-2, dim2=-1).mean(-1)

    def mu(self) -> Tensor:
        """mu of the first response over time, (S, R, H)."""
        return self.ov[..., 0, self.task.features]

    def report(self) -> Report:
        """The paper's observations O1 to O4 as a checklist with numbers, thresholds and verdicts."""
        from headsmith.lab.read.report import report

        return report(self)


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    """3 -> [0, 1, 2]; a list stays a list."""
    chosen = list(range(seeds)) if isinstance(seeds, int) else [int(s) for s in seeds]
    if not chosen or min(chosen) < 0 or len(set(chosen)) < len(chosen):
        raise Refusal(f"seeds={seeds}: give a positive number of seeds or a list of different ones >= 0")
    return chosen


def train(
    heads: int = 2,
    features: int = 5,
    length: int = 40,
    noise: float = 0.1,
    *,
    preset: str = "quick",
    seeds: int | Sequence[int] = 1,
    task: Task | None = None,
    activation: str | Activation = "exp",
    model: str = "full",
    init: str | None = None,
    steps: int | None = None,
    rate: float | None = None,
    batch: int | None = None,
    schedule: str | None = None,
    device: str = "cpu",
    out: str | Path | None = "out/lab",
) -> Run:
    """Train `heads` heads on in-context regression, one run per seed; `noise` is the variance.

    `task` replaces features, length and noise; `model` is "full" (Q, K, V, O) or "reduced" (omega, mu);
    out=None keeps nothing on disk.

    >>> run = train(heads=2, preset="smoke", steps=20, seeds=3, out=None)      # a taste: smoke has 2000 steps
    >>> len(run.diagnoses)
    3
    """
    task = task or Task(features, length, noise)
    if not isinstance(heads, int) or not 1 <= heads <= 1024:
        raise Refusal(f"heads={heads}: choose between 1 and 1024")
    check_device(device)
    if model not in ("full", "reduced"):
        raise Refusal(f"model={model!r}: choose full (Q, K, V, O) or reduced (omega, mu)")
    kind = named_activation(activation)
    made = named_recipe(preset, init=init, steps=steps, rate=rate, batch=batch, schedule=schedule)
    chosen = seed_list(seeds)
    together = model == "reduced" or not device.startswith("cpu")
    groups = [chosen] if together else [[seed] for seed in chosen]
    settings = {"task": asdict(task), "heads": heads, "activation": kind.name, "recipe": asdict(made)}
    shared = {"kind": "lab", **settings, "model": model, "device": device.split(":")[0]}
    states, folders = [], []
    with _bar(made.steps * len(groups), f"training {heads} heads ({preset})") as tick:
        for group in groups:
            record = None
            if out is not None and not isinstance(task, Sampled):
                record = Record(out, {**shared, "seeds": group})
                folders.append(record.folder)
            cls = ReducedTrainer if model == "reduced" else Trainer
            build = partial(cls, task, [heads] * len(group), group, made, kind, device)
            states.append(_finish(build, record, tick))
    steps_noted = states[0]["history.step"]
    loss, kq, ov = (torch.cat([s[f"history.{name}"] for s in states], 1) for name in ("loss", "kq", "ov"))
    return Run(task, heads, kind, made, preset, tuple(chosen), steps_noted, loss, kq, ov, tuple(folders))


def _finish(build: Callable[[], Trainer], record: Record | None, tick: Callable[[int], None]) -> dict[str, Tensor]:
    """The final state of a trainer: read back if its record is done (on any machine), else run from its checkpoint."""
    if record is not None and record.finished:
        return record.load_tensors("checkpoint")
    trainer = build()
    if record is None:
        trainer.run(watch=tick)
    else:
        with suppress(FileNotFoundError):
            trainer.restore(record.load_tensors("checkpoint"))
        trainer.run(save=lambda: record.save_tensors("checkpoint", trainer.state()), watch=tick)
        record.mark_done()
    return trainer.state()


@contextmanager
def _bar(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """A function to be called with the step of the current group, which moves one bar over all groups."""
    bar = progress(100, label)
    last, done, shown = 0, 0, 0

    def tick(step: int) -> None:
        nonlocal last, done, shown
        done += step - last if step > last else step
        last = step
        while shown < 100 * done // total:
            next(bar, None)
            shown += 1

    try:
        yield tick
    finally:
        if isinstance(bar, Generator):
            bar.close()
