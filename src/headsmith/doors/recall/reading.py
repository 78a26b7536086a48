"""Labelled sequences as a user has them, numbered: any hashable tokens or vectors, any hashable labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headsmith.refusal import Refusal


@dataclass(frozen=True)
class Numbered:
    """Sequences one after another: the number of each token and of each label, and what the numbers stand for."""

    tokens: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    words: list[Hashable]
    classes: list[Hashable]

    @property
    def places(self) -> np.ndarray:
        """The place of each token in its sequence, from 0.

        >>> numbered(["ab", "a"]).places.tolist()
        [0, 1, 0]
        """
        starts = np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
        return np.arange(len(self.tokens)) - starts

    @property
    def sequence_of(self) -> np.ndarray:
        """The number of the sequence of each token."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def numbered(sequences: Sequence[Any], labels: Sequence[Any] | None = None) -> Numbered:
    """Sequences and labels, numbered in order of appearance; without labels each token counts as its own label.

    >>> numbered(["the cat the".split()], [["D", "N", "D"]]).tokens.tolist()
    [0, 1, 0]
    """
    rows = [_items(sequence, f"sequence {k}") for k, sequence in enumerate(sequences)]
    if not rows:
        raise Refusal("give at least one sequence")
    marks = rows if labels is None else [_items(row, f"labels {k}") for k, row in enumerate(labels)]
    if len(marks) != len(rows):
        raise Refusal(
            f"there are {len(rows)} sequences and {len(marks)} rows of labels: give one row for each sequence"
        )
    for k, (row, mark) in enumerate(zip(rows, marks, strict=True)):
        if len(row) != len(mark):
            raise Refusal(f"sequence {k} has {len(row)} tokens and {len(mark)} labels: give one label for each token")
        if not row:
            raise Refusal(f"sequence {k} is empty: leave it out")
    tokens, words = _numbers(rows)
    codes, classes = _numbers(marks)
    return Numbered(tokens, np.array([len(row) for row in rows]), codes, words, classes)


def _items(given: Any, name: str) -> list[Hashable]:
    """The items of one sequence: vectors as tuples, so that they can be compared."""
    try:
        items = given.tolist() if hasattr(given, "tolist") else list(given)
        items = [tuple(x) if isinstance(x, list) else x.item() if hasattr(x, "item") else x for x in items]
        for x in items:
            hash(x)
    except TypeError:
        raise Refusal(f"{name} must be a row of words, numbers or vectors") from None
    if any(c != c for x in items for c in (x if isinstance(x, tuple) else (x,))):
        raise Refusal(f"{name} holds NaN, which equals nothing: give other tokens")
    return items


def _numbers(rows: list[list[Hashable]]) -> tuple[np.ndarray, list[Hashable]]:
    known: dict[Hashable, int] = {}
    found = [known.setdefault(x, len(known)) for row in rows for x in row]
    return np.array(found, dtype=np.int64), list(known)
