"""hs.recall.mean_pooling: where averaging is enough, and where it is not."""

from itertools import combinations

import numpy as np

import headsmith as hs
from headsmith.doors.recall.pooling import mean_pooling
from headsmith.proof.boltzmann import boltz_gap


def test_sets_with_one_sum_need_softmax():
    pair = [[1, 2, 5, 6], [1, 3, 4, 6]]
    found = hs.recall.mean_pooling(pair)
    assert found.softmax_matters and found.collisions == ((0, 1),)
    assert abs(boltz_gap(*pair)) > 0.03


def test_a_memory_tells_apart_what_averaging_does_not():
    """All sets of four out of eight numbers with one sum: eight of them, 32 ids."""
    sets = [chosen for chosen in combinations(range(1, 9), 4) if sum(chosen) == 18]
    assert mean_pooling(sets).means == 1 and len(sets) == 8
    tokens = np.array(sets, dtype=float)[..., None]
    labels = np.arange(32).reshape(8, 4)
    net = hs.compile(hs.target.Recall(tokens, labels))
    assert net.certificate.exact and (net(tokens).numpy() == labels).all()


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
