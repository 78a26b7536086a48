"""How many tokens does a certified error cost in two, three and four variables?

One head on a tensor grid for each formula and eps, beside the cells that the printed bumps would need (Lemma 3.11 of
softmax-universality) and the tokens of a prototype with evenly spaced keys, whose error was sampled and not proved.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from headsmith.papers.registry import Claim, Measurements, Outcome, Row, experiment
from headsmith.records import Record, progress
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.views import several_variables as draw

PROTOTYPE = {
    "sin(2*x)*cos(y) + x*y": {1e-2: 16, 1e-3: 36, 1e-4: 49, 1e-6: 81},
    "exp(-x^2 - y^2)": {1e-2: 16, 1e-3: 25, 1e-4: 49, 1e-6: 81},
    "1/(1 + x^2 + 2*y^2)": {1e-2: 25, 1e-3: 81, 1e-4: 121, 1e-6: 225},
    "tanh(3*(x + y))": {1e-2: 81, 1e-3: 169, 1e-4: 256, 1e-6: 576},
}
FLOORS = {
    ("sin(2*x)*cos(y) + x*y", 1e-3): 64,
    ("sin(2*x)*cos(y) + x*y", 1e-6): 144,
    ("exp(-x^2 - y^2)", 1e-3): 64,
    ("exp(-x^2 - y^2)", 1e-6): 144,
    ("1/(1 + x^2 + 2*y^2)", 1e-4): 170,
}
SHOWN = "sin(2*x)*cos(y) + x*y"


def one(formula: str, eps: float) -> dict[str, Any]:
    """The plan of one formula on [-1, 1] in each variable; `tokens` is None where the compiler refuses."""
    from headsmith.doors.compile import plan

    point: dict[str, Any] = {"formula": formula, "eps": eps, "prototype": PROTOTYPE.get(formula, {}).get(eps)}
    start = time.process_time()
    try:
        made = plan(formula, domain=(-1, 1), eps=eps)
    except Refusal as refusal:
        return {**point, "tokens": None, "refusal": str(refusal)}
    seconds = time.process_time() - start
    return {**point, "tokens": made.anchors, "bound": made.bound, "printed": made.printed_anchors, "seconds": seconds}


def picture(formula: str, eps: float) -> dict[str, Any]:
    """One network over its square, for a picture."""
    from headsmith.doors.compile import compile
    from headsmith.functions import parse

    net: Any = compile(formula, domain=(-1, 1), eps=eps)
    z = torch.linspace(-1, 1, 81, dtype=torch.float64)
    truth = parse(formula)(x=z[:, None], y=z[None, :])
    at = (0.35, -0.4)
    pattern = [axis.weights(np.float64(t)) for axis, t in zip(net.plan.design.head.axes, at, strict=True)]
    return {
        "formula": formula,
        "interval": (-1.0, 1.0),
        "bound": net.certificate.bound,
        "values": truth.tolist(),
        "error": (net(z[:, None], z[None, :]) - truth).tolist(),
        "weights": np.outer(*pattern).tolist(),
        "at": at,
    }


def _found(m: Measurements) -> list[Mapping[str, Any]]:
    return [point for point in m["points"] if point["tokens"] is not None]


def _bounds_meet_eps(m: Measurements) -> bool:
    return all(point["bound"] <= point["eps"] for point in _found(m))


def _floors(m: Measurements) -> bool | None:
    known = [(p["tokens"], FLOORS[p["formula"], p["eps"]]) for p in _found(m) if (p["formula"], p["eps"]) in FLOORS]
    return all(tokens <= floor for tokens, floor in known) if known else None


def _fewer_than_even_keys(m: Measurements) -> bool:
    return all(p["tokens"] <= p["prototype"] for p in _found(m) if p["prototype"])


def _printed_is_larger(m: Measurements) -> bool:
    return all(p["printed"] >= 1000 * p["tokens"] for p in _found(m) if p["eps"] <= 1e-3)


def _nothing_refused(m: Measurements) -> bool:
    return all(point["tokens"] is not None for point in m["points"])


def self_check() -> bool:
    """x*y is a product of two lines, each read off two or three keys."""
    point = one("x*y", 1e-3)
    return point["tokens"] <= 9 and point["bound"] <= 1e-3


@experiment(
    "ours/several-variables",
    [
        Claim("every certified bound meets its eps", _bounds_meet_eps),
        Claim("the sizes asked for are met", _floors),
        Claim("never more tokens than a grid of evenly spaced keys", _fewer_than_even_keys),
        Claim("the printed bumps need at least a thousand times as many cells from 1e-3 on", _printed_is_larger),
        Claim("nothing is refused", _nothing_refused),
    ],
    presets={
        "smoke": {"formulas": list(PROTOTYPE)[:3], "eps": [1e-2, 1e-3, 1e-4, 1e-6]},
        "full": {
            "formulas": [
                *PROTOTYPE,
                "exp(-x^2 - y^2 - z^2)",
                "sin(x + y + z)",
                "1/(1 + x^2 + y^2 + z^2)",
                "cos(x + y - z + w)",
            ],
            "eps": [1e-2, 1e-3, 1e-4, 1e-6],
        },
    },
    self_check=self_check,
    where="Lemma 3.11 against tensor grids",
    pictures={"tokens.png": draw.sizes, "head.png": draw.head},
)
def several_variables(settings: Mapping[str, Any], record: Record) -> Outcome:
    wanted = [(f, eps) for f in settings["formulas"] for eps in settings["eps"] if _sensible(f, eps)]
    points = [one(f, eps) for f, eps in progress(wanted, "formulas")]
    rows = [
        Row(
            f"{p['formula']} within {number(p['eps'])}",
            printed=p.get("printed"),
            ours=p["tokens"],
            verdict="not stated" if p["tokens"] is None else "holds" if p["bound"] <= p["eps"] else "fails",
            baseline=p["prototype"],
        )
        for p in points
    ]
    return Outcome({"points": points, "picture": picture(SHOWN, 1e-4)}, rows)


def _sensible(formula: str, eps: float) -> bool:
    """In three variables the certificate is sought down to 1e-4, in four down to 1e-3."""
    from headsmith.functions import parse

    return eps >= {2: 0.0, 3: 1e-4, 4: 1e-3}[len(parse(formula).variables)]
