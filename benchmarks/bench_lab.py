"""Training throughput of the lab against a plain per-head PyTorch loop that does the same training, side by side.

The plain loop is what one writes first: a module per head with Linear layers for queries, keys and values, answers at
the query only, autograd, torch.optim.Adam, fresh prompts every step.  CPU time, one thread, batch 256, data included;
the two are timed in turns and the best of several rounds counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn

from headsmith.lab import tasks
from headsmith.lab.theory.activations import activation
from headsmith.lab.train.presets import recipe
from headsmith.lab.train.reduced import ReducedTrainer
from headsmith.lab.train.trainer import Trainer, one_thread
from headsmith.views.tables import Table

BATCH, FEATURES, LENGTH, NOISE = 256, 5, 40, 0.1
WIDTH = FEATURES + 1


class Head(nn.Module):
    """softmax(q k' / sqrt D) v for one query token."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, tokens: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        scores = self.q(query) @ self.k(tokens).transpose(1, 2) / WIDTH**0.5
        return torch.softmax(scores, -1) @ self.v(tokens)


class Plain(nn.Module):
    """Heads one after another, concatenated, one output row."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head() for _ in range(heads))
        self.o = nn.Linear(heads * WIDTH, 1, bias=False)

    def forward(self, tokens: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        return self.o(torch.cat([head(tokens, query) for head in self.heads], -1))[:, 0, 0]


def plain_step(heads: int) -> Callable[[], None]:
    """One step of the plain loop."""
    model = Plain(heads)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        X = torch.randn(BATCH, LENGTH, FEATURES)
        w = torch.randn(BATCH, FEATURES, 1) / FEATURES**0.5
        y = X @ w + NOISE**0.5 * torch.randn(BATCH, LENGTH, 1)
        x = torch.randn(BATCH, 1, FEATURES)
        target = (x @ w)[:, 0, 0] + NOISE**0.5 * torch.randn(BATCH)
        answer = model(torch.cat([X, y], -1), torch.cat([x, torch.zeros(BATCH, 1, 1)], -1))
        loss = (answer - target).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()

    return step


def trainer_step(cls: type[Trainer], heads: int, replicas: int) -> Callable[[], None]:
    """One step of ours."""
    task = tasks.isotropic(FEATURES, LENGTH, NOISE)
    made = recipe("paper", batch=BATCH)
    trainer = cls(task, [heads] * replicas, range(replicas), made, activation("exp"))

    def step() -> None:
        with torch.no_grad():
            trainer.advance(1)

    return step


def rates(steps: list[Callable[[], None]], rounds: int = 5, repeats: int = 60) -> list[float]:
    """Steps per CPU second of each, timed in turns, the best round of each."""
    best = [float("inf")] * len(steps)
    with one_thread():
        for step in steps:
            for _ in range(10):
                step()
        for _ in range(rounds):
            for i, step in enumerate(steps):
                start = time.process_time()
                for _ in range(repeats):
                    step()
                best[i] = min(best[i], (time.process_time() - start) / repeats)
    return [1 / seconds for seconds in best]


def bench_lab_training() -> Table:
    """Seed-steps per second: plain loop, full model (one seed, 8 seeds), reduced model (8 seeds), and the ratios."""
    rows = []
    for heads in (1, 2, 4, 8):
        plain, full, full8, reduced8 = rates(
            [
                plain_step(heads),
                trainer_step(Trainer, heads, 1),
                trainer_step(Trainer, heads, 8),
                trainer_step(ReducedTrainer, heads, 8),
            ],
            repeats=30,
        )
        full8, reduced8 = 8 * full8, 8 * reduced8
        values = [plain, full, full8, reduced8]
        rows.append([heads, *(round(v) for v in values), *(f"{v / plain:.1f}x" for v in values[1:])])
    columns = ["heads", "plain loop", "full", "full, 8 seeds", "reduced, 8 seeds", "full", "full, 8 seeds", "reduced"]
    return Table("Training, seed-steps per CPU second, and how many times the plain loop", columns, rows)
