"""A preset on a GPU, in calls that end in time: `python -m headsmith.papers.deep_optimizers.gpu --minutes 9`.

Needs torch and numpy alone. Every call continues where the last one stopped, from checkpoints under --work, trains one
transformer after the other until its minutes are over, and when all are trained asks them and writes the measurements
to --out. `--report FILE --out DIR`, where matplotlib is, turns those into the table and the picture of the figure. With
--probe it only says how many steps a second it makes in each precision; --dry takes tiny sizes and any machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from headsmith.lab.train.learners import Learner, loop_of
from headsmith.lab.train.training import Fit
from headsmith.papers.deep_optimizers import figure_5, figures_1_2, figures_3_4, measured
from headsmith.papers.deep_optimizers.frame import ATTENTIONS
from headsmith.papers.registry import Outcome, registry
from headsmith.records import Record, atomic_write, write_output
from headsmith.records.authorship import MARK

__all__ = ["main"]

MEASURING = 150.0
"""Seconds that asking everybody may take: with fewer left it is put off to the next call."""
WORST = 1.0
"""The loss of who always answers 0: E y^2 = 1 in training."""
FIGURES: dict[int, tuple[Any, tuple[str, ...]]] = {
    1: (figures_1_2, ("softmax", "relu")), 2: (figures_1_2, ("softmax",)), 3: (figures_3_4, ("relu",)),
    4: (figures_3_4, ("softmax",)), 5: (figure_5, ("softmax", "relu")),
}  # fmt: skip
"""The module of a figure and its attentions, in the order in which they are trained."""
DRY = {
    "steps": 3, "blocks": 1, "heads": 2, "tokens": 8, "width": 8, "features": 3, "batch": 4, "length": 20,
    "positions": 23, "examples": [3, 20, 22], "prompts": 30, "baseline_prompts": 6, "far": [0.0, 0.5],
    "depths": [1, 2],
}  # fmt: skip


def probe(settings: dict[str, Any], attentions: Sequence[str], device: str, steps: int) -> None:
    """Steps per second of each kind of attention in each precision, after compiling."""
    for kind in attentions:
        for precision in ("tf32", "bfloat16"):
            loop = loop_of(measured.learner(settings, kind, settings["nets"][0]), device, precision)
            begun = time.perf_counter()
            loop.advance(2)
            ready = time.perf_counter() - begun
            begun = time.perf_counter()
            loop.advance(steps)
            speed = steps / (time.perf_counter() - begun)
            loss = float(loop.total) / loop.step
            print(
                f"{kind}, {precision}: {speed:.1f} steps/s, {loop.how}, ready in {ready:.0f} s, loss {loss:.3f}",
                flush=True,
            )


def trained(
    learners: list[Learner], work: Path, precision: str, late: Callable[[], bool], result: dict[str, Any]
) -> bool:
    """Train one after the other until it is late; whether all have their steps."""
    for learner in learners:
        begun = time.perf_counter()
        [(fit, done)] = measured.train_all([learner], work, lambda fit: late() or diverged(fit), precision)
        name = measured.called(learner)
        seconds = time.perf_counter() - begun
        tail = ", ".join(f"{s}: {loss:.4f}" for s, loss in zip(fit.steps[-8:], fit.losses[-8:], strict=True))
        end = "diverged, take a smaller --rate," if diverged(fit) else "done" if done else "to be continued"
        print(f"{name}: {end} after {seconds:.0f} s; losses {tail}", flush=True)
        result["losses"][name] = {"steps": fit.steps, "losses": fit.losses}
        if not done:
            return False
    return True


def diverged(fit: Fit) -> bool:
    """Whether a training that had learnt something has lost it: nobody needs the rest of its steps."""
    *before, last = fit.losses or [0.0]
    return not last <= WORST and any(loss < WORST for loss in before)


def report(source: Path, out: Path) -> None:
    """The table and the picture of measurements that lie in a file."""
    from headsmith.papers.registry import ExperimentResult
    from headsmith.views.style import save

    found = json.loads(source.read_text(encoding="utf-8"))
    entry = registry.find(found["id"])
    stem = entry.id.split("/")[1]
    module, _ = FIGURES[int(stem.removeprefix("figure-"))]
    made: Outcome = module.outcome(found["measurements"], found["settings"])
    verdicts = {claim.text: claim.verdict(made.measurements) for claim in entry.claims}
    result = ExperimentResult(entry.id, found["preset"], out, verdicts, tuple(made.rows), made.measurements, 0.0, True)
    stem = f"{found['preset']}-{stem}"
    pictures = {f"{found['preset']}-{name}": draw for name, draw in entry.pictures.items()}
    for name, draw in pictures.items():
        save(draw(result.measurements), out / name, colours=128)
    facts = f"{found['date']}, {found['device']}, torch {found['torch']}, {found['precision']}"
    facts += f"; {found['measurements']['steps']} steps, one seed"
    parts = [f"<!-- {MARK} -->\n{facts}", result.claims().markdown(), *(f"![{name}]({name})" for name in pictures)]
    parts += [result.table().markdown()]
    atomic_write(out / f"{stem}.md", "\n\n".join(parts) + "\n")
    write_output(out / f"{stem}.json", json.dumps(found, separators=(",", ":")))


def main(argv: list[str] | None = None) -> int:
    """Train, ask and write; or probe; or report."""
    options, settings = _asked(argv)
    out, work = Path(options.out), Path(options.work)
    if options.report:
        report(Path(options.report), out)
        return 0
    device = "cuda" if torch.cuda.is_available() else "cpu"
    os.environ["HEADSMITH_DEVICE"] = device
    begun = time.perf_counter()

    def late(need: float = 0.0) -> bool:
        return time.perf_counter() - begun > 60 * options.minutes - need

    if options.probe:
        probe(settings, options.attention or list(ATTENTIONS), device, 3 if options.dry else 300)
        return 0
    module, attentions = FIGURES[options.figure]
    attentions = options.attention or attentions
    cases = module.cases(settings, attentions)
    learners = list({repr(one): one for case in cases for one in case.learners.values()}.values())
    result: dict[str, Any] = {
        MARK: "deep-optimizers", "id": f"deep-optimizers/figure-{options.figure}", "preset": options.preset,
        "settings": settings, "device": measured.device_name(), "torch": torch.__version__,
        "python": platform.python_version(), "date": time.strftime("%Y-%m-%d"), "precision": options.precision,
        "losses": {},
    }  # fmt: skip
    done = trained(learners, work, options.precision, late, result)
    if done and not late(MEASURING):
        record = Record(work, {"kind": result["id"], "settings": settings, "attentions": list(attentions)})
        result["measurements"] = measured.measure(cases, settings, work, record.once, options.precision)
        _print(result["measurements"])
    write_output(out / f"figure-{options.figure}.json", json.dumps(result))
    print(
        f"{time.perf_counter() - begun:.0f} s; " + ("finished" if "measurements" in result else "call again"),
        flush=True,
    )
    return 0


def _print(m: dict[str, Any]) -> None:
    for case, found in m["scores"].items():
        for who, table in found.items():
            within = " ".join("  –  " if v is None else f"{v:.3f}" for v in table["within"])
            pooled = " ".join("  –  " if v is None else f"{v:.3f}" for v in table["pooled"])
            print(f"{case:16s} {who:20s} pooled {pooled}  within {within}", flush=True)


def _asked(argv: list[str] | None) -> tuple[argparse.Namespace, dict[str, Any]]:
    """The options, and the settings that they change."""
    parser = argparse.ArgumentParser(prog="python -m headsmith.papers.deep_optimizers.gpu", description=__doc__)
    parser.add_argument("--figure", type=int, default=1, choices=sorted(FIGURES))
    parser.add_argument("--preset", default="good", choices=sorted(figures_1_2.PRESETS))
    parser.add_argument("--out", default="out/deep-optimizers-results", help="folder for the measurements")
    parser.add_argument(
        "--work", default="out/deep-optimizers", help="folder of the checkpoints, to be kept between calls"
    )
    parser.add_argument("--minutes", type=float, default=9.0, help="stop training after so many minutes")
    parser.add_argument("--attention", nargs="*", choices=sorted(ATTENTIONS), help="train and ask these alone")
    parser.add_argument("--nets", type=int, nargs="*", help="layers of the targets")
    parser.add_argument("--precision", default="tf32", choices=("float32", "tf32", "bfloat16"))
    for name, kind in (("steps", int), ("rate", float), ("curriculum", float), ("batch", int), ("layout", str)):
        parser.add_argument(f"--{name}", type=kind)
    parser.add_argument("--probe", action="store_true", help="only measure steps per second")
    parser.add_argument("--dry", action="store_true", help="tiny sizes")
    parser.add_argument("--report", help="a file of measurements to make table and picture of")
    options = parser.parse_args(argv)
    if not (options.dry or options.report or torch.cuda.is_available()):
        parser.error("torch sees no GPU here; use --dry to try the script on the CPU")
    given = {key: getattr(options, key) for key in ("steps", "rate", "curriculum", "batch", "layout", "nets")}
    changed = {key: value for key, value in given.items() if value is not None}
    module, _ = FIGURES[options.figure]
    dry = {key: value for key, value in DRY.items() if key in module.PRESETS[options.preset]} if options.dry else {}
    return options, {**module.PRESETS[options.preset], **dry, **changed}


if __name__ == "__main__":
    raise SystemExit(main())
