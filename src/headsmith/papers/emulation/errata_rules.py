"""Statements about learning rules and gradient descent that do not run as printed, beside what does."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

import numpy as np
import torch

from headsmith.compiler.compiled import Compiled
from headsmith.constructions.rule import Rule, dense, suppression
from headsmith.doors.compile import compile
from headsmith.papers.errata import Evidence, erratum
from headsmith.proof.statement import Head
from headsmith.reference.solvers import Objective, gradient_descent
from headsmith.refusal import Refusal
from headsmith.targets.descent import Descent
from headsmith.targets.least_squares import LeastSquares
from headsmith.targets.rule import ResidualRule

PAPER = "algorithm-emulation"


def _data() -> tuple[np.ndarray, np.ndarray, float]:
    """16 samples of 4 features, |y| = 2.74, and the rate 1/L."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (16, 4))
    y = X @ rng.normal(size=4) + 0.3 * rng.normal(size=16)
    return X, y * 2.74 / np.linalg.norm(y), float(1 / np.linalg.eigvalsh(X.T @ X / 16)[-1])


def _gradients(f: str, features: int = 4, samples: int = 16) -> Compiled:
    return compile(ResidualRule(f, features, samples), domain=4.0, eps=1e-6)


@erratum(
    PAPER, "Thm 3.1, C", printed="C = (max_j L_j)(2 d B^2 + 2 B) + ln(1/eps0)/beta in the proof's display",
    repair="C from the scores: max top - min top + ln(n P / eps0)", where="constructions/rule.py",
)  # fmt: skip
def suppression_constant() -> Evidence:
    """Residuals in [-2, 0.05]: the signed maximum is 0.05, and a query with residual 0 reads the sample at -2."""
    levels = np.linspace(-2.0, 0.05, 83)
    beta, leak = 4 / (3 * 0.025**2) * math.log(4 * 2 * 82 / 1e-2), 1e-6
    head = Head.table(2 * beta * levels, -beta * levels**2, levels)
    x = torch.ones(2, 1, dtype=torch.float64)
    y, w = torch.tensor([0.0, 2.0], dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    tokens = torch.cat([x, y[:, None], w.expand(2, 1), x], -1)
    small = beta * 0.05 * 4 + math.log(1 / leak)
    errors = [
        float((dense(head, 1, 2, strength, torch.float64)(tokens)[:, 0] + y).abs().max())
        for strength in (small, suppression(head, 2.0, 2.0, 2, leak))
    ]
    return errors[0], errors[1], errors[0] > 1.9, errors[1] < 0.05


@erratum(
    PAPER, "Thm 3.1, query", printed="query c in column c, whose top half belongs to another sample",
    repair="query c in the first copy of sample c", where="constructions/rule.py",
)  # fmt: skip
def query_placement() -> Evidence:
    """With a w for each sample, as section 5.1 uses it, the printed query c carries the w of sample c // (P + 1)."""
    net = _gradients("tanh(t)")
    g = torch.Generator().manual_seed(0)
    x, w = (torch.rand(16, 4, generator=g, dtype=torch.float64) - 0.5 for _ in range(2))
    y = torch.zeros(16, dtype=torch.float64)
    exact = torch.tanh((x * w).sum(-1, keepdim=True)) * x
    borrowed = w[torch.arange(16) // cast(Rule, net.plan.design).head.keys]
    printed, repaired = (float((net(x, y, part) - exact).abs().max()) for part in (borrowed, w))
    return printed, repaired, printed > 0.05, repaired < 1e-12


@erratum(
    PAPER, "Cor 3.1.2", printed="f = loss' and readout 1/n return the next w",
    repair="w - rate mean(f x) in a residual stream", where="constructions/gradient_step.py",
)  # fmt: skip
def gradient_step() -> Evidence:
    """The printed layer returns the mean gradient: w, the rate and the sign are missing."""
    X, y, rate = _data()
    start, domain = np.full(4, 0.1), {"residual": 2.74, "x": 3.0, "w": 3.0, "y": 2.74}
    exact = gradient_descent(Objective.of("squared", X, y), 1, rate, start)[-1]
    task = Descent("squared", 4, 16, 1, rate)
    steps = [
        compile(task, domain=domain, eps=eps, method=m)(X, y, start) for eps, m in ((1.0, "printed"), (1e-6, "auto"))
    ]
    errors = [float(np.abs(step.numpy() - exact).max()) for step in steps]
    return errors[0], errors[1], errors[0] > 0.1, errors[1] < 1e-6


@erratum(
    PAPER, "Lemma D.4", printed="error <= t eps after t steps, eps in the sup-norm", repair="t sqrt(d) eps",
    where="constructions/gradient_step.py",
)  # fmt: skip
def accumulated_error() -> Evidence:
    """I - eta H = a Hadamard matrix / 2: no expansion in the 2-norm, twice in the sup-norm. Two steps err by 3 eps."""
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    eps, error = 1e-3, np.zeros(4)
    for _ in range(2):
        error = hadamard @ error + eps
    printed, repaired = np.abs(error).max() / (2 * eps), np.abs(error).max() / (2 * math.sqrt(4) * eps)
    return float(printed), float(repaired), printed > 1.2, repaired <= 1


SOLVED = LeastSquares(features=4, samples=20, curvature=0.25)
ROOM = {"x": 1.5, "y": 2.74}


@erratum(
    PAPER, "Cor 3.1.3", printed="one layer solves least squares (the proof takes L steps)",
    repair="L layers of the same weights, L and the rate from the domain: no inverse", where="targets/least_squares.py",
)  # fmt: skip
def one_layer() -> Evidence:
    """Distance to the solution after one layer, a gradient step, and after as many as the domain asks for."""
    X, y, _ = _data()
    solution = Objective.of("squared", X, y).minimiser()
    errors = [_missed(solution, X, y, 0.0, method) for method in ("printed", "auto")]
    return errors[0], errors[1], errors[0] > 0.1 * float(np.abs(solution).max()), errors[1] < 1e-3


@erratum(
    PAPER, "Cor 3.1.3, any data", printed="there are a layer, a linear map and a readout for any data",
    repair="one network for all data of a curvature", where="targets/least_squares.py",
)  # fmt: skip
def any_data() -> Evidence:
    """A layer that is there before the data: |x| <= 1, |y| <= 1 keep its values bounded, and w* = y/x is not.

    Of a softmax, whatever its weights, an output is at most sum |u| max |value|; read the other way round (first the
    data, then the layer), a constant satisfies the corollary. What has a curvature is solved, what has less is refused.
    """
    net = compile(LeastSquares(1, 4, curvature=0.5), domain=1.0, eps=1e-3)
    layer = compile(LeastSquares(1, 4, curvature=0.5), domain=1.0, eps=0.1, method="printed")
    network, target = layer.network, cast(LeastSquares, layer.target)
    y, missed = torch.ones(4, dtype=torch.float64), []
    for x in (2.0**-3, 2.0**-6, 2.0**-9):
        tokens = target.encode(torch.full((4, 1), x, dtype=torch.float64), y)
        missed.append(abs(float(target.decode(network(tokens))) - 1 / x))
    solved = abs(float(net(np.full((4, 1), 0.75), np.ones(4))) - 4 / 3)
    try:
        net(np.full((4, 1), 2.0**-3), np.ones(4))
    except Refusal:
        return missed[-1], solved, missed[0] > 7 and missed[-1] > 500, solved < 1e-3
    return missed[-1], solved, missed[-1] > 500, False


@erratum(
    PAPER, "Cor 3.1.4", printed="one layer solves ridge regression, the penalty in the prompt",
    repair="d more samples sqrt(n lambda) e_k, the weights unchanged", where="targets/least_squares.py",
)  # fmt: skip
def ridge_in_the_prompt() -> Evidence:
    """lambda = 0.1 on the frozen network of the first erratum."""
    X, y, _ = _data()
    solution = np.linalg.solve(X.T @ X / 16 + 0.1 * np.eye(4), X.T @ y / 16)
    errors = [_missed(solution, X, y, 0.1, method) for method in ("printed", "auto")]
    return errors[0], errors[1], errors[0] > 0.1 * float(np.abs(solution).max()), errors[1] < 1e-3


def _missed(solution: np.ndarray, X: np.ndarray, y: np.ndarray, lam: float, method: str) -> float:
    return float(np.abs(_solver(method)(*SOLVED.padded(X, y, lam)).numpy() - solution).max())


@lru_cache
def _solver(method: str) -> Compiled:
    return compile(SOLVED, domain=ROOM, eps=1e-3 if method == "auto" else 2.0, method=method)
