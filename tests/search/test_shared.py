"""Keys for all slices at once."""

import numpy as np

from headsmith.search.keys import from_anchors
from headsmith.search.shared import descend, ladder


def test_descent_lowers_the_residual_of_all_functions_together():
    z = np.cos(np.pi * (np.arange(40) + 0.5) / 40)
    y = np.stack([np.sin(3 * z), np.exp(z), z])
    start = from_anchors(np.linspace(-1.2, 1.2, 6), 0.5)
    before = descend(start, z, y, 1e-8, 0.0, iterations=0)
    after = descend(start, z, y, 1e-8, 0.0)
    assert after.worst < 0.1 * before.worst
    assert np.allclose(after.residual, y - after.values @ after.weights)


def test_the_ladder_stops_at_its_goal():
    z = np.cos(np.pi * (np.arange(40) + 0.5) / 40)
    found = ladder(z, np.sin(2 * z)[None], 1e-4, 100.0, 20)
    last = max(found.keys)
    assert found.worst[last] < 1e-4 and found.keys[last].number == last <= 6
