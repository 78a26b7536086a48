"""Solvers to be compared with: the minimiser of a penalised regression, to about the last digits of float64.

    minimise (1/n) sum_i loss(x_i . w, y_i) + sum_k l1_k |w_k| + (1/2) sum_k l2_k w_k^2

    squared     (x.w - y)^2 / 2
    huber       r^2/2 for |r| <= delta, delta |r| - delta^2/2 beyond, r = x.w - y, delta fixed
    logistic    log(1 + exp(x.w)) - y x.w,  y in {0, 1}

Penalties are per coordinate, so that an intercept column can go free. Each method ends at a point that it can
reach exactly: a linear system for a fixed set of active coordinates (lasso) or of inliers (Huber), Newton's
quadratic convergence (logistic). scikit-learn: Ridge(alpha) has l2 = alpha / n, Lasso(alpha) has l1 = alpha,
ElasticNet(alpha, r) has l1 = alpha r and l2 = alpha (1 - r); HuberRegressor also estimates a scale and solves
another problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LOSSES = ("squared", "logistic", "huber")


@dataclass(frozen=True, eq=False)
class Objective:
    """(1/n) sum_i loss(x_i . w, y_i) + sum l1 |w| + sum l2 w^2 / 2; X (n, d), y (n,), l1 and l2 (d,)."""

    loss: str
    X: Floats
    y: Floats
    l1: Floats
    l2: Floats
    delta: float = 1.0

    @classmethod
    def of(cls, loss: str, X, y, l1: float = 0.0, l2: float = 0.0, delta: float = 1.0) -> Objective:
        """With the same penalty for every coordinate.

        >>> Objective.of("squared", [[1.0], [2.0]], [2.0, 4.0]).minimiser()
        array([2.])
        """
        X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
        d = X.shape[1]
        return cls(loss, X, y, np.full(d, float(l1)), np.full(d, float(l2)), delta)

    def slope(self, w: Floats) -> Floats:
        """loss'(x_i . w, y_i) for every sample."""
        t = self.X @ w
        if self.loss == "logistic":
            return sigmoid(t) - self.y
        r = t - self.y
        return np.clip(r, -self.delta, self.delta) if self.loss == "huber" else r

    def gradient(self, w: Floats) -> Floats:
        """Of everything but the l1 penalty."""
        return self.X.T @ self.slope(w) / len(self.y) + self.l2 * w

    def objective(self, w: Floats) -> float:
        """mean loss(x_i . w, y_i) + l1 . |w| + l2 . w^2 / 2."""
        t = self.X @ w
        if self.loss == "logistic":
            loss = np.logaddexp(0.0, t) - self.y * t
        else:
            r = t - self.y
            c = np.clip(r, -self.delta, self.delta) if self.loss == "huber" else r
            loss = c * (r - c / 2)
        return float(loss.mean() + self.l1 @ np.abs(w) + self.l2 @ w**2 / 2)

    def minimiser(self) -> Floats:
        """w*, by the method that suits the problem."""
        if self.loss == "squared":
            return _coordinates(self) if self.l1.any() else _least_squares(self.X, self.y, self.l2)
        return _huber(self) if self.loss == "huber" else _newton(self)


def sigmoid(t: Floats) -> Floats:
    """1 / (1 + exp(-t)), without overflow."""
    e = np.exp(-np.abs(t))
    return np.where(t >= 0, 1.0, e) / (1.0 + e)


def gradient_descent(problem: Objective, steps: int, rate: float, start: Floats | None = None) -> Floats:
    """w_0, ..., w_steps of plain gradient descent, (steps + 1, d): w <- w - rate gradient(w)."""
    w = np.zeros(problem.X.shape[1]) if start is None else np.asarray(start, np.float64)
    path = [w]
    for _ in range(steps):
        path.append(path[-1] - rate * problem.gradient(path[-1]))
    return np.array(path)


def _least_squares(X: Floats, y: Floats, l2: Floats) -> Floats:
    """QR of the rows (X; sqrt(n l2)) with scaled columns, refined once."""
    n = len(X)
    rows = np.vstack([X, np.diag(np.sqrt(n * l2))[l2 > 0]])
    target = np.concatenate([y, np.zeros(len(rows) - n)])
    scale = np.sqrt((rows**2).mean(0))
    scale[scale == 0] = 1.0
    w = np.linalg.lstsq(rows / scale, target, rcond=None)[0] / scale
    return w + np.linalg.lstsq(rows / scale, target - rows @ w, rcond=None)[0] / scale


def _coordinates(problem: Objective) -> Floats:
    """Coordinate descent; whenever the signs settle, the linear system for these signs, if it is optimal."""
    X, y, l1, l2 = problem.X, problem.y, problem.l1, problem.l2
    n, d = X.shape
    gram, moment = X.T @ X / n, X.T @ y / n
    bend = gram.diagonal() + l2
    w, signs = np.zeros(d), None
    for _ in range(100_000):
        for k in np.flatnonzero(bend):
            rho = moment[k] - gram[k] @ w + gram[k, k] * w[k]
            w[k] = np.sign(rho) * max(abs(rho) - l1[k], 0.0) / bend[k]
        before, signs = signs, np.sign(w)
        if before is not None and np.array_equal(before, signs):
            polished = _with_signs(gram, moment, l1, l2, signs)
            if polished is not None:
                return polished
    return w


def _with_signs(gram: Floats, moment: Floats, l1: Floats, l2: Floats, signs: Floats) -> Floats | None:
    """The stationary point with these signs, or None if it is not the minimiser."""
    on = np.flatnonzero((signs != 0) | (l1 == 0))
    w = np.zeros(len(signs))
    if len(on):
        block = gram[np.ix_(on, on)] + np.diag(l2[on])
        target = moment[on] - l1[on] * signs[on]
        scale = np.sqrt(block.diagonal())
        try:
            w[on] = np.linalg.solve(block / np.outer(scale, scale), target / scale) / scale
        except np.linalg.LinAlgError:
            return None
    off = np.setdiff1d(np.arange(len(signs)), on)
    pull = np.abs(moment - gram @ w)
    optimal = (np.sign(w[on]) == signs[on])[l1[on] > 0].all() and (pull[off] <= l1[off] * (1 + 1e-12)).all()
    return w if optimal else None


def _newton(problem: Objective) -> Floats:
    """Newton's method with step halving, then two full steps."""
    X, n = problem.X, len(problem.y)
    scale = np.sqrt((X**2).mean(0))
    scale[scale == 0] = 1.0
    w = np.zeros(X.shape[1])
    for _ in range(200):
        p = sigmoid(X @ w)
        bend = (X * (p * (1 - p))[:, None]).T @ X / n + np.diag(problem.l2)
        move = np.linalg.lstsq(bend / np.outer(scale, scale), problem.gradient(w) / scale, rcond=None)[0] / scale
        size, now = 1.0, problem.objective(w)
        while size > 1e-10 and problem.objective(w - size * move) > now + 1e-15 * abs(now):
            size /= 2
        w = w - size * move
        if np.abs(move * scale).max() < 1e-14 * max(1.0, np.abs(w * scale).max()):
            break
    return w


def _huber(problem: Objective) -> Floats:
    """Newton on the inliers until their set stays; before that, reweighted least squares where it descends further.

    Reweighting, by min(1, delta / |r|), minimises a majorant, so that it descends from everywhere.
    """
    X, y, delta = problem.X, problem.y, problem.delta

    def moved(w: Floats, weights: Floats) -> tuple[Floats, float, bool]:
        """(where the quadratic of these weights leads, the relative size of the step, whether it has a minimum)."""
        bend = (X.T * weights) @ X / len(y) + np.diag(problem.l2)
        scale = np.sqrt(np.maximum(bend.diagonal(), 1e-300))
        bend, pull = bend / np.outer(scale, scale), problem.gradient(w) / scale
        step = np.linalg.lstsq(bend, pull, rcond=None)[0]
        there = w - step / scale
        size = float(np.abs(step).max() / max(np.abs(there * scale).max(), 1e-300))
        return there, size, bool(np.abs(bend @ step - pull).max() <= 1e-9 * delta)

    w = _least_squares(X, y, problem.l2)
    for _ in range(1000):
        r = X @ w - y
        inlier = np.abs(r) <= delta
        newton, size, met = moved(w, inlier.astype(np.float64))
        new = X @ newton - y
        if met and np.array_equal(np.abs(new) <= delta, inlier) and (inlier | (new * r > 0)).all():
            if size <= 1e-13:
                return newton
            w = newton
            continue
        safe, *_ = moved(w, np.minimum(1.0, delta / np.maximum(np.abs(r), 1e-300)))
        w = min(newton, safe, key=problem.objective)
    return w
