import numpy as np
import pytest

from headsmith.papers.errata import Erratum
from headsmith.papers.universality import errata_sequences, sequence_bumps

ERRATA = [entry for entry in vars(errata_sequences).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.item)
def test_the_printed_version_fails_and_the_repair_works(entry):
    found = entry.run()
    assert found.confirmed, found
    assert found.seconds < 8


def test_every_construction_of_the_dossier_is_there():
    named = {entry.item.split()[0] for entry in ERRATA}
    assert {"E2", "E3", "E6", "E7", "E8", "E9", "B4", "B5", "B7"} <= named


def test_smoother_is_the_identity_between_its_anchors():
    z = np.linspace(-0.5, 0.5, 11)
    assert np.allclose(errata_sequences.smoother(z, -2.0, 2.0, 33, 1.2), z, atol=1e-6)


def test_the_slope_of_errors_over_cells():
    halving = [{"cells": 4.0, "error": 1.0}, {"cells": 16.0, "error": 0.5}]
    assert sequence_bumps.slope(halving) == pytest.approx(-1.0)


def test_the_experiment_of_the_bumps_holds_on_a_small_run(tmp_path):
    from headsmith.records import Run

    settings = {"g": [3, 6], "eps": [1e-1, 1e-4]}
    outcome = sequence_bumps.sequence_bumps.run(settings, Run(tmp_path, settings))
    verdicts = [claim.verdict(outcome.measurements) for claim in sequence_bumps.sequence_bumps.claims]
    assert verdicts == ["holds"] * 4
    from headsmith.views import grids

    assert len(grids.bumps(outcome.measurements).axes) == 2
