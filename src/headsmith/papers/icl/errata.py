"""What is wrong as printed in "In-Context Linear Regression Demystified" (and its public notebooks), shown to
be.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from headsmith.lab import Problem, exact_loss, flow, tasks
from headsmith.lab.theory.approximate import gradient, loss, on_valley
from headsmith.lab.theory.exact import best_mu
from headsmith.lab.theory.flow import late_law, printed_law
from headsmith.lab.train.tasks import Prompts
from headsmith.papers.errata import Evidence, erratum
from headsmith.papers.icl.activations import TABLE_1
from headsmith.papers.icl.frame import PAPER
from headsmith.reference import regression, risks

PROBLEM = Problem(5, 40, 0.1)
PAIR = torch.tensor([1.0, -1.0], dtype=torch.float64)


def _prompts(count: int) -> Prompts:
    return tasks.isotropic().draw(count, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@erratum(
    PAPER,
    "before (4.6)",
    printed="loss on the valley ends in sinh(d gamma^2) |mu|_1",
    repair="|mu|_1 squared",
    where="lab/theory/approximate.py",
)
def valley_loss() -> Evidence:
    gamma, size = 0.2, 4.0
    true = float(loss(gamma * PAIR, 0.5 * size * PAIR, PROBLEM))
    rest = 0.1 + (1 - gamma * size) ** 2
    tail = PROBLEM.ratio * math.sinh(5 * gamma**2)
    before, after = abs(rest + tail * size - true), abs(rest + tail * size**2 - true)
    return before, after, before > 1e-2, after < 1e-12


@erratum(
    PAPER,
    "D.2",
    printed="2 gamma mu_gamma = gamma^2 / (gamma^2 + lambda cosh(d gamma^2))",
    repair="sinh",
    where="lab/theory/approximate.py",
)
def cosh_for_sinh() -> Evidence:
    gamma = 1e-3
    before = gamma**2 / (gamma**2 + PROBLEM.ratio * math.cosh(5 * gamma**2))
    after = 2 * gamma * PROBLEM.valley(gamma)
    return before, after, abs(before - PROBLEM.rate) > 0.1, abs(after - PROBLEM.rate) < 1e-5


@erratum(
    PAPER,
    "(4.13)",
    printed="both groups have more than one head",
    repair="at least one",
    where="lab/theory/approximate.py",
)
def group_sizes() -> Evidence:
    """Two heads, one in each group, already reach the infimum."""
    gamma = 1e-3
    reached = float(loss(gamma * PAIR, PROBLEM.valley(gamma) * PAIR, PROBLEM))
    smallest = min(1, 1)
    return (
        f"min group size {smallest} excluded",
        reached - PROBLEM.infimum,
        not smallest > 1,
        reached - PROBLEM.infimum < 1e-6,
    )


@erratum(
    PAPER,
    "section 4.3",
    printed="the loss on the valley decreases with gamma",
    repair="it increases",
    where="lab/theory/approximate.py",
)
def monotone() -> Evidence:
    values = [on_valley(g, PROBLEM) for g in np.linspace(0.01, 0.5, 50)]
    slopes = np.diff(values)
    return float(slopes.max()), float(slopes.min()), bool(slopes.max() > 0), bool(slopes.min() > 0)


@erratum(
    PAPER,
    "appendix B, phase III",
    printed="omega falls like t^(-1/2)",
    repair="like t^(-1/6)",
    where="lab/theory/flow.py",
)
def late_rate() -> Evidence:
    found = flow([1e-3, -1e-3], [1e-3, -1e-3], until=1e6, samples=600)
    tau, height = found.peak
    rho = float(found.omega[-1, 0])
    before = float(printed_law(1e6, height, tau, PROBLEM)) / rho
    after = float(late_law(1e6, PROBLEM)) / rho
    return before, after, abs(before - 1) > 0.5, abs(after - 1) < 1e-3


@erratum(
    PAPER,
    "D.3, step 2",
    printed="correction mean(y) mean(x).x without its rate",
    repair="with the rate",
    where="reference/risks.py",
)
def debiased_risk() -> Evidence:
    drawn = _prompts(40_000)
    X, y, x = drawn.regression()
    guess = regression.debiased_gd(X, y, x, 0.5)
    squares = (guess - drawn.target[:, 0]).square()
    vanilla = (regression.vanilla_gd(X, y, x, 0.5) - drawn.target[:, 0]).square()
    sampled = float((squares - vanilla).mean()) + risks.vanilla_gd(5, 40, 0.1, 0.5)
    before = abs(risks.debiased_gd_printed(5, 40, 0.1, 0.5) - sampled)
    after = abs(risks.debiased_gd(5, 40, 0.1, 0.5) - sampled)
    return before, after, before > 0.01, after < 0.002


@erratum(PAPER, "(B.1)", printed="+ lambda exp(d w1^2) <mu, 1>", repair="minus", where="lab/theory/approximate.py")
def flow_sign() -> Evidence:
    omega, mu = (torch.tensor(v, dtype=torch.float64) for v in ([0.4, -0.3], [0.7, -0.2]))
    true = float(-0.5 * gradient(omega, mu, PROBLEM)[1].sum())
    d, ratio = 5, PROBLEM.ratio
    a, b = omega.tolist()
    rest = (1 - float(omega @ mu)) * (a + b) - ratio * math.exp(d * a * b) * float(mu.sum())
    rest += ratio * float(mu[1]) * (math.exp(d * a * a) - math.exp(d * b * b))
    term = ratio * math.exp(d * a * a) * float(mu.sum())
    before, after = abs(rest + term - true), abs(rest - term - true)
    return before, after, before > 1e-3, after < 1e-12


@erratum(
    PAPER,
    "before (4.5)",
    printed="<|mu|, |omega|^k>^k <= |mu|_1^(k-1) <|mu|, |omega|^k>",
    repair="<|mu|, |omega|>^k on the left",
    where="lab/theory/approximate.py",
)
def power_mean() -> Evidence:
    mu, omega, k = np.array([3.0, 2.0]), np.array([1.2, 0.9]), 3
    right = mu.sum() ** (k - 1) * (mu @ omega**k)
    before, after = (mu @ omega**k) ** k / right, (mu @ omega) ** k / right
    return float(before), float(after), bool(before > 1), bool(after <= 1)


@erratum(
    PAPER,
    "Observation 3",
    printed="vanilla descent with rate 1 matches",
    repair="with rate about 0.9",
    where="reference/risks.py",
)
def vanilla_rate() -> Evidence:
    pair = float(exact_loss([0.13, -0.13], [3.45, -3.45]))
    before, after = risks.vanilla_gd(5, 40, 0.1, 1.0) / pair, risks.vanilla_gd(5, 40, 0.1, 0.897) / pair
    return before, after, before > 1.05, abs(after - 1) < 0.02


@erratum(
    PAPER,
    "Table 1",
    printed="effective rates 'remarkably consistent'",
    repair="0.88 or 1.01: other predictors, lower risk",
    where="lab/theory/exact.py",
)
def spread() -> Evidence:
    rates = [row[2] for row in TABLE_1.values()]
    omega, mu, _ = TABLE_1["square:0.5"]
    square = float(exact_loss([omega, -omega], [mu, -mu], "square:0.5"))
    best = risks.debiased_gd(5, 40, 0.1)
    return max(rates) / min(rates), square / best, max(rates) / min(rates) > 1.1, square < 0.99 * best


@erratum(
    PAPER,
    "Theorem 4.2 (i)",
    printed="error O(gamma)",
    repair="O(gamma^2): the pair is even in gamma",
    where="reference/regression.py",
)
def square_rate() -> Evidence:
    X, y, x = _prompts(2000).regression()
    step = regression.debiased_gd(X, y, x, 0.88)
    gaps = [float((regression.softmax_pair(X, y, x, g, 0.44 / g) - step).abs().mean()) for g in (0.04, 0.02)]
    slope = math.log2(gaps[0] / gaps[1])
    return 1, slope, abs(slope - 1) > 0.5, abs(slope - 2) < 0.05


@erratum(
    PAPER,
    "Theorem 4.2 (ii)",
    printed="gamma -> 0 is optimal",
    repair="for the exact loss a small positive gamma is",
    where="lab/theory/exact.py",
)
def positive_gamma() -> Evidence:
    limit = risks.debiased_gd(5, 40, 0.1)
    gain = limit - best_mu([0.06, -0.06], PROBLEM, draws=8000)[1]
    return 0.0, gain, gain > 5e-6, 5e-6 < gain < 1e-4


@erratum(
    PAPER,
    "Lemma E.2",
    printed="P(X >= (1-t) n p) <= exp(-t^2 n p / 2)",
    repair="P(X <= (1-t) n p)",
    where="papers/icl/errata.py",
)
def binomial_tail() -> Evidence:
    n, p, t = 100, 0.5, 0.4
    masses = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    bound, edge = math.exp(-(t**2) * n * p / 2), (1 - t) * n * p
    above = sum(m for k, m in enumerate(masses) if k >= edge)
    below = sum(m for k, m in enumerate(masses) if k <= edge)
    return above / bound, below / bound, above > bound, below <= bound


@erratum(
    PAPER,
    "(5.6)",
    printed="softmax preconditions by ((1 + 1/L) Sigma + c/L I)^-1",
    repair="(Sigma + c/L I)^-1, the debiased optimum",
    where="reference/risks.py",
)
def preconditioner() -> Evidence:
    sigma = tasks.kms(5, 0.5)
    best = risks.preconditioned_gd(sigma, 40, 0.1)
    printed = risks.preconditioned_gd(sigma, 40, 0.1, risks.preconditioner(sigma, 40, 0.1, debiased=False))
    nudged = [
        risks.preconditioned_gd(sigma, 40, 0.1, (1 + s) * risks.preconditioner(sigma, 40, 0.1)) for s in (-1e-3, 1e-3)
    ]
    return printed, best, printed > best, best < min(nudged)


@erratum(
    PAPER,
    "notebooks, Figure 4a",
    printed="0.1 is added to a loss measured on noisy targets",
    repair="not added",
    where="papers/icl/lengths.py",
)
def noise_twice() -> Evidence:
    pair = float(exact_loss([0.13, -0.13], [3.45, -3.45]))
    return abs(0.341 - pair), abs(0.241 - pair), abs(0.341 - pair) > 0.05, abs(0.241 - pair) < 0.005


@erratum(
    PAPER,
    "notebooks, dynamics",
    printed="curves are divided by sqrt(d + 2)",
    repair="by sqrt(d + 1), as the heat maps",
    where="lab/train/step.py",
)
def wrong_root() -> Evidence:
    """The logits of a token of d + 1 numbers carry 1/sqrt(d + 1): the curves read low by 1 - sqrt(6/7)."""
    from headsmith.lab.train.step import Layout

    scale = Layout(heads=2, features=5).scale
    before, after = abs(1 / math.sqrt(7) / scale - 1), abs(1 / math.sqrt(6) / scale - 1)
    return before, after, before > 0.05, after < 1e-12
