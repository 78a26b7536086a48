"""Every erratum about truncated linear models is confirmed: the printed version fails, the repair works."""

import pytest

from headsmith.papers.errata import Erratum
from headsmith.papers.universality import errata_clip

ERRATA = [entry for entry in vars(errata_clip).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.item)
def test_the_printed_version_fails_and_the_repair_works(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_none_is_missing():
    assert len(ERRATA) == 4


def test_the_fatal_ones_are_there():
    items = " ".join(entry.item for entry in ERRATA)
    assert all(label in items for label in ("E1", "E5", "B2"))
