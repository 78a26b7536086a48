"""Where the descent begins."""

import numpy as np

from headsmith.search.descent import Work, fitted, misfit
from headsmith.search.fit import finish
from headsmith.search.question import Question
from headsmith.search.starts import Segments, anchors, grids, plain


def sine(x):
    return np.sin(3 * x)


def relu(x):
    return np.maximum(x, 0)


def test_a_relu_needs_no_descent():
    question = Question(relu, -1, 1, 1e-8, kinks=(0.0,))
    keys = Segments(question).keys(3, 0.5)
    assert keys is not None
    table = finish(question, fitted(question, keys, Work(np.inf)), Work(np.inf))
    assert table.error < 1e-8 and table.noise < 1e-10
    assert np.abs(table.slopes).max() > 1e7


def test_kinks_that_do_not_bend_are_dropped():
    assert Segments(Question(sine, -2, 2, 1e-6, kinks=(0.0, 0.5))).gates == []


def test_anchors_reach_past_both_ends_and_crowd_where_the_pieces_do():
    smooth, singular = Question(sine, -2, 2, 1e-6), Question(np.sqrt, 0, 1, 1e-6)
    even = anchors(smooth, 9, 2, even=True)
    assert len(even) == 9 and np.allclose(np.diff(even), 1.0) and even[2] == -2 and even[-3] == 2
    crowded = np.diff(anchors(singular, 9, 0, even=False))
    assert crowded[0] < 1e-3 * crowded[-1]


def test_the_best_grids_come_first_and_no_two_are_alike():
    question, work = Question(sine, -2, 2, 1e-6), Work(np.inf)
    found = grids(question, 9, work, 4)
    misfits = [misfit(question, keys, work) for keys in found]
    assert len(found) == 4 and misfits == sorted(misfits) and len({keys.step[0] for keys in found}) == 4


def test_plain_keys_are_bernsteins_then_random_ones():
    bernstein, *drawn = plain(Question(sine, -2, 2, 1e-6), 5, 2)
    assert np.ptp(bernstein.step) == 0 and len(drawn) == 2
    assert all((keys.step > 0).all() and (np.diff(keys.cross) >= 0).all() for keys in drawn)
