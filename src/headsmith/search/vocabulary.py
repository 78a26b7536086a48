"""A table of embeddings that we own: words whose labels are alike lie side by side, and every word has a random key.

    x_w = (rank of w, key of w, 0, ...),   E_k = (0, key of the place k, 0, ...)

With a the first coordinate and v the second, the ids a . x + c z are ordered word by word, so labels change seldom
along them, and c z tells the contexts of one word apart.
"""

from __future__ import annotations

import numpy as np

from headsmith.proof.statement import Floats

FEATURES = 2  # that are used: rank and key


def owned_table(tokens: np.ndarray, codes: np.ndarray, features: int, generator: np.random.Generator) -> Floats:
    """(largest token + 1, features): words in the order of their most frequent label, on a grid of powers of two.

    >>> owned_table(np.array([0, 1, 2]), np.array([7, 3, 7]), 2, np.random.default_rng(0))[:, 0].tolist()
    [-0.25, -0.5, 0.0]
    """
    words, place = np.unique(tokens, return_inverse=True)
    table = np.zeros((int(words[-1]) + 1, features))
    step = 2.0 ** -np.ceil(np.log2(max(2, len(words))))
    order = np.lexsort((words, _most_frequent(place, codes)))
    table[words[order], 0] = np.arange(len(words)) * step - 0.5
    table[words, 1] = generator.uniform(-1, 1, len(words))
    return table


def _most_frequent(place: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The most frequent code of each word."""
    pairs, counts = np.unique(np.stack([place, codes]), axis=1, return_counts=True)
    found = np.empty(int(place.max()) + 1, dtype=np.int64)
    rising = np.argsort(counts, kind="stable")
    found[pairs[0, rising]] = pairs[1, rising]  # the last of a word stays: its most frequent
    return found


def random_places(count: int, size: float, silent: np.ndarray, generator: np.random.Generator) -> Floats:
    """(count, features): a random vector of this size for each place, 0 along the direction that is read.

    The ids of one word then lie side by side wherever it stands, and differ by what is attended to. Where there is only
    one feature it has to say both.

    >>> random_places(2, 1.0, np.array([1.0, 0.0]), np.random.default_rng(0))[:, 0].tolist()
    [0.0, 0.0]
    """
    drawn = generator.normal(size=(count, len(silent)))
    if len(silent) > 1:
        drawn -= np.outer(drawn @ silent, silent) / (silent @ silent)
    return size * drawn / np.sqrt(len(silent))
