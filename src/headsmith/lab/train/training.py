"""A plain training loop for any module and any sampler: seeded, resumable, with a note taken now and then.

    for step in range(steps):  batch = sample(generator);  loss(model, batch).backward();  Adam

The regression trainer of this folder is hand-made for one model; this is the loop for everything else.  A run
that was interrupted continues from its checkpoint to the same weights, because the optimiser's state and the
random generator are part of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.records import Record, progress
from headsmith.refusal import Refusal

__all__ = ["Fit", "fit", "fit_seeds", "squared_error"]

Sampler = Callable[[torch.Generator], Any]
Loss = Callable[[nn.Module, Any], Tensor]


@dataclass
class Fit:
    """A trained module with its notes: `steps`, mean training `losses` since the last note, and `scores`."""

    model: nn.Module
    seed: int
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)


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
    record: Record | None = None,
    name: str = "fit",
) -> Fit:
    """Train `model` in place with Adam on `steps` batches from `sample(generator)`.

    schedule  "cosine" (to 1 % of the rate) or "constant";  evaluate  a score noted `notes` times beside the
    loss
    record    a folder that keeps the checkpoint `name`, so that the same call continues or is read back

    >>> data = lambda g: (x := torch.rand(64, 1, generator=g), 2 * x)
    >>> fit(nn.Linear(1, 1), data, steps=500, rate=0.1).losses[-1] < 1e-3
    True
    """
    if steps < 1 or rate <= 0 or schedule not in ("cosine", "constant"):
        raise Refusal(
            f"training needs steps >= 1, rate > 0 and a cosine or constant schedule; got {steps}, {rate}, {schedule!r}"
        )
    generator = torch.Generator().manual_seed(seed)
    kept = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.AdamW(kept, lr=rate, weight_decay=weight_decay, foreach=True)
    made = Fit(model, seed)
    start, total = _restore(made, kept, adam, generator, record, name)
    marks = {round(steps * (i + 1) / notes) for i in range(notes)}
    saved, since = time.monotonic(), made.steps[-1] if made.steps else 0
    for step in progress(range(start, steps), f"training ({name})"):
        share = 0.5 * (1 + math.cos(math.pi * step / steps)) if schedule == "cosine" else 1.0
        for group in adam.param_groups:
            group["lr"] = rate * (0.01 + 0.99 * share)
        value = loss(model, sample(generator))
        adam.zero_grad()
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(kept, clip)
        adam.step()
        total += float(value.detach())
        if step + 1 in marks:
            made.steps.append(step + 1)
            made.losses.append(total / (step + 1 - since))
            if evaluate is not None:
                with torch.no_grad():
                    made.scores.append(float(evaluate(model)))
            total, since = 0.0, step + 1
        if record is not None and (step + 1 == steps or time.monotonic() - saved > 10):
            _save(made, kept, adam, generator, record, name, step + 1, total)
            saved = time.monotonic()
    return made


def fit_seeds(
    build: Callable[[], nn.Module],
    sample: Sampler,
    seeds: Sequence[int],
    *,
    name: str = "fit",
    **options: Any,
) -> list[Fit]:
    """`fit` for each seed, which fixes the initial weights (torch.manual_seed) and the stream of batches."""
    fits = []
    for seed in seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = build()
        fits.append(fit(model, sample, seed=seed, name=f"{name}-{seed}", **options))
    return fits


def _save(
    made: Fit,
    kept: list[nn.Parameter],
    adam: torch.optim.Optimizer,
    generator: torch.Generator,
    record: Record,
    name: str,
    step: int,
    total: float,
) -> None:
    tensors = {"step": torch.tensor(step), "total": torch.tensor(total, dtype=torch.float64)}
    tensors["random"] = generator.get_state()
    for i, parameter in enumerate(kept):
        state = adam.state[parameter]
        tensors |= {
            f"{i}.value": parameter,
            f"{i}.mean": state["exp_avg"],
            f"{i}.square": state["exp_avg_sq"],
        }
    for key in ("steps", "losses", "scores"):
        tensors[key] = torch.tensor(getattr(made, key), dtype=torch.float64)
    record.save_tensors(name, tensors)


def _restore(
    made: Fit,
    kept: list[nn.Parameter],
    adam: torch.optim.Optimizer,
    generator: torch.Generator,
    record: Record | None,
    name: str,
) -> tuple[int, float]:
    """Put a checkpoint back, if there is one; the step to continue from and the loss summed since the last
    note.
    """
    if record is None:
        return 0, 0.0
    try:
        tensors = record.load_tensors(name)
    except FileNotFoundError:
        return 0, 0.0
    with torch.no_grad():
        for i, parameter in enumerate(kept):
            parameter.copy_(tensors[f"{i}.value"])
            adam.state[parameter] = {
                "step": tensors["step"].float(),
                "exp_avg": tensors[f"{i}.mean"],
                "exp_avg_sq": tensors[f"{i}.square"],
            }
    generator.set_state(tensors["random"])
    made.steps = [int(s) for s in tensors["steps"].tolist()]
    made.losses, made.scores = tensors["losses"].tolist(), tensors["scores"].tolist()
    return int(tensors["step"]), float(tensors["total"])
