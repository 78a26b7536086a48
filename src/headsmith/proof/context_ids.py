"""What floating point adds to a context id (low-rank-memorization, Theorem 2; its rounding is ours).

    H_i = x_i + o z_i,   z_i = sum_l p_il (w . x_l),   p_i = softmax of (k . x_l)(q . x_i),   id_i = a . H_i

The tokens x and the five directions are the numbers that the network holds. A position is charged for what it sees:

    scores   |s^ - s| <= S = |q| dk + |k| dq + dq dk + u |q^ k^|,   dk, dq: the dot products
    weights  each is off by a factor within 1 +- X,   X = e^(S + u (r + 2S)) (1 + 4u) - 1,   r the range of its scores
    mean     X D / (1 - X) + dv + gamma(2n + 1) (...),   D = sum_l p_l |v_l - z|,  n the number of tokens it sees
    id       one product, two sums and one dot product more

Every sum may run in any order, so neither the batch nor the padding can change more than this; an invisible token has
weight exactly 0. A dot product with one coordinate whose coefficient is a power of two does not round. The same bound
at u = 2^-53 holds for the reference that is computed here, so that each id is enclosed without balls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from headsmith.proof.approximation import Unprovable
from headsmith.proof.rounding import EXP_ERROR, FORMATS, INFLATE, Format, gamma
from headsmith.proof.statement import Floats

AT_ONCE = 2**21  # scores that are held side by side
WIDEST = 64.0  # the largest range of scores: nothing is flushed, since e^-64 / 1000 is a normal float32
LONGEST = 1000  # tokens, for the same reason
HIGHEST = 1e30  # of all sums: no product of two leaves the range of float32 that is not beyond WIDEST
REFERENCE = FORMATS["float64"]


@dataclass(frozen=True, eq=False)
class RankOne:
    """The five directions, (features,) each: W_K = key^T, W_Q = query^T, W_V = value^T, W_O = output, and the read-out.

    >>> e = np.eye(2)
    >>> head = RankOne(e[1], 4 * e[1], e[1], 0.25 * e[0], e[0])
    >>> enclosed(np.array([[0.5, 1.0], [0.25, 1.0]]), head, np.array([2]), False, FORMATS["float64"]).ids.tolist()
    [0.75, 0.5]
    """

    key: Floats
    query: Floats
    value: Floats
    output: Floats
    read: Floats


@dataclass(frozen=True)
class Enclosed:
    """|any executed id - ids| <= radius, for each position."""

    ids: Floats
    radius: Floats


def attended(
    keys: Floats, queries: Floats, values: Floats, lengths: np.ndarray, causal: bool = False
) -> tuple[Floats, Floats]:
    """(z, D) of each position: the mean of the values that its query attends to, and their mean distance from it.

    >>> z, spread = attended(np.zeros(3), np.zeros(3), np.array([1.0, 2.0, 6.0]), np.array([3]))
    >>> z.tolist(), spread.tolist()
    ([3.0, 3.0, 3.0], [2.0, 2.0, 2.0])
    """
    z, spread = np.empty(len(keys)), np.empty(len(keys))
    for rows in alike(lengths):
        k, q, v = (torch.from_numpy(part[rows]) for part in (keys, queries, values))
        scores = q.unsqueeze(2) * k.unsqueeze(1)
        if causal:
            scores.masked_fill_(torch.ones(scores.shape[1:]).triu(1).bool(), -torch.inf)
        weights = torch.softmax(scores, -1)
        mean = (weights * v.unsqueeze(1)).sum(-1)
        z[rows], spread[rows] = mean, (weights * (v.unsqueeze(1) - mean.unsqueeze(2)).abs()).sum(-1)
    return z, spread


def alike(lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Positions (sequences, length) of sequences of one length, so many that their scores fit side by side."""
    starts = np.cumsum(lengths) - lengths
    for length in np.unique(lengths).tolist():
        found = starts[lengths == length]
        step = max(1, AT_ONCE // length**2)
        for first in range(0, len(found), step):
            yield found[first : first + step, None] + np.arange(length)


def enclosed(tokens: Floats, head: RankOne, lengths: np.ndarray, causal: bool, fmt: Format) -> Enclosed:
    """The id of each position (positions, features), and how far any execution in this format can be from it."""
    return Seen(tokens, head.key, head.query, head.value, lengths, causal).enclosed(head.output, head.read, fmt)


class Seen:
    """The means of all positions, and the sizes of what each sees: an output and a read-out make ids of them."""

    def __init__(
        self, tokens: Floats, key: Floats, query: Floats, value: Floats, lengths: np.ndarray, causal: bool
    ) -> None:
        if lengths.max() > LONGEST:
            raise Unprovable(f"a sequence has {lengths.max()} tokens, and ids are proved up to {LONGEST}")
        self.tokens, self.sizes, self.lengths = tokens, np.abs(tokens), lengths
        self.directions = {"key": key, "query": query, "value": value}
        keys, queries, values = (tokens @ part for part in (key, query, value))
        starts = np.cumsum(lengths) - lengths
        self.seen = np.repeat(lengths, lengths)
        if causal:
            self.seen = np.arange(len(tokens)) - np.repeat(starts, lengths) + 1
        for part in (key, query, value):
            if not (self.sizes @ np.abs(part)).max() <= HIGHEST:
                raise Unprovable(f"sums above {HIGHEST:g} are beyond the proof")
        slips = {name: self.slip(part, REFERENCE) for name, part in self.directions.items()}
        self.query = np.abs(queries) + slips["query"]
        self.key, self.value = self._most(np.abs(keys) + slips["key"]), self._most(np.abs(values) + slips["value"])
        self.width = self._most(keys + slips["key"]) + self._most(slips["key"] - keys)
        self.z, self.spread = attended(keys, queries, values, lengths, causal)
        self._off: dict[Format, Floats] = {}

    def _most(self, x: Floats) -> Floats:
        """The largest in each sequence, at each of its positions."""
        starts = np.cumsum(self.lengths) - self.lengths
        return np.repeat(np.maximum.reduceat(x, starts), self.lengths)

    def slip(self, direction: Floats, fmt: Format) -> Floats:
        """|executed x . direction - x . direction|; none where one coordinate is read, times a power of two."""
        terms = int(np.count_nonzero(direction))
        rounds = 0.0 if plain(direction) else gamma(terms, fmt.unit)
        size = np.abs(direction)  # a coordinate that is flushed before it is multiplied is off by all it is
        return rounds * (self.sizes @ size) + (2 * terms + float(size.sum())) * fmt.tiny

    def weights(self, fmt: Format) -> Floats:
        """X: how far, relatively, a weight can be off before it is divided by their sum."""
        u, query, key = fmt.unit, self.slip(self.directions["query"], fmt), self._slipped("key", fmt)
        s = self.query * key + self.key * query + query * key + u * (self.query + query) * (self.key + key) + fmt.tiny
        across = self.query * self.width
        if not across.max() <= WIDEST:
            raise Unprovable(f"scores {across.max():.3g} apart are beyond {WIDEST:g}, where weights may be flushed")
        with np.errstate(over="ignore"):
            x = np.expm1(s + u * (across + 2 * s)) * (1 + EXP_ERROR * u) + EXP_ERROR * u
        if not x.max() < 0.5:
            raise Unprovable(f"{fmt.name} loses the weights of the head")
        return x

    def _slipped(self, name: str, fmt: Format) -> Floats:
        return self._most(self.slip(self.directions[name], fmt))

    def mean(self, z: Floats, spread: Floats, fmt: Format) -> Floats:
        """|executed z - z|, for |z| and the mean distance D of the values from it."""
        x, dv = self.weights(fmt), self._slipped("value", fmt)
        terms = 2 * self.seen + 1
        rounds = terms * fmt.unit / (1 - terms * fmt.unit)
        size = (z + spread) * (1 + x) / (1 - x) + dv
        return x * spread / (1 - x) + dv + rounds * size + 2 * self.seen * fmt.tiny

    @cached_property
    def sized(self) -> tuple[Floats, Floats]:
        """Bounds of |z| and D: what was computed, and what that may be off by for any values of this size."""
        off = self.mean(self.value, 2 * self.value, REFERENCE)
        return np.abs(self.z) + off, self.spread + 6 * off

    def off(self, fmt: Format) -> Floats:
        """|executed z - z| of each position; worked out once for all outputs and read-outs."""
        if fmt not in self._off:
            self._off[fmt] = self.mean(*self.sized, fmt)
        return self._off[fmt]

    def enclosed(self, output: Floats, read: Floats, fmt: Format) -> Enclosed:
        """The ids read . (x + output z)."""
        ids = (self.tokens + self.z[:, None] * output) @ read
        if not (self.sizes @ np.abs(read) + np.abs(output) @ np.abs(read) * self.value).max() <= HIGHEST:
            raise Unprovable(f"ids above {HIGHEST:g} are beyond the proof")
        return Enclosed(ids, (self._radius(output, read, fmt) + self._radius(output, read, REFERENCE)) * INFLATE)

    def _radius(self, output: Floats, read: Floats, fmt: Format) -> Floats:
        """|executed id - id|."""
        u, size, z, dz = fmt.unit, np.abs(read), self.sized[0], self.off(fmt)
        gain = float(size @ np.abs(output))
        level, moved = self.sizes @ size, gain * (z + dz)
        stream = gain * dz + u * moved + u * (level + (1 + u) * moved) + 2 * float(size.sum()) * fmt.tiny
        terms = int(np.count_nonzero(read))
        rounds = 0.0 if plain(read) else gamma(terms, u)
        return stream + rounds * (level + gain * z + stream) + 2 * terms * fmt.tiny


def plain(direction: Floats) -> bool:
    """Whether a product with it copies one coordinate, up to a power of two.

    >>> plain(np.array([0.0, -4.0])), plain(np.array([0.0, 3.0])), plain(np.array([1.0, 1.0]))
    (True, False, False)
    """
    [used] = np.nonzero(direction)
    return len(used) == 1 and bool(abs(np.frexp(direction[used[0]])[0]) == 0.5)
