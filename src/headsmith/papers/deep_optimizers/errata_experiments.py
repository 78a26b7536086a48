"""What the experiments of "Transformers are Deep Optimizers" (deep-optimizers, App G) leave open or do not show.

Each erratum takes a figure's reading as printed and runs it where it goes wrong: on a guess that never looks at x, on
answers that are dice, on targets that are constant. No transformer is trained here.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from headsmith.lab.read.scores import score
from headsmith.lab.train.networks import CENTRE, ReluNetworks, answers
from headsmith.papers.deep_optimizers import measured
from headsmith.papers.deep_optimizers.controls import Test, closed_form, test_prompts, trained_networks
from headsmith.papers.deep_optimizers.frame import PAPER, PRESETS
from headsmith.papers.errata import Evidence, erratum

FEATURES, WIDTH = 20, 200
"""Of the paper."""
EXAMPLES, QUERIES = 50, 4
SMALL = ReluNetworks(3, 3, 32)


def _scores(test: Test, guess: Tensor, examples: int) -> tuple[float, float]:
    found = score(guess, test.split(examples, guess.shape[-1])[3], test.means)
    return float(found.pooled or 0.0), float(found.within or 0.0)


@erratum(
    PAPER,
    "T1 Figures 1 to 5, R^2",
    printed="an R^2 near that of the trained network shows that the network is learnt from the prompt",
    repair="R^2 within prompts, beside that of the context mean and of ridge",
    where="lab/read/scores.py",
)
def between_prompts() -> Evidence:
    """Most of Var y is one number per prompt, which the mean of the context knows without looking at any x."""
    test = test_prompts(ReluNetworks(3, FEATURES, WIDTH), 120, EXAMPLES + QUERIES, 0, "cpu")
    (pooled, within), (_, ridge) = (
        _scores(test, guess, EXAMPLES) for guess in closed_form(test, EXAMPLES, QUERIES).values()
    )
    return (
        f"R^2 {pooled:.2f} for the mean of the labels",
        f"within prompts {within:.2f}, ridge {ridge:.2f}",
        pooled > 0.75,
        within < 0.02 and ridge > 0.5,
    )


@erratum(
    PAPER,
    "T2 App G, baseline",
    printed="of 100 epochs of the trained network the best R^2 is kept: on the query that is asked",
    repair="stop where held-out examples say so",
    where="papers/deep_optimizers/controls.py",
)
def best_epoch() -> Evidence:
    """On answers that are dice there is nothing to learn, and the best of 100 epochs finds some of it."""
    drawn = test_prompts(SMALL, 60, 21, 0, "cpu")
    dice = torch.randn(drawn.y.shape, generator=torch.Generator().manual_seed(1))
    test = drawn._replace(y=dice, means=torch.zeros_like(drawn.means))
    found = {name: _scores(test, guess, 20)[0] for name, guess in trained_networks(test, SMALL, 20, 1).items()}
    best, honest = found["trained, oracle"], found["trained, validated"]
    return f"R^2 {best:.2f} on random labels", f"R^2 {honest:.2f}", best > 0.2, honest < 0.05


@erratum(
    PAPER,
    "T3 App G, R^2 score",
    printed="the mean of R^2 over 6400 prompts of one query each",
    repair="one R^2 at each number of examples, its sums over all prompts",
    where="lab/read/scores.py",
)
def one_query() -> Evidence:
    """The answer to one query is its own mean: 1 - (y - guess)^2 / 0."""
    test = test_prompts(SMALL, 300, 21, 0, "cpu")
    guess, answer = closed_form(test, 20, 1)["ridge"], test.split(20, 1)[3]
    alone = [score(guess[i : i + 1], answer[i : i + 1], test.means[i : i + 1]).pooled for i in range(300)]
    defined, pooled = sum(one is not None for one in alone), score(guess, answer, test.means)
    known = pooled.pooled is not None and 0.9 < pooled.pooled < 1
    return f"{defined} of 300 prompts have an R^2", f"{pooled.pooled:.3f} over all", defined == 0, known


@erratum(
    PAPER,
    "T4 Figures 3 and 4, parameters",
    printed="targets with parameters from N(-0.5, I) and N(0.5, I)",
    repair="-0.5 and 0.5 in units of 1/sqrt(K)",
    where="papers/deep_optimizers/figures_3_4.py",
)
def shifted_parameters() -> Evidence:
    """At width 200 the second layer gets a sum of 200 numbers of the sign of the shift."""

    def look(shift: float, literal: bool) -> dict[str, float]:
        task = ReluNetworks(4, FEATURES, WIDTH, shift=shift, literal=literal)
        return measured.about(test_prompts(task, 30, 21, 0, "cpu"))

    before, after = ([look(shift, literal) for shift in (-0.5, 0.5)] for literal in (True, False))
    sizes = [seen["size"] for seen in after]
    return (
        f"{before[0]['constant']:.0%} constant; answers {before[1]['size']:.0f} times those of training",
        f"none constant; {sizes[0]:.2f} and {sizes[1]:.2f} times",
        before[0]["constant"] == 1 and before[1]["size"] > 5,
        not any(seen["constant"] for seen in after) and min(sizes) > 0.4 and max(sizes) < 2.5,
    )


@erratum(
    PAPER,
    "T5 App G, scale of targets",
    printed="parameters from N(0, I): answers of size 1e3 to 1e6, whose squared error is what is trained on",
    repair="one constant per matrix: ReLU networks are positively homogeneous, so the task is the same",
    where="lab/train/networks.py",
)
def unscaled() -> Evidence:
    """rms y over depth, and what is left when the answers as printed are divided by one constant per depth."""
    sizes, left = [], 0.0
    for layers in (3, 4, 6):
        task = ReluNetworks(layers, FEATURES, WIDTH)
        scaled = task.networks(8, torch.Generator().manual_seed(0), dtype=torch.float64)
        generator = torch.Generator().manual_seed(0)
        raw = [torch.empty_like(matrix).normal_(generator=generator) for matrix in scaled]
        x = task.inputs(8, 40, generator, dtype=torch.float64)
        constant = math.sqrt(FEATURES * (WIDTH / 2) ** (layers - 1) * (1 + CENTRE**2))
        printed, ours = answers(raw, x), answers(scaled, x)
        sizes.append(float(printed.square().mean().sqrt()))
        left = max(left, float((printed / constant - ours).abs().max() / ours.abs().max()))
    shown = ", ".join(f"{size:.0e}" for size in sizes)
    large = sizes[0] > 500 and sizes[-1] > 1e5
    return f"rms y {shown} for N = 3, 4, 6", f"the same to {left:.0e}", large, left < 1e-12


@erratum(
    PAPER,
    "T6 Figures 1 and 2, inputs",
    printed="w1 N(-2, I) + w2 N(2, I), three distributions: as a sum of two variables it is one Gaussian",
    repair="a mixture whose component is drawn for each example; the figures show four",
    where="lab/train/networks.py",
)
def mixture() -> Evidence:
    """The share of examples about +2, which should be w2: drawn as a sum, and as a mixture."""
    far, shape, generator = 0.1, (400, 40, FEATURES), torch.Generator().manual_seed(0)
    one, other = (torch.randn(shape, generator=generator) + sign * CENTRE for sign in (-1, 1))
    summed = (1 - far) * one + far * other
    mixed = ReluNetworks(3, FEATURES, WIDTH, far=far).inputs(400, 40, generator)
    shares = [float((x.mean(-1) > 0).float().mean()) for x in (summed, mixed)]
    both = float(((mixed.mean(-1) > 0).float().mean(-1) > 0).float().mean())
    four = len(PRESETS["full"]["far"]) == 4
    return (
        f"{shares[0]:.3f} of the examples about +2 at w2 = {far}",
        f"{shares[1]:.3f}; both kinds in {both:.0%} of the prompts",
        shares[0] < 0.01,
        abs(shares[1] - far) < 0.01 and both > 0.9 and four,
    )
