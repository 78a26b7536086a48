"""Loops that forget: how far k steps with an error each end from k exact steps, for every k.

    step(w) = prox(w - rate (X' f(X w - y)/n + l2 w))      |step(w) - step(v)| <= q |w - v|      in the 2-norm
    q = max(|1 - rate (s lambda + l2)|) over the slopes s of f and the eigenvalues lambda of X'X/n
    drift <= e (1 - q^k)/(1 - q)          e k where q = 1          e (q^k - 1)/(q - 1) where q > 1

The difference of two gradient steps is a symmetric matrix times w - v, I - rate (X' D X/n + l2 I), D the slopes of f
between the residuals, so its eigenvalues lie in 1 - rate [s_least lambda_least + l2, s_most lambda_most + l2]. Soft
thresholds, and every other proximal map, only bring points closer together. Strongly convex, q < 1: squared loss where
X has full column rank, every loss where l2 > 0 and the rate is below 2/L.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from flint import arb
from numpy.typing import NDArray

from headsmith.functions import precision
from headsmith.functions.balls import ceil_float
from headsmith.machines.prompts.descent import DescentProgram
from headsmith.proof.spectrum import gram, largest_eigenvalue, least_eigenvalue
from headsmith.refusal import Refusal

Floats = NDArray[np.float64]

SLOPES: Mapping[str, tuple[float, float]] = {"squared": (1.0, 1.0), "logistic": (0.0, 0.25), "huber": (0.0, 1.0)}
"""The least and the largest slope of f, the derivative of each loss."""
BITS = 128


def contraction(program: DescentProgram) -> float:
    """q of the steps of a descent, rounded up: below 1 they forget, at 1 they do not, above it they run away.

    >>> contraction(hs.prompt.descent([[1.0], [2.0]], [2.0, 4.0], l2=0.5, rate=0.1))      # X'X/n = 5/2
    0.7000000...
    """
    if program.momentum:
        raise Refusal(
            f"a step of {program.name} depends on two iterates, as it has momentum: nothing is known of how close it "
            "brings pairs of them; momentum=0 has a factor"
        )
    return step_factor(program.X.numpy(), program.loss, program.rate, program.l2)


def step_factor(X: Floats, loss: str, rate: float, l2: float = 0.0) -> float:
    """q, rounded up: gradient steps bring two points at least this much closer, or at most this much further apart.

    >>> step_factor(np.diag([1.0, 2.0]), "squared", 0.5)       # X'X/n has the eigenvalues 1/2 and 2
    0.7500000...
    """
    matrix, error = gram(np.asarray(X, dtype=np.float64))
    least, most = max(0.0, least_eigenvalue(matrix, error)), largest_eigenvalue(matrix, error)
    flat, steep = SLOPES[loss]
    with precision(BITS):
        slow = 1 - arb(rate) * (arb(flat) * arb(least) + arb(l2))
        fast = arb(rate) * (arb(steep) * arb(most) + arb(l2)) - 1
        return ceil_float(slow.max(fast).max(arb(0)))


def drift(factor: float, error: float, steps: int | None = None) -> float:
    """error (1 + q + ... + q^(k-1)), rounded up; for every number of steps at once where none is given.

    >>> drift(0.5, 1.0, 3), drift(0.5, 1.0), drift(1.0, 2.0, 5), drift(1.0, 2.0)
    (1.75, 2.0, 10.0, inf)
    """
    if steps is None and factor >= 1:
        return math.inf if error else 0.0
    with precision(BITS):
        q = arb(factor)
        left = arb(0) if steps is None else q**steps
        total = arb(steps) if factor == 1 else (1 - left) / (1 - q)
        return ceil_float(total * arb(error))
