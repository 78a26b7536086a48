"""The best head with a given number of keys.

From every start the keys descend (descent.py); a fit whose residual is near eps is finished: its reference
key chosen, its numbers rounded to the dtype, in float32 its values solved again for the rounded keys, and
its error measured on another, finer grid.  Success is always measured, so a poor start costs keys, never
correctness.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from headsmith.search.descent import ITERATIONS, Asked, Descended, Work, descend, misfit, penalty, solve_values
from headsmith.search.keys import Array, Keys, lines, merge, split
from headsmith.search.question import MARGIN, Question
from headsmith.search.starts import Segments, grids, plain
from headsmith.search.table import KeyTable, best_reference, noise

BUDGET = 0.7e6


@dataclass
class Trial:
    """What a trial found: an accepted table or None, the closest table measured, the closest fit."""

    accepted: KeyTable | None
    closest: KeyTable | None
    fit: Descended | None


def _dense_weights(slopes: Array, offsets: Array, z: Array) -> Array:
    scores = slopes[:, None] * z[None, :] + offsets[:, None]
    scores = np.exp(scores - scores.max(axis=0))
    return np.asarray(scores / scores.sum(axis=0))


def _table(question: Question, slopes: Array, offsets: Array, values: Array, keys: Keys, work: Work) -> KeyTable:
    """Round, estimate the noise, measure."""
    slopes, offsets, values = (x.astype(question.dtype).astype(np.float64) for x in (slopes, offsets, values))
    z, _ = question.grid(len(slopes))
    weights = _dense_weights(slopes, offsets, z)
    work.finish(4000 + 41 * question.pieces, len(slopes))
    error = question.measure(slopes, offsets, values, keys)
    return KeyTable(slopes, offsets, values, error, noise(slopes, offsets, values, weights, z, question.u))


def finish(question: Question, found: Descended, work: Work) -> KeyTable:
    """The fit as a table in the question's dtype, measured."""
    z, y = found.z, found.y
    slopes, offsets = lines(found.keys, best_reference(found.keys, found.values, z, found.reference))
    values = found.values
    if question.dtype == "float32":
        slopes, offsets = (x.astype(np.float32).astype(np.float64) for x in (slopes, offsets))
        lam = penalty(question.eps, question.cap, len(z), len(slopes))
        values, _ = solve_values(_dense_weights(slopes, offsets, z), y, lam, found.emphasis)
    return _table(question, slopes, offsets, values + question.middle, found.keys, work)


def starts(question: Question, segments: Segments, count: int, work: Work, many: bool) -> Iterator[Keys]:
    """Starting keys, best first; `many` adds the less likely ones."""
    for kappa in (0.5, 0.2, 0.05):
        keys = segments.keys(count, kappa)
        if keys is not None:
            yield keys
    keep = 3 if count > 6 else 4
    yield from grids(question, count, work, keep + many)
    draws = (4 if count <= 4 else 0) + (8 if many and count <= 6 else 0)
    yield from plain(question, count, draws)


def shrunk(question: Question, keys: Keys, work: Work, keep: int) -> list[Keys]:
    """One key fewer: the merges that change the fit least."""
    tries = [merge(keys, k) for k in range(keys.number - 1)]
    return sorted(tries, key=lambda k: misfit(question, k, work))[:keep]


def grown(question: Asked, found: Descended) -> Keys:
    """One key more: the strongest key at the worst point becomes two."""
    z = found.z
    at = int(np.argmax(found.profile))
    j = int(np.argmax(found.weights[:, at]))
    ruled = z[np.argmax(found.weights, axis=0) == j]
    width = max(float(np.ptp(ruled)), 1e-3 * (question.hi - question.lo) / len(z))
    return split(found.keys, j, float(z[at]), width)


def trial(question: Question, beginnings: Iterable[Keys], work: Work, iterations: int = ITERATIONS) -> Trial:
    """Descend from each start until one gives an acceptable table or the work is spent."""
    outcome = Trial(None, None, None)
    for keys in beginnings:
        if work.left < 0:
            break
        found = descend(question, keys, work, iterations)
        if outcome.fit is None or found.worst < outcome.fit.worst:
            outcome.fit = found
        if found.worst < 1.5 * question.eps:
            table = finish(question, found, work)
            if found.worst < MARGIN * question.eps < table.error and question.density < 2:
                question.density *= 1.3
                found = descend(question, found.keys, work, iterations)
                table = finish(question, found, work)
            if outcome.closest is None or table.total < outcome.closest.total:
                outcome.closest = table
            if question.accepts(table):
                outcome.accepted = table
                outcome.fit = found
                break
    return outcome


def constant(question: Question) -> KeyTable:
    """One key: the middle of the range of f."""
    values = np.array([question.middle])
    return _table(question, np.zeros(1), np.zeros(1), values, Keys(np.zeros(0), np.zeros(0)), Work(np.inf))
