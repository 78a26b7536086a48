"""A function cut into pieces, and measured between them."""

import numpy as np
import pytest

from headsmith.search.descent import Work, fitted
from headsmith.search.fit import finish
from headsmith.search.keys import Keys
from headsmith.search.question import Question
from headsmith.search.table import KeyTable, Unreached


def sine(x):
    return np.sin(3 * x)


def test_pieces_grade_themselves_towards_a_singular_end():
    widths = np.diff(Question(np.sqrt, 0, 1, 1e-6).edges)
    assert widths[0] < 1e-9 and widths[-1] > 0.1
    assert len(Question(sine, -2, 2, 1e-6).edges) < 8


def test_measured_error_sees_between_the_fit_points():
    question = Question(sine, -2, 2, 1e-6)
    found = fitted(question, Keys(np.array([0.3]), np.array([1e9])), Work(np.inf))
    table = finish(question, found, Work(np.inf))
    z = np.linspace(-2, 2, 100001)
    assert table.error >= np.abs(table(z) - sine(z)).max() * (1 - 1e-6)


def test_a_jump_and_a_pole_are_named_with_their_place():
    with pytest.raises(Unreached, match=r"it jumps by 1 near 0\.25"):
        Question(lambda x: np.where(x < 0.25, 0.0, 1.0), -1, 1, 1e-3)
    with pytest.raises(Unreached, match="not finite"):
        Question(lambda x: 1 / x, -1, 1, 1e-3)


def test_what_is_accepted_is_within_the_margin_and_quiet():
    question = Question(sine, -2, 2, 1e-6)

    def table(error, noise, value=1.0):
        return KeyTable(np.zeros(1), np.zeros(1), np.array([value]), error, noise)

    assert question.accepts(table(0.9e-6, 1e-8))
    assert not question.accepts(table(0.99e-6, 1e-9))  # beyond the margin
    assert not question.accepts(table(0.1e-6, 2e-7))  # too loud
    assert not question.accepts(table(0.1e-6, 1e-9, 1e6))  # values too large
