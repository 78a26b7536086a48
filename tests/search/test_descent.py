"""Values solved, keys moved, work counted."""

import numpy as np
import pytest

from headsmith.search.descent import Work, descend, fitted, misfit
from headsmith.search.keys import from_anchors
from headsmith.search.question import Question


def sine(x):
    return np.sin(3 * x)


def test_the_values_solve_the_linear_problem():
    question = Question(sine, -2, 2, 1e-6)
    keys = from_anchors(np.linspace(-2.5, 2.5, 9), 0.4)
    found = fitted(question, keys, Work(np.inf))
    best = np.linalg.lstsq(found.weights.T, found.y, rcond=None)[0]
    assert np.allclose(found.residual, found.y - best @ found.weights, atol=1e-7)
    assert misfit(question, keys, Work(np.inf)) == pytest.approx((found.cost / len(found.z)) ** 0.5, rel=1e-6)


def test_descent_gains_orders_of_magnitude_and_counts_its_work():
    question = Question(sine, -2, 2, 1e-6)
    keys = from_anchors(np.linspace(-2.5, 2.5, 9), 0.4)
    work = Work(np.inf)
    assert descend(question, keys, work).worst < 1e-6 < 1e-3 * fitted(question, keys, work).worst
    assert 1e3 < work.spent < 1e5
    broke = Work(0.0)
    descend(question, keys, broke)
    assert broke.spent < work.spent / 20
