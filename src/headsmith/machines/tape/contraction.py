"""Loops that forget: how far k steps with an error each end from k exact steps, for every k.

    step(w) = prox(w - rate (X' f(X w - y)/n + l2 w))      |step(w) - step(v)| <= q |w - v|      in the 2-norm
    q = max(|1 - rate (s lambda + l2)|) over the slopes s of f and the eigenvalues lambda of X'X/n
    drift <= e (1 - q^k)/(1 - q)          e k where q = 1          e (q^k - 1)/(q - 1) where q > 1
    e = max over k of |w_(k+1) - step(w_k)|_2          w_k the iterates as they were met: no machine enters

The difference of two gradient steps is a symmetric matrix times w - v, I - rate (X' D X/n + l2 I), D the slopes of f
between the residuals, so its eigenvalues lie in 1 - rate [s_least lambda_least + l2, s_most lambda_most + l2]. Soft
thresholds, and every other proximal map, only bring points closer together. Strongly convex, q < 1: squared loss where
X has full column rank, every loss where l2 > 0 and the rate is below 2/L.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import torch
from flint import arb
from numpy.typing import NDArray
from torch import Tensor

from headsmith.functions import precision
from headsmith.functions.balls import ceil_float
from headsmith.machines.prompts.descent import DescentProgram
from headsmith.network import digest
from headsmith.proof.ball_matrix import entered
from headsmith.proof.certificate import Bound, Certificate
from headsmith.proof.domain import Domain
from headsmith.proof.spectrum import gram, largest_eigenvalue, least_eigenvalue
from headsmith.records.shown import upper
from headsmith.refusal import Refusal

Floats = NDArray[np.float64]

SLOPES: Mapping[str, tuple[float, float]] = {"squared": (1.0, 1.0), "logistic": (0.0, 0.25), "huber": (0.0, 1.0)}
"""The least and the largest slope of f, the derivative of each loss."""
BITS = 128
BALLS = ("balls of Arb hold what they enclose",)


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


def step_error(program: DescentProgram, iterates: Sequence[Tensor]) -> float:
    """e: how far an iterate is at most from the exact step behind the one before it, in balls, rounded up.

    iterates: (penalties, features) each, in float64. Of a path every penalty is descended on by itself.

    >>> program = hs.prompt.descent([[1.0], [2.0]], [2.0, 4.0], rate=0.125)          # w <- w - 5/16 (w - 2)
    >>> step_error(program, [torch.tensor([[1.0]]), torch.tensor([[1.5]])])
    0.1875
    """
    if not all(bool(w.isfinite().all()) for w in iterates):
        raise Refusal(f"an iterate of {program.name} is not finite: there is no distance from it")
    with precision(BITS):
        step, lengths = program.exact_step(), [0.0]
        for before, after in pairwise(entered(w) for w in iterates):
            off = (after - step(before)).tolist()
            lengths += [ceil_float(sum((abs(x).upper() ** 2 for x in row), arb(0)).sqrt()) for row in off]
        return max(lengths)


def followed(program: DescentProgram, iterates: Sequence[Tensor]) -> Certificate:
    """|w_k - exact iterate|_2 <= e (1 - q^k)/(1 - q) for every k of these iterates, which begin at 0."""
    if bool(iterates[0].any()):
        raise Refusal(f"{program.name} begins at 0, and this run elsewhere")
    factor, error, steps = contraction(program), step_error(program, iterates), len(iterates) - 1
    size = "e k" if factor == 1 else "e (1 - q^k)/(1 - q)"
    told = (
        f"|w_k - exact iterate|_2 <= {size} for every k from 1 to {steps}, with e = {upper(error)} the "
        f"largest distance of an iterate from the exact step behind the one before it and q = {upper(factor, 12)} the "
        f"factor of a step; exact is {program.name} in real numbers: {program.formula}"
    )
    tensors = {"iterates": torch.stack(list(iterates)), "X": program.X, "y": program.y, "l1": program.l1}
    found, meant = Bound(drift(factor, error, steps), 0.0).with_slack(), digest({"formula": program.formula}, tensors)
    return Certificate.of(found, told, Domain({}), "float64", meant, BALLS)


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
