"""Every erratum about frozen machines is confirmed: the printed version fails, the repair works."""

import pytest

from headsmith.papers.emulation import errata_machines
from headsmith.papers.errata import Erratum

ERRATA = [entry for entry in vars(errata_machines).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.item)
def test_the_printed_version_fails_and_the_repair_works(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_none_is_missing():
    assert len(ERRATA) == 11
