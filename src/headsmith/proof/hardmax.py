"""Two sequences that no hardmax layer tells apart (low-rank-memorization, Theorem 1, repaired), and heads that do.

A hardmax head gives a query the mean of the tokens that maximise a linear score g, all of them where several tie:

    out(x; A) = x + sum_h O_h mean {a in A: g_h(a) = max},   g_h linear, whatever W_K and W_Q make of x

Let A and B have the same mean, and let their tokens S be shared, m_A(s) = ratio m_B(s) for each s in S with one ratio,
so that every other token lies in the relative interior of the convex hull of S. If g is constant on S it is so on the
hull: all tokens tie in A and in B, and the means agree. Otherwise no other token attains the maximum of g: the
maximisers are the same tokens of S, as often up to the ratio, and the means agree again. Hence at each token that A and
B share all heads, any number of them, give the same output, and so does what works on each token by itself afterwards.
On a line the maximisers are copies of one end as soon as g is not constant: there S may be the two ends, in any ratios.

Numbers are exact: tokens are the fractions that floats are, and `Hulls.holds` repeats every step with them. Where the
first of several maximisers wins, A and B must also show the tokens of S in one order and start with the same token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat

Point = tuple[Fraction, ...]


def points(tokens: np.ndarray) -> tuple[Point, ...]:
    """The rows of an (n, d) array of floats, as the fractions they are.

    >>> points(np.array([[0.5, 2.0]]))
    ((Fraction(1, 2), Fraction(2, 1)),)
    """
    return tuple(tuple(Fraction(x) for x in row) for row in tokens.tolist())


def mean(sequence: Sequence[Point]) -> Point:
    """The mean of the tokens, each as often as it stands there.

    >>> mean(points(np.array([[1.0], [2.0]])))
    (Fraction(3, 2),)
    """
    return tuple(sum(column, Fraction(0)) / len(sequence) for column in zip(*sequence, strict=True))


def hard_mean(direction: Point, sequence: Sequence[Point]) -> Point:
    """What a hardmax head with the scores direction . token gives: the mean of the maximisers.

    >>> line = points(np.array([[1.0], [3.0], [3.0]]))
    >>> hard_mean((Fraction(1),), line) == line[1], hard_mean((Fraction(0),), line) == mean(line)
    (True, True)
    """
    scores = [sum(g * x for g, x in zip(direction, token, strict=True)) for token in sequence]
    top = max(scores)
    return mean([token for token, score in zip(sequence, scores, strict=True) if score == top])


def nearest_solution(rows: Sequence[Point], right: Point, near: Sequence[float | Fraction]) -> list[Fraction] | None:
    """The exact solution of rows x = right that is nearest to given numbers; None if there is none.

        x = near + A' (A A')^-1 (b - A near)

    >>> sum(nearest_solution([(Fraction(1), Fraction(1))], (Fraction(1),), [0.3, 0.6]))
    Fraction(1, 1)
    """
    width = len(near)
    joined = fmpq_mat([[_rational(x) for x in (*row, b)] for row, b in zip(rows, right, strict=True)])
    reduced, rank = joined.rref()
    table = [[reduced[i, j] for j in range(width + 1)] for i in range(rank)]
    if any(not any(row[:width]) for row in table):
        return None
    start = fmpq_mat(width, 1, [_rational(Fraction(x)) for x in near])
    if rank == 0:
        return [_fraction(start[j, 0]) for j in range(width)]
    A, b = fmpq_mat([row[:width] for row in table]), fmpq_mat(rank, 1, [row[width] for row in table])
    found = start + A.transpose() * (A * A.transpose()).solve(b - A * start)
    return [_fraction(found[j, 0]) for j in range(width)]


@dataclass(frozen=True)
class Hulls:
    """That no hardmax layer tells `first` from `second`: shared tokens, and each other token as a mixture of them.

    mixtures[token][k] is how much of shared[k] there is in a token that only one of the two has, or has too often.
    """

    first: tuple[Point, ...]
    second: tuple[Point, ...]
    shared: tuple[Point, ...]
    mixtures: Mapping[Point, tuple[Fraction, ...]]

    def holds(self) -> bool:
        """Whether each step of the proof is right for these very numbers."""
        counts = Counter(self.first), Counter(self.second)
        if not self.shared or mean(self.first) != mean(self.second):
            return False
        return self._alike(*counts) and all(
            token in self.mixtures and self._inside(token) for token in {*counts[0], *counts[1]} - {*self.shared}
        )

    def holds_for_first_ties(self) -> bool:
        """Whether it also holds where the first of several maximisers wins, not their mean."""
        orders = [[x for x in dict.fromkeys(side) if x in self.shared] for side in (self.first, self.second)]
        return self.first[0] == self.second[0] and orders[0] == orders[1]

    def _alike(self, a: Counter[Point], b: Counter[Point]) -> bool:
        """Shared in one ratio; or the two ends of a line, since all else is then between them."""
        if not all(a[x] and b[x] for x in self.shared):
            return False
        return len({Fraction(a[x], b[x]) for x in self.shared}) == 1 or {*self.shared} == {min({*a, *b}), max({*a, *b})}

    def _inside(self, token: Point) -> bool:
        """token = sum_k weight_k shared_k with positive weights that sum to 1: in the relative interior of the hull."""
        weights = self.mixtures[token]
        if len(weights) != len(self.shared):
            return False
        mixed = tuple(
            sum((w * x for w, x in zip(weights, column, strict=True)), Fraction(0))
            for column in zip(*self.shared, strict=True)
        )
        return all(w > 0 for w in weights) and sum(weights) == 1 and mixed == token


def _rational(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)


def _fraction(x: fmpq) -> Fraction:
    return Fraction(int(x.p), int(x.q))
