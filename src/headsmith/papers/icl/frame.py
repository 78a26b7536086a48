"""What the figures of this paper share: settings, cached training runs, and a quick self-check for each.

Training runs lie beside the experiments' folders and are shared: twelve figures look at the same two-head
run.  A self-check runs the experiment end to end on the runs that theory writes down (`written`), with a few
hundred prompts: there the verdict on every claim is known, and it must be the one that is found.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headsmith.lab import Run as Trained
from headsmith.lab import Task, train
from headsmith.papers.icl.written import written
from headsmith.papers.registry import Claim, Experiment, Outcome, registry
from headsmith.records import Record
from headsmith.views import lab as draw

PAPER = "icl-linear-regression"
Settings = Mapping[str, Any]

SMOKE: dict[str, Any] = {"preset": "smoke", "seeds": 1, "prompts": 4_000}
GOOD: dict[str, Any] = {"preset": "good", "seeds": 4, "prompts": 20_000}
FULL: dict[str, Any] = {"preset": "paper", "seeds": 8, "prompts": 50_000}
PRESETS = {"smoke": SMOKE, "good": GOOD, "paper": FULL}
STILL = {"smoke": {"prompts": 4_000}, "good": {"prompts": 20_000}, "paper": {"prompts": 50_000}}
TOY = {"preset": "paper", "written": True, "prompts": 1_000, "seeds": 1}

LONG = 400_000  # steps from which the paper's gamma = 0.13 can be asked for


def item(
    name: str,
    claims: Sequence[Claim],
    *,
    where: str,
    presets: Mapping[str, Settings] = PRESETS,
    pictures: Mapping[str, str] | None = None,
    fails: Sequence[Claim] = (),
    check: Settings | None = None,
) -> Callable[[Callable[[Settings, Record], Outcome]], Experiment]:
    """Register a figure or table: `pictures` maps file names to functions of `headsmith.views.lab`.

    `fails` are the claims of the paper that its own theory refutes; all others hold of it. `check` has the sizes in
    which the self-check differs from `TOY`.
    """

    def register(run: Callable[[Settings, Record], Outcome]) -> Experiment:
        def self_check() -> bool:
            measured = checked(run, {**presets["smoke"], **TOY, **(check or {})})
            for drawing in (pictures or {}).values():
                getattr(draw, drawing)(measured)
            return all(claim.verdict(measured) == ("fails" if claim in fails else "holds") for claim in claims)

        return registry.experiment(
            f"{PAPER}/{name}",
            tuple(claims),
            presets=presets,
            source=PAPER,
            where=where,
            self_check=self_check,
            pictures={file: getattr(draw, drawing) for file, drawing in (pictures or {}).items()},
        )(run)

    return register


def checked(run: Callable[[Settings, Record], Outcome], settings: Settings) -> Mapping[str, Any]:
    """The measurements of an experiment on the known answer."""
    with tempfile.TemporaryDirectory() as folder:
        return run(settings, Record(folder, {"kind": "self-check"})).measurements


def trained(settings: Settings, record: Record, heads: int, **options: Any) -> Trained:
    """The run of these settings, from the cache beside the experiments' folders.

    Trained on the CPU, or on the device that the environment variable HEADSMITH_DEVICE names.
    """
    if settings.get("written"):
        return written(heads, options.get("task", Task()), options.get("activation", "exp"), options.get("init"))
    given = {key: settings[key] for key in ("steps", "rate", "batch") if key in settings}
    return train(
        heads,
        preset=settings["preset"],
        seeds=settings["seeds"],
        device=os.environ.get("HEADSMITH_DEVICE", "cpu"),
        out=record.folder.parent / "lab",
        **(given | options),
    )


def settled(run: Trained) -> int:
    """The first seed that is not stuck on the single-head plateau (the first one if all are)."""
    return next((i for i, d in enumerate(run.diagnoses) if not d.plateau), 0)


def head_numbers(run: Trained, seed_index: int | None = None) -> dict[str, Any]:
    """What every picture and claim about heads needs, for one seed (the first settled one unless given).

    Lists over the seeds that are not stuck on the plateau end in `_all`; `stuck` counts the others.
    """
    seed_index = settled(run) if seed_index is None else seed_index
    first, found = run.diagnoses[seed_index], [d for d in run.diagnoses if not d.plateau] or run.diagnoses
    return {
        "stuck": sum(d.plateau for d in run.diagnoses),
        "steps": int(run.steps[-1]),
        "seeds": list(run.seeds),
        "kq": run.kq[-1, seed_index].tolist(),
        "ov": run.ov[-1, seed_index].tolist(),
        "omega": first.omega.tolist(),
        "mu": first.mu.tolist(),
        "classes": list(first.head_classes),
        "gamma": first.gamma,
        "mu_plus_all": [d.mu_plus for d in found],
        "mu_minus_all": [d.mu_minus for d in found],
        "gamma_all": [d.gamma for d in found],
        "rate_all": [d.effective_rate for d in found],
        "off_diagonal_all": [d.off_diagonal for d in found],
        "label_leak_all": [d.label_leak for d in found],
        "value_leak_all": [d.value_leak for d in found],
        "zero_sum_all": [d.zero_sum for d in found],
        "sign_match_all": [d.sign_match for d in found],
        "risk_all": [d.risk for d in found],
        "classes_all": ["".join(d.head_classes) for d in found],
    }


def curve(run: Trained, seed_index: int | None = None) -> dict[str, Any]:
    """omega and mu of one seed over training (the first settled one unless given)."""
    seed_index = settled(run) if seed_index is None else seed_index
    return {
        "steps": run.steps.tolist(),
        "omega": run.omega()[:, seed_index].tolist(),
        "mu": run.mu()[:, seed_index].tolist(),
    }


def mean(values: Sequence[float]) -> float:
    """The mean over seeds."""
    return sum(values) / len(values)


def near(value: float, target: float, tolerance: float) -> bool:
    """|value - target| <= tolerance."""
    return abs(value - target) <= tolerance
