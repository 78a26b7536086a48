"""Keys that serve many functions at once.

The slices x -> f(x, y) of a function of two variables, or the components of a vector, are to be read off one set of
keys: phi_r(z) = sum_j softmax_j(a_j z + b_j) g_jr, the same softmax for every r (descent.py).
"""

from __future__ import annotations

import numpy as np

from headsmith.search.descent import Descended, Work, descend, fitted
from headsmith.search.fit import grown
from headsmith.search.keys import Array, Keys
from headsmith.search.question import Slices
from headsmith.search.starts import grids

ITERATIONS = 80
KAPPAS = (0.03, 0.1, 0.25, 0.5, 1.0)
BUDGET = 3e9
"""Floating-point operations that one ladder may take."""


def ladder(z: Array, y: Array, eps: float, cap: float, most: int, budget: float = BUDGET) -> dict[int, Descended]:
    """The best keys for growing P until the largest residual of all functions y (functions, points) is under eps / 2.

    Evenly spaced keys, which cost one solve each, say how many would do; the descent starts at a third of that. It
    stops when its work is spent, and the rungs left are filled with the evenly spaced keys. `cap` is the size of the
    values that the penalty tolerates: they cost a third of eps when they reach it.
    """
    question, work = Slices(z, y, eps, cap), Work(np.inf)
    still: dict[int, list[Descended]] = {}
    for count in (*range(1, 13), *range(14, most + 1, 2)):
        still[count] = _still(question, count, work)
        if still[count][0].worst < 0.5 * eps:
            break
    found: dict[int, Descended] = {}
    last: Descended | None = None
    for count in range(1, max(still) + 1):
        tries = still.get(count, [])[:1]
        cost = len(y) * (len(z) + count) * (2 * count) ** 2 * ITERATIONS * 3
        if 1 < count >= max(still) // 3 and cost < budget:
            budget -= cost
            begin = [fit.keys for fit in still.get(count) or _still(question, count, work)]
            begin += [grown(question, last)] if last is not None and last.keys.number == count - 1 else []
            tries += [descend(question, keys, work, ITERATIONS, patient=True) for keys in begin]
            last = min(tries, key=lambda fit: fit.worst)
        if tries:
            found[count] = min(tries, key=lambda fit: fit.worst)
            if found[count].worst < 0.5 * eps:
                break
    return found


def _still(question: Slices, count: int, work: Work) -> list[Descended]:
    """The two best grids of evenly spaced keys, which stay where they are."""
    keys = grids(question, count, work, 2, KAPPAS) if count > 1 else [Keys(np.zeros(0), np.zeros(0))]
    return [fitted(question, each, work, count // 2) for each in keys]
