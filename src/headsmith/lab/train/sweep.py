"""Many runs over many processes: one single-threaded process per core is the fastest way to use a CPU here.

Each job is one seed of one setting and leaves its own record, so a sweep that was interrupted continues where
it stopped, and a larger sweep reuses the smaller one's runs.  The workers are plain Python processes that
read their jobs as JSON lines and answer "done" after each: no forking, no shared state.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, cast

from headsmith.lab.train.runs import Run, seed_list, train
from headsmith.lab.train.tasks import Sampled, Task
from headsmith.records import progress
from headsmith.records.shown import Shown, number
from headsmith.refusal import Refusal

__all__ = ["Sweep", "serve", "spread", "sweep"]

WORKER = """
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent hears of an interrupt too, and says so once
from {module} import work
work()
"""


@dataclass(frozen=True, repr=False)
class Sweep(Shown):
    """Runs by (heads, activation), each with all its seeds."""

    runs: dict[tuple[int, str], Run]

    def title(self) -> str:
        return "heads, activation: rate, gamma, zero sum, risk (means), dummy heads, seeds on the plateau"

    def rows(self) -> list[tuple[str, str]]:
        lines = []
        for (heads, kind), run in self.runs.items():
            found = run.diagnoses

            def mean(name: str, found: Any = found) -> str:
                return number(sum(getattr(d, name) for d in found) / len(found), 4)

            dummies = sum(c == "0" for d in found for c in d.head_classes)
            text = "  ".join(mean(name) for name in ("effective_rate", "gamma", "zero_sum", "risk"))
            lines.append((f"{heads} {kind}", f"{text}  {dummies}  {sum(d.plateau for d in found)}/{len(found)}"))
        return lines


def sweep(
    heads: Sequence[int] = (1, 2, 4),
    activations: Sequence[str] = ("exp",),
    *,
    seeds: int | Sequence[int] = 4,
    preset: str = "smoke",
    task: Task | None = None,
    processes: int | None = None,
    out: str | Path = "out/lab",
    **options: Any,
) -> Sweep:
    """Train every number of heads with every activation and seed, over processes (as many as cores unless
    given).

    `options` go to `train` (features, length, noise, steps, rate, batch, init, model).

    >>> sweep([1, 2], ["exp", "tanh"], seeds=8)       # doctest: +SKIP
    """
    if isinstance(task, Sampled):
        raise Refusal(
            "a sweep sends its task to other processes, which a sampler cannot be; call train for each setting"
        )
    if processes is not None and processes < 1:
        raise Refusal(f"processes={processes}: give at least 1")
    if not (heads and activations):
        raise Refusal("a sweep needs at least one number of heads and one activation")
    chosen = seed_list(seeds)
    settings = [(h, kind) for h in heads for kind in activations]
    shared = {"preset": preset, "out": str(out), **options}
    jobs = [{"heads": h, "activation": a, "seeds": [s], **shared} for h, a in settings for s in chosen]
    workers = min(processes or os.cpu_count() or 1, len(jobs))
    if workers > 1:
        described = None if task is None else asdict(task)
        every = [{**job, "task": described} for job in jobs]
        for _ in progress(spread(every, workers, __name__), f"{len(jobs)} runs"):
            pass
    runs = {(h, a): train(h, activation=a, seeds=chosen, task=task, **shared) for h, a in settings}
    return Sweep(runs)


def spread(jobs: list[dict[str, Any]], workers: int, module: str) -> Iterator[None]:
    """Hand the jobs to worker processes that run `work()` of a module of ours; yields as each is done."""
    queue: SimpleQueue[dict[str, Any]] = SimpleQueue()
    for job in jobs:
        queue.put(job)
    done: SimpleQueue[str] = SimpleQueue()

    def employ() -> None:
        command = [sys.executable, "-c", WORKER.format(module=module)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as worker:
            to, back = cast(IO[str], worker.stdin), cast(IO[str], worker.stdout)
            while not queue.empty():
                print(json.dumps(queue.get()), file=to, flush=True)
                done.put(back.readline().strip() or "a worker process died")
            to.close()

    with ThreadPoolExecutor(workers) as pool:
        servers = [pool.submit(employ) for _ in range(workers)]
        for _ in jobs:
            answer = done.get()
            if answer != "done":
                while not queue.empty():
                    queue.get()
                raise Refusal(answer)
            yield
        for server in as_completed(servers):
            server.result()


def work() -> None:
    """Train what the jobs on standard input describe."""

    def one(job: dict[str, Any]) -> None:
        described = job.pop("task")
        train(**job, task=None if described is None else Task(**_tuples(described)))

    serve(one)


def serve(carry_out: Callable[[dict[str, Any]], object]) -> None:
    """Answer each job on standard input with "done" or the sentence of a refusal."""
    for line in sys.stdin:
        try:
            carry_out(json.loads(line))
            print("done", flush=True)
        except Refusal as refusal:
            print(str(refusal), flush=True)


def _tuples(described: dict[str, Any]) -> dict[str, Any]:
    """JSON has no tuples; a task is made of them."""
    return {
        key: tuple(tuple(row) for row in value) if isinstance(value, list) else value
        for key, value in described.items()
    }
