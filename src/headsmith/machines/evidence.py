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
from headsmith.reference.solvers import Floats, Problem

UNIT = 2.0**-53
INFLATE = 1 + 1e-10  # pays for evaluating sums of non-negative terms in float64
TINY = 1e-290


@dataclass(frozen=True)
class Distance:
    """|w - w*|_inf <= bound; `rounding` is the part of it that evaluating the gradient in float64 costs.

    `curvature` is the proved strong convexity, in units of the columns; `zeros` are proved zeros of w*.
    """

    bound: float
    rounding: float = 0.0
    curvature: float = 0.0
    zeros: tuple[int, ...] = ()


def distance(problem: Problem, w: Floats) -> Distance:
    """A proved bound of |w - w*|_inf; infinite where nothing can be said.

    >>> distance(Problem.of("squared", [[1.0], [2.0]], [2.0, 4.0]), np.array([2.0])).bound < 1e-14
    True
    """
    columns = np.sqrt((problem.X**2).mean(0))
    columns[columns == 0] = 1.0
    X, n = problem.X / columns, len(problem.y)
    slope, slip = _slopes(problem, w)
    gradient = X.T @ slope / n + problem.l2 * w / columns
    error = (gamma(n + 4, UNIT) * (np.abs(X).T @ np.abs(slope)) + np.abs(X).T @ slip) / n
    error = (error + gamma(4, UNIT) * np.abs(problem.l2 * w) / columns) * INFLATE + TINY
    threshold = problem.l1 / columns
    error = error + gamma(3, UNIT) * threshold
    pull = np.abs(gradient + threshold * np.sign(w)) - np.where(w == 0, threshold, 0.0)
    active = np.ones(len(w), bool)
    curvature = _Curvature(problem, X, problem.l2 / columns**2, w, slope, slip)
    if not curvature.least() > 0 and problem.loss == "squared" and problem.l1.all() and not problem.l2.any():
        active = ~(_screened(problem, X, threshold, columns * w, slope, slip) & (w == 0))
        curvature = curvature.restricted(active)
    if not active.any():
        return Distance(0.0, 0.0, math.inf, tuple(range(len(w))))
    shown, hidden = np.maximum(pull, 0.0)[active], error[active]
    whole, mu = curvature.radius(_norm(shown + hidden))
    plain, _ = curvature.radius(_norm(shown))
    least = float(columns[active].min())
    return Distance(
        whole / least * INFLATE, max(whole - plain, 0.0) / least, mu, tuple(np.flatnonzero(~active).tolist())
    )


def _slopes(problem: Problem, w: Floats) -> tuple[Floats, Floats]:
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

    problem: Problem
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

    def radius(self, norm: float) -> tuple[float, float]:
        """(rho, mu) with |C (w - w*)|_2 <= rho, C the columns, if the subgradient has this norm."""
        mu = self.least()
        if not mu > 0:
            return math.inf, 0.0
        rho = norm / mu * INFLATE
        if self.problem.loss == "logistic":
            widest = float(_norms(self.X).max())
            return (-math.log1p(-widest * rho) / widest * INFLATE if widest * rho < 0.5 else math.inf), mu
        if self.problem.loss == "huber":
            for _ in range(30):
                mu = self.least(rho)
                if mu * rho > norm:
                    return rho, mu
                rho *= 1.5
            return math.inf, 0.0
        return rho, mu


def least_eigenvalue(matrix: Floats, error: Floats) -> float:
    """A proved lower bound of the least eigenvalue of every symmetric matrix within `error` of `matrix`, entrywise.

    Ostrowski: with V the computed eigenvectors, lambda_min(V'HV) / lambda_max(V'V), both by Gershgorin's discs.
    """
    d = len(matrix)
    V = np.linalg.eigh(matrix)[1]
    size = np.abs(V)
    turned = V.T @ (matrix @ V)
    slip = (gamma(2 * d + 2, UNIT) * (size.T @ (np.abs(matrix) @ size)) + size.T @ (error @ size)).sum(1) * INFLATE
    middle = turned.diagonal()
    low = float((middle - (np.abs(turned).sum(1) - np.abs(middle)) - slip - 4 * UNIT * np.abs(turned).sum(1)).min())
    gram = np.abs(V.T @ V).sum(1) + gamma(d + 1, UNIT) * (size.T @ size).sum(1)
    return low / (float(gram.max()) * INFLATE) if low > 0 else low


def _screened(
    problem: Problem, X: Floats, threshold: Floats, v: Floats, residual: Floats, slip: Floats
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
