"""The head of a given size."""

import numpy as np
import pytest

from headsmith.search.descent import Work, descend
from headsmith.search.fit import constant, finish, grown, shrunk, trial
from headsmith.search.keys import from_anchors
from headsmith.search.question import Question
from headsmith.search.table import Unreached


def sine(x):
    return np.sin(3 * x)


def test_growing_and_shrinking_change_the_number_by_one():
    question, work = Question(sine, -2, 2, 1e-6), Work(np.inf)
    found = descend(question, from_anchors(np.linspace(-2.5, 2.5, 9), 0.4), work)
    assert grown(question, found).number == 10
    assert [keys.number for keys in shrunk(question, found.keys, work, 3)] == [8, 8, 8]


def test_one_key_is_the_middle_of_the_range():
    assert constant(Question(sine, 1.0, 1.0, 1e-9)).error < 1e-15
    assert abs(constant(Question(sine, -2, 2, 1e-6)).error - 1) < 1e-6


def test_a_trial_stops_at_the_first_table_that_is_accepted():
    question, work = Question(sine, -2, 2, 1e-5), Work(np.inf)
    starts = iter([from_anchors(np.linspace(-2.5, 2.5, 9), 0.4), None])
    found = trial(question, starts, work)
    assert len(found.accepted) == 9 and found.accepted.error <= 0.97e-5 and next(starts) is None


def test_values_suit_the_rounded_keys():
    """In float32 they are solved again: the keys alone, rounded, would cost a hundred times more."""
    question, work = Question(sine, -2, 2, 1e-4, dtype="float32"), Work(np.inf)
    found = descend(question, from_anchors(np.linspace(-2.5, 2.5, 9), 0.4), work)
    table = finish(question, found, work)
    assert np.array_equal(table.slopes, table.slopes.astype(np.float32)) and table.error < 1e-4


def test_not_a_number_is_refused():
    with pytest.raises(Unreached, match="not finite"):
        Question(np.log, -1, 1, 1e-3)
