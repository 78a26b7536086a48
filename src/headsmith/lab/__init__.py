"""The lab: train small attention layers on in-context regression, read their mechanism, compare with theory.

>>> run = train(heads=2, preset="smoke", steps=20, seeds=2, out=None)
>>> run.report()                                            # doctest: +SKIP
>>> compare(run, construct("debiased_gd"), "debiased_gd", "ridge")     # doctest: +SKIP

Three rooms, each importing only from those before it: `theory` (losses, risks, flow), `train` (tasks, layers, runs),
`read` (diagnosis, comparison, and the layers that are written down instead).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from headsmith.lab.train.runs import Run, train  # `train` is a room, too: bound here, the function has the name

_HOMES = {
    "Activation": "theory.activations",
    "AttentionModel": "train.models",
    "Comparison": "read.compare",
    "Diagnosis": "read.diagnose",
    "Flow": "theory.flow",
    "Problem": "theory.approximate",
    "Task": "train.tasks",
    "activation": "theory.activations",
    "compare": "read.compare",
    "construct": "read.construct",
    "diagnose": "read.diagnose",
    "exact_loss": "theory.exact",
    "fit": "train.training",
    "flow": "theory.flow",
    "load_model": "train.models",
    "risk": "theory.risk",
    "sweep": "train.sweep",
    "to_network": "read.construct",
}

__all__ = ["Run", "tasks", "train", *_HOMES]


def __getattr__(name: str) -> Any:
    """What reads and compares is imported when it is first used."""
    if name == "tasks":
        return import_module("headsmith.lab.train.tasks")
    if name in _HOMES:
        return getattr(import_module(f"headsmith.lab.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'headsmith.lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
