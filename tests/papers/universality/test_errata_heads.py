import pytest

from headsmith.papers.errata import Erratum
from headsmith.papers.universality import errata_heads

ERRATA = [entry for entry in vars(errata_heads).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.item)
def test_the_printed_version_fails_and_the_repair_works(entry):
    found = entry.run()
    assert found.confirmed, found
    assert found.printed_measurement != found.repaired_measurement


def test_there_are_three():
    assert len(ERRATA) == 3
