import numpy as np
import pytest

from headsmith.papers.errata import Erratum
from headsmith.papers.universality import errata_sequences

ERRATA = [entry for entry in vars(errata_sequences).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.item)
def test_the_printed_version_fails_and_the_repair_works(entry):
    found = entry.run()
    assert found.confirmed, found


def test_every_construction_of_the_dossier_is_there():
    named = {entry.item.split()[0] for entry in ERRATA}
    assert {"E2", "E3", "E6", "E7", "E8", "E9", "B4", "B5", "B7"} <= named


def test_smoother_is_the_identity_between_its_anchors():
    z = np.linspace(-0.5, 0.5, 11)
    assert np.allclose(errata_sequences.smoother(z, -2.0, 2.0, 33, 1.2), z, atol=1e-6)
