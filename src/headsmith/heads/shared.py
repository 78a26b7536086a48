"""Keys that serve many functions at once.

The slices x -> f(x, y) of a function of two variables, or the components of a vector, are to be read off one set of
keys: phi_r(z) = sum_j softmax_j(a_j z + b_j) g_jr, the same softmax for every r. The descent of a single head
(descent.py) carries over: the values are one linear solve with many right-hand sides, and the residuals of all of
them are one long residual for the crossings and steps to reduce.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headsmith.heads.keys import Array, Keys, attention, from_anchors, lines, split

ITERATIONS = 80
KAPPAS = (0.03, 0.1, 0.25, 0.5, 1.0)
GUARDS = (0, 1, 2, 4)


@dataclass(frozen=True)
class Ladder:
    """keys[P]: the best keys found with P of them; worst[P]: their largest residual over all functions."""

    keys: dict[int, Keys]
    worst: dict[int, float]


def solver(weights: Array, lam: float) -> Array:
    """The (P, points) matrix that gives the values: min |y - g W|^2 + lam^2 |g|^2."""
    count = len(weights)
    q, r = np.linalg.qr(np.concatenate([weights.T, lam * np.eye(count)]))
    return np.linalg.solve(r, q[: weights.shape[1]].T)


@dataclass
class _State:
    keys: Keys
    weights: Array
    values: Array
    basis: Array
    residual: Array
    cost: float


def _fitted(keys: Keys, z: Array, y: Array, lam: float) -> _State:
    """y (functions, points) ~ values (functions, P) @ weights (P, points)."""
    count, points = keys.number, len(z)
    weights = attention(keys, z, count // 2)
    basis, triangle = np.linalg.qr(np.concatenate([weights.T, lam * np.eye(count)]))
    values = np.linalg.solve(triangle, basis[:points].T @ y.T).T
    residual = y - values @ weights
    cost = float((residual**2).sum() + lam * lam * (values**2).sum())
    return _State(keys, weights, values, basis, residual, cost if np.isfinite(cost) else np.inf)


def _linearised(state: _State, z: Array, lam: float) -> tuple[Array, Array, Array]:
    """Kaufman's Jacobian of all residuals by crossings (in units of 1/step) and log steps, its right side, its norms."""
    cross, step = state.keys
    functions, count = state.values.shape
    points = len(z)
    shift = (state.values[:, :, None] - (state.values @ state.weights)[:, None, :]) * state.weights
    tail = np.cumsum(shift[:, :0:-1], axis=1)[:, ::-1]
    columns = np.zeros((functions, 2 * (count - 1), points + count))
    columns[:, : count - 1, :points] = -tail
    columns[:, count - 1 :, :points] = tail * (step[:, None] * (z - cross[:, None]))
    columns -= (columns[:, :, :points] @ state.basis[:points]) @ state.basis.T
    right = np.concatenate([state.residual, -lam * state.values], axis=1)
    matrix = columns.transpose(0, 2, 1).reshape(-1, 2 * (count - 1))
    norms = np.sqrt((matrix**2).sum(0))
    norms = np.maximum(norms, 3e-5 * norms.max() + 1e-300)
    return matrix / norms, right.reshape(-1), norms


def descend(keys: Keys, z: Array, y: Array, lam: float, goal: float, iterations: int = ITERATIONS) -> _State:
    """Levenberg-Marquardt on the keys until the largest residual is under `goal` or nothing moves."""
    state = _fitted(keys, z, y, lam)
    mu, stalls, count = 1e-3, 0, keys.number - 1
    for _ in range(iterations):
        if count < 1 or np.abs(state.residual).max() < goal or stalls > 5:
            break
        matrix, right, norms = _linearised(state, z, lam)
        q, triangle = np.linalg.qr(matrix)
        short = q.T @ right
        before = state.cost
        for _ in range(8):
            damped = np.concatenate([triangle, mu**0.5 * np.eye(2 * count)])
            move = np.linalg.lstsq(damped, np.concatenate([short, np.zeros(2 * count)]), rcond=None)[0] / norms
            cross = state.keys.cross + np.clip(move[:count], -2, 2) / state.keys.step
            step = np.minimum(state.keys.step * np.exp(np.clip(move[count:], -0.7, 0.7)), 1e12)
            new = _fitted(Keys(cross, step), z, y, lam)
            if new.cost < before:
                state, mu = new, max(mu / 5, 1e-18)
                break
            mu *= 6
        else:
            break
        stalls = stalls + 1 if state.cost > before * (1 - 2e-3) else 0
    return state


def _starts(lo: float, hi: float, count: int) -> Iterator[Keys]:
    for guard in GUARDS:
        inside = count - 2 * guard
        if inside < 2 and guard:
            continue
        gap = (hi - lo) / max(inside - 1, 1)
        anchors = np.linspace(lo - guard * gap, hi + guard * gap, count)
        for kappa in KAPPAS:
            yield from_anchors(anchors, kappa)


def ladder(z: Array, y: Array, eps: float, cap: float, most: int) -> Ladder:
    """The best keys for P = 1, 2, ... until the largest residual of all functions y (functions, points) is under eps.

    `cap` is the size of the values that the penalty tolerates: they cost a third of eps when they reach it.
    """
    keys: dict[int, Keys] = {}
    worst: dict[int, float] = {}
    last: _State | None = None
    for count in range(1, most + 1):
        lam = 0.3 * eps * (len(z) / count) ** 0.5 / cap
        if count == 1:
            state = _fitted(Keys(np.zeros(0), np.zeros(0)), z, y, lam)
        else:
            tries = sorted((_fitted(k, z, y, lam) for k in _starts(z.min(), z.max(), count)), key=lambda s: s.cost)
            best = [t.keys for t in tries[:2]]
            if last is not None and count > 2:
                best.append(_grown(last, z))
            found = [descend(k, z, y, lam, 0.5 * eps) for k in best]
            state = min(found, key=lambda s: float(np.abs(s.residual).max()))
        keys[count], worst[count], last = state.keys, float(np.abs(state.residual).max()), state
        if worst[count] < 0.5 * eps:
            break
    return Ladder(keys, worst)


def _grown(state: _State, z: Array) -> Keys:
    """One key more: the strongest key at the worst point becomes two."""
    at = int(np.abs(state.residual).max(0).argmax())
    j = int(state.weights[:, at].argmax())
    ruled = z[state.weights.argmax(0) == j]
    return split(state.keys, j, float(z[at]), max(float(np.ptp(ruled)), 1e-2 * float(np.ptp(z))))


def calm_lines(keys: Keys, z: Array) -> tuple[Array, Array]:
    """Slopes and offsets with the reference key that keeps the scores of the keys in use small."""
    weights = attention(keys, z, keys.number // 2)

    def size(reference: int) -> float:
        slopes, offsets = lines(keys, reference)
        return float((weights * (np.abs(slopes[:, None] * z) + np.abs(offsets)[:, None])).sum(0).max())

    return lines(keys, min(range(keys.number), key=size))
