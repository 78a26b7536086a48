"""Where the descent begins: keys that are already good, best first.

Three families.  *Groups*: between kinks every segment gets a small head of its own and sharp gates
(step 0.3 J / eps for a slope jump J) hand over between them, so kinks cost no refinement at all.  *Grids*:
uniform anchors, or anchors with equally many pieces between them, over a range of guards and sharpness,
ranked by one linear solve each.  *Others*: equal steps at one crossing (Bernstein polynomials in a sigmoid)
and random keys, for small heads.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.polynomial import chebyshev
from scipy.interpolate import PchipInterpolator

from headsmith.search.descent import Asked, Work, misfit
from headsmith.search.keys import Array, Keys, from_anchors
from headsmith.search.question import Question

GUARDS = (0, 1, 2, 3, 4, 6)
KAPPAS = (0.15, 0.3, 0.5, 0.8, 1.3)
FEW = (0.15, 0.3, 0.8)


def anchors(question: Asked, count: int, guards: int, even: bool) -> Array:
    """count anchors, `guards` of them past either end: evenly spaced, or at quantiles of the pieces."""
    inner = count - 2 * guards
    if even or question.pieces < 4:
        places = np.linspace(question.lo, question.hi, inner)
    else:
        quantile = PchipInterpolator(np.linspace(0, 1, len(question.edges)), question.edges)
        places = quantile(np.linspace(0, 1, inner))
    ahead = np.arange(1, guards + 1)
    left = places[0] - (places[1] - places[0]) * ahead[::-1]
    right = places[-1] + (places[-1] - places[-2]) * ahead
    return np.concatenate([left, places, right])


def shapes(
    question: Asked, count: int, guards: Sequence[int], kappas: Sequence[float]
) -> Iterator[tuple[bool, int, float, Keys]]:
    """(whether anchors are even, how many guards, kappa, keys) of each grid with two anchors inside at least."""
    for even in (True, False):
        for beyond in guards:
            if count - 2 * beyond >= 2:
                places = anchors(question, count, beyond, even)
                yield from ((even, beyond, kappa, from_anchors(places, kappa)) for kappa in kappas)


def grids(question: Asked, count: int, work: Work, keep: int, kappas: Sequence[float] = ()) -> list[Keys]:
    """The `keep` best grids by their linear fit, no two of them alike."""
    guards, usual = ((0, 2, 4), FEW) if count > 26 else (GUARDS, KAPPAS)
    tries = shapes(question, count, guards, kappas or usual)
    pool = [(misfit(question, each[-1], work), *each) for each in tries if each[0] or question.pieces >= 4]
    pool.sort(key=lambda entry: entry[0])
    chosen: list[tuple[float, bool, int, float, Keys]] = []
    for entry in pool:
        alike = [o for o in chosen if o[1:3] == entry[1:3] and max(o[3] / entry[3], entry[3] / o[3]) < 1.8]
        if not alike and len(chosen) < keep:
            chosen.append(entry)
    return [entry[4] for entry in chosen]


def plain(question: Question, count: int, draws: int) -> Iterator[Keys]:
    """Bernstein keys, then random ones."""
    half = (question.hi - question.lo) / 2
    if count > 2:
        k = np.arange(1, count)
        step = 2 / half
        yield Keys((question.lo + question.hi) / 2 - np.log((count - k) / k) / step, np.full(count - 1, step))
    rng = np.random.default_rng(count)
    for _ in range(draws):
        cross = np.sort(rng.uniform(question.lo - 0.2 * half, question.hi + 0.2 * half, count - 1))
        yield Keys(cross, np.exp(rng.uniform(-1, 2.5, count - 1)) / half)


class Segments:
    """The stretches between kinks: how much polynomial each needs, and how sharply they must part."""

    def __init__(self, question: Question) -> None:
        self.question = question
        kinks = list(question.kinks)
        while True:
            ends = [question.lo, *kinks, question.hi]
            series = [self._series(a, b) for a, b in pairwise(ends)]
            gates = [self._gate(series[i], series[i + 1], ends[i : i + 3]) for i in range(len(kinks))]
            idle = [i for i, gate in enumerate(gates) if gate == 0]
            if not idle:
                break
            del kinks[idle[0]]
        self.ends, self.gates = ends, gates
        self.lengths = [self._length(c, question.eps / 20) for c in series]
        self.slopes = [
            abs(float(c[1])) * 2 / (b - a) if len(c) > 1 else 0.0
            for c, a, b in zip(series, ends, ends[1:], strict=False)
        ]

    def _series(self, a: float, b: float) -> Array:
        nodes = np.cos(np.pi * (np.arange(65) + 0.5) / 65)
        y = self.question.sample(np.clip((a + b) / 2 + (b - a) / 2 * nodes, a, b))
        c = np.asarray(chebyshev.chebfit(nodes, y, 64), np.float64)
        return c[: self._length(c, 1e-13 * self.question.size)]

    @staticmethod
    def _length(c: Array, tolerance: float) -> int:
        """How many coefficients it takes before the rest sums to less than the tolerance."""
        tail = np.cumsum(np.abs(c[::-1]))[::-1]
        return max(1, int(np.sum(tail > tolerance)))

    def _gate(self, left: Array, right: Array, ends: list[float]) -> float:
        """Step of the hand-over at ends[1]; 0 where nothing bends there."""
        a, k, b = ends
        eps, reach = self.question.eps, min(k - a, b - k)
        bends = []
        for order in (1, 2):
            one = chebyshev.chebval(1.0, chebyshev.chebder(left, order)) * (2 / (k - a)) ** order
            two = chebyshev.chebval(-1.0, chebyshev.chebder(right, order)) * (2 / (b - k)) ** order
            bends.append(abs(float(two - one)))
        if bends[0] * reach < eps and bends[1] * reach**2 < eps:
            return 0.0
        return max(0.3 * bends[0] / eps, 0.3 * (bends[1] / eps) ** 0.5, 4 / reach)

    @property
    def least(self) -> int:
        """Fewest keys: 1 for a constant segment, 2 for any other."""
        return sum(min(length, 2) for length in self.lengths)

    def keys(self, count: int, kappa: float) -> Keys | None:
        """Groups of keys, one per segment, in proportion to the polynomial it needs."""
        if not self.gates or count < self.least:
            return None
        shares = [min(length, 2) for length in self.lengths]
        for _ in range(count - self.least):
            need = np.array(self.lengths) / shares * (np.array(self.lengths) > 1)
            shares[int(np.argmax(need))] += 1
        groups = [self._group(i, share, kappa) for i, share in enumerate(shares)]
        cross, step = list(groups[0].cross), list(groups[0].step)
        for i, gate in enumerate(self.gates):
            before, after, k = groups[i], groups[i + 1], self.ends[i + 1]
            down = np.concatenate([[0.0], np.cumsum((before.step * (before.cross - k))[::-1])])
            up = np.concatenate([[0.0], np.cumsum(after.step * (k - after.cross))])
            balance = np.logaddexp.reduce(down) - np.logaddexp.reduce(up)
            cross += [k - balance / gate, *after.cross]
            step += [gate, *after.step]
        return Keys(np.array(cross), np.array(step))

    def _group(self, i: int, count: int, kappa: float) -> Keys:
        a, b = self.ends[i], self.ends[i + 1]
        if count == 1:
            return Keys(np.zeros(0), np.zeros(0))
        if count == 2 and self.lengths[i] == 2:
            bow = 8 * self.slopes[i] * ((b - a) / 2) ** 3 / (3 * self.question.eps)
            bow = min(max(bow**0.5, (b - a)), 0.3 * self.question.cap / max(self.slopes[i], 1e-300))
            return Keys(np.array([(a + b) / 2]), np.array([2 / bow]))
        return from_anchors(np.linspace(a, b, count), kappa)
