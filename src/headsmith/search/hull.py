"""Linear programmes about convex hulls: mixtures that are positive throughout, and directions that set faces apart.

Floats propose, `proof.hardmax` decides: what is found here is made exact, or is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from headsmith.proof.hardmax import Point, hard_mean, nearest_solution

CLEAR = 1e-9  # a share or a distance below this is taken for 0 by the programmes, whose own tolerance is 1e-7


def mixture(token: Point, shared: Sequence[Point]) -> tuple[Fraction, ...] | None:
    """Positive weights of sum 1 with sum_k w_k shared_k = token, exactly; None if the programme finds none.

    max eta with w_k >= eta: the token is in the relative interior of the hull if and only if eta > 0.

    >>> third = mixture((Fraction(1, 2),), [(Fraction(0),), (Fraction(1),)])
    >>> third == (Fraction(1, 2), Fraction(1, 2))
    True
    >>> mixture((Fraction(2),), [(Fraction(0),), (Fraction(1),)]) is None
    True
    """
    count = len(shared)
    rows = [*zip(*shared, strict=True), (Fraction(1),) * count]
    right = (*token, Fraction(1))
    left = np.hstack([np.array(rows, dtype=float), np.zeros((len(rows), 1))])
    least = np.hstack([-np.eye(count), np.ones((count, 1))])  # eta - w_k <= 0
    cost = np.zeros(count + 1)
    cost[-1] = -1
    found = linprog(cost, least, np.zeros(count), left, np.array(right, dtype=float), [(0, None)] * count + [(None, 1)])
    if not found.success or found.x[-1] <= CLEAR:
        return None
    exact = nearest_solution(rows, right, found.x[:-1])
    return tuple(exact) if exact is not None and min(exact) > 0 else None


def setting_apart(first: Sequence[Point], second: Sequence[Point], tries: int = 20) -> Point | None:
    """A direction whose maximisers have another mean in the first than in the second; None if none was found.

    Tried are: 0, where the means themselves differ; a direction in which a token of one is above all of the other; and
    directions that expose a face through a token that the two do not share alike.

    >>> line = [[(Fraction(x),) for x in tokens] for tokens in ((1, 2, 4), (1, 3, 4), (1, 4, 5))]
    >>> setting_apart(line[0], line[1])                     # the mean: scores that are 0 throughout
    (Fraction(0, 1),)
    """
    width = len(first[0])
    zero = (Fraction(0),) * width
    if hard_mean(zero, first) != hard_mean(zero, second):
        return zero
    draw = np.random.default_rng(0)
    for one, other in ((first, second), (second, first)):
        for token in dict.fromkeys(one):
            if token not in other and (found := _above(token, other)) and _apart(found, first, second):
                return found
    every = list(dict.fromkeys([*first, *second]))
    odd = [x for x in every if first.count(x) * len(second) != second.count(x) * len(first)]
    for token in odd:
        for _ in range(tries):
            if (found := _exposing(token, every, draw)) and _apart(found, first, second):
                return found
    return None


def _apart(direction: Point, first: Sequence[Point], second: Sequence[Point]) -> bool:
    return hard_mean(direction, first) != hard_mean(direction, second)


def _above(token: Point, others: Sequence[Point]) -> Point | None:
    """max t with g (token - other) >= t for all others, |g_j| <= 1."""
    steps = np.array([[float(x - y) for x, y in zip(token, other, strict=True)] for other in dict.fromkeys(others)])
    rows = np.hstack([-steps, np.ones((len(steps), 1))])
    cost = np.append(np.zeros(len(token)), -1.0)
    found = linprog(cost, rows, np.zeros(len(steps)), bounds=[(-1, 1)] * len(token) + [(None, None)])
    return tuple(Fraction(x) for x in found.x[:-1].tolist()) if found.success and found.x[-1] > CLEAR else None


def _exposing(token: Point, every: Sequence[Point], draw: np.random.Generator) -> Point | None:
    """g with g token = max, and as much above the others as random weights of them make it; exact where it ties."""
    others = [x for x in every if x != token]
    exact = [tuple(x - y for x, y in zip(token, other, strict=True)) for other in others]
    steps = np.array(exact, dtype=float)
    found = linprog(-draw.random(len(steps)) @ steps, -steps, np.zeros(len(steps)), bounds=[(-1, 1)] * len(token))
    if not found.success or (steps @ found.x).max() <= CLEAR:
        return None
    ties = [row for row, rise in zip(exact, steps @ found.x, strict=True) if rise <= CLEAR]
    if not ties:
        return tuple(Fraction(x) for x in found.x.tolist())
    snapped = nearest_solution(ties, (Fraction(0),) * len(ties), found.x)
    return tuple(snapped) if snapped else None
