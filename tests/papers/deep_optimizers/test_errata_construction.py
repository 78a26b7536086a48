"""Each erratum about the construction is confirmed, and is not where nothing is wrong."""

import math

import pytest

from headsmith.papers.deep_optimizers import errata_construction
from headsmith.papers.errata import Erratum

ERRATA = [entry for entry in vars(errata_construction).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_six():
    assert [entry.item.split()[0] for entry in ERRATA] == ["E1", "E2", "E7", "E8", "E13", "E14"]


def test_a_printed_form_that_works_is_no_erratum(monkeypatch):
    step = errata_construction._linear_step
    monkeypatch.setattr(errata_construction, "_linear_step", lambda transposed: step(False))
    assert not errata_construction.transposed.run().printed_fails


def test_a_repair_that_does_not_work_is_none(monkeypatch):
    drift = errata_construction.descended
    monkeypatch.setattr(errata_construction, "descended", lambda *a: tuple(1e-6 + part for part in drift(*a)))
    for entry in (errata_construction.slope_of_relu, errata_construction.table_of_everything):
        assert not entry.run().repaired_works


def test_the_size_of_theorem_6_is_that_of_its_formulas():
    levels, points, vocabulary, exponent = errata_construction.theorem_6(4, 2, 1.0, 0.5, lipschitz=2.0)
    assert levels == math.ceil(2 * (8 * math.sqrt(8) + math.sqrt(2)) / 1.0)
    assert 10**vocabulary == pytest.approx(levels**4) and points == 2 * vocabulary and exponent == 4 * vocabulary
    assert errata_construction.theorem_6(4, 2, 1.0, 0.25)[0] > 1.9 * errata_construction.theorem_6(4, 2, 1.0, 0.5)[0]
