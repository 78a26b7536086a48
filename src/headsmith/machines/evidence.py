"""How far a point can be from the minimiser, proved from the data at that point.

A convex objective F with curvature at least mu around w, and h in its subdifferential at w:

    |w - w*|_2 <= |h|_2 / mu                                                   squared loss, with or without l1
    |w - w*|_2 <= -log(1 - R |h| / mu) / R,   R = max |x_i|                    logistic (quasi self-concordance)
    |w - w*|_2 <  rho  if  |h| < mu(rho) rho, mu(rho) from the samples that stay inliers within rho           Huber

h = 0 in a coordinate with w_k = 0 and |gradient_k| <= l1_k, so exact zeros are worth having. Where X'X is singular
(more features than samples) the duality gap of the lasso proves coordinates to be zero in *every* minimiser, and mu is
that of the others. All of it in units of the columns, and computed in float64 with Higham's error bounds, which
hold for every order of summation; sigmoids are evaluated in balls. Nothing here looks at the network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from flint import arb
from numpy.typing import NDArray

from headsmith.functions import precision
from headsmith.proof.rounding import gamma
from headsmith.proof.spectrum import INFLATE, UNIT, least_eigenvalue
from headsmith.reference.solvers import Floats, Objective

TINY = 1e-290


@dataclass(frozen=True)
class Distance:
    """|w - w*|_inf <= bound; `rounding` is the part of it that evaluating the gradient in float64 costs.

    `curvature` is the proved strong convexity in units of the columns, `zeros` are proved zeros of w*.
    """

    bound: float
    rounding: float = 0.0
    curvature: float = 0.0
    zeros: tuple[int, ...] = ()


def distance(problem: Objective, w: Floats) -> Distance:
    """A proved bound of |w - w*|_inf; infinite where nothing can be said.

    >>> distance(Objective.of("squared", [[1.0], [2.0]], [2.0, 4.0]), np.array([2.0])).bound < 1e-14
    True
    """
    columns = units(problem)
    X, n, threshold = problem.X / columns, len(problem.y), problem.l1 / columns
    slope, slip = _slopes(problem, w)
    gradient = X.T @ slope / n + problem.l2 * w / columns
    error = (gamma(n + 4, UNIT) * (np.abs(X).T @ np.abs(slope)) + np.abs(X).T @ slip) / n
    error = (error + gamma(4, UNIT) * np.abs(problem.l2 * w) / columns) * INFLATE + TINY
    curvature = _Curvature(problem, X, problem.l2 / columns**2, w, slope, slip)
    shown, pull = (_pull(gradient, slack, threshold, w) for slack in (0.0, error))
    plain, whole, mu = curvature.radius(_norm(shown), _norm(pull))
    zeros = np.zeros(len(w), bool)
    if math.isfinite(whole):
        zeros = (w == 0) & (np.abs(gradient) + error + curvature.couplings() * whole < threshold)
    elif problem.loss == "squared" and problem.l1.all() and not problem.l2.any():
        zeros = (w == 0) & _screened(problem, X, threshold, columns * w, slope, slip)
    if zeros.all():
        return Distance(0.0, 0.0, math.inf, tuple(range(len(w))))
    if zeros.any():
        on = ~zeros
        plain, whole, mu = curvature.restricted(on).radius(_norm(shown[on]), _norm(pull[on]))
    least = float(columns[~zeros].min())
    rounding = max(whole - plain, 0.0) / least if math.isfinite(whole) else 0.0
    return Distance(whole / least * INFLATE, rounding, mu, tuple(np.flatnonzero(zeros).tolist()))


def units(problem: Objective) -> Floats:
    """The curvature of each coordinate, square root: rms of the column (half of it for the logistic loss) and l2."""
    share = 0.25 if problem.loss == "logistic" else 1.0
    columns = np.sqrt(share * (problem.X**2).mean(0) + problem.l2)
    columns[columns == 0] = 1.0
    return columns


def _pull(gradient: Floats, error: Floats | float, threshold: Floats, w: Floats) -> Floats:
    """|h_k| for the shortest h in the subdifferential, from above."""
    on = np.abs(gradient + threshold * np.sign(w)) + error + gamma(3, UNIT) * threshold
    off = np.maximum(np.abs(gradient) + error - threshold * (1 - gamma(4, UNIT)), 0.0)
    return np.where(w == 0, off, on)


def _slopes(problem: Objective, w: Floats) -> tuple[Floats, Floats]:
    """loss'(x_i . w, y_i) and a bound of its error."""
    t = problem.X @ w
    slip = gamma(len(w) + 1, UNIT) * (np.abs(problem.X) @ np.abs(w)) * INFLATE + TINY
    if problem.loss != "logistic":
        r = t - problem.y
        slip = slip + 2 * UNIT * np.abs(r)
        return (np.clip(r, -problem.delta, problem.delta) if problem.loss == "huber" else r), slip
    with precision(80):
        squashed = np.array([float((1 / (1 + (-arb(x)).exp())).mid()) for x in t.tolist()])
    return squashed - problem.y, slip / 4 + 4 * UNIT


@dataclass(frozen=True, eq=False)
class _Curvature:
    """Strong convexity around a point, from samples whose loss is curved there; X and l2 in units of the columns."""

    problem: Objective
    X: Floats
    l2: Floats
    w: Floats
    slope: Floats
    slip: Floats

    def restricted(self, active: NDArray[np.bool_]) -> _Curvature:
        return replace(self, X=self.X[:, active], l2=self.l2[active])

    def least(self, rho: float = 0.0) -> float:
        """mu: a proved lower bound of the Hessian's eigenvalues, within rho of the point for the Huber loss."""
        weights = np.ones(len(self.X))
        if self.problem.loss == "huber":
            r = self.problem.X @ self.w - self.problem.y
            room = np.abs(r) + self.slip + _norms(self.X) * rho
            weights = (room * INFLATE < self.problem.delta).astype(float)
        if self.problem.loss == "logistic":
            p = self.slope + self.problem.y
            weights = np.maximum(p * (1 - p) - self.slip - 8 * UNIT, 0.0)
        n = len(self.X)
        rows = self.X * np.sqrt(weights)[:, None]
        size = np.abs(rows).T @ np.abs(rows) / n + np.diag(self.l2)
        return least_eigenvalue(rows.T @ rows / n + np.diag(self.l2), gamma(n + 10, UNIT) * size * INFLATE)

    def couplings(self) -> Floats:
        """|H_k|_2 for each row of the Hessian of the squared loss, from above."""
        size = np.abs(self.X.T @ self.X) / len(self.X) + np.diag(self.l2)
        return _norms(size) + gamma(len(self.X) + 4, UNIT) * _norms(np.abs(self.X).T @ np.abs(self.X) / len(self.X))

    def radius(self, plain: float, whole: float) -> tuple[float, float, float]:
        """rho with |C (w - w*)|_2 <= rho, C the columns, for subgradients of these two norms; and mu."""
        mu = self.least()
        if not mu > 0:
            return math.inf, math.inf, 0.0
        if self.problem.loss == "huber":
            rho = whole / mu * INFLATE
            for _ in range(30):
                mu = self.least(rho)
                if not mu > 0 or mu * rho > whole:
                    break
                rho *= 1.5
            return (plain / mu, rho, mu) if mu * rho > whole else (math.inf, math.inf, 0.0)
        plain, whole = plain / mu * INFLATE, whole / mu * INFLATE
        if self.problem.loss == "logistic":
            widest = float(_norms(self.X).max())
            if not widest * whole < 0.5:
                return math.inf, math.inf, mu
            plain, whole = (-math.log1p(-widest * rho) / widest * INFLATE for rho in (plain, whole))
        return plain, whole, mu


def _screened(
    problem: Objective, X: Floats, threshold: Floats, v: Floats, residual: Floats, slip: Floats
) -> NDArray[np.bool_]:
    """Coordinates that are zero in every minimiser of a lasso: gap-safe screening.

    theta = -share residual / n is a dual point; a duality gap of G puts the dual solution within sqrt(2 G / n) of it,
    and a coordinate with |x_k . theta*| < threshold is zero.
    """
    n = len(problem.y)
    top = np.abs(X.T @ residual) / n
    top += (gamma(n + 4, UNIT) * (np.abs(X).T @ np.abs(residual)) + np.abs(X).T @ slip) / n
    share = min(1.0, float((threshold / np.maximum(top, TINY)).min())) / INFLATE
    square, mixed = float(residual @ residual), float(problem.y @ residual)
    primal = square / (2 * n) + float(threshold @ np.abs(v))
    dual = -share * mixed / n - share**2 * square / (2 * n)
    sizes = np.abs(residual) + np.abs(problem.y)
    rough = (gamma(n + 8, UNIT) * float(sizes @ sizes) + 2 * float(sizes @ slip)) / n
    rough += gamma(len(v) + 8, UNIT) * (primal + abs(dual))
    gap = max(primal - dual, 0.0) + rough * INFLATE
    reach = _norms(X.T) * math.sqrt(2 * gap / n) * INFLATE
    return share * top + reach < threshold


def _norms(rows: Floats) -> Floats:
    return np.sqrt((rows**2).sum(1)) * INFLATE


def _norm(vector: Floats) -> float:
    return float(np.sqrt((vector**2).sum())) * INFLATE
