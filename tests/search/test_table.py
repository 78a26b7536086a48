"""What rounding does to a stored head."""

import numpy as np

from headsmith.search.descent import Work, fitted
from headsmith.search.keys import lines
from headsmith.search.question import Question
from headsmith.search.starts import Segments
from headsmith.search.table import KeyTable, best_reference, evaluate, noise


def relu(x):
    return np.maximum(x, 0)


def test_the_reference_key_decides_the_noise():
    question = Question(relu, -1, 1, 1e-6, kinks=(0.0,))
    keys = Segments(question).keys(3, 0.5)
    assert keys is not None
    found = fitted(question, keys, Work(np.inf))
    per_key = [noise(*lines(keys, r), found.values, found.weights, found.z, 2.0**-53) for r in range(keys.number)]
    assert per_key[best_reference(keys, found.values, found.z)] == min(per_key) < 1e-3 * max(per_key)


def test_a_table_is_evaluated_and_counts_twice_its_noise():
    table = KeyTable(np.array([0.0, 2.0]), np.zeros(2), np.array([0.0, 1.0]), error=1e-3, noise=1e-5)
    z = np.array([-1.0, 0.0, 1.0])
    assert np.allclose(table(z), 1 / (1 + np.exp(-2 * z)))
    assert len(table) == 2 and table.total == 1e-3 + 2e-5


def test_huge_scores_do_not_overflow():
    assert evaluate(np.array([0.0, 1e300]), np.zeros(2), np.array([3.0, 5.0]), np.array([-1.0, 1.0])).tolist() == [3, 5]
