"""How small an error can be certified in single precision?

For each function the smallest eps, by bisection on its exponent, at which a float32 network is still proved, rounding
included; below it the compiler refuses. In units u max|f| (u = 2^-24) it says how many roundings the head pays for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from headsmith.papers.ours.functions import BY_FORMULA, CASES
from headsmith.papers.registry import Claim, Measurements, Outcome, Row, experiment
from headsmith.records import Record, progress

UNIT = 2.0**-24
START = 1e-3


def smallest(formula: str, domain: tuple[float, float], steps: int) -> dict[str, Any]:
    """The smallest eps found by bisection between u max|f| and 1e-3, and the network that meets it."""
    from headsmith.compiler.plan import first_design
    from headsmith.compiler.request import Request
    from headsmith.constructions.design import Short
    from headsmith.targets.formula import Formula

    target = Formula.read(formula, domain)
    size = float(np.abs(target.formulas[0](np.linspace(*domain, 1001))).max())
    low, high = math.log10(UNIT * size), math.log10(START)
    best: dict[str, Any] = {"eps": None, "size": size}
    exponent = high
    for _ in range(steps + 1):
        try:
            made = first_design(target, Request.read(target, 10**exponent, domain, "float32", "auto"))
        except Short:
            low = exponent
        else:
            high = min(exponent, math.log10(made.bound))
            best |= {"eps": made.bound, "keys": made.anchors, "method": made.method}
        exponent = (low + high) / 2
    return best


def _limit(formula: str, eps: float) -> Claim:
    def predicate(m: Measurements) -> bool | None:
        found = [point for point in m["points"] if point["formula"] == formula]
        return None if not found else found[0]["eps"] is not None and found[0]["eps"] <= eps

    return Claim(f"{formula} is certified within {eps:g} in float32", predicate)


def self_check() -> bool:
    """tanh is exact, so a few roundings are all it costs."""
    found = smallest("tanh(x)", (-2.0, 2.0), 3)
    return found["eps"] is not None and found["eps"] < 1e-5


@experiment(
    "ours/float32",
    [
        *(_limit(name, 1e-4) for name in ("sin(3*x)", "gelu(x)", "softplus(x)", "x^2", "exp(-x^2)*cos(4*x)")),
        *(_limit(name, 1e-5) for name in ("relu(x)", "clip(x,-1,1)")),
    ],
    presets={
        "smoke": {"formulas": ["sin(3*x)", "gelu(x)", "x^2", "relu(x)"], "steps": 4},
        "full": {"formulas": [case.formula for case in CASES], "steps": 7},
    },
    self_check=self_check,
)
def float32(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Bisect for every function."""
    points, rows = [], []
    for formula in progress(settings["formulas"], "single precision"):
        case = BY_FORMULA[formula]
        search = partial(smallest, case.formula, case.domain, settings["steps"])
        point = record.once(f"float32-{CASES.index(case)}", search)
        points.append({"formula": formula, **point})
        eps = point["eps"]
        ours = None if eps is None else f"{eps:.1e} = {eps / (UNIT * point['size']):.0f} u max|f|, {point['keys']} keys"
        rows.append(Row(formula, None, ours, "fails" if eps is None else "holds"))
    return Outcome({"points": points}, rows)
