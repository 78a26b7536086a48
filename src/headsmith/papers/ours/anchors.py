"""How many keys does a certified error cost?

For each function and eps: the keys of the network that is certified to meet it, beside what the papers' printed
rule asks for (Thm 3.1 of algorithm-emulation: a staircase, so 1/eps), the points that Chebyshev interpolation
needs, and the keys of a prototype whose error was sampled, not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from headsmith.papers.ours.functions import BY_FORMULA, CASES, EPS, FEW, Case
from headsmith.papers.registry import Claim, Measurements, Outcome, Row, experiment
from headsmith.records import Record, progress
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.views.style import PALETTE, figure, loglog

CHEBYSHEV_CAP = 1024


def chebyshev_points(f: Callable[[np.ndarray], np.ndarray], domain: tuple[float, float], eps: float) -> int | None:
    """The least n up to 1024, by bisection and descent, whose interpolant in n points is within eps on samples.

    >>> chebyshev_points(lambda z: z**2, (-2, 2), 1e-9)
    3
    """
    lo, hi = domain
    unit = np.concatenate([np.linspace(-1, 1, 3001), np.cos(np.linspace(0, np.pi, 2001))])

    def place(t: np.ndarray) -> np.ndarray:
        return np.clip((lo + hi) / 2 + (hi - lo) / 2 * t, lo, hi)

    wanted = f(place(unit))

    def enough(n: int) -> bool:
        nodes = chebyshev.chebpts1(n) if n > 1 else np.zeros(1)
        k = np.arange(n)
        coefficients = 2 / n * np.cos(np.outer(k, np.arccos(nodes))) @ f(place(nodes))
        coefficients[0] /= 2
        return bool(np.abs(chebyshev.chebval(unit, coefficients) - wanted).max() <= eps)

    high = 1
    while not enough(high):
        high *= 2
        if high > CHEBYSHEV_CAP:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    while smaller := next((n for n in (high - 1, high - 2) if n > 0 and enough(n)), None):
        high = smaller  # even and odd n differ for even and odd f, so that bisection may stop early
    return high


def one(case: Case, eps: float) -> dict[str, Any]:
    """All sizes for one function at one eps; `keys` is None where the compiler refuses."""
    from headsmith.doors.compile import plan
    from headsmith.functions import parse

    point: dict[str, Any] = {
        "formula": case.formula,
        "eps": eps,
        "polynomial": case.polynomial,
        "chebyshev": chebyshev_points(parse(case.formula), case.domain, eps),
        "prototype": dict(zip(EPS, case.prototype, strict=True)).get(eps),
    }
    try:
        made = plan(case.formula, domain=case.domain, eps=eps)
    except Refusal as refusal:
        return {**point, "keys": None, "refusal": str(refusal)}
    size = {"keys": made.anchors, "heads": made.heads, "printed": made.printed_anchors}
    return {**point, **size, "method": made.method, "bound": made.bound}


def _points(m: Measurements) -> list[Mapping[str, Any]]:
    return [point for point in m["points"] if point["keys"] is not None]


def _bounds_meet_eps(m: Measurements) -> bool:
    return all(point["bound"] <= point["eps"] for point in _points(m))


def _fewer_than_chebyshev(m: Measurements) -> bool:
    curved = [p for p in _points(m) if not p["polynomial"]]
    return all(p["chebyshev"] is None or p["keys"] < p["chebyshev"] for p in curved)


def _printed_is_larger(m: Measurements) -> bool | None:
    small = [p for p in _points(m) if p["eps"] <= 1e-6]
    return all(p["printed"] >= 10_000 * p["keys"] for p in small) if small else None


def _near_the_prototype(m: Measurements) -> bool:
    known = [p for p in _points(m) if p["prototype"] is not None]
    return all(p["keys"] <= p["prototype"] + 3 for p in known)


def _nothing_refused(m: Measurements) -> bool:
    return all(point["keys"] is not None for point in m["points"])


def self_check() -> bool:
    """x^2 is a polynomial of three points, and a small plan meets its eps."""
    point = one(BY_FORMULA["tanh(x)"], 1e-6)
    return chebyshev_points(np.square, (-2.0, 2.0), 1e-9) == 3 and point["bound"] <= 1e-6 and point["keys"] == 2


def draw(m: Measurements) -> Any:
    """Keys against eps, one panel per function; the printed rule is the line it is."""
    names = list(dict.fromkeys(point["formula"] for point in m["points"]))
    columns = min(4 if len(names) > 6 else 3, len(names))
    rows = -(-len(names) // columns)
    fig, axes = figure(rows, columns, width=3.4, height=2.7)
    panels = np.atleast_1d(axes).ravel()
    styles = (
        ("printed", "printed rule", {"color": "#999999", "linestyle": "--", "marker": ""}),
        ("chebyshev", "Chebyshev points", {"color": PALETTE[4], "marker": "s"}),
        ("prototype", "prototype, sampled", {"color": PALETTE[5], "marker": "^"}),
        ("keys", "certified keys", {"color": PALETTE[0], "linewidth": 2.4}),
    )
    eps = sorted({point["eps"] for point in m["points"]})
    for panel, name in zip(panels, names, strict=False):
        points = [point for point in m["points"] if point["formula"] == name]
        for key, label, style in styles:
            known = [point for point in points if point.get(key)]
            sizes = [point[key] for point in known]
            loglog(panel, [point["eps"] for point in known], sizes, label, **style)
            if key in ("keys", "printed") and known:
                at = (known[-1]["eps"], sizes[-1])
                text = number(sizes[-1], 2)
                panel.annotate(text, at, (6, 0), textcoords="offset points", va="center", fontsize=8)
        panel.set_title(name, fontsize=10, loc="left")
        panel.set_ylim(0.7, 1e14 if len(eps) < 4 else 1e20)
        panel.set_xlim(4 * eps[-1], eps[0] / (25 if len(eps) < 4 else 400))
        panel.minorticks_off()
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    for row in range(rows):
        panels[row * columns].set_ylabel("keys")
    for panel in panels[max(0, len(names) - columns) : len(names)]:
        panel.set_xlabel("eps")
    panels[0].legend(loc="upper left", fontsize=7)
    return fig


@experiment(
    "ours/anchors",
    [
        Claim("every certified bound meets its eps", _bounds_meet_eps),
        Claim("fewer keys than Chebyshev points, unless f is a polynomial", _fewer_than_chebyshev),
        Claim("at 1e-6 and below the printed rule asks for at least 10 000 times as many keys", _printed_is_larger),
        Claim("at most 3 keys more than the prototype, whose error was only sampled", _near_the_prototype),
        Claim("no function is refused", _nothing_refused),
    ],
    presets={
        "smoke": {"formulas": list(FEW), "eps": [1e-3, 1e-6]},
        "full": {"formulas": [case.formula for case in CASES], "eps": list(EPS)},
    },
    self_check=self_check,
    where="Thm 3.1",
    pictures={"keys.png": draw},
)
def anchors(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Plan every function at every eps, and set the four sizes side by side."""
    work = [(formula, eps) for formula in settings["formulas"] for eps in settings["eps"]]
    points, rows = [], []
    for formula, eps in progress(work, "counting keys"):
        case = BY_FORMULA[formula]
        point = record.once(f"{CASES.index(case)}-{eps:g}", partial(one, case, eps))
        points.append(point)
        met = point["keys"] is not None and point["bound"] <= eps
        rows.append(
            Row(
                f"{formula} at {eps:.0e}",
                point.get("printed"),
                point["keys"],
                "holds" if met else "fails",
                baseline=f"> {CHEBYSHEV_CAP}" if point["chebyshev"] is None else point["chebyshev"],
            )
        )
    return Outcome({"points": points}, rows)
