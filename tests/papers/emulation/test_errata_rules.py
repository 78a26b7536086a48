"""Every erratum about rules and gradient descent is confirmed: the printed version fails, the repair works."""

import pytest

from headsmith.papers.emulation import errata_rules
from headsmith.papers.errata import Erratum

ERRATA = [entry for entry in vars(errata_rules).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.item)
def test_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_seven():
    assert len(ERRATA) == 7
