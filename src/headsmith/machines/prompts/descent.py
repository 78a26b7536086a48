"""Gradient descent and proximal gradient descent, step by step: the data lie in the program.

    v  = w + theta (w - w'),   w' the iterate before
    w <- soft(v - rate (X' slope(X v - y) / n + l2 v), rate l1),      soft(u, t) = relu(u - t) - relu(-u - t)

    squared    slope(r) = r               minimises 1/(2n) |Xw - y|^2     + l1 |w|_1 + l2/2 |w|^2
    huber      slope(r) = clip(r, delta)
    logistic   sigmoid(X v) - y           y in {0, 1}

w starts at 0. With a list of penalties l1 every one is descended on by itself: a penalty path, all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from flint import arb, arb_mat
from torch import Tensor

from headsmith.functions import series
from headsmith.machines.prompts.listable import Listable
from headsmith.machines.prompts.regression import penalty, responses, samples_matrix
from headsmith.proof.ball_matrix import BallMatrix, entered, entrywise
from headsmith.records.shown import exactly, number
from headsmith.reference.solvers import LOSSES
from headsmith.refusal import Refusal

MOST = 2**20  # steps: each is tried in float64 before a tape is made


@dataclass(frozen=True, eq=False, repr=False)
class DescentProgram(Listable):
    """So many steps on a loss; `l1` are the penalties of a path, one of them for a single problem."""

    name: str
    loss: str
    X: Tensor
    y: Tensor
    l1: Tensor
    l2: float
    delta: float
    rate: float
    momentum: float
    steps: int
    path: bool = False

    def title(self) -> str:
        n, d = self.X.shape
        return f"{self.name}: {n} samples of {d} features, rate {number(self.rate)}"

    @property
    def sparse(self) -> bool:
        """Whether some penalty makes coefficients exactly zero."""
        return bool(self.l1.any())

    def reference(self, x: None = None) -> Tensor:
        """The coefficients after all steps in float64, (features,), or (penalties, features) of a path."""
        w = torch.zeros(len(self.l1), self.X.shape[1], dtype=torch.float64)
        for w in self.iterates():  # noqa: B007
            pass
        return w if self.path else w[0]

    def iterates(self) -> Iterator[Tensor]:
        """The iterate behind every step, (penalties, features)."""
        w = old = torch.zeros(len(self.l1), self.X.shape[1], dtype=torch.float64)
        threshold = self.rate * self.l1[:, None]
        for _ in range(self.steps):
            v = w + self.momentum * (w - old)
            u = v - self.rate * (self.slope(v) @ self.X / len(self.y) + self.l2 * v)
            w, old = (torch.relu(u - threshold) - torch.relu(-u - threshold) if self.sparse else u), w
            yield w

    def slope(self, v: Tensor) -> Tensor:
        """loss'(x_i . v, y_i) for every sample, (..., samples)."""
        z = v @ self.X.mT
        if self.loss == "logistic":
            return torch.sigmoid(z) - self.y
        return (z - self.y).clamp(-self.delta, self.delta) if self.loss == "huber" else z - self.y

    def enclosed(self) -> BallMatrix:
        """The coefficients after all steps in exact arithmetic, in balls; one row a penalty."""
        step, count = self.exact_step(), len(self.l1)
        w = old = arb_mat(count, self.X.shape[1])
        for _ in range(self.steps):
            w, old = step(w + (w - old) * arb(self.momentum)), w
        return BallMatrix(w, (1,) * count)

    def exact_step(self) -> Callable[[arb_mat], arb_mat]:
        """v -> soft(v - rate (X' slope(X v - y) / n + l2 v), rate l1) in balls; one row a penalty."""
        X, y = entered(self.X), entered(self.y.expand(len(self.l1), -1))
        rate, keep = arb(self.rate), 1 - arb(self.rate) * arb(self.l2)
        thresholds = [rate * arb(penalty) for penalty in self.l1.tolist() for _ in range(X.ncols())]

        def step(v: arb_mat) -> arb_mat:
            u = v * keep - self._slope(v * X.transpose(), y) * X * (rate / len(self.y))
            return _soft(u, thresholds) if self.sparse else u

        return step

    def _slope(self, z: arb_mat, y: arb_mat) -> arb_mat:
        if self.loss == "logistic":
            return entrywise(series.sigmoid, z) - y
        return (
            entrywise(lambda r: r.max(arb(-self.delta)).min(arb(self.delta)), z - y) if self.loss == "huber" else z - y
        )

    @property
    def formula(self) -> str:
        """What is enclosed, in words."""
        slope = {"squared": "r", "huber": f"clip(r, {exactly(self.delta)})", "logistic": "sigmoid(X v) - y"}[self.loss]
        sizes = f"rate {exactly(self.rate)}, l2 {exactly(self.l2)}, theta {exactly(self.momentum)}"
        return (
            f"w <- soft(v - rate (X' slope/n + l2 v), rate l1), v = w + theta (w - w'), from w = w' = 0, "
            f"{self.steps} times, slope = {slope} of r = X v - y, {sizes}"
        )


def _soft(u: arb_mat, thresholds: list[arb]) -> arb_mat:
    """relu(u - t) - relu(-u - t), entry by entry."""
    pairs = zip(u.entries(), thresholds, strict=True)
    return arb_mat(u.nrows(), u.ncols(), [(x - t).max(arb(0)) - (-x - t).max(arb(0)) for x, t in pairs])


def descent(
    X: Any,
    y: Any,
    loss: str = "squared",
    *,
    l1: Any = 0.0,
    l2: float = 0.0,
    delta: float = 1.0,
    rate: float | None = None,
    momentum: float = 0.0,
    steps: int = 200,
) -> DescentProgram:
    """w <- soft(w - rate gradient, rate l1), so many times; rate None is 1/L, a list l1 is a penalty path.

    momentum: a fixed theta, 0 <= theta < 1, of Nesterov's method. delta belongs to the Huber loss.

    >>> descent([[1.0], [2.0]], [2.0, 4.0], steps=100).reference().round(decimals=6)
    tensor([2.], dtype=torch.float64)
    """
    X, y = samples_matrix(X), responses(y)
    if len(X) != len(y):
        raise Refusal(f"{len(X)} samples in X and {len(y)} in y: give as many of one as of the other")
    if loss not in LOSSES:
        raise Refusal(f"no loss is called {loss!r}; there are {', '.join(LOSSES)}")
    if loss == "logistic" and not np.isin(y, (0.0, 1.0)).all():
        raise Refusal("the labels of a logistic regression must be 0 or 1")
    path = isinstance(l1, list | tuple | np.ndarray | Tensor) and np.ndim(l1) > 0
    penalties = [penalty("l1", value) for value in (l1 if path else [l1])]
    if not penalties:
        raise Refusal("a penalty path needs at least one l1")
    l2, delta = penalty("l2", l2), penalty("delta", delta)
    if delta == 0:
        raise Refusal("the delta of the Huber loss must be positive")
    if isinstance(momentum, bool) or not (isinstance(momentum, int | float) and 0 <= momentum < 1):
        raise Refusal(f"momentum must be a number from 0 to below 1, not {momentum!r}")
    chosen = 1.0 / (_curvature(loss, X, l2) * (1 + 1e-9) or 1.0) if rate is None else read_rate(rate)
    name = f"{loss} descent, {steps} steps" + (f", {len(penalties)} penalties" if path else "")
    data, labels, sizes = (torch.tensor(part, dtype=torch.float64) for part in (X, y, penalties))
    return DescentProgram(name, loss, data, labels, sizes, l2, delta, chosen, float(momentum), read_steps(steps), path)


def read_rate(rate: Any) -> float:
    """A positive number, or a refusal."""
    if isinstance(rate, bool) or not (isinstance(rate, int | float) and 0 < rate < math.inf):
        raise Refusal(f"the rate must be a positive number, not {rate!r}")
    return float(rate)


def read_steps(steps: Any) -> int:
    """A positive whole number that can be counted to, or a refusal."""
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST:
        raise Refusal(f"steps must be a positive whole number up to {MOST}, not {steps!r}")
    return steps


def _curvature(loss: str, X: np.ndarray, l2: float) -> float:
    share = 0.25 if loss == "logistic" else 1.0
    return share * float(np.linalg.norm(X, 2)) ** 2 / len(X) + l2
