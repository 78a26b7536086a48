"""Each erratum about attention is confirmed, and is not where nothing is wrong."""

import pytest

from headsmith.papers.errata import Erratum
from headsmith.papers.low_rank_memorization import errata_attention

ERRATA = [entry for entry in vars(errata_attention).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_seven():
    assert [entry.item for entry in ERRATA] == [
        "Thm 1, its pair",
        "Thm 1, its reading",
        "Thm 2, its scale",
        "Eq 8, n = 1",
        "Eq 47",
        "App C, masks",
        "Cor 2, positions",
    ]


def test_the_repaired_pair_is_no_failure_and_the_printed_one_no_repair(monkeypatch):
    monkeypatch.setattr(errata_attention, "PRINTED_PAIR", errata_attention.EQUAL_SUMS)
    assert not errata_attention.hardmax_pair.run().printed_fails
    monkeypatch.setattr(errata_attention, "EQUAL_SUMS", ([1.0, 2, 4], [1.0, 3, 4]))
    assert not errata_attention.hardmax_pair.run().repaired_works
    assert not errata_attention.hardmax_reading.run().repaired_works


def test_tokens_of_size_1_do_not_show_what_is_wrong_with_eq_47(monkeypatch):
    monkeypatch.setattr(errata_attention, "SHRUNK", 1)
    finding = errata_attention.unscaled_gap.run()
    assert not finding.printed_fails and finding.repaired_works


def test_large_scores_leave_no_gap_to_floats():
    assert (
        min(b - a for a, b in zip(*[errata_attention.float_ids(2000.0, 0.2)[k:] for k in (0, 1)], strict=False)) < 1e-9
    )


def test_short_directions_do_not_keep_places_apart():
    import numpy as np

    near, _ = errata_attention.placed(2, 3, np.outer(np.ones(2) / np.sqrt(2), 2 * np.arange(1, 4)))
    assert near < 0.1
