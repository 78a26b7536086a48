"""A learning rule whose data lie in the tokens: w <- w - rate mean_i f(w . x_i - y_i) x_i, so many steps.

What `hs.target.ResidualRule` compiles into weights is in the prompt here: f is a table of keys, f(z) = sum_r
softmax_r(a_r z + b_r) L_r, and token (i, r) holds key r of sample i. Any continuous f of one variable will do.
(In-Context Algorithm Emulation, section 3.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from flint import arb, arb_mat, ctx
from torch import Tensor

from headsmith.compiler.request import Request, read_eps
from headsmith.compiler.rules import tabulate
from headsmith.constructions.design import Short
from headsmith.functions import Expression
from headsmith.functions.enclosures import at
from headsmith.functions.misbehaviour import refuse_misbehaviour
from headsmith.machines.prompts.descent import read_rate, read_steps
from headsmith.machines.prompts.listable import Listable
from headsmith.machines.prompts.regression import responses, samples_matrix
from headsmith.proof.ball_matrix import BallMatrix, entered, entrywise
from headsmith.proof.residuals import Ranges
from headsmith.proof.statement import Head
from headsmith.records.shown import exactly, number
from headsmith.refusal import Refusal
from headsmith.targets.rule import ResidualRule

ROOM = 1.25  # the table is made for residuals this many times as large as those of the run


@dataclass(frozen=True, eq=False, repr=False)
class RuleProgram(Listable):
    """So many steps of a rule f on samples X (n, features), y (n,); the table of f errs by at most eps."""

    name: str
    f: Expression
    X: Tensor
    y: Tensor
    rate: float
    steps: int
    eps: float

    def title(self) -> str:
        n, d = self.X.shape
        return f"{self.name}: {n} samples of {d} features, rate {number(self.rate)}"

    def reference(self, x: None = None) -> Tensor:
        """The coefficients after all steps in float64, with f itself, (features,)."""
        return self.iterates()[-1]

    def iterates(self) -> list[Tensor]:
        """w_0 = 0, w_1, ..., (features,) each."""
        path = [torch.zeros(self.X.shape[1], dtype=torch.float64)]
        for _ in range(self.steps):
            z = self.X @ path[-1] - self.y
            path.append(path[-1] - self.rate * (self.f(z) @ self.X) / len(self.y))
        return path

    def enclosed(self) -> BallMatrix:
        """The coefficients after all steps in exact arithmetic, with f itself, in balls."""
        X, y, names = entered(self.X), entered(self.y[None]), self.f.variables
        w, rate = arb_mat(1, X.ncols()), arb(self.rate) / len(self.y)
        for _ in range(self.steps):
            w = w - entrywise(lambda z: at(self.f, dict.fromkeys(names, z), ctx.prec), w * X.transpose() - y) * X * rate
        return BallMatrix(w, (1,))

    @property
    def formula(self) -> str:
        """What is enclosed, in words."""
        return (
            f"w <- w - rate mean_i f(w . x_i - y_i) x_i from w = 0, {self.steps} times, f(t) = {self.f}, "
            f"rate {exactly(self.rate)}"
        )

    @cached_property
    def table(self) -> Head:
        """The keys (a_r, b_r, L_r), for residuals somewhat larger than those of the run, which is tried in float64."""
        path = torch.stack(self.iterates())
        most = float((path @ self.X.mT - self.y).abs().max()) * ROOM or 1.0
        sizes = {"x": float(self.X.abs().max()) or 1.0, "y": float(self.y.abs().max()) or 1.0}
        sizes |= {"w": float(path.abs().max()) * ROOM or 1.0, "w.x - y": most}
        target = ResidualRule(self.f, self.X.shape[1], len(self.y))
        refuse_misbehaviour(self.f, (-most, most))
        request = Request.read(target, self.eps, sizes, "float64", "auto")
        try:
            return tabulate(self.f, Ranges.of(request.domain), target.features, self.eps, request)
        except Short as short:
            raise Refusal(
                f"no table of {self.f} on residuals up to {number(most)} is found within {number(self.eps)}: {short}; "
                "take a larger eps, or a rate at which the run stays small"
            ) from None


def rule(f: Any, X: Any, y: Any, rate: float = 0.1, steps: int = 100, *, eps: float = 1e-9) -> RuleProgram:
    """w <- w - rate mean_i f(w . x_i - y_i) x_i from w = 0, the data in tokens; eps bounds the error of f's table.

    >>> rule("tanh(t)", [[1.0], [2.0]], [2.0, 4.0], rate=0.5, steps=200).reference().round(decimals=6)
    tensor([2.], dtype=torch.float64)
    """
    X, y = samples_matrix(X), responses(y)
    if len(X) != len(y):
        raise Refusal(f"{len(X)} samples in X and {len(y)} in y: give as many of one as of the other")
    target = ResidualRule(f, X.shape[1], len(X))
    name = f"rule {target.f}, {steps} steps"
    data, labels = torch.tensor(X), torch.tensor(y)
    return RuleProgram(name, target.f, data, labels, read_rate(rate), read_steps(steps), read_eps(eps))
