"""Experiments on a GPU, in calls that end in time: what the drivers of the papers have in common.

A driver needs torch and numpy alone. Every call continues where the last one stopped, from checkpoints under --work,
trains one model after the other until its minutes are over, and when all are trained writes the measurements to --out.
`--report FILE --out DIR`, where matplotlib is, turns those into the table and the picture of the figure. With --probe
it only says how many steps a second it makes in each precision; --dry takes tiny sizes and any machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from headsmith.lab.train.learners import Lesson, loop_of
from headsmith.lab.train.training import Fit
from headsmith.papers.registry import ExperimentResult, Outcome, registry
from headsmith.records import atomic_write, write_output
from headsmith.records.authorship import MARK

__all__ = ["begin", "clock", "device", "device_name", "end", "opening", "options", "probe", "report", "trained"]

NETWORKS = 64
"""How many networks one process may compile. Of more than 8 torch would run the loss uncompiled, 0.6 to 0.7 as fast."""
Late = Callable[..., bool]
"""late(need=0.0): whether fewer than `need` seconds are left of a call."""
Train = Callable[[Any, Callable[[Fit], bool]], tuple[Fit, bool]]
"""(what to train, when to stop before the end) -> its notes, and whether it has all its steps."""


def device() -> str:
    """The CPU, or the device that the environment variable HEADSMITH_DEVICE names."""
    return os.environ.get("HEADSMITH_DEVICE", "cpu")


def device_name() -> str:
    """The name of the GPU that is used, or CPU."""
    return torch.cuda.get_device_name() if device().startswith("cuda") else "CPU"


def options(prog: str, text: str, presets: Iterable[str], folder: str) -> argparse.ArgumentParser:
    """What every driver may be asked."""
    parser = argparse.ArgumentParser(prog=f"python -m {prog}", description=text)
    parser.add_argument("--preset", default="good", choices=sorted(presets))
    parser.add_argument("--out", default=f"out/{folder}-results", help="folder for the measurements")
    parser.add_argument("--work", default=f"out/{folder}", help="folder of the checkpoints, to be kept between calls")
    parser.add_argument("--minutes", type=float, default=9.0, help="stop training after so many minutes")
    parser.add_argument("--precision", default="tf32", choices=("float32", "tf32", "bfloat16"))
    parser.add_argument("--probe", action="store_true", help="only measure steps per second")
    parser.add_argument("--dry", action="store_true", help="tiny sizes")
    parser.add_argument("--cpu", action="store_true", help="train on the CPU, however long it takes")
    parser.add_argument("--report", help="a file of measurements to make table and picture of")
    return parser


def begin(parser: argparse.ArgumentParser, argv: list[str] | None) -> argparse.Namespace:
    """The options; where there is a GPU everything runs on it unless --cpu says otherwise, where there is none only
    that, a trial or a report runs.
    """
    chosen, cuda = parser.parse_args(argv), torch.cuda.is_available()
    if not (chosen.dry or chosen.report or chosen.cpu or cuda):
        parser.error("torch sees no GPU here; use --dry to try the script on the CPU, --cpu to train on it")
    os.environ["HEADSMITH_DEVICE"] = "cuda" if cuda and not chosen.cpu else "cpu"
    if cuda:
        torch._dynamo.config.cache_size_limit = NETWORKS  # the name that torch 2.4 knows too
    return chosen


def clock(minutes: float) -> Late:
    """Whether so many minutes are over, or will be in `need` seconds.

    >>> late = clock(1)
    >>> late(), late(need=61)
    (False, True)
    """
    begun = time.perf_counter()
    return lambda need=0.0: time.perf_counter() - begun > 60 * minutes - need


def opening(id: str, preset: str, settings: Mapping[str, Any], precision: str) -> dict[str, Any]:
    """What a file of measurements says of its origin."""
    return {
        MARK: id.split("/")[0], "id": id, "preset": preset, "settings": dict(settings), "device": device_name(),
        "torch": torch.__version__, "python": platform.python_version(), "date": time.strftime("%Y-%m-%d"),
        "precision": precision, "losses": {},
    }  # fmt: skip


def probe(lessons: Iterable[tuple[str, Lesson]], steps: int) -> None:
    """Steps per second of each in each precision, after compiling."""
    for name, lesson in lessons:
        for precision in ("tf32", "bfloat16"):
            loop = loop_of(lesson, device(), precision)
            begun = time.perf_counter()
            loop.advance(2)
            ready = time.perf_counter() - begun
            begun = time.perf_counter()
            loop.advance(steps)
            speed = steps / (time.perf_counter() - begun)
            loss = float(loop.total) / loop.step
            print(
                f"{name}, {precision}: {speed:.1f} steps/s, {loop.how}, ready in {ready:.0f} s, loss {loss:.3f}",
                flush=True,
            )


def trained(lessons: Iterable[tuple[str, Any]], train: Train, late: Late, losses: dict[str, Any], worst: float) -> bool:
    """Train one after the other until it is late; whether all have their steps.

    `worst` is the loss of who has learnt nothing: who had been better and is no more has diverged, and stops.
    """
    for name, lesson in lessons:
        begun = time.perf_counter()
        fit, done = train(lesson, lambda fit: late() or _diverged(fit, worst))
        seconds = time.perf_counter() - begun
        tail = ", ".join(f"{s}: {loss:.4f}" for s, loss in zip(fit.steps[-8:], fit.losses[-8:], strict=True))
        end = "diverged, take a smaller --rate," if _diverged(fit, worst) else "done" if done else "to be continued"
        print(f"{name}: {end} after {seconds:.0f} s; losses {tail}", flush=True)
        losses[name] = {"steps": fit.steps, "losses": fit.losses}
        if not done:
            return False
    return True


def _diverged(fit: Fit, worst: float) -> bool:
    """Whether a training that had learnt something has lost it: nobody needs the rest of its steps."""
    *before, last = fit.losses or [0.0]
    return not last <= worst and any(loss < worst for loss in before)


def end(path: Path, result: Mapping[str, Any]) -> int:
    """Write what there is, and say whether another call is needed."""
    write_output(path, json.dumps(result))
    print("finished" if "measurements" in result else "call again", flush=True)
    return 0


def report(source: Path, out: Path, outcome: Callable[[str, dict[str, Any], dict[str, Any]], Outcome]) -> int:
    """The table and the picture of measurements that lie in a file; outcome(id, measurements, settings)."""
    from headsmith.views.style import save

    found = json.loads(source.read_text(encoding="utf-8"))
    entry = registry.find(found["id"])
    made = outcome(found["id"], found["measurements"], found["settings"])
    verdicts = {claim.text: claim.verdict(made.measurements) for claim in entry.claims}
    result = ExperimentResult(entry.id, found["preset"], out, verdicts, tuple(made.rows), made.measurements, 0.0, True)
    stem = f"{found['preset']}-{entry.id.split('/')[1]}"
    pictures = {f"{found['preset']}-{name}": draw for name, draw in entry.pictures.items()}
    for name, draw in pictures.items():
        save(draw(result.measurements), out / name, colours=128)
    parts = [f"<!-- {MARK} -->\n{_facts(found)}", result.claims().markdown(), *(f"![{n}]({n})" for n in pictures)]
    parts += [result.table().markdown()]
    atomic_write(out / f"{stem}.md", "\n\n".join(parts) + "\n")
    write_output(out / f"{stem}.json", json.dumps(found, separators=(",", ":")))
    return 0


def _facts(found: Mapping[str, Any]) -> str:
    """When, where and how much."""
    seeds = found["measurements"].get("seeds", 1)
    facts = f"{found['date']}, {found['device']}, torch {found['torch']}, {found['precision']}"
    return facts + f"; {found['measurements']['steps']} steps, {'one seed' if seeds == 1 else f'{seeds} seeds'}"
