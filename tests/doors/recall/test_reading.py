"""Labelled sequences as users have them."""

import numpy as np
import pytest
import torch

from headsmith.doors.recall.reading import numbered
from headsmith.refusal import Refusal


def test_words_numbers_and_vectors_are_numbered_in_order():
    data = numbered([["b", "a"], ["a", "b", "b"]], [["X", "Y"], ["Y", "X", "Z"]])
    assert data.tokens.tolist() == [0, 1, 1, 0, 0] and data.words == ["b", "a"]
    assert data.labels.tolist() == [0, 1, 1, 0, 2] and data.classes == ["X", "Y", "Z"]
    assert data.lengths.tolist() == [2, 3]
    assert data.places.tolist() == [0, 1, 0, 1, 2] and data.sequence_of.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("as_", [np.array, torch.tensor, list])
def test_vectors_are_tokens(as_):
    data = numbered([as_([[0.5, 1.0], [0.5, 1.0]]), as_([[0.5, 2.0]])], [as_([1, 2]), as_([1])])
    assert data.tokens.tolist() == [0, 0, 1] and data.words == [(0.5, 1.0), (0.5, 2.0)]
    assert data.labels.tolist() == [0, 1, 0] and data.classes == [1, 2]


@pytest.mark.parametrize(
    ("sequences", "labels", "says"),
    [
        ([], [], "at least one sequence"),
        (["ab"], [[1, 2], [3]], "1 sequences and 2 rows of labels"),
        (["ab"], [[1]], "sequence 0 has 2 tokens and 1 labels"),
        (["ab", ""], [[1, 2], []], "sequence 1 is empty"),
        ([3], [[1]], "sequence 0 must be a row"),
        ([[{}]], [[1]], "sequence 0 must be a row"),
        (["a"], [[float("nan")]], "labels 0 holds NaN"),
        ([np.array([[0.0, np.nan]])], [[1]], "sequence 0 holds NaN"),
    ],
)
def test_what_is_no_labelled_data_is_refused(sequences, labels, says):
    with pytest.raises(Refusal, match=says):
        numbered(sequences, labels)
