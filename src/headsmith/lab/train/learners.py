"""Transformers that learn in context: what to train, on which random functions, and the run that is found again.

    loss = mean (guess - y)^2   over all positions (interleaved) or over the queries (pairs)

A `Learner` says everything that decides the weights, so its hash names the folder in which they lie. Asking again reads
them back; asking after an interruption continues the run, on a CPU to the same last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from headsmith.lab.train.loop import Draw, Loop
from headsmith.lab.train.networks import CENTRE, ReluNetworks, answers
from headsmith.lab.train.sweep import serve
from headsmith.lab.train.trainer import keep_pages
from headsmith.lab.train.training import Fit, Score, marks, run
from headsmith.lab.train.transformer import Interleaved, Pairs, Shape
from headsmith.records import Record
from headsmith.refusal import Refusal

__all__ = ["Learner", "Lesson", "learn", "loop_of"]

QUERIES = 8
"""Queries of one prompt of pairs; they share its examples and do not see each other."""
SHORTEST = 2


class Lesson(Protocol):
    """What `learn` trains, and all that decides its weights: `settings` names the folder, the loop gets the numbers."""

    @property
    def steps(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def schedule(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def clip(self) -> float | None: ...
    @property
    def compiled(self) -> bool: ...
    def settings(self) -> dict[str, Any]: ...
    def build(self) -> nn.Module: ...
    def draw(self, device: str) -> Draw: ...
    def loss(self, model: nn.Module, batch: Any) -> Tensor: ...


@dataclass(frozen=True)
class Learner:
    """A transformer, the functions it sees, how its prompts are written, and how long it trains.

    layout      "interleaved" (x_1, y_1, ..; positions) or "pairs" (one token per example; none)
    length      examples in a prompt; of pairs, the largest number, drawn anew for every prompt from 2 on
    positions   interleaved: how many examples there are positions for, trained or not
    curriculum  this part of the steps begins with a quarter of the features, the others 0, and ends with all
                (Garg et al. 2022, on whose code the paper's is built, do likewise)
    """

    schedule: ClassVar[str] = "one-cycle"
    clip: ClassVar[float | None] = 1.0
    compiled: ClassVar[bool] = True
    shape: Shape = field(default_factory=Shape)
    task: ReluNetworks = field(default_factory=ReluNetworks)
    layout: str = "interleaved"
    length: int = 50
    positions: int = 76
    steps: int = 100_000
    rate: float = 1e-4
    batch: int = 64
    curriculum: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.layout not in ("interleaved", "pairs"):
            raise Refusal(f"layout={self.layout!r}: choose interleaved or pairs")
        if min(self.steps, self.batch) < 1 or not self.rate > 0 or self.length < SHORTEST:
            raise Refusal(
                f"training needs steps >= 1, batch >= 1, rate > 0 and at least {SHORTEST} examples; got "
                f"{self.steps}, {self.batch}, {self.rate} and {self.length}"
            )
        if self.layout == "interleaved" and self.positions < self.length + 1:
            raise Refusal(f"positions={self.positions} is too few for {self.length} examples and a query")

    def settings(self) -> dict[str, Any]:
        """What names the folder of its run."""
        return {"kind": "transformer", **asdict(self)}

    def build(self) -> Interleaved | Pairs:
        """The module before training; its weights depend on the seed alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            if self.layout == "pairs":
                return Pairs(self.shape, self.task.features, -CENTRE)
            return Interleaved(self.shape, self.task.features, self.positions, -CENTRE)

    def draw(self, device: str) -> Callable[[torch.Generator, Tensor], tuple[Tensor, ...]]:
        """The batch of a step: x, y, and for pairs which examples each prompt has."""
        more = QUERIES if self.layout == "pairs" else 1
        grid = torch.arange(self.length, device=device)

        def batch(generator: torch.Generator, step: Tensor) -> tuple[Tensor, ...]:
            matrices = self.task.networks(self.batch, generator, device=device)
            x = self.task.inputs(self.batch, self.length + more, generator, device=device)
            x, y = self._begun(matrices, x, step)
            if self.layout == "interleaved":
                return x, y
            count = torch.rand(self.batch, 1, generator=generator, device=device)
            return x, y, grid < SHORTEST + (count * (self.length - SHORTEST + 1)).floor()

        return batch

    def _begun(self, matrices: list[Tensor], x: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        """x and y of a step: networks see only the features that the curriculum has come to, and y keeps its size.

        The other features stand at their mean, where they say nothing.
        """
        if self.curriculum == 0:
            return x, answers(matrices, x)
        features = self.task.features
        share = 0.25 + 0.75 * step / (self.curriculum * self.steps)
        late = torch.arange(features, device=x.device) >= (share * features).clamp(min=1)
        y = answers(matrices, torch.where(late, 0.0, x)) * (features / (~late).sum()).sqrt()
        return torch.where(late, -CENTRE, x), y

    def loss(self, model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        """The mean squared error of a batch of `draw`."""
        if self.layout == "interleaved":
            x, y = batch
            return (model(x, y) - y).square().mean()
        x, y, seen = batch
        k = self.length
        return (model(x[:, :k], y[:, :k], x[:, k:], seen) - y[:, k:]).square().mean()


def loop_of(learner: Lesson, device: str = "cpu", precision: str = "tf32") -> Loop:
    """The training loop of a learner, at step 0."""
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise Refusal(f"device={device!r} was asked for, but torch sees no GPU here; use device='cpu'")
    return Loop(
        learner.build().to(device), learner.draw(device), learner.loss,
        steps=learner.steps, rate=learner.rate, schedule=learner.schedule, seed=1_000_003 * (learner.seed + 1),
        clip=learner.clip, capture=True, precision=precision, compiled=learner.compiled,
    )  # fmt: skip


def learn(
    learner: Lesson,
    out: str | Path | None = None,
    *,
    device: str = "cpu",
    precision: str = "tf32",
    notes: int = 100,
    score: Callable[[nn.Module], Score] | None = None,
    until: Callable[[Fit], bool] = lambda _: False,
) -> tuple[Fit, bool]:
    """Train, or continue, or read back; the trained module in evaluation mode, and whether it has all its steps.

    `score` is taken of the module as often as the loss is noted.

    >>> small = Learner(Shape(1, 2, 8, 2), ReluNetworks(3, 2, 8), "pairs", length=5, steps=3, batch=4)
    >>> fit, done = learn(small)
    >>> fit.steps, done
    ([1, 2, 3], True)
    """
    loop = loop_of(learner, device, precision)
    settings = learner.settings() | {"device": device.split(":")[0]}
    record = None if out is None else Record(out, settings | {"precision": precision} if loop.on_gpu else settings)
    made = Fit(loop.model, learner.seed)
    keep_pages()
    every = 60.0 if loop.on_gpu else 10.0
    scored = None if score is None else lambda: score(loop.model)
    stops = marks(learner.steps, notes)
    done = run(loop, made, stops, score=scored, record=record, name="checkpoint", every=every, until=until)
    if record is not None and done and not record.finished:
        record.mark_done()
    made.model.eval()
    return made, done


def work() -> None:
    """Train the learners that other processes describe on standard input."""
    serve(lambda job: learn(_learner(job["learner"]), job["out"]))


def _learner(described: dict[str, Any]) -> Learner:
    parts = {"shape": Shape(**described["shape"]), "task": ReluNetworks(**described["task"])}
    return Learner(**(described | parts))
