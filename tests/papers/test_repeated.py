"""What the drivers of stacked trainings share."""

import pytest

from headsmith.papers.repeated import means, spreads, steepness


def test_means_and_spreads_are_over_seeds():
    assert means([[1.0, 2.0, 6.0]]) == [3.0] and spreads([[5.0]]) == [0.0]
    assert spreads([[0.0, 2.0]]) == [1.0]


def test_a_power_law_has_its_power():
    assert steepness([10, 20, 50], [10**-0.7, 20**-0.7, 50**-0.7]) == pytest.approx(-0.7)
