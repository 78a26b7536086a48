"""Why data cannot be memorised: two positions that collide, and the remedy (low-rank-memorization, Cor 1 and Cor 2)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headsmith.doors.recall.capacity import expected_gap, survives
from headsmith.doors.recall.ceilings import ceiling
from headsmith.doors.recall.reading import Numbered, causal, numbered, required
from headsmith.records.shown import Shown, number
from headsmith.search.context_keys import collision, context_keys, visible

WHY = {
    "contradiction": ("one sequence with two labels at one position", "relabel one of them: nothing else helps"),
    "order": ("the same tokens, only their order or place differs", "positions=True tells them apart"),
    "multiplicity": (
        "all tokens repeated as often, and softmax only sees proportions",
        "positions=True tells them apart",
    ),
}


@dataclass(frozen=True)
class Colliding:
    """One of two positions that collide: its sequence, its place in it, what it sees, and its label."""

    sequence: int
    place: int
    context: tuple[Hashable, ...]
    label: Hashable

    def __str__(self) -> str:
        shown = [str(x) for x in self.context[:12]] + ["..."] * (len(self.context) > 12)
        return f"sequence {self.sequence}, position {self.place} of [{', '.join(shown)}]: {self.label}"


@dataclass(frozen=True, repr=False)
class Obstacle(Shown):
    """What stands in the way of one softmax head and a lookup: true if anything does.

    reason   "contradiction", "order", "multiplicity", or None: nothing but precision
    first, second   the positions that collide
    wrong, left     how many tokens are wrong at the least, and how many are left wrong with positions
    ids, gap        contexts to be told apart, and the smallest gap of their ids that is to be expected of good weights,
                    as a share of their range; `dtypes` are those that can see it
    """

    reason: str | None
    first: Colliding | None
    second: Colliding | None
    wrong: int
    left: int
    ids: int
    gap: float
    dtypes: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.reason is not None

    def title(self) -> str:
        if self.reason is None:
            return "nothing stands in the way: each label is a function of what its position sees"
        nobody = "no function" if self.reason == "contradiction" else "no softmax attention without positions"
        return f"{nobody} can do it: {WHY[self.reason][0]}"

    def rows(self) -> list[tuple[str, str]]:
        dtypes = " and ".join(self.dtypes) or "no float here"
        size = ("ids", f"{self.ids}; gap about {number(self.gap, 1)} of their range, which {dtypes} can see")
        if self.reason is None:
            return [size]
        return [
            ("first", str(self.first)),
            ("second", str(self.second)),
            ("remedy", WHY[self.reason][1]),
            ("wrong", f"at least {self.wrong} of the tokens, {self.left} with positions"),
            size,
        ]


def explain_failure(
    sequences: Sequence[Any], labels: Sequence[Any], positions: bool = False, mask: str | None = None
) -> Obstacle:
    """The two positions that no head tells apart although their labels differ, and why; or that there are none.

    >>> x, y = "x", "y"
    >>> explain_failure([[x, y], [x, y, x, y]], [[1, 2], [3, 2, 3, 2]])
    no softmax attention without positions can do it: all tokens repeated as often, and softmax only sees proportions
      first   sequence 0, position 0 of [x, y]: 1
      second  sequence 1, position 0 of [x, y, x, y]: 3
      remedy  positions=True tells them apart
      wrong   at least 1 of the tokens, 0 with positions
      ids     2; gap about 0.8 of their range, which float64 and float32 can see
    >>> explain_failure([[x, y], [x, y, x, y]], [[1, 2], [3, 2, 3, 2]], positions=True).reason is None
    True
    """
    before = causal(positions, mask)
    data = numbered(sequences, required(labels))
    keys = context_keys(data.tokens, data.lengths, positions, before)
    found = collision(data.tokens, data.lengths, data.labels, positions, before)
    ids = len(np.unique(keys))
    gap = expected_gap(ids)
    dtypes = tuple(dtype for dtype in ("float64", "float32") if survives(ids, dtype))
    if found is None:
        return Obstacle(None, None, None, 0, 0, ids, gap, dtypes)
    first, second = (_colliding(data, at, before) for at in (found.first, found.second))
    placed = context_keys(data.tokens, data.lengths, True, before)
    wrong, left = (ceiling("", key, data.labels).wrong for key in (keys, placed))
    return Obstacle(found.reason, first, second, wrong, left, ids, gap, dtypes)


def _colliding(data: Numbered, at: int, before: bool) -> Colliding:
    context = tuple(data.words[t] for t in visible(at, data.tokens, data.lengths, before))
    return Colliding(int(data.sequence_of[at]), int(data.places[at]), context, data.classes[data.labels[at]])
