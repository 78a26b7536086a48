"""Each erratum about the lookup is confirmed, and is not where nothing is wrong."""

import numpy as np
import pytest
import torch

from headsmith.papers.errata import Erratum
from headsmith.papers.low_rank_memorization import errata_lookup

ERRATA = [entry for entry in vars(errata_lookup).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_three():
    assert [entry.item for entry in ERRATA] == ["Cor 1, knots", "Cor 1, the skip connection", "Cor 1, its count"]


def test_knots_at_the_ids_amplify_less():
    """The dossier's 7.3: for 1000 ids half-way knots lose hundreds of times as much as knots at the data."""
    ids, labels = errata_lookup.random_ids(200)
    halfway = np.concatenate([ids[:1] - 1e-3, (ids[1:] + ids[:-1]) / 2])
    errors = [
        errata_lookup.interpolant(ids, labels, knots, "float32")
        for knots in (halfway, np.concatenate([ids[:1] - 1e-3, ids[:-1]]))
    ]
    assert errors[0] > 10 * errors[1]


def test_an_interpolant_goes_through_its_points():
    ids, labels = np.array([0.0, 0.5, 1.0]), np.array([3.0, 1.0, 7.0])
    assert errata_lookup.interpolant(ids, labels, np.array([-0.5, 0.25, 0.75]), "float64") < 1e-12


def test_ramps_are_exact():
    assert errata_lookup.ramps(*errata_lookup.random_ids(300), torch.float32) < 1e-6
