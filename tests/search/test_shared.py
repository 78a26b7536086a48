"""Keys for all slices at once."""

import numpy as np

from headsmith.search.descent import Work, descend
from headsmith.search.keys import from_anchors
from headsmith.search.question import Slices
from headsmith.search.shared import ladder


def test_descent_lowers_the_residual_of_all_functions_together():
    z = np.cos(np.pi * (np.arange(40) + 0.5) / 40)
    y = np.stack([np.sin(3 * z), np.exp(z), z])
    start = from_anchors(np.linspace(-1.2, 1.2, 6), 0.5)
    question = Slices(z, y, 1e-8, 100.0)
    before, after = (descend(question, start, Work(np.inf), steps, patient=True) for steps in (0, 80))
    assert after.worst < 0.1 * before.worst
    assert np.allclose(after.residual, y - after.values @ after.weights)


def test_the_ladder_stops_at_its_goal():
    z = np.cos(np.pi * (np.arange(40) + 0.5) / 40)
    found = ladder(z, np.sin(2 * z)[None], 1e-4, 100.0, 20)
    last = max(found)
    assert found[last].worst < 1e-4 and found[last].keys.number == last <= 6


def test_the_rungs_are_filled_where_the_work_is_spent():
    z = np.cos(np.pi * (np.arange(40) + 0.5) / 40)
    y = np.stack([np.sin(3 * z), np.exp(z)])
    moved, still = ladder(z, y, 1e-5, 100.0, 12), ladder(z, y, 1e-5, 100.0, 12, budget=0.0)
    assert list(still) == list(range(1, max(still) + 1)) and max(moved) < max(still)
    assert all(moved[p].worst <= still[p].worst for p in moved)


def test_one_function_is_a_row_of_many():
    """The descent of one row moves as that of the function does."""
    z = np.cos(np.pi * (np.arange(30) + 0.5) / 30)
    start = from_anchors(np.linspace(-1.2, 1.2, 4), 0.5)
    asked = [Slices(z, y, 1e-4, 100.0) for y in (np.sin(2 * z), np.sin(2 * z)[None])]
    alone, rows = (descend(question, start, Work(np.inf), 5) for question in asked)
    assert np.allclose(alone.keys.cross, rows.keys.cross) and np.allclose(alone.values, rows.values[0], rtol=1e-4)
