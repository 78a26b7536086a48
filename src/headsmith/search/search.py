"""The fewest keys: climb until a head meets eps, then come down while the work lasts.

The climb tries growing numbers of keys from a few starts each and skips the rungs that the last error rules
out; the way down bisects between the last failure and the success, then takes off one key at a time, from
all starts and from the success with two keys merged.  If no head of up to 64 moved keys succeeds, grids with
solved values only are tried up to 450 keys.  Work is counted, not timed: the same question has the same
answer on every machine, however busy.
"""

from collections.abc import Iterator
from itertools import islice, product
from typing import cast

import numpy as np

from headsmith.search.descent import ITERATIONS, Descended, Work, descend, fitted, misfit
from headsmith.search.fit import BUDGET, Trial, constant, finish, grown, shrunk, starts, trial
from headsmith.search.keys import Keys, from_anchors
from headsmith.search.question import MARGIN, Question
from headsmith.search.starts import FEW, Segments, anchors, shapes
from headsmith.search.table import KeyTable, Unreached

__all__ = ["KeyTable", "Unreached", "search"]

RUNGS = (2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64)
STILL = (40, 57, 80, 113, 160, 226, 320, 450)


def search(question: Question, effort: float = 1.0) -> KeyTable:
    """phi(z) = sum_j softmax_j(a_j z + b_j) g_j with sup |phi - f| <= MARGIN eps on [lo, hi], few keys.

    `effort` scales the work (1 is about a second).  Raises Unreached when no head is found.

    >>> len(search(Question(lambda x: x * x, -2, 2, 1e-6)))
    3
    """
    flat = constant(question)
    return flat if question.accepts(flat) else _Search(question, flat, effort).run()


def _iterations(count: int) -> int:
    """Large heads are not polished: a key more or less matters little there, a step costs much."""
    return ITERATIONS if count <= 16 else ITERATIONS // 2 if count <= 32 else ITERATIONS // 3


class _Search:
    def __init__(self, question: Question, flat: KeyTable, effort: float) -> None:
        self.question, self.effort = question, effort
        self.closest = flat
        self.segments = Segments(question)
        self.work = Work(BUDGET * effort)

    def run(self) -> KeyTable:
        success = self._climb()
        return self._still() if success is None else self._come_down(success)

    def _try(self, beginnings: Iterator[Keys], iterations: int = ITERATIONS) -> Trial:
        outcome = trial(self.question, beginnings, self.work, iterations)
        table, allowed = outcome.closest, MARGIN * self.question.eps
        if table is not None:
            self._note(table)
            if outcome.accepted is None and table.error < allowed and table.noise > self.question.eps / 20:
                self.question.calm()
        return outcome

    def _note(self, table: KeyTable) -> None:
        self.closest = min(self.closest, table, key=lambda t: t.total)

    def _first_rung(self) -> float:
        """A third to half of the keys that a grid which stays put would need."""
        for count in RUNGS[3:]:
            tries = shapes(self.question, count, (1, 2, 4), FEW)
            rms = min(misfit(self.question, keys, self.work) for *_, keys in tries)
            if rms < self.question.eps:
                return count / 3 if count <= 25 else count / 2
        return RUNGS[-1] / 2 if rms < 0.1 * self.question.half_range else np.inf

    def _climb(self) -> Trial | None:
        """Up to 4 keys in any case; then from the first likely rung, less what the last error rules out."""
        bottom = max(2, self.segments.least)
        floor = bottom if self.segments.gates else self._first_rung()
        last: Descended | None = None
        for count in sorted({*RUNGS, bottom}):
            if count < bottom or 4 < count < floor or count > max(RUNGS[-1], bottom) or self.work.left < 0:
                continue
            outcome = self._try(self._climbing(count, last), _iterations(count))
            if outcome.accepted is not None:
                return outcome
            if outcome.fit is not None:
                last = outcome.fit
                floor = max(floor, count + np.log10(max(last.worst / self.question.eps, 1.0)) / 3)
        if last is not None:
            self._note(finish(self.question, last, self.work))
        return None

    def _climbing(self, count: int, last: Descended | None) -> Iterator[Keys]:
        """The few likeliest starts: fewer the larger the head, since the way down makes up for it."""
        likely = starts(self.question, self.segments, count, self.work, many=False)
        few = 8 if count <= 4 else 4 if count <= 10 else 2 if count <= 32 else 0
        if count > 4 and last is not None and last.keys.number > 4:
            yield from islice(likely, 1)
            yield self._grow(last, count)
        yield from islice(likely, few)

    def _grow(self, last: Descended, count: int) -> Keys:
        """Split the key at the worst point, settle a little, and again."""
        while True:
            keys = grown(self.question, last)
            if keys.number == count:
                return keys
            last = descend(self.question, keys, self.work, 15)

    def _come_down(self, success: Trial) -> KeyTable:
        """Leap to two thirds of the keys while that works, then merge or start afresh with one key fewer."""
        leaping = True
        while True:
            fit, accepted = cast(Descended, success.fit), cast(KeyTable, success.accepted)
            number = fit.keys.number
            if number <= 2 or self.work.left < 0:
                return accepted
            leaping = leaping and number > 8 and not self.segments.gates
            fewer = 2 * number // 3 if leaping else number - 1
            beginnings = self._afresh(fewer) if leaping else self._fewer(fit)
            outcome = self._try(beginnings, _iterations(fewer) if leaping else ITERATIONS)
            if outcome.accepted is None and not leaping:
                return accepted
            leaping = outcome.accepted is not None and leaping
            success = success if outcome.accepted is None else outcome

    def _afresh(self, count: int) -> Iterator[Keys]:
        return islice(starts(self.question, self.segments, count, self.work, many=False), 2)

    def _fewer(self, found: Descended) -> Iterator[Keys]:
        number = found.keys.number - 1
        yield from shrunk(self.question, found.keys, self.work, 3 if number <= 16 else 2)
        yield from starts(self.question, self.segments, number, self.work, many=True)

    def _still(self) -> KeyTable:
        """Keys that stay where a grid puts them: any size, no descent; each rung keeps the better half."""
        question, work = self.question, Work(0.6 * BUDGET * self.effort)
        left = list(product((True, False), (1, 2, 4), (0.1, 0.2, 0.3, 0.5)))
        for count in STILL:
            if work.left < 0:
                continue
            ranked = []
            for even, guards, kappa in left:
                if work.left < 0:
                    break
                keys = from_anchors(anchors(question, count, guards, even), kappa)
                ranked.append((misfit(question, keys, work), (even, guards, kappa), keys))
            ranked.sort(key=lambda entry: entry[0])
            left = [shape for _, shape, _ in ranked[: max(3, len(ranked) // 2)]]
            for rms, _, keys in ranked[:2]:
                if rms < question.eps:
                    table = finish(question, fitted(question, keys, work, count // 2), work)
                    self._note(table)
                    if question.accepts(table):
                        return table
        best = self.closest
        raise Unreached(
            best,
            f"the closest head found ({len(best)} key{'s' * (len(best) != 1)}) errs by {best.error:.2g}, "
            f"rounding {best.noise:.2g}",
        )
