"""Accuracy ceilings: the best that any function of some information can reach, before anyone trains.

    ceiling = sum over values of the information of the count of its most frequent label, over the number of tokens

A benchmark says something about context only above the ceiling of what needs none (low-rank-memorization, Sec 5, whose
0.9872 lies below what a word and its position give).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headsmith.doors.recall.reading import Numbered, numbered
from headsmith.records.shown import Shown
from headsmith.refusal import Refusal
from headsmith.search.context_keys import context_keys

MASKS = (None, "causal")


@dataclass(frozen=True)
class Ceiling:
    """What one kind of information allows: `right` of `total` tokens, and how many values it takes (`ids`)."""

    name: str
    right: int
    total: int
    ids: int

    @property
    def accuracy(self) -> float:
        return self.right / self.total

    @property
    def wrong(self) -> int:
        return self.total - self.right


@dataclass(frozen=True, repr=False)
class Ceilings(Shown):
    """Ceilings by name, from no information to the whole sequence."""

    items: tuple[Ceiling, ...]

    def __getitem__(self, name: str) -> Ceiling:
        found = [item for item in self.items if item.name == name]
        if not found:
            raise Refusal(f"there is no ceiling {name!r}; there are {', '.join(item.name for item in self.items)}")
        return found[0]

    def title(self) -> str:
        return f"accuracy of the best function of ... on {self.items[0].total} labelled tokens"

    def rows(self) -> list[tuple[str, str]]:
        return [(x.name, f"{x.accuracy:.6f}   {x.wrong} wrong, {x.ids} ids") for x in self.items]


def ceilings(sequences: Sequence[Any], labels: Sequence[Any], mask: str | None = None) -> Ceilings:
    """The best accuracy of any function of the word, the word and its position, ..., the sequence and the position.

    "multiset, word" is what one softmax head without positions sees, "multiset, word, position" what averaging with
    positions does, "sequence, position" what attention with positions can: below 1 only where labels contradict. Under
    mask="causal" a token sees what comes before it.

    >>> ceilings(["light rain", "light it"], ["AN", "V"])
    Traceback (most recent call last):
    ...
    headsmith.refusal.Refusal: sequence 0 has 10 tokens and 2 labels: give one label for each token
    >>> found = ceilings(["a light rain".split(), "light a lamp".split()], ["DAN", "VDN"])
    >>> found["word"].accuracy, found["word, position"].accuracy
    (0.8333333333333334, 1.0)
    """
    if mask not in MASKS:
        raise Refusal(f"the masks are None and 'causal'; not {mask!r}")
    data = numbered(sequences, labels)
    return Ceilings(tuple(ceiling(name, key, data.labels) for name, key in _information(data, mask == "causal")))


def _information(data: Numbered, causal: bool) -> list[tuple[str, np.ndarray]]:
    word, place = data.tokens, data.places
    length = np.repeat(data.lengths, data.lengths)
    seen = context_keys(data.tokens, data.lengths, causal=causal)
    whole = context_keys(data.tokens, data.lengths, positions=True, causal=causal)
    lengths = [] if causal else [("word, length", joined(word, length))]
    lengths += [] if causal else [("word, position, length", joined(word, place, length))]
    return [
        ("nothing", np.zeros_like(word)),
        ("word", word),
        ("word, position", joined(word, place)),
        *lengths,
        ("multiset, word", seen),
        ("multiset, word, position", joined(seen, place)),
        ("sequence, position", whole),
    ]


def joined(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """One number, from 0, for each combination of numbers from 0.

    >>> joined(np.array([0, 5, 0]), np.array([2, 2, 1])).tolist()
    [1, 2, 0]
    """
    found = first
    for other in others:
        found = np.unique(found * (int(other.max()) + 1) + other, return_inverse=True)[1]
    return found


def ceiling(name: str, key: np.ndarray, labels: np.ndarray) -> Ceiling:
    """The most that a function of this key gets right, label by label.

    >>> ceiling("parity", np.array([0, 1, 0, 1]), np.array([5, 6, 7, 6])).right
    3
    """
    kinds = int(labels.max()) + 1
    pairs, counts = np.unique(key * kinds + labels, return_counts=True)
    best = np.zeros(int(key.max()) + 1, dtype=np.int64)
    np.maximum.at(best, pairs // kinds, counts)
    return Ceiling(name, int(best.sum()), len(labels), int((best > 0).sum()))
