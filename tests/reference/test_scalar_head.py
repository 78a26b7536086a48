import numpy as np
import pytest

from headsmith.reference.scalar_head import attend, gaussian


def test_attend_is_a_softmax_and_the_nearest_anchor_wins():
    anchors = np.linspace(-1, 1, 9)
    weights = attend(np.array([0.26]), *gaussian(anchors, 1e4))
    assert weights.sum() == pytest.approx(1) and weights.argmax() == 5
    moved = attend(np.array([0.26 - 0.5]), *gaussian(anchors, 1e4, centre=0.5))
    assert np.allclose(moved, weights)


def test_scores_are_the_squared_distance_up_to_what_all_keys_share():
    anchors, z, beta = np.array([-1.0, 0.5, 2.0]), 0.7, 3.0
    slopes, offsets = gaussian(anchors, beta)
    scores = slopes * z + offsets
    assert np.allclose(np.diff(scores), np.diff(-beta / 2 * (z - anchors) ** 2))
