"""Many runs over many processes: one single-threaded process per core is the fastest way to use a CPU here.

Each job is one seed of one setting and leaves its own record, so a sweep that was interrupted continues where
it stopped, and a larger sweep reuses the smaller one's runs.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headsmith.lab.runs import Run, seed_list, train
from headsmith.records import progress
from headsmith.records.shown import Shown, number

__all__ = ["Sweep", "sweep"]


@dataclass(frozen=True, repr=False)
class Sweep(Shown):
    """Runs by (heads, activation), each with all its seeds."""

    runs: dict[tuple[int, str], Run]

    def title(self) -> str:
        return "heads, activation: rate, gamma, zero sum, risk (mean over seeds), dummy heads, seeds on the plateau"

    def rows(self) -> list[tuple[str, str]]:
        lines = []
        for (heads, kind), run in self.runs.items():
            found = run.diagnoses

            def mean(name: str, found: Any = found) -> str:
                return number(sum(getattr(d, name) for d in found) / len(found), 4)

            dummies = sum(c == "0" for d in found for c in d.head_classes)
            text = "  ".join(mean(name) for name in ("effective_rate", "gamma", "zero_sum", "risk"))
            lines.append(
                (f"{heads} {kind}", f"{text}  {dummies}  {sum(d.plateau for d in found)}/{len(found)}")
            )
        return lines


def sweep(
    heads: Sequence[int] = (1, 2, 4),
    activations: Sequence[str] = ("exp",),
    *,
    seeds: int | Sequence[int] = 4,
    preset: str = "smoke",
    processes: int | None = None,
    out: str | Path = "out/lab",
    **options: Any,
) -> Sweep:
    """Train every number of heads with every activation and seed, over processes (as many as cores unless
    given).

    >>> sweep([1, 2], ["exp", "tanh"], seeds=8)       # doctest: +SKIP
    """
    chosen = seed_list(seeds)
    settings = [(h, kind) for h in heads for kind in activations]
    jobs = [(h, kind, seed) for h, kind in settings for seed in chosen]
    shared = {"preset": preset, "out": out, **options}
    workers = min(processes or os.cpu_count() or 1, len(jobs))
    if workers > 1:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            futures = [pool.submit(_one, job, shared) for job in jobs]
            for future in progress(list(futures), f"{len(jobs)} runs"):
                future.result()
            assert all(f.done() for f in as_completed(futures))
    return Sweep({(h, kind): train(h, activation=kind, seeds=chosen, **shared) for h, kind in settings})


def _one(job: tuple[int, str, int], shared: dict[str, Any]) -> None:
    heads, kind, seed = job
    train(heads, activation=kind, seeds=[seed], **shared)
