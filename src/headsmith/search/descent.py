"""Moving the keys: variable projection with Levenberg-Marquardt.

phi is linear in its values, so for given keys the values are one least-squares solve, and only the keys
(crossings, log steps) are left to descend on.  With A = [W; lam I] = Q R, the residual is orthogonal to Q
and, after Kaufman, the Jacobian is that of the head at fixed values minus its projection on Q.  The Tikhonov
term lam costs a third of the error budget when the values reach their cap.  Steps are clipped component by
component: one impatient key must not hold up the others.

Several functions may share the keys (y and the values then have a row for each): the values are one solve with
many right-hand sides, and all residuals are one long residual for the crossings and steps to reduce.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from headsmith.search.keys import Array, Keys, attention
from headsmith.search.question import Question, Slices
from headsmith.search.table import best_reference

Asked = Question | Slices

ITERATIONS = 250
STEEPEST = 1e30
PATIENCE = {30: 4000.0, 60: 400.0, 120: 40.0}


class Work:
    """Work done so far against a budget, in modelled microseconds: never in seconds, so that a compile
    takes the same decisions on every machine.
    """

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.spent = 0.0

    def rank(self, points: int, keys: int) -> None:
        """One linear solve, residual only."""
        self.spent += 18 + points * keys * (0.008 + 0.00016 * keys)

    def solve(self, points: int, keys: int) -> None:
        """One linear solve with its basis."""
        self.spent += 24 + points * keys * (0.008 + 0.00027 * keys)

    def step(self, points: int, keys: int) -> None:
        """One linearisation and its damped solves."""
        self.spent += 34 + points * keys * (0.010 + 0.00068 * keys) + 0.0015 * keys**3

    def finish(self, points: int, keys: int) -> None:
        """Choice of the reference key and the measurement."""
        self.spent += 600 + (0.012 * points + 20) * keys

    @property
    def left(self) -> float:
        """What is left of the budget."""
        return self.budget - self.spent


@dataclass
class Descended:
    """Keys with their solved values at the fit points: y ~ values @ weights."""

    keys: Keys
    z: Array
    y: Array
    reference: int
    values: Array
    weights: Array
    basis: Array
    residual: Array
    cost: float
    emphasis: Array | None

    @property
    def profile(self) -> Array:
        """The size of the residual at each point."""
        return np.sqrt((self.residual**2).reshape(-1, len(self.z)).sum(axis=0))

    @property
    def worst(self) -> float:
        """The largest residual."""
        return float(np.abs(self.residual).max())


def penalty(eps: float, cap: float, points: int, count: int) -> float:
    """lam = 0.3 eps sqrt(m / P) / cap."""
    return 0.3 * eps * (points / count) ** 0.5 / cap


def solve_values(weights: Array, y: Array, lam: float, emphasis: Array | None = None) -> tuple[Array, Array]:
    """min_g |emphasis (y - g W)|^2 + lam^2 |g|^2: the values and an orthonormal basis (rows) of [W; lam]."""
    count, points = weights.shape
    matrix = np.zeros((count, points + count))
    matrix[:, :points] = weights if emphasis is None else weights * emphasis
    right = y if emphasis is None else y * emphasis
    matrix[:, points:].flat[:: count + 1] = lam
    packed, tau, _, _ = lapack.dgeqrf(matrix.T, lwork=32 * count, overwrite_a=1)
    triangle = np.array(packed[:count], order="F")
    basis, _, _ = lapack.dorgqr(packed, tau, lwork=32 * count, overwrite_a=1)
    rows = basis.T
    values, _ = lapack.dtrtrs(triangle, rows[:, :points] @ right.T)
    return values.T, rows


def misfit(question: Asked, keys: Keys, work: Work) -> float:
    """Root mean square residual (with the penalty) of the best values for these keys."""
    z, y = question.grid(keys.number)
    count, points = keys.number, len(z)
    work.rank(points, count)
    rows = y.reshape(-1, points)
    matrix = np.zeros((count + len(rows), points + count))
    matrix[:count, :points] = attention(keys, z, count // 2)
    matrix[:count, points:].flat[:: count + 1] = penalty(question.eps, question.cap, points, count)
    matrix[count:, :points] = rows
    packed, _, _, _ = lapack.dgeqrf(matrix.T, lwork=32 * count, overwrite_a=1)
    rms = float(np.hypot.reduce(np.triu(packed[count : len(matrix), count:]), axis=None)) / points**0.5
    return rms if np.isfinite(rms) else np.inf


def fitted(
    question: Asked, keys: Keys, work: Work, reference: int | None = None, emphasis: Array | None = None
) -> Descended:
    """The best values for these keys."""
    z, y = question.grid(keys.number)
    lam = penalty(question.eps, question.cap, len(z), keys.number)
    work.solve(len(z), keys.number)
    weights = attention(keys, z, keys.number // 2 if reference is None else reference)
    values, basis = solve_values(weights, y, lam, emphasis)
    if reference is None:
        work.solve(len(z), keys.number)
        reference = best_reference(keys, values, z, keys.number // 2)
        return fitted(question, keys, work, reference, emphasis)
    residual = y - values @ weights
    scaled = residual if emphasis is None else residual * emphasis
    cost = float(np.vdot(scaled, scaled) + lam * lam * np.vdot(values, values))
    return Descended(keys, z, y, reference, values, weights, basis, residual, cost, emphasis)


def _linearised(fit: Descended, lam: float) -> tuple[Array, Array]:
    """The triangle R of [J / norms | residual] and the column norms.

    J = d(residual) by crossings (in units of 1 / step) and log steps, less its projection on the basis.
    """
    cross, step = fit.keys
    z, count, points = fit.z, len(cross), len(fit.z)
    shift = fit.values[..., :, None] - (fit.values @ fit.weights)[..., None, :]
    shift *= fit.weights
    tail = np.add.accumulate(shift[..., :0:-1, :], axis=-2)[..., ::-1, :]
    stack = np.zeros((*fit.y.shape[:-1], 2 * count + 1, points + count + 1))
    columns, right = stack[..., : 2 * count, :], stack[..., 2 * count, :]
    np.negative(tail, out=columns[..., :count, :points])
    np.multiply(tail, step[:, None] * (z[None, :] - cross[:, None]), out=columns[..., count:, :points])
    right[..., :points] = fit.residual
    right[..., points:] = -lam * fit.values
    if fit.emphasis is not None:
        stack[..., :points] *= fit.emphasis
    columns -= (columns[..., :points] @ fit.basis[:, :points].T) @ fit.basis
    norms = np.sqrt(np.einsum("...ij,...ij->...i", columns, columns).reshape(-1, 2 * count).sum(axis=0))
    norms = np.maximum(norms, 3e-5 * norms.max() + 1e-300)
    columns /= norms[:, None]
    rows = np.moveaxis(stack, -2, 0).reshape(2 * count + 1, -1)
    packed, _, _, _ = lapack.dgeqrf(rows.T, lwork=32 * len(rows), overwrite_a=1)
    return np.triu(packed[: 2 * count]), norms


def _move(triangle: Array, norms: Array, mu: float) -> Array:
    """The damped step: least squares of [R; sqrt(mu) I] by QR, since normal equations stop near 1e-8."""
    size = len(norms)
    damped = np.zeros((2 * size, size + 1), order="F")
    damped[:size] = triangle
    damped[size:].flat[:: size + 2] = mu**0.5
    packed, _, _, _ = lapack.dgeqrf(damped, lwork=32 * (size + 1), overwrite_a=1)
    move, info = lapack.dtrtrs(packed[:size, :size], packed[:size, size])
    return move / norms if info == 0 else np.zeros(size)


def descend(question: Asked, keys: Keys, work: Work, iterations: int = ITERATIONS, patient: bool = False) -> Descended:
    """Levenberg-Marquardt from these keys: the fit with the smallest maximal residual on the way.

    Unless `patient`, it gives up where eps looks out of reach.
    """
    eps = question.eps
    fit = fitted(question, keys, work)
    count, points = keys.number - 1, len(fit.z)
    lam = penalty(eps, question.cap, points, keys.number)
    best, best_worst = fit, fit.worst
    mu, stalls, equalising = 1e-3, 0, False
    for iteration in range(iterations):
        if best_worst < question.goal * eps or work.left < 0:
            break
        limit = None if patient else PATIENCE.get(iteration)
        if limit is not None and (fit.cost / points) ** 0.5 > limit * eps:
            break
        work.step(points, keys.number)
        triangle, norms = _linearised(fit, lam)
        before = fit.cost
        for _ in range(9):
            move = _move(triangle, norms, mu)
            cross = fit.keys.cross + np.clip(move[:count], -2, 2) / fit.keys.step
            step = np.minimum(fit.keys.step * np.exp(np.clip(move[count:], -0.7, 0.7)), STEEPEST)
            new = fitted(question, Keys(cross, step), work, fit.reference, fit.emphasis)
            if new.cost < before:
                fit, mu = new, max(mu / 5, 1e-20)
                break
            mu *= 6
        else:
            if equalising or best_worst > 6 * eps:
                break
            stalls = 5
        worst = fit.worst
        if worst < best_worst:
            best, best_worst = fit, worst
        stalls = stalls + 1 if fit.cost > before * (1 - 6e-4) else 0
        if stalls >= 5 or equalising:
            if worst > 6 * eps and not equalising:
                continue
            equalising = True
            emphasis = np.ones(points) if fit.emphasis is None else fit.emphasis
            emphasis = emphasis * np.sqrt(0.1 + fit.profile / fit.profile.max())
            emphasis /= np.sqrt(emphasis @ emphasis / points)
            fit = fitted(question, fit.keys, work, fit.reference, emphasis)
            worst = fit.worst
            if worst < best_worst:
                best, best_worst = fit, worst
    return best
