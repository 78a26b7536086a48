"""The training loop: replicas of one recipe, on a CPU thread or as one CUDA graph, stopped and resumed at
will.

On a CPU a step is forty small operations of a few microseconds, so one thread is fastest.  On a GPU launching
them would cost more than running them; there the whole step, random numbers and learning rate included, is
captured once as a CUDA graph and replayed, with as many replicas as the card can hold.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.lab.theory.activations import Activation
from headsmith.lab.train.presets import Recipe
from headsmith.lab.train.step import Adam, Layout, initialise, loss_and_gradient
from headsmith.lab.train.tasks import Task
from headsmith.refusal import Refusal

__all__ = ["Trainer", "log_steps", "one_thread"]


@lru_cache(maxsize=1)
def keep_pages() -> None:
    """Ask glibc not to hand blocks below 64 MiB back to the kernel: fetching them anew each step costs as
    much as the arithmetic.  Elsewhere nothing happens."""
    try:
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(-3, 64 << 20)  # M_MMAP_THRESHOLD
        library.mallopt(-1, 256 << 20)  # M_TRIM_THRESHOLD
    except (OSError, AttributeError):
        pass


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread inside, the old number after."""
    keep_pages()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def log_steps(steps: int) -> list[int]:
    """About a hundred steps at which the weights are noted: evenly and logarithmically spaced, 0 and the last
    too.
    """
    grid = np.concatenate([[0], np.geomspace(1, steps, 50), np.linspace(0, steps, 61)])
    return np.unique(grid.round().astype(int)).tolist()


def check_device(device: str) -> None:
    """The CPU, or a GPU that is there.

    >>> check_device("cpu")
    """
    if device.split(":")[0] not in ("cpu", "cuda"):
        raise Refusal(f"device={device!r}: choose cpu or cuda")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise Refusal(f"device={device!r} was asked for, but torch sees no GPU here; use device='cpu'")


class Trainer:
    """R replicas of one recipe: `heads`, `seeds` and `rates` (relative to the recipe's) have one entry each.

    >>> from headsmith.lab.theory.activations import activation
    >>> from headsmith.lab.train.presets import recipe
    >>> from headsmith.lab.train.tasks import isotropic
    >>> trainer = Trainer(isotropic(), [2], [0], recipe("smoke"), activation("exp"))
    >>> trainer.run(until=100)
    """

    def __init__(
        self,
        task: Task,
        heads: Sequence[int],
        seeds: Sequence[int],
        recipe: Recipe,
        activation: Activation,
        device: str = "cpu",
        rates: Sequence[float] | None = None,
    ) -> None:
        check_device(device)
        self.task, self.recipe, self.activation, self.device = task, recipe, activation, torch.device(device)
        self.heads, self.seeds = tuple(heads), tuple(seeds)
        self.layout = Layout(max(heads), task.features, task.responses, len(seeds))
        self.flat = self._start().to(self.device)
        self.gradient = torch.zeros_like(self.flat)
        self.adam = Adam(self.flat)
        self.weights, self.gradients = self._split(self.flat), self._split(self.gradient)
        self.relative = self._relative(rates)
        self.step = 0
        self.loss_sum = torch.zeros(len(seeds), device=self.device)
        self.generator: torch.Generator | None = None
        if self.device.type == "cpu":
            self.generator = torch.Generator().manual_seed(1_000_003 * (seeds[0] + 1))
        else:
            torch.cuda.manual_seed(1_000_003 * (seeds[0] + 1))
        self.graph: torch.cuda.CUDAGraph | None = None
        self.history: dict[str, list[Tensor]] = {"step": [], "loss": [], "kq": [], "ov": []}

    def _start(self) -> Tensor:
        """The flat vector of all replicas at step 0."""
        split = self.recipe.init == "split"
        starts = [
            initialise(self.layout, seed, count, split) for seed, count in zip(self.seeds, self.heads, strict=True)
        ]
        return torch.cat([torch.cat(blocks).flatten() for blocks in zip(*starts, strict=True)])

    def _split(self, flat: Tensor) -> Any:
        return self.layout.split(flat)

    def _products(self) -> tuple[Tensor, Tensor]:
        return self.layout.products(self.weights)

    def _relative(self, rates: Sequence[float] | None) -> Tensor | None:
        """The relative rate of every parameter, or None when all have the recipe's."""
        if rates is None or set(rates) == {1.0}:
            return None
        one = torch.tensor(rates, device=self.device).repeat_interleave(self.layout.heads)
        return torch.cat([one.repeat_interleave(block.numel() // len(one)) for block in self.weights])

    def _learn(self, rate: float | Tensor) -> None:
        """Draw prompts, take the gradient, update."""
        prompts = self.task.draw(len(self.seeds), self.recipe.batch, generator=self.generator, device=self.device)
        loss = loss_and_gradient(self.layout, self.weights, prompts, self.activation, self.gradients)
        self.loss_sum.add_(loss)
        self.adam.step(self.gradient, rate if self.relative is None else rate * self.relative)

    def _capture(self) -> None:
        """Capture one step as a CUDA graph; the rates of all steps lie in a table on the card."""
        table = [self.recipe.rate_at(t) * Adam.correction(t + 1) for t in range(self.recipe.steps)]
        self._rates = torch.tensor(table, device=self.device)
        self._count = torch.zeros(1, dtype=torch.long, device=self.device)
        kept = [t.clone() for t in (self.flat, self.adam.mean, self.adam.square, self.loss_sum)]
        random_state = torch.cuda.get_rng_state(self.device)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._learn(self._rates.index_select(0, self._count))
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._learn(self._rates.index_select(0, self._count))
            self._count.add_(1)
        for tensor, value in zip((self.flat, self.adam.mean, self.adam.square, self.loss_sum), kept, strict=True):
            tensor.copy_(value)
        torch.cuda.set_rng_state(random_state, self.device)
        self._count.fill_(self.step)

    def advance(self, steps: int) -> None:
        """Train for so many steps."""
        if self.device.type == "cuda" and self.graph is None:
            self._capture()
        for _ in range(steps):
            if self.graph is not None:
                self.graph.replay()
            else:
                self._learn(self.recipe.rate_at(self.step) * Adam.correction(self.step + 1))
            self.step += 1

    @torch.no_grad()
    def run(
        self,
        until: int | None = None,
        save: Callable[[], object] | None = None,
        every: float = 2.0,
        watch: Callable[[int], object] | None = None,
    ) -> None:
        """Train to step `until` (the recipe's end), noting history, calling `save` every so many seconds."""
        end = self.recipe.steps if until is None else until
        stops = sorted({*(s for s in log_steps(self.recipe.steps) if s <= end), end})
        saved = time.monotonic()
        with one_thread():
            if not self.history["step"]:
                self.note()
            for stop in stops:
                if stop <= self.step:
                    continue
                while self.step < stop:
                    self.advance(min(500, stop - self.step))
                    if self.step == stop:
                        self.note()
                    if watch is not None:
                        watch(self.step)
                    if save is not None and time.monotonic() - saved > every:
                        save()
                        saved = time.monotonic()
        if save is not None:
            save()

    def note(self) -> None:
        """Append the step, the mean loss since the last note, and the products to the history."""
        kq, ov = self._products()
        since = int(self.history["step"][-1]) if self.history["step"] else self.step
        loss = self.loss_sum / (self.step - since) if self.step > since else self.loss_sum * torch.nan
        for name, value in {"step": torch.tensor(self.step), "loss": loss, "kq": kq, "ov": ov}.items():
            self.history[name].append(value.to("cpu", copy=True))
        self.loss_sum.zero_()

    def state(self) -> dict[str, Tensor]:
        """All that a later start needs to continue bit for bit."""
        random = self.generator.get_state() if self.generator is not None else torch.cuda.get_rng_state(self.device)
        state = {
            "flat": self.flat,
            "mean": self.adam.mean,
            "square": self.adam.square,
            "step": torch.tensor(self.step),
            "random": random,
            "loss_sum": self.loss_sum,
        }
        return state | {f"history.{name}": torch.stack(values) for name, values in self.history.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from `state`."""
        self.flat.copy_(state["flat"])
        self.adam.mean.copy_(state["mean"])
        self.adam.square.copy_(state["square"])
        self.loss_sum.copy_(state["loss_sum"])
        self.step = int(state["step"])
        if self.generator is not None:
            self.generator.set_state(state["random"])
        else:
            torch.cuda.set_rng_state(state["random"], self.device)
        self.history = {name: list(state[f"history.{name}"]) for name in self.history}
