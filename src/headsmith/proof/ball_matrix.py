"""What a transformer computes in exact arithmetic, enclosed in balls: products, activations, softmax, norms, means.

    x W' + b      f(x)      softmax(s q k') v      gamma c / sqrt(mean c^2 + eps) + beta      the mean over the tokens

Each entry of a result is a ball that holds the exact number, for every choice of members of the balls that went in;
numbers enter as the floats they are. Nothing here knows a network: no order of summation, no table, no rounding model.
Work is done in the caller's precision (`headsmith.functions.precision`), which is what the width of the balls depends
on: an encoder layer costs them about 23 bits. Balls so wide that a norm or a softmax has no value raise `Unresolved`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from flint import arb, arb_mat
from torch import Tensor

from headsmith.functions import series
from headsmith.functions.balls import Unresolved, ceil_float
from headsmith.functions.enclosures import OPERATIONS

FAST = 60  # rows from which flint multiplies by way of integer matrices, four times faster than one dot product each
SHORT = 10  # below which it is not worth it to fill up with zeros

Number = arb | float
BENT: dict[str, Callable[[arb], arb]] = {
    "identity": lambda u: u,
    "tanh": arb.tanh,
    "silu": series.silu,
    "relu": OPERATIONS["relu"],
    "gelu": series.gelu,
    "sigmoid": series.sigmoid,
}
"""The activations, each on one ball."""


@dataclass(frozen=True, eq=False)
class BallMatrix:
    """Sequences of tokens, one under another: `rows` (all tokens, features), `lengths` the tokens of each sequence.

    >>> x = BallMatrix.of(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> x.linear(torch.tensor([[0.5, 0.25]])).distance(torch.tensor([[1.0], [2.5]])), x.mean().lengths
    (0.0, (1,))
    """

    rows: arb_mat
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, x: Tensor) -> BallMatrix:
        """Floats (..., tokens, features), each of them the number it is; one vector is a single token."""
        tokens = x.shape[-2] if x.dim() > 1 else 1
        return cls(entered(x.reshape(-1, x.shape[-1])), (tokens,) * (x.numel() // max(1, tokens * x.shape[-1])))

    @property
    def width(self) -> int:
        """Features of a token."""
        return int(self.rows.ncols())

    def linear(self, weight: Tensor, bias: Tensor | None = None) -> BallMatrix:
        """x W' + b, W (rows, features) and b (rows,) of floats."""
        product = times(self.rows, entered(weight.mT))
        return self._with(product if bias is None else product + _repeated(bias, product.nrows()))

    def bent(self, activation: str) -> BallMatrix:
        """f(x), entry by entry."""
        if activation == "identity":
            return self
        return self._with(entrywise(BENT[activation], self.rows))

    def __add__(self, other: BallMatrix) -> BallMatrix:
        return self._with(self.rows + other.rows)

    def scaled(self, factor: Number) -> BallMatrix:
        """factor x."""
        return self._with(self.rows * arb(factor))

    def norm(self, gamma: Tensor, beta: Tensor, eps: float, centred: bool = True) -> BallMatrix:
        """gamma c / sqrt(mean c^2 + eps) + beta, c = x - mean x or x itself."""
        grow, shift, root = _floats(gamma), _floats(beta), arb(eps)
        found: list[arb] = []
        for row in self.rows.tolist():
            middle = _sum(row) / len(row) if centred else arb(0)
            c = [x - middle for x in row]
            steep = _steepness(_sum([x * x for x in c]) / len(c) + root)
            found += [g * (x * steep) + b for g, x, b in zip(grow, c, shift, strict=True)]
        return self._with(_like(self.rows, found))

    def unit(self) -> BallMatrix:
        """x / |x|, row by row."""
        found: list[arb] = []
        for row in self.rows.tolist():
            steep = _steepness(_sum([x * x for x in row]))
            found += [x * steep for x in row]
        return self._with(_like(self.rows, found))

    def mean(self) -> BallMatrix:
        """The mean over the tokens of each sequence: one token a sequence."""
        found = [[_sum(column) / len(rows) for column in zip(*rows, strict=True)] for rows in self._sequences()]
        return BallMatrix(arb_mat(found), (1,) * len(self.lengths))

    @property
    def radius(self) -> float:
        """The widest ball's, rounded up; infinite where something has no value."""
        return max((ceil_float(x.rad()) if x.is_finite() else math.inf for x in self.rows.entries()), default=0.0)

    def distance(self, value: Tensor) -> float:
        """max |value - x| over the entries and over all members of the balls, rounded up; `value` has as many entries.

        >>> BallMatrix(arb_mat([[arb(1, 0.5)]]), (1,)).distance(torch.tensor([3.0])) >= 2.5
        True
        """
        pairs = zip(_floats(value), self.rows.entries(), strict=True)
        return max((ceil_float(abs(x - v)) if x.is_finite() else math.inf for v, x in pairs), default=0.0)

    def _with(self, rows: arb_mat) -> BallMatrix:
        return BallMatrix(rows, self.lengths)

    def _sequences(self) -> list[list[list[arb]]]:
        rows, ends = self.rows.tolist(), [0, *accumulate(self.lengths)]
        return [rows[a:b] for a, b in pairwise(ends)]


def attention(
    q: BallMatrix, k: BallMatrix, v: BallMatrix, heads: int = 1, scale: Number = 1.0, causal: bool = False
) -> BallMatrix:
    """softmax(scale q k') v of each sequence, head by head, the heads of a token side by side: head h reads and writes
    columns h size, ..., (h + 1) size - 1.

    >>> x = BallMatrix.of(torch.tensor([[0.0, 1.0], [0.0, 3.0]]))
    >>> attention(x.linear(torch.tensor([[1.0, 0.0]])), x.linear(torch.tensor([[1.0, 0.0]])), x).distance(
    ...     torch.tensor([[0.0, 2.0], [0.0, 2.0]]))
    0.0
    """
    found: list[list[arb]] = []
    for queries, keys, values in zip(q.scaled(scale)._sequences(), k._sequences(), v._sequences(), strict=True):
        parts = zip(_heads(queries, heads), _heads(keys, heads), _heads(values, heads), strict=True)
        mixed = [_attended(*part, causal) for part in parts]
        found += [[x for head in token for x in head] for token in zip(*mixed, strict=True)]
    return BallMatrix(arb_mat(found), q.lengths)


def _heads(rows: list[list[arb]], heads: int) -> list[list[list[arb]]]:
    """The columns of each head."""
    size = len(rows[0]) // heads
    return [[row[h * size : (h + 1) * size] for row in rows] for h in range(heads)]


def _attended(q: list[list[arb]], k: list[list[arb]], v: list[list[arb]], causal: bool) -> list[list[arb]]:
    """sum_j e_j v_j / sum_j e_j, the sum of the e_j by a column of ones beside v."""
    scores = (arb_mat(q) * arb_mat(k).transpose()).tolist()
    shares = [_shares(row[: i + 1] if causal else row, len(row)) for i, row in enumerate(scores)]
    mixed = (arb_mat(shares) * arb_mat([[*row, arb(1)] for row in v])).tolist()
    if not all(row[-1] > 0 for row in mixed):
        raise Unresolved("the scores of a head")
    return [[x / row[-1] for x in row[:-1]] for row in mixed]


def _shares(scores: list[arb], tokens: int) -> list[Any]:
    """exp(s_j - m), m a number near the largest score: the same factor for all, so nothing overflows; zeros behind."""
    most = max(scores, key=lambda s: float(s.mid())).mid()
    return [(s - most).exp() for s in scores] + [arb(0)] * (tokens - len(scores))


def entered(x: Tensor) -> arb_mat:
    """A matrix of floats as it is."""
    return arb_mat(x.shape[0], x.shape[1], _floats(x))


def entrywise(function: Callable[[arb], arb], matrix: arb_mat) -> arb_mat:
    """f of every entry."""
    return _like(matrix, [function(x) for x in matrix.entries()])


def times(a: arb_mat, b: arb_mat) -> arb_mat:
    """a b; a short a is filled up with rows of zeros where that makes flint take the faster way."""
    short = a.nrows()
    if not SHORT <= short < FAST or min(b.nrows(), b.ncols()) < FAST:
        return a * b
    filled = arb_mat(FAST, a.ncols(), a.entries() + [arb(0)] * ((FAST - short) * a.ncols()))
    return arb_mat(short, b.ncols(), (filled * b).entries()[: short * b.ncols()])


def _repeated(row: Tensor, times: int) -> arb_mat:
    return arb_mat(times, len(row), [arb(x) for x in row.tolist()] * times)


def _like(matrix: arb_mat, entries: Sequence[arb]) -> arb_mat:
    return arb_mat(matrix.nrows(), matrix.ncols(), entries)


def _floats(x: Tensor) -> list[float]:
    return x.detach().double().reshape(-1).tolist()  # type: ignore[no-any-return]


def _steepness(square: arb) -> arb:
    """1/sqrt of what must be positive for a norm to have a value."""
    if not square > 0:
        raise Unresolved("the square of a norm")
    return square.rsqrt()


def _sum(terms: Sequence[arb]) -> arb:
    return sum(terms, arb(0))
