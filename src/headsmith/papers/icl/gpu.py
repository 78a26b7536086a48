"""The paper preset on a GPU: `python -m headsmith.papers.icl.gpu --out DIR --minutes 8`, with torch and numpy alone.

Trains 1, 2 and 4 heads for the paper's half million steps, 32 seeds at once, each step one CUDA graph, and
measures how many seed-steps per second the full model makes with 32 and 256 replicas.  Everything a report
needs goes to results.json, history included; --dry does the same with tiny sizes on any machine.
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import tarfile
import time
from pathlib import Path
from typing import Any

import torch

from headsmith.lab.read.diagnose import diagnose
from headsmith.lab.theory.activations import activation
from headsmith.lab.train.presets import recipe
from headsmith.lab.train.runs import Run, train
from headsmith.lab.train.tasks import correlated, isotropic, multi_task
from headsmith.lab.train.trainer import Trainer
from headsmith.records import write_output
from headsmith.records.authorship import MARK

__all__ = ["main", "throughput", "train_group"]


def throughput(heads: int, replicas: int, device: str, steps: int) -> dict[str, float]:
    """Seed-steps per second of the full model at batch 256, data included, after a warm-up."""
    trainer = Trainer(isotropic(), [heads] * replicas, range(replicas), recipe("paper"), activation("exp"), device)
    with torch.no_grad():
        trainer.advance(max(10, steps // 10))
        _wait(device)
        start = time.perf_counter()
        trainer.advance(steps)
        _wait(device)
        seconds = time.perf_counter() - start
    return {"heads": heads, "replicas": replicas, "steps": steps, "seconds": seconds,
            "seed_steps_per_second": steps * replicas / seconds}  # fmt: skip


def train_group(heads: int, seeds: int, steps: int | None, device: str, deadline: float) -> tuple[Run, float]:
    """All seeds of one head count under the paper preset, stopped at the deadline if it comes first."""
    made = recipe("paper", steps=steps)
    trainer = Trainer(isotropic(), [heads] * seeds, range(seeds), made, activation("exp"), device)
    start = time.perf_counter()

    class Late(Exception):
        pass

    def watch(_: int) -> None:
        if time.perf_counter() > deadline:
            raise Late

    try:
        trainer.run(watch=watch)
    except Late:
        trainer.note()
    _wait(device)
    state = trainer.state()
    loss, kq, ov = (state[f"history.{name}"] for name in ("loss", "kq", "ov"))
    kind = activation("exp")
    steps_noted = state["history.step"]
    run = Run(isotropic(), heads, kind, made, "paper", tuple(range(seeds)), steps_noted, loss, kq, ov)
    return run, time.perf_counter() - start


def summary(run: Run, seconds: float, prompts: int) -> dict[str, Any]:
    """Numbers of every seed, and the curves of the first four."""
    seeds = []
    for i, seed in enumerate(run.seeds):
        found = diagnose(run.model(i), run.task, prompts=prompts)
        seeds.append(
            {
                "seed": seed,
                "omega": found.omega.tolist(),
                "mu": found.mu.tolist(),
                "classes": "".join(found.head_classes),
                "risk": found.risk,
                "effective_rate": found.effective_rate,
                "gamma": found.gamma,
                "zero_sum": found.zero_sum,
                "off_diagonal": found.off_diagonal,
                "label_leak": found.label_leak,
                "value_leak": found.value_leak,
                "homogeneity": found.homogeneity,
                "manifold_distance": found.manifold_distance,
                "plateau": found.plateau,
                "nearest_algorithm": found.nearest_algorithm,
            }
        )
    curves = {
        "steps": run.steps.tolist(),
        "omega": run.omega()[:, :4].tolist(),
        "mu": run.mu()[:, :4].tolist(),
    }
    curves["loss"] = run.loss.nan_to_num(-1.0)[:, :4].tolist()
    return {"heads": run.heads, "steps": int(run.steps[-1]), "seconds": seconds, "seeds": seeds, "curves": curves,
            "final_kq": run.kq[-1, :4].tolist(), "final_ov": run.ov[-1, :4].tolist()}  # fmt: skip


GOOD: list[dict[str, Any]] = [
    *({"heads": h} for h in (1, 2, 4, 8)),
    {"heads": 1, "activation": "linear"},
    {"heads": 2, "task": correlated(0.5)},
    {"heads": 3, "task": multi_task(), "rate": 5e-3, "init": "split"},
    *(
        {"heads": 2, "activation": kind, "init": "split"}
        for kind in ("exp", "tanh", "affine:0.5", "affine:0.8", "affine:1", "square:0.5", "square:0.8", "square:1")
    ),
]


def train_good(out: Path, device: str, seeds: int, steps: int | None) -> None:
    """Train what the figures show at the preset `good`, and pack the records into lab.tar."""
    for settings in GOOD:
        start = time.perf_counter()
        train(preset="good", seeds=seeds, device=device, steps=steps, out=out / "lab", **settings)
        print(settings, f"{time.perf_counter() - start:.1f} s", flush=True)
    packed = io.BytesIO()
    with tarfile.open(f"{MARK}-lab.tar", "w:gz", fileobj=packed) as archive:
        archive.add(out / "lab", "lab")
    write_output(out / "lab.tar", packed.getvalue())


def main(argv: list[str] | None = None) -> int:
    """Run it all and write results.json after every part, so that an early end loses little."""
    parser = argparse.ArgumentParser(prog="python -m headsmith.papers.icl.gpu", description=__doc__)
    parser.add_argument("--out", default="out/gpu", help="folder for results.json")
    parser.add_argument("--minutes", type=float, default=8.0, help="stop training after so many minutes in all")
    parser.add_argument("--seeds", type=int, default=32)
    parser.add_argument("--good", action="store_true", help="train what the figures need at the preset good")
    parser.add_argument("--dry", action="store_true", help="tiny sizes, on the CPU if there is no GPU")
    options = parser.parse_args(argv)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not options.dry:
        parser.error("torch sees no GPU here; use --dry to try the script on the CPU")
    if options.good:
        train_good(Path(options.out), device, 4, 20 if options.dry else None)
        return 0
    begun = time.perf_counter()
    seeds, steps, timed = (2, 60, 5) if options.dry else (options.seeds, None, 2000)
    replicas = (2, 3) if options.dry else (32, 256)
    result: dict[str, Any] = {
        MARK: "icl.gpu",
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.processor() or "cpu",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "dry": options.dry,
    }

    def save() -> None:
        write_output(Path(options.out) / "results.json", json.dumps(result, indent=1))

    result["throughput"] = [throughput(2, r, device, timed) for r in replicas]
    print(result["throughput"], flush=True)
    save()
    result["runs"] = []
    for index, heads in enumerate((2, 1, 4)):
        left = options.minutes * 60 - (time.perf_counter() - begun)
        deadline = time.perf_counter() + left / (3 - index)
        run, seconds = train_group(heads, seeds, steps, device, deadline)
        result["runs"].append(summary(run, seconds, 200 if options.dry else 20_000))
        print(f"{heads} heads: {int(run.steps[-1])} steps, {seeds} seeds, {seconds:.1f} s", flush=True)
        save()
    return 0


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    raise SystemExit(main())
