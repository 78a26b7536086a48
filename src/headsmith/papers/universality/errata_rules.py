"""The gradient step of this paper as printed, which loses the sample, beside the one that keeps it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from headsmith.doors.compile import compile
from headsmith.papers.errata import Evidence, erratum
from headsmith.reference.solvers import Objective, gradient_descent
from headsmith.targets.descent import Descent
from headsmith.targets.rule import ResidualRule

PAPER = "softmax-universality"


@erratum(
    PAPER, "E4 Thm 4.2 = D.4, (G.66)", printed="d loss / d w_r as a function of (w.x, y)",
    repair="value x_i: the gate multiplies loss' by the sample", where="constructions/gradient_step.py",
)  # fmt: skip
def lost_factor() -> Evidence:
    """One step: heads that write loss'(w.x_i - y_i) into every row, and heads that write loss' x_i."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (16, 4))
    y = np.clip(X @ rng.normal(size=4), -1, 1)
    rate = float(1 / np.linalg.eigvalsh(X.T @ X / 16)[-1])
    start = np.full(4, 0.1)
    exact = gradient_descent(Objective.of("squared", X, y), 1, rate, start)[-1]
    net = compile(ResidualRule("t", 4, 16), domain=4.0, eps=1e-6)

    def step(toward: Tensor) -> float:
        moved = torch.tensor(start) - rate * net(X, y, start, direction=toward).mean(0)
        return float((moved - torch.tensor(exact)).abs().max())

    printed, repaired = step(torch.ones(16, 4, dtype=torch.float64)), step(torch.tensor(X))
    gates = compile(Descent("squared", 4, 16, 1, rate), domain=4.0, eps=1e-6, method="gate")
    repaired = max(repaired, float((gates(X, y, start) - torch.tensor(exact)).abs().max()))
    return printed, repaired, printed > 0.05, repaired < 1e-5
