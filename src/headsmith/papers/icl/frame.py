"""What the figures of this paper share: settings, cached training runs, and a quick self-check for each.

Training runs lie beside the experiments' folders and are shared: twelve figures look at the same two-head
run.  A self-check runs the experiment end to end on a toy size (forty steps, a few hundred prompts) and asks
every claim.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headsmith.lab import Run as Trained
from headsmith.lab import train
from headsmith.papers.registry import Claim, Experiment, Outcome, registry
from headsmith.records import Run
from headsmith.views import lab as draw

PAPER = "icl-linear-regression"
Settings = Mapping[str, Any]

SMOKE: dict[str, Any] = {"preset": "smoke", "seeds": 1, "prompts": 4_000}
GOOD: dict[str, Any] = {"preset": "good", "seeds": 4, "prompts": 20_000}
FULL: dict[str, Any] = {"preset": "paper", "seeds": 8, "prompts": 50_000}
PRESETS = {"smoke": SMOKE, "good": GOOD, "paper": FULL}
STILL = {"smoke": {"prompts": 4_000}, "good": {"prompts": 20_000}, "paper": {"prompts": 50_000}}
TOY = {"steps": 40, "prompts": 200, "seeds": 1}

LONG = 400_000  # steps from which the paper's gamma = 0.13 can be asked for


def item(
    name: str,
    claims: Sequence[Claim],
    *,
    where: str,
    presets: Mapping[str, Settings] = PRESETS,
    pictures: Mapping[str, str] | None = None,
) -> Callable[[Callable[[Settings, Run], Outcome]], Experiment]:
    """Register a figure or table: `pictures` maps file names to functions of `headsmith.views.lab`."""

    def register(run: Callable[[Settings, Run], Outcome]) -> Experiment:
        def self_check() -> bool:
            with tempfile.TemporaryDirectory() as folder:
                settings = {**presets["smoke"], **TOY}
                outcome = run(settings, Run(folder, {"kind": name}))
                for drawing in (pictures or {}).values():
                    getattr(draw, drawing)(outcome.measurements)
                return all(claim.verdict(outcome.measurements) for claim in claims)

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


def trained(settings: Settings, record: Run, heads: int, **options: Any) -> Trained:
    """The run of these settings, from the cache beside the experiments' folders.

    Trained on the CPU, or on the device that the environment variable HEADSMITH_DEVICE names.
    """
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
