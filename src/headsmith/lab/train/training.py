"""A plain training loop for any module and any sampler: seeded, resumable, with a note taken now and then.

    for step in range(steps):  batch = sample(generator);  loss(model, batch).backward();  Adam

The regression trainer of this folder is hand-made for one model; this is the loop for everything else.  A run
that was interrupted continues from its checkpoint to the same weights, because the optimiser's state and the
random generator are part of it.  Several seeds at once, on samples that stay, are trained in `stacked`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.lab.train.loop import Loop, Loss
from headsmith.lab.train.trainer import check_device
from headsmith.records import Record, progress
from headsmith.refusal import Refusal

__all__ = ["Fit", "Score", "fit", "marks", "run", "squared_error"]

Sampler = Callable[[torch.Generator], Any]
Score = float | list[float]
"""What is noted of a module beside its loss: a number, or several."""

CHUNK = 50
"""Steps on a GPU between two looks at the clock."""


@dataclass
class Fit:
    """A trained module with its notes: `steps`, mean training `losses` since the last note, and `scores`."""

    model: nn.Module
    seed: int
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    scores: list[Any] = field(default_factory=list)


def squared_error(model: nn.Module, batch: Any) -> Tensor:
    """mean (model(input) - target)^2 for a batch (input, target)."""
    return (model(batch[0]) - batch[1]).square().mean()


def fit(
    model: nn.Module,
    sample: Sampler,
    *,
    steps: int,
    rate: float = 1e-3,
    schedule: str = "cosine",
    loss: Loss = squared_error,
    evaluate: Callable[[nn.Module], float] | None = None,
    notes: int = 20,
    seed: int = 0,
    weight_decay: float = 0.0,
    clip: float | None = None,
    device: str = "cpu",
    record: Record | None = None,
    name: str = "fit",
) -> Fit:
    """Train `model` in place with Adam on `steps` batches from `sample(generator)`.

    Batches are drawn on the CPU, the same on every device, and moved to where the model is put.

    schedule  "cosine" (to 1 % of the rate), "constant" or "one-cycle"
    evaluate  a score noted `notes` times beside the loss
    record    a folder that keeps the checkpoint `name`, so that the same call continues or is read back

    >>> data = lambda g: (x := torch.rand(64, 1, generator=g), 2 * x)
    >>> fit(nn.Linear(1, 1), data, steps=500, rate=0.1).losses[-1] < 1e-3
    True
    """
    if steps < 1 or rate <= 0 or schedule not in ("cosine", "constant", "one-cycle"):
        raise Refusal(
            "training needs steps >= 1, rate > 0 and a cosine, constant or one-cycle schedule; "
            f"got {steps}, {rate}, {schedule!r}"
        )
    check_device(device)
    loop = Loop(
        model.to(device), lambda generator, _: _moved(sample(generator), device), loss, steps=steps, rate=rate,
        schedule=schedule, seed=seed, weight_decay=weight_decay, clip=clip,
    )  # fmt: skip
    made = Fit(model, seed)
    score = None if evaluate is None else lambda: float(evaluate(model))
    run(loop, made, marks(steps, notes), score=score, record=record, name=name)
    return made


def marks(steps: int, notes: int) -> list[int]:
    """The steps after which a note is taken: `notes` of them, the last one too.

    >>> marks(100, 4)
    [25, 50, 75, 100]
    """
    return sorted({round(steps * (i + 1) / notes) for i in range(notes)} - {0})


def run(
    loop: Loop,
    made: Fit,
    stops: Sequence[int],
    *,
    score: Callable[[], Score] | None = None,
    record: Record | None = None,
    name: str = "fit",
    every: float = 10.0,
    until: Callable[[Fit], bool] = lambda _: False,
) -> bool:
    """Continue from the checkpoint `name` to the last stop, noting the loss at each, saving `every` so many seconds.

    False if `until` said of the notes so far that it is time to stop before the end: what was reached is saved.
    """
    _restore(made, loop, record, name)
    if loop.step >= stops[-1]:
        return True
    saved, chunk = time.monotonic(), CHUNK if loop.on_gpu else 1
    for step in progress(range(loop.step, stops[-1], chunk), f"training ({name})"):
        target = min(step + chunk, stops[-1])
        while loop.step < target:
            stop = next(s for s in stops if s > loop.step)
            loop.advance(min(target, stop) - loop.step)
            if loop.step == stop:
                _note(made, loop, score)
        late = loop.step < stops[-1] and until(made)
        if record is not None and (late or loop.step == stops[-1] or time.monotonic() - saved > every):
            record.save_tensors(name, loop.state() | _notes(made))
            saved = time.monotonic()
        if late:
            return False
    return True


def _moved(batch: Any, device: str) -> Any:
    """A tensor, or tuples and lists of them, on the device."""
    if isinstance(batch, tuple | list):
        return type(batch)(_moved(part, device) for part in batch)
    return batch.to(device)


def _note(made: Fit, loop: Loop, score: Callable[[], Score] | None) -> None:
    since = made.steps[-1] if made.steps else 0
    made.steps.append(loop.step)
    made.losses.append(float(loop.total) / (loop.step - since))
    if score is not None:
        with torch.no_grad():
            made.scores.append(score())
    loop.total.zero_()


def _notes(made: Fit) -> dict[str, Tensor]:
    return {key: torch.tensor(getattr(made, key), dtype=torch.float64) for key in ("steps", "losses", "scores")}


def _restore(made: Fit, loop: Loop, record: Record | None, name: str) -> None:
    """Put a checkpoint back, if there is one."""
    if record is None:
        return
    try:
        state = record.load_tensors(name)
    except FileNotFoundError:
        return
    loop.restore(state)
    made.steps = [int(s) for s in state["steps"].tolist()]
    made.losses, made.scores = state["losses"].tolist(), state["scores"].tolist()
