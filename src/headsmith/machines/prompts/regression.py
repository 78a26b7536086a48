"""Regression as a prompt: the data, the penalties, a step size and a momentum, laid out as instructions.

    hs.prompt.ols(X, y)                 1/(2n) |Xw - y|^2
    hs.prompt.ridge(X, y, lam)          ... + lam/2 |w|^2            (scikit-learn's alpha is n lam)
    hs.prompt.lasso(X, y, lam)          ... + lam |w|_1
    hs.prompt.elastic_net(X, y, l1, l2) ... + l1 |w|_1 + l2/2 |w|^2
    hs.prompt.logistic(X, y, l2)        mean log-loss + l2/2 |w|^2,  y in {0, 1}
    hs.prompt.huber(X, y, delta)        mean Huber loss, delta fixed

What a prompt contains is data, penalties, and two numbers computed from the eigenvalues of X'X: the rate 1/L and the
momentum theta of Nesterov's method. No solution, no inverse. The builder measures columns and responses in their own
root mean square, v_k = w_k c_k / s, and turns the penalties with them, so that the solution is the user's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from headsmith.constructions.design import freeze
from headsmith.machines.evidence import units
from headsmith.records.shown import Shown, exactly, number
from headsmith.reference.solvers import Floats, Objective
from headsmith.refusal import Refusal

CAUTION = 0.3  # curvature that logistic and Huber losses are trusted to have, as a share of that of their bound
LARGEST, SMALLEST = 1e100, 1e-100
FLOOR = 1e-7  # smallest share of the largest curvature that the momentum is tuned to


@dataclass(frozen=True, repr=False)
class Regression(Shown):
    """A program for `hs.machine.Solver`: a problem and its instructions.

    instruction i:  p += step_i (op_i . (z, sigmoid(z), soft(z), 1)),  z = a_i . (p, q) + shift_i
    then p is shrunk by `threshold`; v = p is the solution in the builder's units, w = v response / columns. With an
    intercept, the last column of X is 1 and the prompt holds the others centred.
    """

    name: str
    problem: Objective
    intercept: bool = False

    def __post_init__(self) -> None:
        freeze(self.problem)  # its name says what the penalties are

    @cached_property
    def means(self) -> Floats:
        """What is subtracted from the columns: nothing, without an intercept to take it up."""
        return self.problem.X[:, :-1].mean(0) if self.intercept else np.zeros(self.features)

    @cached_property
    def _centred(self) -> Objective:
        X = self.problem.X.copy()
        if self.intercept:
            X[:, :-1] -= self.means
        return replace(self.problem, X=X)

    @cached_property
    def columns(self) -> Floats:
        return units(self._centred)

    @cached_property
    def response(self) -> float:
        """Root mean square of y, 1 for labels."""
        rms = float(np.sqrt((self.problem.y**2).mean()))
        return 1.0 if self.problem.loss == "logistic" or rms == 0 else rms

    @property
    def features(self) -> int:
        """Coefficients it solves for."""
        return self.problem.X.shape[1]

    @property
    def samples(self) -> int:
        """Rows of the data."""
        return len(self.problem.y)

    @cached_property
    def scaled(self) -> Objective:
        """The same problem for v, in units of the columns and of the response."""
        p, s = self._centred, self.response
        y = p.y if p.loss == "logistic" else p.y / s
        return Objective(p.loss, p.X / self.columns, y, p.l1 / (self.columns * s), p.l2 / self.columns**2, p.delta / s)

    @cached_property
    def curvature(self) -> tuple[float, float]:
        """Smallest and largest eigenvalue of X'X/n + l2, a quarter of X'X/n for the logistic loss."""
        share = 0.25 if self.problem.loss == "logistic" else 1.0
        p = self.scaled
        values = np.linalg.eigvalsh(share * p.X.T @ p.X / self.samples + np.diag(p.l2))
        return max(float(values[0]), 0.0), float(values[-1])

    @property
    def condition(self) -> float:
        """Largest over smallest curvature; infinite where some direction has none."""
        low, high = self.curvature
        return high / low if low > 1e-15 * high else math.inf

    @property
    def rate(self) -> float:
        """1/L, L the largest curvature of the loss."""
        return 1.0 / (self.curvature[1] * (1 + 1e-9) or 1.0)

    @cached_property
    def momentum(self) -> float:
        """theta = (sqrt(L) - sqrt(mu)) / (sqrt(L) + sqrt(mu))."""
        low, high = self.curvature
        trusted = low if self.problem.loss == "squared" else CAUTION * low
        root = math.sqrt(max(trusted / high, FLOOR)) if high else 1.0
        return (1 - root) / (1 + root)

    def instructions(self, reach: float) -> dict[str, Floats]:
        """a (m, 2d), shift (m,), op (m, 4), step (m, d), threshold (d,), for a table that reads |z| <= reach."""
        p, n, d, rate = self.scaled, self.samples, self.features, self.rate
        theta, eye = self.momentum, np.eye(d)
        bends = p.loss == "huber" and p.delta < 2 * math.sqrt(n)  # else no residual ever leaves the quadratic part
        unit = p.delta if bends else 1.0
        line, clip, squash = (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, -1.0, 0.0), (0.0, 1.0, 0.0, 0.0)
        rows = [_read(p.X / unit, theta)]
        shifts = [np.zeros(n) if p.loss == "logistic" else -p.y / unit]
        ops = [np.tile(clip if bends else squash if p.loss == "logistic" else line, (n, 1))]
        if p.loss == "logistic":
            ops[0][:, 3] = -p.y
        steps = [-(rate * unit / n) * p.X]
        ridged = np.flatnonzero(p.l2)
        root = np.sqrt(n * p.l2[ridged])[:, None] * eye[ridged]
        span = max(1.0, 2 / (reach * math.sqrt(max(self.curvature[0], FLOOR * self.curvature[1], 1e-300))))
        for row, step in ((_read(root, theta), -(rate / n) * root), (_change(eye) / span, theta * span * eye)):
            rows.append(row)
            shifts.append(np.zeros(len(row)))
            ops.append(np.tile(line, (len(row), 1)))
            steps.append(step)
        parts = {"a": rows, "shift": shifts, "op": ops, "step": steps}
        return {name: np.concatenate(part) for name, part in parts.items()} | {"threshold": rate * p.l1}

    def weights(self, v: Floats) -> Floats:
        """v back in the user's units; exact zeros stay."""
        w = v * self.response / self.columns
        if self.intercept:
            w[-1] -= self.means @ w[:-1]
        return w

    def title(self) -> str:
        return f"Prompt: {self.name}"

    def rows(self) -> list[tuple[str, str]]:
        ridged, d = int(np.count_nonzero(self.problem.l2)), self.features
        tokens = [f"{self.samples} samples", *([f"{ridged} penalties"] if ridged else []), f"{d} momenta"]
        return [
            ("tokens", " + ".join(tokens)),
            ("carries", f"rate {number(self.rate)}, momentum {number(self.momentum, 4)} (from the eigenvalues of X'X)"),
            ("condition", number(self.condition)),
        ]


def _read(rows: Floats, theta: float) -> Floats:
    """Look at p + theta (p - q), the point where Nesterov takes the gradient."""
    return np.hstack([(1 + theta) * rows, -theta * rows])


def _change(eye: Floats) -> Floats:
    return np.hstack([eye, -eye])


def ols(X: Any, y: Any, *, intercept: bool = False) -> Regression:
    """minimise 1/(2n) |Xw - y|^2.

    >>> ols([[1.0], [2.0]], [2.0, 4.0]).problem.minimiser()
    array([2.])
    """
    return _program("ols", "squared", X, y, intercept)


def ridge(X: Any, y: Any, lam: float, *, intercept: bool = False) -> Regression:
    """minimise 1/(2n) |Xw - y|^2 + lam/2 |w|^2; scikit-learn's Ridge(alpha) is lam = alpha / n."""
    lam = penalty("lam", lam)
    return _program(f"ridge {exactly(lam)}", "squared", X, y, intercept, l2=lam)


def lasso(X: Any, y: Any, lam: float, *, intercept: bool = False) -> Regression:
    """minimise 1/(2n) |Xw - y|^2 + lam |w|_1; scikit-learn's Lasso(alpha) is lam = alpha."""
    lam = penalty("lam", lam)
    return _program(f"lasso {exactly(lam)}", "squared", X, y, intercept, l1=lam)


def elastic_net(X: Any, y: Any, l1: float, l2: float, *, intercept: bool = False) -> Regression:
    """minimise 1/(2n) |Xw - y|^2 + l1 |w|_1 + l2/2 |w|^2."""
    l1, l2 = penalty("l1", l1), penalty("l2", l2)
    return _program(f"elastic net {exactly(l1)} {exactly(l2)}", "squared", X, y, intercept, l1=l1, l2=l2)


def logistic(X: Any, y: Any, l2: float = 0.0, *, intercept: bool = False) -> Regression:
    """minimise (1/n) sum log(1 + exp(x.w)) - y x.w + l2/2 |w|^2, y in {0, 1}."""
    l2 = penalty("l2", l2)
    program = _program(f"logistic {exactly(l2)}" if l2 else "logistic", "logistic", X, y, intercept, l2=l2)
    labels = program.problem.y
    if not np.isin(labels, (0.0, 1.0)).all():
        raise Refusal("the labels of a logistic regression must be 0 or 1")
    if program.problem.l2[0] == 0 and separable(program.problem.X, labels):
        raise Refusal("the two classes can be separated by a plane, so the logistic loss has no minimiser: give l2 > 0")
    return program


def huber(X: Any, y: Any, delta: float, *, intercept: bool = False) -> Regression:
    """minimise (1/n) sum huber_delta(x.w - y), delta fixed; scikit-learn's HuberRegressor also fits a scale."""
    delta = penalty("delta", delta)
    if delta == 0:
        raise Refusal("the delta of the Huber loss must be positive")
    return _program(f"huber {exactly(delta)}", "huber", X, y, intercept, delta=delta)


def _program(
    name: str, loss: str, X: Any, y: Any, intercept: bool, l1: float = 0.0, l2: float = 0.0, delta: float = 1.0
) -> Regression:
    X, y = samples_matrix(X), responses(y)
    if len(X) != len(y):
        raise Refusal(f"{len(X)} samples in X and {len(y)} in y: give as many of one as of the other")
    penalty1, penalty2 = np.full(X.shape[1], l1), np.full(X.shape[1], l2)
    if intercept:
        X = np.hstack([X, np.ones((len(X), 1))])
        penalty1, penalty2 = np.append(penalty1, 0.0), np.append(penalty2, 0.0)
    return Regression(name, Objective(loss, X, y, penalty1, penalty2, delta), intercept)


def separable(X: Floats, labels: Floats) -> bool:
    """Whether some w != 0 has (2 y_i - 1) x_i . w >= 0 for all i, and > 0 for one: a linear programme."""
    from scipy.optimize import linprog

    signed = (2 * labels - 1)[:, None] * X / np.maximum(np.abs(X).max(0), 1e-300)
    n, d = signed.shape
    cost = np.concatenate([np.zeros(d), -np.ones(n)])
    rows = np.hstack([-signed, np.eye(n)])
    found = linprog(cost, rows, np.zeros(n), bounds=[(-1e6, 1e6)] * d + [(0, 1)] * n, method="highs")
    return bool(found.status == 0 and -found.fun > 1e-6)


def penalty(name: str, value: Any) -> float:
    """A number that is not negative, or a refusal that names it."""
    try:
        size = float(value)
    except (TypeError, ValueError):
        size = math.nan
    if not 0 <= size < math.inf:
        raise Refusal(f"{name} must be a number that is not negative, not {value!r}")
    return size


def samples_matrix(X: Any) -> Floats:
    """X (samples, features) in float64; what is no table of finite numbers is refused by its place."""
    return _numbers(X, "X", 2)


def responses(y: Any) -> Floats:
    """y (samples,), likewise."""
    return _numbers(y, "y", 1)


def _numbers(values: Any, name: str, axes: int) -> Floats:
    try:
        values = values.detach().cpu().numpy() if hasattr(values, "detach") else values
        if np.iscomplexobj(values):  # a cast would drop the imaginary parts
            raise TypeError
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise Refusal(f"{name} must hold numbers only") from None
    if array.ndim != axes or array.size == 0:
        shape = "(samples, features)" if axes == 2 else "(samples,)"
        raise Refusal(f"{name} must have shape {shape}, not {array.shape}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = f"sample {bad[0][0]}" + (f", feature {bad[0][1]}" if axes == 2 else "")
        raise Refusal(f"{name} holds {array[tuple(bad[0])]} at {where}: every value must be a finite number")
    if np.abs(array).max() > LARGEST:
        raise Refusal(f"{name} holds numbers beyond {LARGEST:g}, whose squares overflow: measure it in larger units")
    faint = np.flatnonzero((array != 0).any(0) & (np.abs(array).max(0) < SMALLEST))
    if axes == 2 and len(faint):
        raise Refusal(f"feature {faint[0]} of {name} is below {SMALLEST:g}, its squares vanish: take smaller units")
    return array


PROGRAMS: Sequence[str] = ("ols", "ridge", "lasso", "elastic_net", "logistic", "huber")
