"""Losses, landscapes and flows: figures 6, 7, 20, 21, 22 and 23."""

from __future__ import annotations

import math

import numpy as np
import torch

from headsmith.lab import Problem, flow
from headsmith.lab.theory.approximate import descend, loss
from headsmith.lab.theory.exact import concentration, moments
from headsmith.lab.theory.flow import late_law, printed_law
from headsmith.papers.icl.frame import STILL, Settings, item, settled, trained
from headsmith.papers.registry import Claim, Outcome, Row
from headsmith.records import Record

CLOSE = Claim("for omega <= 0.09 and mu <= 2 the two losses differ by less than 0.02", lambda m: m["gap_small"] < 0.02)
VALLEY = Claim(
    "the valley of the exact loss is that of the approximate one, mu_gamma, within 10 %",
    lambda m: m["valley_error"] < 0.1,
)


@item(
    "figure-6",
    [CLOSE, VALLEY],
    where="Figure 6, Proposition 4.1",
    presets=STILL,
    pictures={"landscape.png": "landscape"},
)
def figure_6(settings: Settings, record: Record) -> Outcome:
    """The exact and the approximate loss of the pair (omega, -omega), (mu, -mu)."""
    problem = Problem(5, 40, 0.1)
    omega, mu = np.linspace(0.02, 0.4, 24), np.linspace(0.25, 6, 24)
    draws = 2 * (min(settings["prompts"], 2000) // 4)
    exact, approximate, best = [], [], []
    sign = torch.tensor([1.0, -1.0], dtype=torch.float64)
    for w in omega:
        b, M = moments(w * sign, problem, draws=draws)
        linear, quadratic = float(b @ sign), float(sign @ M @ sign)
        exact.append([1 + problem.noise - 2 * linear * v + quadratic * v * v for v in mu])
        approximate.append([float(loss(w * sign, v * sign, problem)) for v in mu])
        best.append(linear / quadratic)
    gap = np.array(exact) - np.array(approximate)
    valley = [problem.valley(w) for w in omega]
    small = gap[np.ix_(omega <= 0.09, mu <= 2.0)]
    m = {
        "omega": omega.tolist(),
        "mu": mu.tolist(),
        "exact": np.array(exact).T.tolist(),
        "approximate": np.array(approximate).T.tolist(),
        "difference": gap.T.tolist(),
        "valley": valley,
        "gap_small": float(np.abs(small).max()),
        "valley_error": max(abs(a / b - 1) for a, b, w in zip(best, valley, omega, strict=True) if w <= 0.2),
        "at_trained_point": float(np.interp(0.13, omega, [row[int(np.abs(mu - 3.5).argmin())] for row in gap])),
    }
    rows = [
        Row("largest difference for omega <= 0.09, mu <= 2", "small", m["gap_small"], CLOSE.verdict(m)),
        Row(
            "difference at the trained point (0.13, 3.5), outside the proposition's range", None, m["at_trained_point"]
        ),
        Row("distance of the two valleys, omega <= 0.2", 0, m["valley_error"], VALLEY.verdict(m)),
    ]
    return Outcome(m, rows)


PINNED = Claim("(1 + d lambda) mu.omega reaches 1 within 4 % and stays", lambda m: m["late_deviation"] < 0.04)


@item("figure-7", [PINNED], where="Figure 7, (4.3)", presets=STILL, pictures={"pinning.png": "lines"})
def figure_7(settings: Settings, record: Record) -> Outcome:
    """Gradient descent on the approximate loss, rate 0.01, two heads: the product is pinned early."""
    problem = Problem(5, 40, 0.1)
    start = torch.tensor([0.05, -0.03]), torch.tensor([0.1, -0.05])
    times, omega, mu = descend(*start, problem, 0.01, 4000, every=10)
    pinned = ((omega * mu).sum(-1) / problem.rate).tolist()
    reached = next(i for i, value in enumerate(pinned) if value > 0.96)
    panel = {"x": times.tolist(), "lines": {"(1 + dλ)⟨μ, ω⟩": pinned}, "xlabel": "step"}
    m = {
        "panels": {"pinning": panel},
        "reached": int(times[reached]),
        "late_deviation": max(abs(v - 1) for v in pinned[len(pinned) // 2 :]),
    }
    rows = [
        Row("step at which 0.96 is reached", None, m["reached"]),
        Row("largest deviation from 1 in the second half", 0, m["late_deviation"], PINNED.verdict(m)),
    ]
    return Outcome(m, rows)


CONCENTRATES = Claim(
    "|p|^2 falls towards 0 with the length for fixed d, and for d/L = 1/8 when omega shrinks like sqrt(log L / d)",
    lambda m: m["a"][-1] < 0.5 * m["a"][0] and m["c"][-1] < 0.8 * m["c"][0],
)
DOES_NOT = Claim("it does not for d/L = 1/8 and fixed omega", lambda m: m["b"][-1] > m["b"][0])


@item(
    "figure-20", [CONCENTRATES, DOES_NOT], where="Figure 20", presets=STILL, pictures={"histograms.png": "histograms"}
)
def figure_20(settings: Settings, record: Record) -> Outcome:
    """How far attention is from uniform: histograms of |p|^2 in three regimes."""
    draws, lengths = min(settings["prompts"], 2000), (40, 160, 640)
    panels: dict[str, dict] = {"a: d = 5": {}, "b: d = L/8": {}, "c: d = L/8, ω ~ √(log L / d)": {}}
    means: dict[str, list[float]] = {"a": [], "b": [], "c": []}
    for length in lengths:
        d = length // 8
        shrinking = 0.5 * math.sqrt(math.log(length) / d)
        cases = {"a": (0.5, 5), "b": (0.5, d), "c": (shrinking, d)}
        for (key, (omega, width)), panel in zip(cases.items(), panels.values(), strict=True):
            samples = concentration(omega, width, length, draws)
            panel[f"L = {length}"] = samples[:500].tolist()
            means[key].append(float(samples.mean()))
    m = {"panels": panels, **means}
    rows = [
        Row(
            f"mean of |p|^2, regime {key}, L = 40, 160, 640",
            shape,
            values,
            (CONCENTRATES if key != "b" else DOES_NOT).verdict(m),
        )
        for (key, values), shape in zip(means.items(), ("falls", "does not fall", "falls"), strict=True)
    ]
    return Outcome(m, rows)


SHAPE = Claim(
    "trained heads and descent on the approximate loss take the same path: up, turn, down the valley",
    lambda m: (
        None if m["steps"] < 1000 else m["turns"] > 1.05 and m["approximate_turns"] > 1.05 and m["distance"] < 0.1
    ),
)


@item("figure-21", [SHAPE], where="Figure 21, appendix A.4", pictures={"phase_plane.png": "phase_plane"})
def figure_21(settings: Settings, record: Record) -> Outcome:
    """Four trained heads and descent on the approximate loss in the (omega, mu) plane: the same path, other
    clocks.
    """
    run, problem = trained(settings, record, 4), Problem(5, 40, 0.1)
    seed = settled(run)
    omega, mu = run.omega()[:, seed].double(), run.mu()[:, seed].double()
    _, w, v = descend(omega[0], mu[0], problem, 0.02, 6000, every=20)

    def path(a: torch.Tensor, b: torch.Tensor) -> tuple[list[float], list[float]]:
        weight = b.abs().sum(-1)
        return ((a.abs() * b.abs()).sum(-1) / weight).tolist(), (weight / 2).tolist()

    train_path, flow_path = path(omega, mu), path(w, v)
    grid = np.linspace(0.12, 0.6, 60)
    end = train_path[0][-1], train_path[1][-1]
    m = {
        "steps": int(run.steps[-1]),
        "paths": {"training": train_path, "descent on the approximate loss": flow_path},
        "valley": (grid.tolist(), [problem.valley(g) for g in grid]),
        "turns": max(train_path[0]) / end[0],
        "approximate_turns": max(flow_path[0]) / flow_path[0][-1],
        "distance": abs(end[1] / problem.valley(end[0]) - 1),
    }
    rows = [
        Row(
            "peak of |omega| / end, training; beside it descent",
            None,
            m["turns"],
            SHAPE.verdict(m),
            1,
            m["approximate_turns"],
        ),
        Row("distance of the trained end point from the valley", 0, m["distance"], SHAPE.verdict(m), 1),
    ]
    return Outcome(m, rows)


def _flow(features: int, printed_peak: float, exact_peak: tuple[float, float]) -> Outcome:
    problem = Problem(features, 40, 0.1)
    long = flow([1e-3, -1e-3], [1e-3, -1e-3], until=1e6, features=features, samples=1200)
    tau, height = long.peak
    keep = long.times > 20
    times, rho, phi = long.times[keep], long.omega[keep, 0], long.mu[keep, 0]
    early = long.times <= 20
    panels = {
        "a: φ = μ and ρ = ω": {
            "x": long.times[early].tolist(),
            "lines": {"φ": long.mu[early, 0].tolist(), "ρ": long.omega[early, 0].tolist()},
            "xlabel": "time",
        },
        "b: phase III": {
            "x": times.tolist(),
            "log": "xy",
            "xlabel": "time",
            "lines": {
                "ρ": rho.tolist(),
                "t^(−1/6) law*": np.asarray(late_law(times, problem)).tolist(),
                "printed t^(−1/2) law*": np.asarray(printed_law(times, height, tau, problem)).tolist(),
            },
        },
        "c: 2φρ": {
            "x": long.times.tolist(),
            "log": "x",
            "xlabel": "time",
            "lines": {"2φρ": long.effective_rate.tolist()},
        },
        "d: loss": {
            "x": long.times.tolist(),
            "log": "x",
            "xlabel": "time",
            "lines": {"approximate loss": long.loss.tolist()},
        },
        "e: φ/ρ and φ/φ*(ρ)": {
            "x": times.tolist(),
            "log": "xy",
            "xlabel": "time",
            "lines": {
                "φ/ρ": (phi / rho).tolist(),
                "φ/φ*(ρ)": [p / problem.valley(r) for p, r in zip(phi, rho, strict=True)],
            },
        },
    }
    m = {
        "panels": panels,
        "peak_time": tau,
        "peak": height,
        "expected": list(exact_peak),
        "late": float(rho[-1]),
        "law": float(late_law(1e6, problem)),
        "printed_law": float(printed_law(1e6, height, tau, problem)),
        "exponent": long.exponent(1e5, 1e6),
        "rate": float(long.effective_rate[-1]),
        "eta": problem.rate,
    }
    rows = [
        Row(
            "peak of rho, beside it sqrt(log d / d)",
            printed_peak,
            height,
            PEAK.verdict(m),
            None,
            math.sqrt(math.log(features) / features),
        ),
        Row("time of the peak", None, tau, PEAK.verdict(m)),
        Row(
            "rho at t = 1e6: the printed t^(-1/2) law, beside ours t^(-1/6)",
            m["printed_law"],
            m["late"],
            PRINTED.verdict(m),
            None,
            m["law"],
        ),
        Row("exponent of rho between 1e5 and 1e6", -0.5, m["exponent"], CORRECTED.verdict(m), None, -1 / 6),
        Row("2 phi rho at the end, beside it eta*", m["eta"], m["rate"], CORRECTED.verdict(m), None, m["eta"]),
    ]
    return Outcome(m, rows)


PEAK = Claim(
    "rho peaks where the integrated flow says",
    lambda m: abs(m["peak"] - m["expected"][1]) < 5e-4 and abs(m["peak_time"] - m["expected"][0]) < 0.01,
)
PRINTED = Claim("phase III follows the printed t^(-1/2) law", lambda m: abs(m["late"] / m["printed_law"] - 1) < 0.1)
CORRECTED = Claim(
    "phase III follows rho = c (4 lambda d^3 c^6 t)^(-1/6)",
    lambda m: abs(m["late"] / m["law"] - 1) < 1e-3 and abs(m["exponent"] + 1 / 6) < 1e-3,
)


@item(
    "figure-22",
    [PEAK, CORRECTED, PRINTED],
    where="Figure 22, appendix B",
    presets=STILL,
    pictures={"flow.png": "lines"},
    fails=[PRINTED],
)
def figure_22(settings: Settings, record: Record) -> Outcome:
    """The two-head gradient flow (B.4) at d = 5."""
    return _flow(5, 0.57, (7.687, 0.5763))


@item(
    "figure-23",
    [PEAK, CORRECTED, PRINTED],
    where="Figure 23, appendix B",
    presets=STILL,
    pictures={"flow.png": "lines"},
    fails=[PRINTED],
)
def figure_23(settings: Settings, record: Record) -> Outcome:
    """The two-head gradient flow (B.4) at d = 10."""
    return _flow(10, 0.45, (6.986, 0.4548))
