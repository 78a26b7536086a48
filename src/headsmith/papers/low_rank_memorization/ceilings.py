"""How many tags can be right for who sees only so much: the share of words with the most frequent tag of their key.

Two words with the same key look alike, so whoever sees the key alone is right of one of their tags at most. What sees
the word and its position is any network without attention; what sees the multiset of words beside them, one that
averages. A training accuracy says that context was used only where it passes the ceiling of what has none.

`hs.recall.ceilings` has the same numbers, of all words, with what else can be said of them; here are those of some
words too, and nothing more than Python, since the machine that trains may have nothing more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from headsmith.doors.labelled import Labelled

__all__ = ["KEYS", "PLACED", "WORD", "ambiguous", "ceiling", "ceilings"]

Sentence = Sequence[str]
Keys = Callable[[Sentence], Iterable[Hashable]]

WORD, PLACED = "word", "word, position"


def _multiset(words: Sentence) -> tuple[str, ...]:
    return tuple(sorted(words))


KEYS: dict[str, Keys] = {
    "nothing": lambda words: [()] * len(words),
    WORD: lambda words: words,
    PLACED: lambda words: zip(words, range(len(words)), strict=True),
    "word, length": lambda words: [(word, len(words)) for word in words],
    "word, position, length": lambda words: [(*key, len(words)) for key in enumerate(words)],
    "multiset, word": lambda words: [(word, seen) for seen in [_multiset(words)] for word in words],
    "multiset, word, position": lambda words: [(*key, seen) for seen in [_multiset(words)] for key in enumerate(words)],
    "sequence, position": lambda words: [(k, tuple(words)) for k in range(len(words))],
}
"""What is seen of a word -> the keys of the words of a sentence."""


def ceiling(data: Labelled, keys: Keys, among: Sequence[Sequence[bool]] | None = None) -> float:
    """The largest share of right tags, all words counted or those `among`.

    >>> from headsmith.doors.labelled import Labelled
    >>> ceiling(Labelled([["may", "may"]], [["NAME", "VERB"]]), KEYS["word"])
    0.5
    """
    seen: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for i, (words, tags) in enumerate(zip(data.sequences, data.labels, strict=True)):
        for k, (key, tag) in enumerate(zip(keys(words), tags, strict=True)):
            if among is None or among[i][k]:
                seen[key][tag] += 1
    right, count = sum(max(tags.values()) for tags in seen.values()), sum(tags.total() for tags in seen.values())
    return right / count if count else 1.0


def ceilings(data: Labelled, among: Sequence[Sequence[bool]] | None = None) -> dict[str, float]:
    """The ceiling of everything that can be seen."""
    return {name: ceiling(data, keys, among) for name, keys in KEYS.items()}


def ambiguous(data: Labelled) -> list[list[bool]]:
    """The words whose tag their word and position do not decide: context is needed."""
    tags: dict[Hashable, set[str]] = defaultdict(set)
    for words, said in zip(data.sequences, data.labels, strict=True):
        for key, tag in zip(KEYS[PLACED](words), said, strict=True):
            tags[key].add(tag)
    return [[len(tags[key]) > 1 for key in KEYS[PLACED](words)] for words in data.sequences]
