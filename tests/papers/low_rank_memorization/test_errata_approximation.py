"""Each erratum about the approximator is confirmed, and is not where nothing is wrong."""

import pytest

from headsmith.papers.errata import Erratum
from headsmith.papers.low_rank_memorization import errata_approximation

ERRATA = [entry for entry in vars(errata_approximation).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_seven():
    assert [entry.item for entry in ERRATA] == [
        "Eq 58",
        "Eq 59",
        "Eq 60",
        "Eq 64, Eq 65",
        "Eq 67, the hat",
        "Eq 67, the bump",
        "Prop 1, its last step",
    ]


def test_the_measured_penalty_is_that_of_the_dossier():
    assert errata_approximation.penalty.run().printed_measurement == "-599 below, +1 above"


def test_a_hat_of_weight_two_is_no_failure(monkeypatch):
    right = errata_approximation.hat
    monkeypatch.setattr(errata_approximation, "hat", lambda z, middle, weight: right(z, middle, 2.0))
    assert not errata_approximation.unbounded_hat.run().printed_fails


def test_steps_that_are_missing_are_no_repair(monkeypatch):
    monkeypatch.setattr(errata_approximation, "range", lambda *ends: range(1, 9), raising=False)
    assert not errata_approximation.quantiser.run().repaired_works


def test_steps_without_an_end_are_no_repair(monkeypatch):
    monkeypatch.setattr(errata_approximation, "step", lambda z: errata_approximation.relu(100 * z))
    assert not errata_approximation.penalty.run().repaired_works
