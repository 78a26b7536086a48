"""Memories: ids and vectors, one label or several, positions, a causal mask, repeated tokens, both dtypes."""

import numpy as np

import headsmith as hs

IDS, LABELS = [[3, 1, 4], [1, 5], [9, 2, 6, 5], [3, 3, 1]], [[0, 1, 2], [7, 8], [-1, 2, 2, 0], [4, 4, 9]]
TABLE = np.random.default_rng(0).normal(size=(10, 3))
VECTORS = TABLE.astype(np.float32)[[[0, 1, 2], [3, 0, 4], [1, 2, 3]]]
PAIRS = np.random.default_rng(1).integers(1, 10, (3, 3, 2))


def recall(sequences=IDS, labels=LABELS, dtype="float64", **options):
    return hs.compile(hs.target.Recall(sequences, labels, **options), dtype=dtype)


EXAMPLES = {
    "ids": lambda: recall(),
    "positions": lambda: recall([[1, 2, 1], [2, 1, 1]], [[1, 2, 3], [4, 5, 6]], positions=True),
    "causal": lambda: recall([[1, 2, 3], [1, 3, 2], [2, 2]], [[1, 2, 3], [1, 5, 6], [7, 7]], mask="causal"),
    "vectors, two labels": lambda: recall(VECTORS, PAIRS),
    "embeddings of the user": lambda: recall(embedding=TABLE),
    "all at once, float32": lambda: recall(VECTORS, PAIRS, "float32", positions=True, mask="causal"),
    "one label": lambda: recall([[1, 2], [3]], [[5, 5], [5]]),
}
