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

from headsmith.search.keys import Array, Keys, attention, from_anchors, lines, split

ITERATIONS = 80
BUDGET = 3e9
"""Floating-point operations that one ladder may take."""
KAPPAS = (0.03, 0.1, 0.25, 0.5, 1.0)
GUARDS = (0, 1, 2, 4)


@dataclass(frozen=True)
class Ladder:
    """keys[P]: the best keys found with P of them; worst[P]: their largest residual over all functions.

    emphasis[P]: weights of the sample points that level the error out.
    """

    keys: dict[int, Keys]
    worst: dict[int, float]
    emphasis: dict[int, Array]


def solve_values(weights: Array, y: Array, lam: float, emphasis: Array) -> Array:
    """min |e (y - W g)|^2 + lam^2 |g|^2 for weights W (points, P) and y (points, functions): g (P, functions)."""
    points, count = weights.shape
    q, r = np.linalg.qr(np.concatenate([weights * emphasis[:, None], lam * np.eye(count)]))
    return np.linalg.solve(r, q[:points].T @ (y * emphasis[:, None]))


@dataclass
class _State:
    keys: Keys
    weights: Array
    values: Array
    basis: Array
    residual: Array
    cost: float
    emphasis: Array

    @property
    def worst(self) -> float:
        return float(np.abs(self.residual).max())


def _fitted(keys: Keys, z: Array, y: Array, lam: float, emphasis: Array | None = None) -> _State:
    """y (functions, points) ~ values (functions, P) @ weights (P, points)."""
    count, points = keys.number, len(z)
    emphasis = np.ones(points) if emphasis is None else emphasis
    weights = attention(keys, z, count // 2)
    basis, triangle = np.linalg.qr(np.concatenate([(weights * emphasis).T, lam * np.eye(count)]))
    values = np.linalg.solve(triangle, basis[:points].T @ (y * emphasis).T).T
    residual = y - values @ weights
    cost = float(((residual * emphasis) ** 2).sum() + lam * lam * (values**2).sum())
    return _State(keys, weights, values, basis, residual, cost if np.isfinite(cost) else np.inf, emphasis)


def _linearised(state: _State, z: Array, lam: float) -> tuple[Array, Array, Array]:
    """Kaufman's Jacobian of all residuals by crossings (in units of 1/step) and log steps, its right side, its
    norms.
    """
    cross, step = state.keys
    functions, count = state.values.shape
    points = len(z)
    shift = (state.values[:, :, None] - (state.values @ state.weights)[:, None, :]) * state.weights
    tail = np.cumsum(shift[:, :0:-1], axis=1)[:, ::-1]
    columns = np.zeros((functions, 2 * (count - 1), points + count))
    columns[:, : count - 1, :points] = -tail
    columns[:, count - 1 :, :points] = tail * (step[:, None] * (z - cross[:, None]))
    columns[:, :, :points] *= state.emphasis
    columns -= (columns[:, :, :points] @ state.basis[:points]) @ state.basis.T
    right = np.concatenate([state.residual * state.emphasis, -lam * state.values], axis=1)
    matrix = columns.transpose(0, 2, 1).reshape(-1, 2 * (count - 1))
    norms = np.sqrt((matrix**2).sum(0))
    norms = np.maximum(norms, 3e-5 * norms.max() + 1e-300)
    return matrix / norms, right.reshape(-1), norms


def descend(keys: Keys, z: Array, y: Array, lam: float, goal: float, iterations: int = ITERATIONS) -> _State:
    """Levenberg-Marquardt on the keys until the largest residual is under `goal` or nothing moves; then, if the goal is
    near, with an emphasis on the points where the residual is largest (Lawson), which levels it out.
    """
    state = best = _fitted(keys, z, y, lam)
    mu, stalls, levelling = 1e-3, 0, False
    for _ in range(iterations if keys.number > 1 else 0):
        if best.worst < goal:
            break
        before = state.cost
        state, mu = _step(state, z, y, lam, mu)
        best = min(best, state, key=lambda s: s.worst)
        stalls = stalls + 1 if state.cost > before * (1 - 2e-3) else 0
        if stalls > 5 or levelling:
            if best.worst > 8 * goal:
                break
            levelling = True
            profile = np.sqrt((state.residual**2).sum(0))
            emphasis = state.emphasis * np.sqrt(0.1 + profile / max(float(profile.max()), 1e-300))
            emphasis /= np.sqrt((emphasis**2).mean())
            state = _fitted(state.keys, z, y, lam, emphasis)
            best = min(best, state, key=lambda s: s.worst)
    return best


def _step(state: _State, z: Array, y: Array, lam: float, mu: float) -> tuple[_State, float]:
    """One damped step: the first of growing damping that lowers the cost, or the same state."""
    count = state.keys.number - 1
    matrix, right, norms = _linearised(state, z, lam)
    q, triangle = np.linalg.qr(matrix)
    short = np.concatenate([q.T @ right, np.zeros(2 * count)])
    for _ in range(8):
        damped = np.concatenate([triangle, mu**0.5 * np.eye(2 * count)])
        move = np.linalg.lstsq(damped, short, rcond=None)[0] / norms
        cross = state.keys.cross + np.clip(move[:count], -2, 2) / state.keys.step
        step = np.minimum(state.keys.step * np.exp(np.clip(move[count:], -0.7, 0.7)), 1e12)
        new = _fitted(Keys(cross, step), z, y, lam, state.emphasis)
        if new.cost < state.cost:
            return new, max(mu / 5, 1e-18)
        mu *= 6
    return state, min(mu, 1e6)


def _starts(lo: float, hi: float, count: int) -> Iterator[Keys]:
    if count == 1:
        yield Keys(np.zeros(0), np.zeros(0))
        return
    for guard in GUARDS:
        inside = count - 2 * guard
        if inside < 2 and guard:
            continue
        gap = (hi - lo) / max(inside - 1, 1)
        anchors = np.linspace(lo - guard * gap, hi + guard * gap, count)
        for kappa in KAPPAS:
            yield from_anchors(anchors, kappa)


def ladder(z: Array, y: Array, eps: float, cap: float, most: int, budget: float = BUDGET) -> Ladder:
    """The best keys for growing P until the largest residual of all functions y (functions, points) is under eps / 2.

    Evenly spaced keys, which cost one solve each, say how many would do; the descent starts at a third of that.
    It stops when its work is spent, and the rungs left are filled with the evenly spaced keys. `cap` is the size
    of the values that the
    penalty tolerates: they cost a third of eps when they reach it.
    """
    lo, hi, goal = float(z.min()), float(z.max()), 0.5 * eps
    still: dict[int, list[_State]] = {}
    for count in (*range(1, 13), *range(14, most + 1, 2)):
        tries = [_fitted(k, z, y, _penalty(eps, z, count, cap)) for k in _starts(lo, hi, count)]
        still[count] = sorted(tries, key=lambda s: s.cost)[:2]
        if still[count][0].worst < goal:
            break
    keys: dict[int, Keys] = {}
    worst: dict[int, float] = {}
    emphasis: dict[int, Array] = {}
    last: _State | None = None
    for count in range(1, max(still) + 1):
        state = still[count][0] if count in still else None
        work = len(y) * (len(z) + count) * (2 * count) ** 2 * ITERATIONS * 3
        if 1 < count >= max(still) // 3 and work < budget:
            budget -= work
            lam = _penalty(eps, z, count, cap)
            begin = [s.keys for s in still.get(count, [])] or [s.keys for s in _started(z, y, lam, count)]
            begin += [_grown(last, z)] if last is not None and last.keys.number == count - 1 else []
            found = [descend(k, z, y, lam, goal) for k in begin]
            state = last = min((s for s in (*found, state) if s is not None), key=lambda s: s.worst)
        if state is None:
            continue
        keys[count], worst[count], emphasis[count] = state.keys, state.worst, state.emphasis
        if state.worst < goal:
            break
    return Ladder(keys, worst, emphasis)


def _penalty(eps: float, z: Array, count: int, cap: float) -> float:
    return 0.3 * eps * (len(z) / count) ** 0.5 / cap


def _started(z: Array, y: Array, lam: float, count: int) -> list[_State]:
    tries = [_fitted(k, z, y, lam) for k in _starts(float(z.min()), float(z.max()), count)]
    return sorted(tries, key=lambda s: s.cost)[:2]


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
