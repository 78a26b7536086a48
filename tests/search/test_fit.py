"""The head of a given size."""

import numpy as np
import pytest

from headsmith.search.descent import Work, descend
from headsmith.search.fit import Unreached, fit, grown, refit_values, shrunk
from headsmith.search.keys import from_anchors
from headsmith.search.question import Question


def sine(x):
    return np.sin(3 * x)


def test_growing_and_shrinking_change_the_number_by_one():
    question, work = Question(sine, -2, 2, 1e-6), Work(np.inf)
    found = descend(question, from_anchors(np.linspace(-2.5, 2.5, 9), 0.4), work)
    assert grown(question, found).number == 10
    assert [keys.number for keys in shrunk(question, found.keys, work, 3)] == [8, 8, 8]


def test_fit_has_exactly_the_keys_asked_for():
    for count in (1, 2, 5, 9):
        table = fit(sine, -2, 2, count, 1e-6, effort=0.3)
        assert len(table) == count
    assert table.error <= 0.97e-6
    assert fit(sine, -2, 2, 5, 1e-6, effort=0.1).error > 1e-6


def test_refitted_values_suit_the_rounded_keys():
    table = fit(sine, -2, 2, 9, 1e-5, cap=20)
    again = refit_values(sine, table.slopes, table.offsets, -2, 2, 1e-5, dtype="float32")
    assert np.array_equal(again.slopes, table.slopes.astype(np.float32))
    assert again.error < 1e-4
    rounded = table.slopes.round(2), table.offsets.round(2)
    careless = np.abs(type(table)(*rounded, table.values, 0, 0)(np.linspace(-2, 2, 99)) - sine(np.linspace(-2, 2, 99)))
    assert refit_values(sine, *rounded, -2, 2, 1e-5, cap=20).error < 0.1 * careless.max()


def test_a_point_is_a_domain():
    assert fit(sine, 1.0, 1.0, 1, 1e-9).error < 1e-15


def test_not_a_number_is_refused():
    with pytest.raises(Unreached, match="not finite"):
        fit(np.log, -1, 1, 3, 1e-3)
