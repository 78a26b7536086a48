"""Sequence maps by bumps, as printed and repaired, and by one head on a tensor grid (softmax-universality, Thm 3.14).

The map is X (2 tokens, 1 feature) -> (sin(2 x1) x2 + x1/2, cos(1.5 (x1 + x2))) on [-1, 1].
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from headsmith.constructions.bumps import Bumps, bump_network
from headsmith.papers.registry import Claim, Measurements, Outcome, Row, experiment
from headsmith.papers.universality.errata_sequences import sup_error, target
from headsmith.records import Record
from headsmith.records.progress import progress
from headsmith.views.universality import bumps

FORMULAS = ("sin(2*x1)*x2 + x1/2", "cos(1.5*(x1 + x2))")
KINDS: dict[str, dict[str, Any]] = {
    "printed": {"ramps": "printed", "delta": 0.1, "anchors": 2, "average": False},
    "core": {"ramps": "core", "delta": 0.1, "anchors": 2},
    "straddling": {},
}


def cut(g: int) -> dict[str, Any]:
    """The first output along x1 at x2 = 0.3; the printed one divided by the number of cells, so that it fits."""
    x = np.linspace(-1, 1, 400)
    X = np.stack([x, np.full_like(x, 0.3)], -1)[..., None]
    shown: dict[str, Any] = {"x": x.tolist(), "target": target(X)[:, 0, 0].tolist(), "cells": g**2}
    for name, options in KINDS.items():
        bumps = Bumps(2, 1, g, 0.0, 1.0, **({"delta": 0.25, "beta": 30.0, "anchors": 9} | options))
        out = bump_network(bumps, target(bumps.centres()))(torch.from_numpy(X))[:, 0, 0]
        shown[name] = (out / (bumps.cells if name == "printed" else 1)).tolist()
    return shown


def slope(points: list[Mapping[str, float]]) -> float:
    """d log(error) / d log(g), from first to last."""
    first, last = points[0], points[-1]
    return 2 * math.log(last["error"] / first["error"]) / math.log(last["cells"] / first["cells"])


def _printed_fails(m: Measurements) -> bool:
    return min(p["error"] for p in m["errors"]["printed"]) > 1.5


def _core_stalls(m: Measurements) -> bool:
    return slope(m["errors"]["core"]) > -0.4


def _straddling_converges(m: Measurements) -> bool:
    return slope(m["errors"]["straddling"]) < -0.8


def _grid_is_smaller(m: Measurements) -> bool:
    ours, theirs = m["errors"]["grid head, certified"], m["errors"]["straddling"]
    return ours[0]["cells"] < theirs[0]["cells"] * 2 and ours[-1]["error"] < 1e-3 * theirs[-1]["error"]


def self_check() -> bool:
    """The cheapest run that decides every claim."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"g": [3, 6], "eps": [1e-1, 1e-4]}
        measured = sequence_bumps.run(settings, Record(folder, settings)).measurements
        return all(claim.verdict(measured) == "holds" for claim in sequence_bumps.claims)


@experiment(
    "softmax-universality/sequence-bumps",
    [
        Claim("as printed the network misses by more than the size of f", _printed_fails),
        Claim("with the bias and the average repaired the sup error still does not fall with g", _core_stalls),
        Claim("with straddling ramps it falls like 1/g", _straddling_converges),
        Claim("a certified grid head of no more tokens is a thousand times closer", _grid_is_smaller),
    ],
    presets={
        "smoke": {"g": [3, 4, 6, 8], "eps": [1e-1, 1e-2, 1e-4, 1e-6]},
        "full": {"g": [3, 4, 6, 8, 12, 16], "eps": [1e-1, 1e-2, 1e-4, 1e-6, 1e-8]},
    },
    self_check=self_check,
    source="softmax-universality",
    where="Thm 3.14, Lemma 3.11",
    pictures={"bumps.png": bumps},
)
def sequence_bumps(settings: Mapping[str, Any], record: Record) -> Outcome:
    from headsmith.doors.compile import plan
    from headsmith.targets.sequence import SequenceMap

    errors: dict[str, list[dict[str, float]]] = {}
    for name, g in progress([(name, g) for name in KINDS for g in settings["g"]], "bumps"):
        errors.setdefault(name, []).append({"cells": g**2, "error": sup_error(g, **KINDS[name])})
    made = [plan(SequenceMap(FORMULAS, tokens=2, features=1), domain=(-1, 1), eps=eps) for eps in settings["eps"]]
    errors["grid head, certified"] = [{"cells": p.anchors, "error": p.bound} for p in made]
    rows = [
        Row(
            f"g = {g}, {g**2} cells",
            printed=errors["printed"][i]["error"],
            ours=errors["straddling"][i]["error"],
            baseline=errors["core"][i]["error"],
        )
        for i, g in enumerate(settings["g"])
    ]
    return Outcome({"errors": errors, "cut": cut(6)}, rows)
