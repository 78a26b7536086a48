"""What one softmax head can tell apart, whatever its weights (low-rank-memorization, Theorem 2 and Lemma M).

    key(position) = (token, multiset of the tokens it sees, divided by the gcd of its multiplicities)
    with positions: (place, the sequence it sees)

A softmax mean over a multiset does not see the order of its tokens, and not a factor common to all multiplicities: two
positions with one key get one context id from every head. Positions with two keys get two ids from almost every head.
Under a causal mask a position sees the tokens up to its own, otherwise all of its sequence.

Sequences of many lengths are kept flat: `tokens` (all positions) one after another, and the `lengths`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


def context_keys(tokens: np.ndarray, lengths: np.ndarray, positions: bool = False, causal: bool = False) -> np.ndarray:
    """The number of the key of each position, counted from 0 in order of appearance.

    >>> x, y = 0, 1
    >>> context_keys(np.array([x, y, x, y, x, y]), np.array([2, 4])).tolist()      # [x, y] and [x, y, x, y]
    [0, 1, 0, 1, 0, 1]
    >>> context_keys(np.array([x, y, x, y, x, y]), np.array([2, 4]), positions=True).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    if positions and causal:
        return _prefixes(tokens, lengths)
    numbers: dict[tuple[bytes, int], int] = {}
    found = np.empty(len(tokens), dtype=np.int64)
    for start, stop in _spans(lengths):
        own = np.ascontiguousarray(tokens[start:stop])
        seen = _visible_multisets(own) if causal else [own.tobytes() if positions else _multiset(own)] * len(own)
        which = range(len(own)) if positions else own.tolist()
        found[start:stop] = [numbers.setdefault(key, len(numbers)) for key in zip(seen, which, strict=True)]
    return found


def _prefixes(tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Numbers of the different beginnings of sequences: those of a tree, whose branches are tokens."""
    branches: dict[tuple[int, int], int] = {}
    found = []
    for start, stop in _spans(lengths):
        node = -1
        for token in tokens[start:stop].tolist():
            node = branches.setdefault((node, token), len(branches))
            found.append(node)
    return np.array(found, dtype=np.int64)


def _multiset(own: np.ndarray) -> bytes:
    """Tokens in order, and their multiplicities divided by their gcd."""
    words, counts = np.unique(own, return_counts=True)
    return np.concatenate([words, counts // np.gcd.reduce(counts)]).tobytes()


def _visible_multisets(own: np.ndarray) -> list[bytes]:
    """The same of each beginning of one sequence."""
    words, place = np.unique(own, return_inverse=True)
    counts = np.cumsum(place[:, None] == np.arange(len(words)), axis=0)
    counts //= np.gcd.reduce(counts, axis=1, keepdims=True)
    return [np.concatenate([words[row > 0], row[row > 0]]).tobytes() for row in counts]


def _spans(lengths: np.ndarray) -> Iterator[tuple[int, int]]:
    """Where each sequence starts and stops."""
    ends = np.cumsum(lengths).tolist()
    return zip([0, *ends[:-1]], ends, strict=True)


@dataclass(frozen=True)
class Collision:
    """Two positions that no head tells apart although their labels differ, and why it is so.

    reason: "contradiction" (the same sequence and place, labelled in two ways: nothing helps), "order" (the same
    tokens, in another order or at another place: positions help) or "multiplicity" (all tokens repeated as often:
    positions help).
    """

    first: int
    second: int
    reason: str


def collision(
    tokens: np.ndarray, lengths: np.ndarray, labels: np.ndarray, positions: bool = False, causal: bool = False
) -> Collision | None:
    """The first pair of positions with one key and two labels (positions,) or (positions, coordinates).

    >>> collision(np.array([0, 1, 0, 1, 0, 1]), np.array([2, 4]), np.array([5, 6, 5, 6, 7, 6]))
    Collision(first=0, second=4, reason='multiplicity')
    """
    keys = context_keys(tokens, lengths, positions, causal)
    _, first = np.unique(keys, return_index=True)
    differ = (labels != labels[first[keys]]).reshape(len(labels), -1).any(1)
    if not differ.any():
        return None
    second = int(differ.argmax())
    pair = int(first[keys[second]]), second
    seen = [visible(at, tokens, lengths, causal) for at in pair]
    places = [at - span(at, lengths)[0] for at in pair]
    if places[0] == places[1] and np.array_equal(seen[0], seen[1]):
        return Collision(*pair, "contradiction")
    return Collision(*pair, "order" if len(seen[0]) == len(seen[1]) else "multiplicity")


def span(position: int, lengths: np.ndarray) -> tuple[int, int]:
    """Where the sequence of a position starts and stops.

    >>> span(2, np.array([2, 4]))
    (2, 6)
    """
    ends = np.cumsum(lengths)
    sequence = int(np.searchsorted(ends, position, side="right"))
    return int(ends[sequence] - lengths[sequence]), int(ends[sequence])


def visible(position: int, tokens: np.ndarray, lengths: np.ndarray, causal: bool = False) -> np.ndarray:
    """The tokens that a position sees, in order."""
    start, stop = span(position, lengths)
    return tokens[start : position + 1 if causal else stop]


def row_codes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(one row of each kind, the number of the kind of each row), for rows (count, entries), in order of appearance.

    >>> kinds, codes = row_codes(np.array([[1, 2], [0, 5], [1, 2]]))
    >>> kinds.tolist(), codes.tolist()
    ([[1, 2], [0, 5]], [0, 1, 0])
    """
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
    _, first, codes = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return rows[first[order]], np.argsort(order)[codes]
