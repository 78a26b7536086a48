"""Linear programmes about convex hulls: mixtures that are positive throughout, and directions that set faces apart.

Floats propose, `proof.hardmax` decides: what is found here is made exact, or is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from math import gcd, lcm

import numpy as np
from scipy.optimize import linprog

from headsmith.proof.hardmax import Point, hard_mean, nearest_solution

TRIES = 20  # random weights of each token
SIMPLE = 1024  # the largest denominator that is tried
LARGEST = 2**40  # of which a few add up without rounding
CLEAR = 1e-9  # a distance below this is taken for 0; what the programmes leave is checked in fractions


def mixture(token: Point, shared: Sequence[Point]) -> tuple[Fraction, ...] | None:
    """Positive weights of sum 1 with sum_k w_k shared_k = token, exactly; None if the programme finds none.

    max eta with w_k >= eta: the token is in the relative interior of the hull if and only if eta > 0, exactly.

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
    if not found.success:
        return None
    exact = nearest_solution(rows, right, found.x[:-1].tolist())
    return tuple(exact) if exact is not None and min(exact) > 0 else None


def setting_apart(first: Sequence[Point], second: Sequence[Point]) -> Point | None:
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
    every = list(dict.fromkeys([*first, *second]))
    odd = [x for x in every if first.count(x) * len(second) != second.count(x) * len(first)]
    ways = (
        way
        for token in odd
        for others in ([x for x in side if x != token] for side in (first, second))
        if others
        for way in _above(token, others)
    )
    draws = (way for token in odd for _ in range(TRIES) for way in _exposing(token, every, draw))
    return next((_whole(way) for way in chain(ways, draws) if _apart(way, first, second)), None)


def _apart(direction: Point, first: Sequence[Point], second: Sequence[Point]) -> bool:
    return hard_mean(direction, first) != hard_mean(direction, second)


def _above(token: Point, others: Sequence[Point]) -> Iterator[Point]:
    """max t with g (token - other) >= t for all others, |g_j| <= 1."""
    steps = np.array([[float(x - y) for x, y in zip(token, other, strict=True)] for other in dict.fromkeys(others)])
    rows = np.hstack([-steps, np.ones((len(steps), 1))])
    cost = np.append(np.zeros(len(token)), -1.0)
    found = linprog(cost, rows, np.zeros(len(steps)), bounds=[(-1, 1)] * len(token) + [(None, None)])
    if found.success and found.x[-1] > CLEAR:
        yield from _near(found.x[:-1])


def _exposing(token: Point, every: Sequence[Point], draw: np.random.Generator) -> Iterator[Point]:
    """g with g token = max, and as much above the others as random weights of them make it; exact where it ties."""
    exact = [tuple(x - y for x, y in zip(token, other, strict=True)) for other in every if other != token]
    steps = np.array(exact, dtype=float)
    found = linprog(-draw.random(len(steps)) @ steps, -steps, np.zeros(len(steps)), bounds=[(-1, 1)] * len(token))
    if found.success and (steps @ found.x).max() > CLEAR:
        ties = [row for row, rise in zip(exact, steps @ found.x, strict=True) if rise <= CLEAR]
        for way in _near(found.x):
            snapped = nearest_solution(ties, (Fraction(0),) * len(ties), way) if ties else way
            if snapped:
                yield tuple(snapped)


def _near(x: np.ndarray) -> tuple[Point, Point]:
    """Fractions with small denominators near these floats, and these floats: what they expose is looked at exactly."""
    exact = tuple(Fraction(c) for c in x.tolist())
    return tuple(c.limit_denominator(SIMPLE) for c in exact), exact


def _whole(direction: Point) -> Point:
    """The same direction in whole numbers, if they are small: floats then see the same ties."""
    scale = lcm(*(c.denominator for c in direction))
    numbers = [int(c * scale) for c in direction]
    return tuple(Fraction(c, gcd(*numbers)) for c in numbers) if scale < LARGEST else direction
