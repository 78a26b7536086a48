"""Appendix H: a score network is trained on exact scores in one forward pass, and samples are drawn with it.

The prompt holds pairs ((x, t, 1), grad log p_t(x)) of a mixture under noise; the forward pass runs gradient descent
with momentum on a ReLU network with identity output (a ReLU output, as in Definition 1, cannot be negative, as every
score must be somewhere). The paper reports no numbers. Weights are read off the tokens: no query changes them, so that
one forward pass answers for every (x, t).

(deep-optimizers Problem 3, App H.)
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

import headsmith as hs
from headsmith.papers.deep_optimizers.mixture import EARLIEST, LATEST, NoisyMixture, Score, distance
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.records import Record
from headsmith.records.shown import upper
from headsmith.reference.autograd import descended, outputs
from headsmith.views.score import score_networks

PAPER = "deep-optimizers"
MIXTURES = {
    "1-D": NoisyMixture(torch.tensor([[-1.5], [1.5]], dtype=torch.float64), 0.2),
    "2-D": NoisyMixture(torch.tensor([[-2.0, -1.6], [2.0, -1.6], [0.0, 2.2]], dtype=torch.float64), 0.15),
}
TESTS, SAMPLES, DRAWN = 2_000, 4_000, 600
ENOUGH = 1_000
"""Steps below which nothing is said of what is learnt."""

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {"steps": 1_000, "examples": {"1-D": 100, "2-D": 400}, "width": {"1-D": 16, "2-D": 32}},
    "good": {"steps": 3_000, "examples": {"1-D": 300, "2-D": 400}, "width": {"1-D": 32, "2-D": 32}},
    "full": {"steps": 10_000, "examples": {"1-D": 300, "2-D": 400}, "width": {"1-D": 32, "2-D": 48}},
}
RATE, BETA, SEED = 0.05, 0.9, 0


def inputs(x: Tensor, t: Tensor) -> Tensor:
    """(x, t, 1)."""
    return torch.cat([x, t[:, None], torch.ones_like(t)[:, None]], -1)


def trained(mixture: NoisyMixture, steps: int, examples: int, width: int) -> dict[str, Any]:
    """One forward pass on a prompt of scores, beside the same steps by autograd."""
    x, t, y = mixture.labelled(examples, SEED)
    given, query = inputs(x, t), inputs(x, t)[0]
    widths = [given.shape[-1], width, width, y.shape[-1]]
    domain = {name: max(4.0, float(values.abs().max())) for name, values in (("x", given), ("y", y))}
    training = hs.target.Training(widths, steps=steps, rate=RATE, samples=examples, optimizer="momentum", beta=BETA)
    net = hs.compile(training, eps=1e-6, domain=domain)
    start = time.perf_counter()
    r = net(hs.prompt.training(given, y, query, init=SEED))
    seconds = time.perf_counter() - start
    rows = net.task.matrices.split(r.path[0])
    path = descended(rows, given, y, "relu", steps, RATE, optimizer=training.optimized)[0]
    answer = outputs(r.weights, query[None], "relu")[0]
    return {
        "gap": float((r.path - path).abs().max()),
        "perturbed": float(r.perturbations.max()),
        "kinks": r.kinks,
        "read out": float((r.prediction - answer).abs().max()),
        "blocks": net.plan.layers,
        "seconds": seconds,
        "steps": _milestones(steps),
        "weights": [[w.tolist() for w in net.task.matrices.split(r.path[k])] for k in _milestones(steps)],
    }


def _milestones(steps: int) -> list[int]:
    return [k for k in (0, 10, 30, 100, 300, 1_000, 3_000, 10_000) if k < steps] + [steps]


def learnt(mixture: NoisyMixture, found: Mapping[str, Any], examples: int) -> dict[str, Any]:
    """Test R^2 over steps and of the controls; samples of everybody, and how far they are from the mixture."""
    networks = [[torch.tensor(w, dtype=torch.float64) for w in rows] for rows in found["weights"]]
    x, t, y = mixture.labelled(examples, SEED)
    linear = torch.linalg.lstsq(inputs(x, t), y).solution
    scores: dict[str, Score] = {
        "network": partial(_answers, networks[-1]),
        "linear least squares": lambda x, t: inputs(x, t) @ linear,
        "one Gaussian": mixture.gaussian_score,
    }
    x, t, y = mixture.labelled(TESTS, SEED + 1)
    early = torch.full((SAMPLES,), EARLIEST, dtype=torch.float64)
    first, second = (mixture.sample(early, torch.Generator().manual_seed(SEED + k)) for k in (2, 3))
    samples = {who: mixture.flowed(score, SAMPLES, SEED + 4) for who, score in scores.items()}
    samples |= {"exact score": mixture.flowed(mixture.score, SAMPLES, SEED + 4), "mixture": second}
    return {
        "R^2 over steps": [r_squared(_answers(rows, x, t), y) for rows in networks],
        "R^2": {who: r_squared(score(x, t), y) for who, score in scores.items()},
        "distance": {who: distance(drawn, first) for who, drawn in samples.items()},
        "samples": {who: drawn[:DRAWN].tolist() for who, drawn in samples.items()},
    }


def _answers(rows: list[Tensor], x: Tensor, t: Tensor) -> Tensor:
    return outputs(rows, inputs(x, t), "relu")


def r_squared(guess: Tensor, y: Tensor) -> float:
    """1 - residual / spread, over all coordinates."""
    return 1 - float((guess - y).square().sum() / (y - y.mean(0)).square().sum())


def field(mixture: NoisyMixture, rows: list[Any]) -> dict[str, Any]:
    """The score at points of a picture: over x at three times in 1-D, at EARLIEST over the plane in 2-D."""
    network = [torch.tensor(w, dtype=torch.float64) for w in rows]
    flat = mixture.means.shape[-1] == 1
    line = torch.linspace(-3, 3, 121 if flat else 13, dtype=torch.float64)
    x = line[:, None] if flat else torch.cartesian_prod(line, line)
    times = (EARLIEST, 0.6, LATEST) if flat else (EARLIEST,)
    at = [torch.full((len(x),), t, dtype=torch.float64) for t in times]
    return {
        "x": x.tolist(),
        "times": times,
        "learnt": [_answers(network, x, t).tolist() for t in at],
        "exact": [mixture.score(x, t).tolist() for t in at],
        "density": mixture.log_density(x, at[0]).exp().tolist(),
    }


def measure(settings: Mapping[str, Any], record: Record | None = None) -> dict[str, Any]:
    """Both mixtures."""
    cases = {}
    for name, mixture in MIXTURES.items():
        train = partial(trained, mixture, settings["steps"], settings["examples"][name], settings["width"][name])
        found = train() if record is None else record.once(f"trained-{name}", train)
        about = learnt(mixture, found, settings["examples"][name])
        cases[name] = {key: found[key] for key in found if key != "weights"} | about
        cases[name]["field"] = field(mixture, found["weights"][-1])
    return {"steps": settings["steps"], "cases": cases}


def _learnt_enough(m: Mapping[str, Any], answer: bool) -> bool | None:
    return None if m["steps"] < ENOUGH else answer


CLAIMS = (
    Claim(
        "test R^2 is at least 0.97 after training in the forward pass, 1-D and 2-D",
        lambda m: _learnt_enough(m, all(c["R^2"]["network"] >= 0.97 for c in m["cases"].values())),
    ),
    Claim(
        "test R^2 is above that of linear least squares and of one Gaussian, 1-D and 2-D",
        lambda m: _learnt_enough(m, all(c["R^2"]["network"] == max(c["R^2"].values()) for c in m["cases"].values())),
    ),
    Claim(
        "samples drawn with the learnt score are at most half as far from the mixture as one Gaussian's",
        lambda m: _learnt_enough(
            m, all(c["distance"]["network"] <= 0.5 * c["distance"]["one Gaussian"] for c in m["cases"].values())
        ),
    ),
    Claim(
        "no weight is further than 1e-10 from autograd's, at any step",
        lambda m: all(c["gap"] <= 1e-10 for c in m["cases"].values()),
    ),
    Claim(
        "the certified perturbation of a step is below 1e-9",
        lambda m: all(c["perturbed"] < 1e-9 for c in m["cases"].values()),
    ),
    Claim(
        "the prediction of the forward pass is that of the network with its weights",
        lambda m: all(c["read out"] <= 1e-12 for c in m["cases"].values()),
    ),
)


def self_check() -> bool:
    """The claims of the forward pass, on a small one; and the score is the slope of the log density."""
    found = {name: trained(mixture, steps=4, examples=8, width=4) for name, mixture in MIXTURES.items()}
    sound = all(claim.verdict({"cases": found}) == "holds" for claim in CLAIMS[3:])
    for mixture in MIXTURES.values():
        x, t, y = mixture.labelled(5, 0)
        x.requires_grad_()
        [slope] = torch.autograd.grad(mixture.log_density(x, t).sum(), x)
        sound = sound and bool(torch.allclose(slope, y, atol=1e-10))
    return sound


@experiment(
    f"{PAPER}/score", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Problem 3",
    pictures={"score.png": score_networks},
)  # fmt: skip
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Both mixtures, with the controls that see no network."""
    m = measure(settings, record)
    rows = []
    for name, case in m["cases"].items():
        for step, value in zip(case["steps"], case["R^2 over steps"], strict=True):
            rows.append(Row(f"{name}: test R^2 after {step} steps", None, value))
        for who in ("linear least squares", "one Gaussian"):
            rows.append(Row(f"{name}: test R^2, {who}", None, case["R^2"][who]))
        for who, value in case["distance"].items():
            rows.append(Row(f"{name}: distance of samples to the mixture, {who}", None, value))
        beside = f"certified {upper(case['perturbed'])} a step"
        rows.append(Row(f"{name}: largest weight difference to autograd", None, case["gap"], baseline=beside))
        rows.append(Row(f"{name}: {case['blocks']} blocks in one forward pass, seconds", None, case["seconds"]))
    return Outcome(m, rows)
