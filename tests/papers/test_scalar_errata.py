import numpy as np
import pytest

from headsmith.papers import scalar_errata
from headsmith.papers.errata import Erratum

ERRATA = [entry for entry in vars(scalar_errata).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.item)
def test_the_printed_version_fails_and_the_repair_works(entry):
    found = entry.run()
    assert found.confirmed, found
    assert found.printed_measurement != found.repaired_measurement


def test_there_are_six():
    assert len(ERRATA) == 6


def test_attend_is_a_softmax_and_the_nearest_anchor_wins():
    anchors = np.linspace(-1, 1, 9)
    weights = scalar_errata.attend(np.array([0.26]), *scalar_errata.gaussian(anchors, 1e4))
    assert weights.sum() == pytest.approx(1) and weights.argmax() == 5
    moved = scalar_errata.attend(np.array([0.26 - 0.5]), *scalar_errata.gaussian(anchors, 1e4, centre=0.5))
    assert np.allclose(moved, weights)
