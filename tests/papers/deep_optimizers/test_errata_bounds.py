"""Each erratum about a bound is confirmed, and is not where nothing is wrong."""

from dataclasses import replace

import pytest

from headsmith.papers.deep_optimizers import errata_bounds
from headsmith.papers.deep_optimizers.bounds import SIGMOID, printed, two_norm
from headsmith.papers.errata import Erratum

ERRATA = [entry for entry in vars(errata_bounds).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_three():
    assert [entry.item.split()[0] for entry in ERRATA] == ["E5", "E6", "E11"]


def test_one_row_bounds_one_column(monkeypatch):
    monkeypatch.setattr(errata_bounds.math, "sqrt", lambda K: float(K))
    assert not errata_bounds.columns.run().printed_fails


def test_narrow_layers_stay_within_the_printed_sum(monkeypatch):
    narrow = replace(errata_bounds.WIDE, width=4, outputs=4)
    found, e = errata_bounds.kronecker(narrow)
    assert found <= printed(narrow, SIGMOID, e)
    monkeypatch.setattr(errata_bounds, "WIDE", narrow)
    assert not errata_bounds.products.run().printed_fails


def test_the_norms_are_near():
    found, e = errata_bounds.kronecker(errata_bounds.WIDE)
    assert 0.99 * two_norm(errata_bounds.WIDE, SIGMOID, e) <= found


def test_a_smaller_repair_is_none(monkeypatch):
    bound = errata_bounds.two_norm
    monkeypatch.setattr(errata_bounds, "two_norm", lambda *given: bound(*given) / 1.1)
    assert not errata_bounds.products.run().repaired_works
