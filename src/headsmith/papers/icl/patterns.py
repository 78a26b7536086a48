"""What training leaves in the weights: figures 1, 2, 3, 5, 13 and 14."""

from __future__ import annotations

from typing import Any

import torch

from headsmith.lab import AttentionModel, Problem
from headsmith.lab import Run as Trained
from headsmith.lab.train import tasks
from headsmith.papers.icl.frame import (
    LONG,
    PRESETS,
    STILL,
    Settings,
    curve,
    head_numbers,
    item,
    mean,
    near,
    settled,
    trained,
)
from headsmith.papers.registry import Claim, Outcome, Row
from headsmith.records import Record
from headsmith.reference import regression

DIAGONAL = Claim(
    "KQ is diagonal, OV reads the response alone",
    lambda m: max(m["off_diagonal_all"]) < 0.01 and max(m["label_leak_all"]) < 0.15 and max(m["value_leak_all"]) < 0.1,
)
SIGNS = Claim("omega and mu of every active head have the same sign", lambda m: all(m["sign_match_all"]))
EVERY_SEED = Claim(
    "every seed leaves the single-head plateau (from PyTorch's start many do not)",
    lambda m: None if m["steps"] < 1000 else m["stuck"] == 0,
)
OPPOSITE = Claim(
    "one positive and one negative head of equal size, off the plateau",
    lambda m: all(sorted(c) == ["+", "-"] for c in m["classes_all"]) and max(m["zero_sum_all"]) < 0.02,
)
GAMMA = Claim(
    "gamma is about 0.13 and mu about 3.5",
    lambda m: (
        None
        if m["steps"] < LONG
        else near(mean(m["gamma_all"]), 0.13, 0.015) and near(mean(m["mu_plus_all"]), 3.5, 0.4)
    ),
)


@item(
    "figure-1a",
    [DIAGONAL, SIGNS, OPPOSITE, EVERY_SEED, GAMMA],
    where="Figure 1a, Observation 1",
    pictures={"heads.png": "heads"},
)
def figure_1a(settings: Settings, record: Record) -> Outcome:
    """Heat maps of KQ and OV of two trained heads."""
    run = trained(settings, record, 2)
    m = head_numbers(run)
    valley = Problem().valley(m["gamma"])
    rows = [
        Row("gamma", 0.13, mean(m["gamma_all"]), GAMMA.verdict(m), len(run.seeds)),
        Row(
            "mu of the positive head (beside it: mu_gamma by (4.6))",
            3.50,
            mean(m["mu_plus_all"]),
            GAMMA.verdict(m),
            len(run.seeds),
            valley,
        ),
        Row("mu of the negative head", -3.50, mean(m["mu_minus_all"]), GAMMA.verdict(m), len(run.seeds), -valley),
        Row("seeds still on the single-head plateau", 0, m["stuck"], EVERY_SEED.verdict(m), len(run.seeds)),
    ]
    return Outcome(m, rows)


RISES_AND_FALLS = Claim(
    "|omega| rises, turns and falls; the weight of the positive heads ends at its highest",
    lambda m: None if m["steps"] < 1000 else m["peak_over_end"] > 1.05 and m["end_over_highest_mu"] > 0.93,
)


def course(run: Trained, seed_index: int | None = None) -> dict[str, float]:
    """How far |omega| has fallen from its peak, and how near the positive weight is to its highest value."""
    seed_index = settled(run) if seed_index is None else seed_index
    omega, mu = run.omega()[:, seed_index], run.mu()[:, seed_index]
    size = (omega.abs() * mu.abs()).sum(-1) / mu.abs().sum(-1)
    positive = torch.where(omega[-1] > 0, mu, 0.0).sum(-1)
    return {
        "peak_over_end": float(size.max() / size[-1]),
        "end_over_highest_mu": float(positive[-1] / positive.max()) if float(positive.max()) > 0 else 1.0,
    }


MIRROR = Claim(
    "the two heads are mirror images from mid-training on",
    lambda m: None if m["steps"] < 1000 else m["asymmetry"] < 0.1,
)


@item(
    "figure-1b", [RISES_AND_FALLS, MIRROR, GAMMA], where="Figure 1b, Observation 4", pictures={"curves.png": "curves"}
)
def figure_1b(settings: Settings, record: Record) -> Outcome:
    """omega and mu of two heads over training."""
    run = trained(settings, record, 2)
    half = run.omega()[len(run.steps) // 2 :, settled(run)]
    m = head_numbers(run) | course(run)
    m["asymmetry"] = float((half.sum(-1).abs() / half.abs().sum(-1)).max())
    m |= {"curves": {"two heads": curve(run)}, "reference": {"ω": [0.13, -0.13], "μ": [3.5, -3.5]}}
    rows = [
        Row("omega at the peak / at the end", None, m["peak_over_end"], RISES_AND_FALLS.verdict(m), 1),
        Row("omega at the end", 0.13, max(m["omega"]), GAMMA.verdict(m), 1),
    ]
    return Outcome(m, rows)


SAME_ANSWER = Claim("a full layer with these patterns answers as the (omega, mu) formula", lambda m: m["gap"] < 1e-10)


@item("figure-2", [SAME_ANSWER], where="Figure 2, (2.3), (3.1)", presets=STILL, pictures={"diagram.png": "diagram"})
def figure_2(settings: Settings, record: Record) -> Outcome:
    """The reduction from the full layer to (omega, mu), as a diagram and as an identity."""
    omega, mu = [0.13, -0.13, 0.3], [3.45, -2.0, 0.7]
    model = AttentionModel.from_reduced(omega, mu, 5)
    drawn = tasks.isotropic().draw(200, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    parts = [regression.kernel_smoother(*drawn.regression(), w, m) for w, m in zip(omega, mu, strict=True)]
    query = torch.cat([drawn.query, torch.zeros(200, 1, dtype=torch.float64)], -1).unsqueeze(-1)
    with torch.no_grad():
        sequence = model.sequence(torch.cat([drawn.tokens, query], -1))[:, 5, -1]
    gap = float((sequence - torch.stack(parts).sum(0)).abs().max())
    return Outcome({"gap": gap, "features": 5}, [Row("largest difference", 0, gap, SAME_ANSWER.verdict({"gap": gap}))])


SINGLE = Claim("omega is about 0.52", lambda m: None if m["steps"] < 1000 else near(abs(m["omega"][0]), 0.52, 0.03))


@item("figure-3a", [DIAGONAL, SIGNS, SINGLE], where="Figure 3a", pictures={"heads.png": "heads"})
def figure_3a(settings: Settings, record: Record) -> Outcome:
    """Heat map of one trained head: a kernel smoother."""
    run = trained(settings, record, 1)
    m = head_numbers(run)
    seeds = len(run.seeds)
    rows = [
        Row(
            "|omega|; beside it 1/sqrt(d), the minimiser of the approximate loss",
            0.52,
            abs(m["omega"][0]),
            SINGLE.verdict(m),
            seeds,
            5**-0.5,
        ),
        Row(
            "|mu|; a notebook comment has 1.5523; the exact loss has its minimum at 1.49",
            1.42,
            abs(m["mu"][0]),
            "not stated",
            seeds,
        ),
        Row("risk; beside it debiased descent", 0.405, mean(m["risk_all"]), "not stated", seeds, 0.2429),
    ]
    return Outcome(m, rows)


def _tolerance(steps: int) -> float:
    """Weak heads are slow: their part of the valley is reached late."""
    return 0.08 if steps < 20_000 else 0.05


GROUPS = Claim(
    "the positive heads together weigh as much as the positive one of two",
    lambda m: None if m["steps"] < 1000 else abs(m["valley_ratio"] - 1) < _tolerance(m["steps"]),
)


def _four(settings: Settings, record: Record) -> Outcome:
    run, two = trained(settings, record, 4), trained(settings, record, 2)
    m = head_numbers(run) | course(run) | {"curves": {"four heads": curve(run)}}
    m["two_heads_mu_plus"] = two.diagnoses[settled(two)].mu_plus
    problem = Problem()
    ratios = [p / problem.valley(g) for p, g in zip(m["mu_plus_all"], m["gamma_all"], strict=True) if p > 0]
    m["valley_ratio"] = mean(ratios) if ratios else 0.0
    seeds = len(run.seeds)
    rows = [
        Row(
            "total weight of the positive heads; beside it that of two heads",
            3.5,
            mean(m["mu_plus_all"]),
            GROUPS.verdict(m),
            seeds,
            m["two_heads_mu_plus"],
        ),
        Row("the same over mu_gamma", 1.0, m["valley_ratio"], GROUPS.verdict(m), seeds),
        Row("gamma", 0.13, mean(m["gamma_all"]), GAMMA.verdict(m), seeds, two.diagnoses[settled(two)].gamma),
        Row("head classes per seed", "- + - 0", ", ".join(m["classes_all"]), "not stated", seeds),
    ]
    return Outcome(m, rows)


@item("figure-3b", [SIGNS, GROUPS, RISES_AND_FALLS], where="Figure 3b", pictures={"curves.png": "curves"})
def figure_3b(settings: Settings, record: Record) -> Outcome:
    """omega of four heads over training."""
    return _four(settings, record)


@item("figure-3c", [SIGNS, GROUPS], where="Figure 3c", pictures={"curves.png": "curves"})
def figure_3c(settings: Settings, record: Record) -> Outcome:
    """mu of four heads over training."""
    return _four(settings, record)


EARLY = Claim(
    "the pattern is there early: off-diagonal below 0.05 from the fourth frame on",
    lambda m: None if m["steps"] < 1000 else max(m["frame_off_diagonal"][3:]) < 0.05,
)


def _film(run: Trained) -> dict[str, Any]:
    """Frames at the paper's steps 0, 1, 2, 10, 100, 500 (thousands), scaled to the length of the run."""
    wanted = [round(run.recipe.steps * share) for share in (0, 0.002, 0.02, 0.25, 0.5, 1.0)]
    picks = [int((run.steps - step).abs().argmin()) for step in wanted]
    seed = settled(run)
    frames = run.kq[picks, seed]
    d = run.task.features
    A = frames[..., :d, :d].double()
    off = 1 - A.diagonal(dim1=-2, dim2=-1).square().sum(-1) / A.square().sum((-2, -1))
    strength = A.norm(dim=(-2, -1)) * run.ov[picks, seed, :, 0, d].abs().double()
    weighted = (off * strength).sum(-1) / strength.sum(-1)
    return {
        "frames": frames.tolist(),
        "frame_steps": run.steps[picks].tolist(),
        "frame_off_diagonal": weighted.tolist(),
        "steps": int(run.steps[-1]),
    }


@item("figure-5", [EARLY], where="Figure 5, Observation 4", pictures={"film.png": "film"})
def figure_5(settings: Settings, record: Record) -> Outcome:
    """KQ of two heads at six moments of training."""
    run = trained(settings, record, 2)
    m = _film(run)
    steps, off = m["frame_steps"], m["frame_off_diagonal"]
    rows = [Row(f"off-diagonal part at step {s}", None, o, "not stated", 1) for s, o in zip(steps, off, strict=True)]
    return Outcome(m, rows)


SAME_SUMS = Claim(
    "two, three and four heads end on the valley: mu+ / mu_gamma = 1 within 5 % (8 % after a short run)",
    lambda m: None if m["steps"] < 1000 else all(abs(r - 1) < _tolerance(m["steps"]) for r in m["valley_ratios"]),
)


@item("figure-13", [SAME_SUMS], where="Figure 13", pictures={"curves.png": "curves"})
def figure_13(settings: Settings, record: Record) -> Outcome:
    """omega and mu of two, three and four heads over training."""
    runs = {heads: trained(settings, record, heads) for heads in (2, 3, 4)}
    problem = Problem()
    found = {heads: run.diagnoses[settled(run)] for heads, run in runs.items()}
    m = {
        "steps": int(runs[2].steps[-1]),
        "curves": {f"{heads} heads": curve(run) for heads, run in runs.items()},
        "gammas": [d.gamma for d in found.values()],
        "valley_ratios": [d.mu_plus / problem.valley(d.gamma) if d.mu_plus > 0 else 0.0 for d in found.values()],
    }
    rows = [
        Row(
            f"{heads} heads: total positive weight, beside it mu_gamma",
            3.5,
            d.mu_plus,
            SAME_SUMS.verdict(m),
            1,
            problem.valley(d.gamma),
        )
        for heads, d in found.items()
    ]
    return Outcome(m, rows)


HARMLESS = Claim(
    "removing a dummy head changes the risk by less than 0.01",
    lambda m: None if m["steps"] < 20_000 or not m["dummy_costs"] else max(m["dummy_costs"]) < 0.01,
)


@item(
    "figure-14",
    [HARMLESS],
    where="Figure 14, dummy heads",
    presets={name: {**chosen, "seeds": max(2, chosen["seeds"]), "init": "default"} for name, chosen in PRESETS.items()},
    pictures={"film.png": "film"},
)
def figure_14(settings: Settings, record: Record) -> Outcome:
    """KQ of four heads at six moments; how often a head ends as a dummy depends on the seed."""
    run = trained(settings, record, 4, init=settings["init"])
    found = run.diagnoses
    costs = [d.ablation[h] for d in found for h, c in enumerate(d.head_classes) if c == "0"]
    m = _film(run) | {"dummy_costs": costs, "classes_all": ["".join(d.head_classes) for d in found]}
    share = sum(c.count("0") for c in m["classes_all"]) / (4 * len(found))
    rows = [
        Row("share of dummy heads over seeds", "1 of 4 in one run", share, "not stated", len(found)),
        Row("risk lost by removing them", 0, max(costs) if costs else None, HARMLESS.verdict(m), len(found)),
    ]
    return Outcome(m, rows)
