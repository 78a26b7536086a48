"""Keys in crossings and steps."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith.search.keys import Keys, attention, from_anchors, lines, merge, running, split


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10**6))
def test_attention_is_the_softmax_of_its_lines_for_every_reference(count, seed):
    rng = np.random.default_rng(seed)
    keys = Keys(rng.uniform(-1, 1, count - 1), rng.uniform(0.1, 9, count - 1))
    z = np.linspace(-1, 1, 17)
    for reference in range(count):
        slopes, offsets = lines(keys, reference)
        assert slopes[reference] == offsets[reference] == 0
        weights = np.exp(slopes[:, None] * z + offsets[:, None])
        assert np.allclose(attention(keys, z, reference), weights / weights.sum(0), rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10**6))
def test_merge_undoes_split(count, seed):
    rng = np.random.default_rng(seed)
    keys = Keys(rng.uniform(-1, 1, count - 1), rng.uniform(0.5, 9, count - 1))
    j = int(rng.integers(count))
    more = split(keys, j, float(rng.uniform(-1, 1)), 0.5)
    assert more.number == count + 1 and (more.step > 0).all()
    back = merge(more, j)
    assert np.allclose(back.cross, keys.cross) and np.allclose(back.step, keys.step)


def test_anchors_hand_over_half_way():
    keys = from_anchors(np.array([0.0, 1.0, 3.0]), 0.5)
    assert keys.cross.tolist() == [0.5, 2.0] and keys.step.tolist() == [1.0, 0.5] and keys.number == 3


def test_running_sums_start_at_the_reference():
    terms = np.array([1.0, 2.0, 4.0])
    assert running(terms, 0).tolist() == [0, 1, 3, 7]
    assert running(terms, 2).tolist() == [-3, -2, 0, 4]
    assert running(terms, 3).tolist() == [-7, -6, -4, 0]
