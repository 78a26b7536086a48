"""When softmax matters: sequences that averaging does not tell apart (low-rank-memorization, Theorem 2).

With W_K = 0 a head averages, and averaging tells any two sets apart whose tokens have different means: all of them, if
tokens are one-hot or drawn at random. Softmax is needed for sets with one mean, and for those alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headsmith.doors.recall.hardmax import different, read_vectors
from headsmith.proof.hardmax import mean, points
from headsmith.records.shown import Shown


@dataclass(frozen=True, repr=False)
class Pooling(Shown):
    """How many contexts there are, how many means, and sequences that share one: what averaging cannot do."""

    contexts: int
    means: int
    collisions: tuple[tuple[int, ...], ...]

    @property
    def softmax_matters(self) -> bool:
        """Whether some contexts have one mean: softmax tells them apart, averaging does not."""
        return bool(self.collisions)

    def title(self) -> str:
        if not self.softmax_matters:
            return "averaging tells all contexts apart: softmax is not needed here"
        return "softmax matters: averaging takes different contexts for one"

    def rows(self) -> list[tuple[str, str]]:
        shown = "; ".join(" and ".join(map(str, group)) for group in self.collisions[:8])
        rows = [("contexts", str(self.contexts)), ("told apart by averaging", str(self.means))]
        return rows + ([("sequences with one mean", shown)] if shown else [])


def mean_pooling(sequences: Sequence[Any]) -> Pooling:
    """Which sequences averaging takes for one although softmax tells them apart, in exact arithmetic.

    sequences   each (n, d) token vectors, or n numbers; those with proportional multisets are one context, since
                softmax does not tell them apart either

    >>> mean_pooling([[1, 2, 5, 6], [1, 3, 4, 6], [1, 2]])
    softmax matters: averaging takes different contexts for one
      contexts                 3
      told apart by averaging  2
      sequences with one mean  0 and 1
    >>> mean_pooling([[1, 2, 4], [1, 3, 4]]).softmax_matters
    False
    """
    given = [points(array) for array in read_vectors(sequences)]
    groups = defaultdict(list)
    kept = different(given)
    for k in kept:
        groups[mean(given[k])].append(k)
    return Pooling(len(kept), len(groups), tuple(tuple(group) for group in groups.values() if len(group) > 1))
