"""Directions, a scale and a mix that keep the context ids of different labels apart: draw, check, keep the best.

    id_i = a . x_i + c z_i,   z_i = sum_l p_il (v . x_l),   p_i = softmax of S (v . x_l)(v' . x_i)

The scale that the paper prescribes (low-rank-memorization, eq. 29) makes gaps no format can hold. Almost any scale of
order 1 separates, with gaps as between random numbers: so v, v' and a are drawn, most of them single coordinates, whose
products do not round, some of them random directions; S and c are powers of two; and what counts is measured on the
data: the smallest gap between neighbours with different labels, against what is proved of their rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from headsmith.proof.approximation import Unprovable
from headsmith.proof.context_ids import Enclosed, RankOne, Seen
from headsmith.proof.rounding import Format
from headsmith.proof.statement import Floats

SCALES = (1.0, 4.0, 16.0)  # largest scores, one for each draw in turn
MIXES = (0.25, 0.1, 0.03, 0.01)  # ranges of c z against that of a . x; also a half and a tenth of its typical step
DRAWS, PATIENCE = 60, 2  # draws at most, and how many where one is good enough or none can be
WORK = 4e8  # scores of all draws together
SAFE = 4.0  # a gap is good enough if it is so many times as wide as two neighbours may be off
LEAST = 1.01  # and this is the least that leaves room for a ramp
LOST, FIRST = 12, 8  # so many pairs too near each other in the best of the first draws: no later draw will do


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Tokens one after another, (positions, features), the lengths of their sequences, and a code for each label."""

    tokens: Floats
    lengths: np.ndarray
    codes: np.ndarray
    causal: bool = False


@dataclass(frozen=True, eq=False)
class Draft:
    """One draw: its number, the head, and the ids; `nearest` are the two positions whose ids rounding may mix up.

    `margin` is their gap in units of how far both may be off, `lost` counts the gaps below `LEAST`, and `changes` those
    between neighbours of different labels.
    """

    draw: int
    head: RankOne
    ids: Enclosed
    margin: float
    nearest: tuple[int, int]
    lost: int
    changes: int

    @property
    def merit(self) -> tuple[float, float]:
        """What is compared: a wide gap, and of wide ones few changes of label."""
        return (1.0, -self.changes) if self.margin >= SAFE else (0.0, self.margin)

    def hopeful(self, draws: int) -> bool:
        """Whether more draws are worth their time, this being the best of so many: one word near another spoils one."""
        return self.margin < SAFE and (draws < FIRST or self.lost <= LOST)


Axes = tuple[Floats, Floats, Floats]  # a, v, v'
Draw = Callable[[int], tuple[Occurrences, Axes]]


def separated(draw: Draw, fmt: Format) -> Draft:
    """The best draft, where `draw(i)` makes the i-th tokens and directions."""
    best: Draft | None = None
    done, i = 0.0, 0
    while i < PATIENCE or (i < DRAWS and done < WORK and best is not None and best.hopeful(i)):
        data, axes = draw(i)
        for draft in _drafts(i, data, axes, fmt):
            if best is None or draft.merit > best.merit:
                best = draft
        done, i = done + float((data.lengths**2).sum()), i + 1
    if best is None:
        raise Unprovable("no draw has scores that can be proved")
    return best


def _drafts(i: int, data: Occurrences, axes: Axes, fmt: Format) -> Iterator[Draft]:
    """One for each mix, with these directions and the scale of this draw."""
    read, key, ask = (part.astype(fmt.name).astype(np.float64) for part in axes)
    try:
        seen = attention(data, key, ask, SCALES[i % len(SCALES)])
        base, several = data.tokens @ read, bool(np.ptp(data.codes))  # of one label there is nothing to tell apart
        across = float(np.ptp(seen.z) if several else np.abs(seen.z).max()) or 1.0
        step = 1 / len(np.unique(base))
        for mix in (*MIXES, step / 2, step / 10):
            c = power_of_two(mix * (float(np.ptp(base)) or 1.0) / across)
            output = (c * read / power_of_two(float(read @ read))).astype(fmt.name).astype(np.float64)
            head = RankOne(**seen.directions, output=output, read=read)
            yield _draft(i, head, seen.enclosed(output, read, fmt), data.codes)
    except Unprovable:
        return


def attention(data: Occurrences, key: Floats, ask: Floats, scale: float) -> Seen:
    """Keys and values v . x up to 1, queries S' v' . x, v and S' times powers of two: no score is above the scale.

    >>> equal_sums = np.array([[1.0], [2.0], [5.0], [6.0], [1.0], [3.0], [4.0], [6.0]])
    >>> data, one = Occurrences(equal_sums, np.array([4, 4]), np.arange(8)), np.ones(1)
    >>> [float(abs(z[0] - z[4]).round(4)) for z in (attention(data, one, one, s).z for s in (0.0, 4.0))]
    [0.0, 0.0077]
    """
    keys, queries = (float(np.abs(data.tokens @ part).max()) or 1.0 for part in (key, ask))
    one = key * power_of_two(1 / keys)
    query = ask * (power_of_two(scale / queries) if scale else 0.0)
    return Seen(data.tokens, one, query, one, data.lengths, data.causal)


def _draft(i: int, head: RankOne, found: Enclosed, codes: np.ndarray) -> Draft:
    """What the enclosures leave between neighbours of different labels."""
    order = np.argsort(found.ids, kind="stable")
    at, before, after = free(
        found.ids[order] - found.radius[order], found.ids[order] + found.radius[order], codes[order]
    )
    if not len(at):
        return Draft(i, head, found, np.inf, (0, 0), 0, 0)
    radius = found.radius[order]
    widths = 1 + (after - before) / (radius[at] + radius[at + 1])
    worst = at[widths.argmin()]
    pair = int(order[worst]), int(order[worst + 1])
    return Draft(i, head, found, float(widths.min()), pair, int((widths < LEAST).sum()), len(at))


def free(low: np.ndarray, high: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(place, end, begin) of each change of code along sorted intervals: those up to the place end, the others begin.

    >>> [x.tolist() for x in free(np.array([0.0, 2.0, 3.0]), np.array([1.0, 2.5, 4.0]), np.array([7, 7, 8]))]
    [[1], [2.5], [3.0]]
    """
    [at] = np.nonzero(np.diff(codes))
    return at, np.maximum.accumulate(high)[at], np.minimum.accumulate(low[::-1])[::-1][at + 1]


def axes_of(tokens: Floats, generator: np.random.Generator, single: bool) -> Axes:
    """Three coordinates with many values, or three random unit directions."""
    features = tokens.shape[1]
    if not single:
        drawn = generator.normal(size=(3, features))
        a, v, w = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return a, v, w
    kinds = np.array([len(np.unique(column)) for column in tokens.T])
    [rich] = np.nonzero(kinds == kinds.max())
    a, v, w = np.eye(features)[generator.choice(rich, 3, replace=len(rich) < 3)]
    return a, v, w


def power_of_two(x: float) -> float:
    """The largest power of two that is at most x.

    >>> power_of_two(0.3), power_of_two(4.0)
    (0.25, 4.0)
    """
    return float(2.0 ** np.floor(np.log2(x)))
