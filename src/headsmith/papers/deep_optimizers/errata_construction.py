"""What the construction of "Transformers are Deep Optimizers" (deep-optimizers, Thm 1 and 6) cannot do as printed.

Each erratum carries out a printed formula, and its repair, on numbers small enough to be looked at. `errata_bounds` and
`errata_ranges` hold those about bounds and ranges.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

import headsmith as hs
from headsmith.network.hidden import Hidden, mlp
from headsmith.papers.deep_optimizers.score import MIXTURES, inputs, r_squared, trained
from headsmith.papers.errata import Evidence, erratum
from headsmith.reference.autograd import descended, outputs
from headsmith.refusal import Refusal

PAPER = "deep-optimizers"
WIDTHS, SAMPLES, RATE = (3, 6, 6, 2), 20, 0.1


def data() -> tuple[Tensor, Tensor]:
    """X, Y of standard normal inputs, the labels |x_1| and x_2 x_3."""
    X = torch.randn(SAMPLES, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).clamp(-3, 3)
    return X, torch.stack([X[:, 0].abs(), (X[:, 1] * X[:, 2]).clamp(-3, 3)], 1)


def forward_pass(steps: int, init: Any = 0) -> Any:
    """Ours, on these data: (network, its result)."""
    X, Y = data()
    net = hs.compile(hs.target.Training(list(WIDTHS), steps=steps, rate=RATE, samples=SAMPLES), eps=1e-6)
    return net, net(hs.prompt.training(X, Y, X[0], init=init))


@erratum(
    PAPER,
    "E1 Problem 1, start",
    printed="w(0) = 0",
    repair="a start that is not 0; w = 0 is refused in a sentence",
    where="targets/training/target.py",
)
def stationary_start() -> Evidence:
    """Every unit of a deep network at w = 0 answers 0 and hands back 0."""
    zero = [torch.zeros(b, a, dtype=torch.float64) for a, b in pairwise(WIDTHS)]
    moved = [float(descended(zero, *data(), r, 50, RATE)[0].abs().max()) for r in ("relu", "identity", "hard tanh")]
    net, result = forward_pass(25)
    try:
        net(hs.prompt.training(*data(), data()[0][0], init=zero))
        refused = False
    except Refusal as refusal:
        refused = "stationary" in str(refusal)
    before, after = result.loss_curve[[0, -1]].tolist()
    return (
        f"|w| = {max(moved):g} after 50 steps",
        f"loss {before:.3g} -> {after:.3g} after 25 steps from a seed",
        max(moved) == 0,
        refused and after < 0.5 * before,
    )


@erratum(
    PAPER,
    "E2 Thm 1, r' of ReLU",
    printed="r' is a sum of ReLUs up to any eps, in sup norm",
    repair="the slope as a gate of an MLP: q where z > 0, 0 where z < 0",
    where="constructions/training/compact.py",
)
def slope_of_relu() -> Evidence:
    """Every continuous function misses a jump by a half; steep ramps lose digits as well."""
    far = torch.logspace(-20, 0.5, 400, dtype=torch.float64)
    z = torch.cat([-far, far])
    sup, rounded = [], []
    for steep in (1e2, 1e5, 1e8, 1e12):
        size = steep + 0.5  # |a|_1 <= 1 is asked for: a = (steep, 1/2) / size, c = size
        low, high = (torch.relu(steep / size * z + shift / size) for shift in (-0.5, 0.5))
        missed = (size * high - size * low - (z > 0).double()).abs()
        sup.append(float(missed.max()))
        rounded.append(float(missed[z.abs() > 0.1].max()))
    _, result = forward_pass(20)
    path, _ = descended(result.initial, *data(), "relu", 20, RATE)
    gap = float((result.path - path).abs().max())
    return (
        f"error {min(sup):.2f} at every width of a ramp; {rounded[-1]:.0e} away from 0 at width 1e-12",
        f"20 steps within {gap:.0e} of autograd, {result.kinks} slopes near a kink",
        min(sup) > 0.49 and rounded[-1] > 1e-5,
        gap <= 1e-13 and not result.kinks,
    )


@erratum(
    PAPER,
    "E7 Definition 7",
    printed="H + (V H) relu((Q H)' (K H)) / T, as a matrix",
    repair="the vector form, (V H) relu((K H)' (Q H)) / T: keys are summed over, not queries",
    where="network/attention.py",
)
def transposed() -> Evidence:
    """One step of linear regression by the paper's heads: all tokens hold w before it, and should hold w' behind it."""
    printed, ours = (_linear_step(transposed) for transposed in (True, False))
    X, y, w = _regression()
    wanted = w - RATE / len(X) * X.T @ (X @ w - y)
    spread, left = (float((found - found.mean(0)).abs().max()) for found in (printed, ours))
    gap = float((ours - wanted).abs().max())
    return (
        f"tokens disagree on w by {spread:.2f}",
        f"the same w in all, up to {left:.0e}, and {gap:.0e} from gradient descent",
        spread > 0.01,
        left < 1e-14 and gap < 1e-14,
    )


def _regression() -> tuple[Tensor, Tensor, Tensor]:
    X = data()[0]
    return X, X @ X.new_tensor([1.0, -2.0, 0.5]), X.new_tensor([0.3, 0.1, -0.2])


def _linear_step(transposed: bool) -> Tensor:
    """w of each token (tokens, 3), by heads of one query, one key and one value each; the last token is the query."""
    X, y, w = _regression()
    n, tokens = len(X), len(X) + 1
    x, present = torch.cat([X, X[:1]]), torch.cat([X.new_ones(n), X.new_zeros(1)])
    own, one = w.expand(tokens, 3), X.new_ones(tokens, 1)

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = torch.relu(query @ key.T)
        return (scores.T if transposed else scores) @ value / tokens

    f = attend(x, own, one) + attend(-x, own, -one)
    u = ((f[:, 0] - torch.cat([y, y[:1]])) * present)[:, None]
    return own + sum(attend(sign * one, u, -sign * RATE * tokens / n * x) for sign in (1.0, -1.0))


@erratum(
    PAPER,
    "E8 Thm 1, Proj_W",
    printed="the projection on balls, one for each row, is an MLP",
    repair="the box inside of them, |w| <= B_v / sqrt(K): two hidden units for each weight, exactly",
    where="constructions/training/compact.py",
)
def ball() -> Evidence:
    """A ReLU network is piecewise linear; v / |v| bends along every line beside the ball."""
    K, radius = 4, 1.0
    line = torch.linspace(-2, 2, 4001, dtype=torch.float64)
    curve = 2 * radius / (4 + line**2).sqrt()  # the first entry of the projection of (2, s)
    errors = []
    for knots in (17, 65, 257):
        step = 4000 // (knots - 1)
        errors.append(float((curve - _interpolated(line, line[::step], curve[::step])).abs().max()))
    end = radius / math.sqrt(K)
    box = [Hidden({k: sign}, {k: -sign}, bias=-end) for k in range(K) for sign in (1.0, -1.0)]
    drawn = 3 * torch.randn(2000, K, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = mlp(box, K, torch.float64)(drawn)
    gap, reach = float((found - drawn.clamp(-end, end)).abs().max()), float(found.norm(dim=1).max())
    return (
        f"off by {errors[0]:.0e}, {errors[1]:.0e}, {errors[2]:.0e} with 17, 65, 257 knots on one line",
        f"off by {gap:.0e}, inside a ball of {reach:.3g}",
        min(errors) > 1e-7,
        gap < 1e-14 and reach <= radius + 1e-12,
    )


def _interpolated(x: Tensor, knots: Tensor, values: Tensor) -> Tensor:
    knots = knots.contiguous()
    at = torch.searchsorted(knots, x).clamp(1, len(knots) - 1)
    share = (x - knots[at - 1]) / (knots[at] - knots[at - 1])
    return values[at - 1] * (1 - share) + values[at] * share


def theorem_6(
    token: int, tokens: int, reach: float, error: float, lipschitz: float = 1.0
) -> tuple[int, float, float, float]:
    """(levels of the grid, log10 of its points, log10 |V|, log10 of -log delta at least) of the paper's Theorem 6.

    error = lipschitz (8 sqrt(token tokens) + sqrt(tokens)) reach / (2 levels), |V| = levels^token, and a softmax head
    that tells tokens apart separates them by delta <= exp(-|V|^4).

    >>> theorem_6(35, 11, 3.0, 0.01)[0]
    24044
    """
    levels = math.ceil(lipschitz * (8 * math.sqrt(token * tokens) + math.sqrt(tokens)) * reach / (2 * error))
    vocabulary = token * math.log10(levels)
    return levels, tokens * vocabulary, vocabulary, 4 * vocabulary


@erratum(
    PAPER,
    "E13 Thm 6, Lemma 16",
    printed="softmax attention runs a step: a grid, a contextual map and a table",
    repair="softmax attention that multiplies numbers of a token, method='softmax'",
    where="constructions/training/softmax_training.py",
)
def table_of_everything() -> Evidence:
    """Its size for N = 2, K = 3, d = 2, 10 samples, error 0.01: no float has so small a separation."""
    levels, points, vocabulary, exponent = theorem_6(35, 11, 3.0, 0.01)
    task = hs.target.Training([2, 3, 2], steps=1, rate=RATE, samples=10)
    net = hs.compile(task, eps=1e-6, method="softmax")
    X, Y = (values[:10, :2].contiguous() for values in data())
    result = net(hs.prompt.training(X, Y, X[0]))
    gap = float((result.path - descended(result.initial, X, Y, "relu", 1, RATE)[0]).abs().max())
    tokens, features = len(net.network.inputs), len(net.network.features)
    return (
        f"{levels} levels, 10^{points:.0f} points, |V| = 10^{vocabulary:.0f}, separation below exp(-10^{exponent:.0f})",
        f"{tokens} tokens of {features} features, within {gap:.0e} of autograd",
        vocabulary > 80 and exponent > 300,
        gap < 1e-14 and tokens * features < 2_000,
    )


@erratum(
    PAPER,
    "E14 App H, output",
    printed="the network of Definition 1, whose last layer is a ReLU too, learns a score",
    repair="identity output",
    where="papers/deep_optimizers/score.py",
)
def positive_output() -> Evidence:
    """The best answer that is nowhere negative, against a forward pass of 60 steps on 40 scores."""
    mixture = MIXTURES["1-D"]
    x, t, y = mixture.labelled(2_000, 1)
    best = r_squared(y.clamp(min=0), y)
    last = [torch.tensor(w, dtype=torch.float64) for w in trained(mixture, 60, 40, 16)["weights"][-1]]
    found = r_squared(outputs(last, inputs(x, t), "relu"), y)
    return f"R^2 at most {best:.2f}", f"R^2 {found:.2f} after 60 steps", best < 0.7, found > 0.8
