"""hs.recall.mean_pooling: where averaging is enough, and where it is not."""

import numpy as np

import headsmith as hs
from headsmith.doors.recall.pooling import mean_pooling
from headsmith.proof.boltzmann import boltz_gap


def test_sets_with_one_sum_need_softmax():
    pair = [[1, 2, 5, 6], [1, 3, 4, 6]]
    found = hs.recall.mean_pooling(pair)
    assert found.softmax_matters and found.collisions == ((0, 1),)
    assert abs(boltz_gap(*pair)) > 0.03


def test_random_tokens_do_not():
    """Zero scores are a contextual mapping of generic data: averaging already does most of it."""
    draw = np.random.default_rng(0)
    table = draw.normal(size=(10, 3))
    found = mean_pooling([table[draw.choice(10, 4, replace=False)] for _ in range(50)])
    assert not found.softmax_matters and found.means == found.contexts


def test_one_hot_tokens_do_not():
    table = np.eye(6)
    assert not mean_pooling([table[[0, 1]], table[[0, 2]], table[[0, 1, 1]], table[[1, 0, 0, 1]]]).softmax_matters


def test_proportional_multisets_are_one_context():
    found = mean_pooling([[1, 2], [2, 1, 1, 2], [0, 3]])
    assert found.contexts == 2 and found.collisions == ((0, 2),)


def test_means_are_exact():
    assert not mean_pooling([[0.1, 0.2], [0.3, 0.0]]).softmax_matters
