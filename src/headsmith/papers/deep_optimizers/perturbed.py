"""Gradients made of sums of ReLUs, beside what bounds them: worked out afterwards, known before, and as printed.

Random networks and networks whose weights are all positive, as large as the hypotheses of the bounds allow; r and r'
are interpolated at equal steps. The path of gradient descent with such gradients is beside the exact one, and beside
what ((1 + rate L_f)^l - 1) eps / L_f says of the distance. The paper reports no numbers.

(deep-optimizers Thm 1, Cor 1.1.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from headsmith.papers.deep_optimizers import bounds
from headsmith.papers.deep_optimizers.bounds import Hypotheses
from headsmith.papers.deep_optimizers.errata_bounds import WIDE, kronecker
from headsmith.papers.deep_optimizers.sums import a_posteriori, apart, passed, sigmoid_slope, summed, tanh_slope
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.records import Record
from headsmith.records.shown import number
from headsmith.views.bounds import gradient_bounds

PAPER = "deep-optimizers"
CURVES = {
    "tanh": (bounds.TANH, torch.tanh, tanh_slope),
    "sigmoid": (bounds.SIGMOID, torch.sigmoid, sigmoid_slope),
}
DEPTHS, KNOTS, SAMPLES = (2, 3, 4), (65, 257, 1025), 20
PRESETS: dict[str, dict[str, Any]] = {"smoke": {"draws": 100}, "good": {"draws": 1_000}, "full": {"draws": 10_000}}
BOUNDS = ("a posteriori", "norms of layers", "printed form mended", "as printed")
PATH, RATE, COARSE, RANGE, TARGET = (1, 10, 20, 80), 0.1, 65, 6.0, 1e-3


def hypotheses(depth: int) -> Hypotheses:
    """N layers of five units, three inputs and outputs."""
    return Hypotheses(depth, inputs=3, width=5, outputs=3, row=2.0, x=2.0, y=1.0)


def drawn(h: Hypotheses, count: int, seed: int = 0) -> tuple[list[Tensor], Tensor, Tensor]:
    """(rows of each layer, x, y): |v| = B_v, |x| = B_x; every other draw has smaller weights, none of them negative."""
    g = torch.Generator().manual_seed(seed)
    size = torch.rand(count, 1, 1, generator=g, dtype=torch.float64)
    odd = (torch.arange(count) % 2 == 1)[:, None, None]
    rows, fan = [], h.inputs
    for n in h.units:
        V = torch.randn(count, n, fan, generator=g, dtype=torch.float64)
        V = h.row * V / V.norm(dim=-1, keepdim=True)
        rows.append(torch.where(odd, size * V.abs(), V))
        fan = n
    x = torch.randn(count, SAMPLES, h.inputs, generator=g, dtype=torch.float64)
    y = torch.rand(count, SAMPLES, h.outputs, generator=g, dtype=torch.float64)
    return rows, h.x * x / x.norm(dim=-1, keepdim=True), h.y * (2 * y - 1)


def case(name: str, depth: int, knots: int, draws: int) -> dict[str, Any]:
    """How far gradients are off, and the bounds, at the range that the hypotheses ask for."""
    (shape, r, slope), h = CURVES[name], hypotheses(depth)
    end = bounds.reach(h, shape)
    e, given = bounds.uniform(shape, end, knots), drawn(h, draws)
    off = passed(*given, summed(r, end, knots), summed(slope, end, knots))
    found, after = apart(passed(*given, r, slope), off), a_posteriori(off, shape, e, end)
    before = bounds.a_priori(h, shape, knots), bounds.mended(h, shape, e), bounds.printed(h, shape, e)
    return {
        "activation": name,
        "depth": depth,
        "knots": knots,
        "measured": float(found.max()),
        "ratio": float((after / found).min()),
        **dict(zip(BOUNDS, (float(after.max()), *before), strict=True)),
    }


def path() -> dict[str, Any]:
    """tanh, N = 3: gradient descent on sums of COARSE knots on [-RANGE, RANGE], and on tanh."""
    shape, r, slope = CURVES["tanh"]
    g, h = torch.Generator().manual_seed(0), hypotheses(3)
    sizes = ((5, 3), (5, 5), (3, 5))
    start = [torch.randn(*size, generator=g, dtype=torch.float64) / size[1] ** 0.5 for size in sizes]
    _, [x], [y] = drawn(h, 1)
    e, sums = bounds.uniform(shape, RANGE, COARSE), (summed(r, RANGE, COARSE), summed(slope, RANGE, COARSE))
    exact, other, found = start, start, []
    for _ in range(max(PATH)):
        one, two = passed(exact, x, y, r, slope), passed(other, x, y, *sums)
        off = float(apart(two, passed(other, x, y, r, slope)))
        steep = max(_steepest(rows, x, y) for rows in (exact, other))
        exact, other = (_moved(each) for each in (one, two))
        found.append((off, float(a_posteriori(two, shape, e, RANGE)), steep, _between(exact, other)))
    seen, certified, lipschitz, gaps = map(list, zip(*found, strict=True))
    eps, L_f = {"seen": max(seen), "certified": max(certified)}, max(lipschitz)
    told = {who: [bounds.trajectory(value, L_f, RATE, t) for t in PATH] for who, value in eps.items()}
    told["printed"] = [bounds.printed_trajectory(eps["certified"], L_f, SAMPLES, t) for t in PATH]
    return {"eps": eps, "L_f": L_f, "moved": _between(start, exact), "gaps": [gaps[t - 1] for t in PATH], "told": told}


def _moved(found: Any) -> list[Tensor]:
    return [V - RATE * slope for V, slope in zip(found.rows, found.gradient, strict=True)]


def _between(one: list[Tensor], other: list[Tensor]) -> float:
    return float(torch.cat([(a - b).flatten() for a, b in zip(one, other, strict=True)]).norm())


def _steepest(rows: list[Tensor], x: Tensor, y: Tensor) -> float:
    """The largest |eigenvalue| of the Hessian of the loss."""
    sizes = [V.shape for V in rows]

    def loss(w: Tensor) -> Tensor:
        p = x
        for part, size in zip(w.split([V.numel() for V in rows]), sizes, strict=True):
            p = torch.tanh(p @ part.view(size).mT)
        return 0.5 * (p - y).square().sum(-1).mean()

    second = torch.autograd.functional.hessian(loss, torch.cat([V.flatten() for V in rows]), vectorize=True)
    return float(torch.linalg.eigvalsh(second).abs().max())


def exceeded() -> dict[str, float]:
    """The wide sigmoid layer of E6: what its gradient is off by, and the bounds."""
    found, e = kronecker(WIDE)
    named = {"printed": bounds.printed, "mended": bounds.mended, "norms of layers": bounds.two_norm}
    return {"measured": found, **{name: bound(WIDE, bounds.SIGMOID, e) for name, bound in named.items()}}


def needed() -> list[dict[str, Any]]:
    """What a gradient within TARGET asks for."""
    found = []
    for name, (shape, *_) in CURVES.items():
        for depth in DEPTHS:
            need = bounds.demand(hypotheses(depth), shape, TARGET)
            found.append({"activation": name, "depth": depth, **vars(need)})
    return found


def measure(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Every case, the path, the layer of E6, and what a small error asks for."""
    given = [(name, depth, knots) for name in CURVES for depth in DEPTHS for knots in KNOTS]
    cases = [case(*each, settings["draws"]) for each in given]
    return {"cases": cases, "path": path(), "exceeded": exceeded(), "needed": needed(), "steps": list(PATH)}


def _always(m: Mapping[str, Any], name: str) -> bool:
    return all(c["measured"] <= c[name] for c in m["cases"])


def _repaired(found: Mapping[str, float]) -> tuple[float, float]:
    return found["mended"], found["norms of layers"]


def _falls(m: Mapping[str, Any]) -> bool:
    """Cases of one network follow each other, each with four times the knots of the last."""
    pairs = [pair for pair in zip(m["cases"], m["cases"][1:], strict=False) if pair[0]["knots"] < pair[1]["knots"]]
    return all(8 <= a["measured"] / b["measured"] <= 32 for a, b in pairs)


def _within(m: Mapping[str, Any], who: str) -> bool:
    pairs = zip(m["path"]["gaps"], m["path"]["told"][who], strict=True)
    return all(gap <= told * (1 + 1e-9) for gap, told in pairs)


CLAIMS = (
    Claim(
        "the a posteriori bound is at least what is measured, on every draw",
        lambda m: all(c["ratio"] >= 1 for c in m["cases"]),
    ),
    Claim("so is the a priori bound from norms of layers", lambda m: _always(m, BOUNDS[1])),
    Claim("so is the printed form once it is mended", lambda m: _always(m, BOUNDS[2])),
    Claim(
        "the printed bound is not: 256 sigmoid units exceed it, and neither of the other two",
        lambda m: m["exceeded"]["printed"] < m["exceeded"]["measured"] <= min(_repaired(m["exceeded"])),
    ),
    Claim(
        "norms of layers ask for less than the mended form, wherever they bound anything",
        lambda m: all(c[BOUNDS[1]] <= c[BOUNDS[2]] for c in m["cases"] if c[BOUNDS[1]] < float("inf")),
    ),
    Claim("four times the knots: the error falls to between a 32nd and an 8th", _falls),
    Claim(
        "two paths are as near as ((1 + rate L_f)^l - 1) eps / L_f, L_f seen on them, eps seen or certified",
        lambda m: _within(m, "seen") and _within(m, "certified"),
    ),
    Claim(
        "and after 80 steps that says nothing: it is above all that was moved, as printed above 1e100",
        lambda m: m["path"]["told"]["certified"][-1] > m["path"]["moved"] and m["path"]["told"]["printed"][-1] > 1e100,
    ),
)


def self_check() -> bool:
    """A few draws keep their bounds, and would not if they were off by 10 000 times as much."""
    cases = [case("tanh", 2, knots, 6) for knots in KNOTS]
    sound = all(claim.verdict({"cases": cases, "exceeded": exceeded()}) == "holds" for claim in CLAIMS[:6])
    worse = [c | {"measured": 1e4 * c["measured"], "ratio": 1e-4 * c["ratio"]} for c in cases]
    return sound and all(claim.verdict({"cases": worse}) == "fails" for claim in CLAIMS[:2])


@experiment(
    f"{PAPER}/bounds", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Thm 1",
    pictures={"bounds.png": gradient_bounds},
)  # fmt: skip
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """All cases; of each the largest error of all draws."""
    m, rows = measure(settings), []
    for c in m["cases"]:
        name = f"{c['activation']}, N = {c['depth']}, {c['knots']} knots: gradient off by"
        beside = ", ".join(f"{bound} {number(c[bound])}" for bound in BOUNDS[:3])
        rows.append(Row(name, c["as printed"], c["measured"], baseline=beside))
    for t, gap, *told in zip(m["steps"], m["path"]["gaps"], *m["path"]["told"].values(), strict=True):
        beside = f"at most {number(told[0])} (eps seen), {number(told[1])} (certified)"
        rows.append(Row(f"tanh, N = 3, 65 knots: paths apart after {t} steps", told[2], gap, baseline=beside))
    for need in m["needed"]:
        name = f"{need['activation']}, N = {need['depth']}: heads for a gradient within {TARGET:g}"
        rows.append(Row(name, need["printed_heads"], need["heads"], baseline=f"{need['knots']} knots"))
    e6 = m["exceeded"]
    beside = f"mended {number(e6['mended'])}, norms of layers {number(e6['norms of layers'])}"
    rows.append(Row("sigmoid, K = 256 (E6): gradient off by", e6["printed"], e6["measured"], baseline=beside))
    return Outcome(m, rows)
