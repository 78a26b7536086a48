"""Headsmith forges attention heads that provably run your algorithm.

>>> import headsmith as hs
>>> net = hs.compile("sin(3*x)", domain=(-2, 2), eps=1e-6)
>>> net.certificate.bound <= 1e-6
True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from headsmith.refusal import Refusal

__version__ = "0.2.0"

_HOMES = {
    "compile": "headsmith.doors.compile",
    "plan": "headsmith.doors.compile",
    "load": "headsmith.compiler.files",
    "certify": "headsmith.compiler.files",
    "Certificate": "headsmith.proof.certificate",
    "StaleCertificate": "headsmith.proof.certificate",
    "Compiled": "headsmith.compiler.compiled",
    "Plan": "headsmith.compiler.plan",
    "Network": "headsmith.network",
    "parse": "headsmith.functions",
}
_MODULES = {
    "lab": "headsmith.lab",
    "target": "headsmith.targets.public",
    "machine": "headsmith.machines",
    "prompt": "headsmith.machines.prompts",
    "recall": "headsmith.doors.recall",
}

__all__ = ["Refusal", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    """Heavy parts are imported when they are first used, so that the command line answers at once."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'headsmith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
