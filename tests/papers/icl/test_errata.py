import pytest

from headsmith.papers.errata import Erratum
from headsmith.papers.icl import errata
from headsmith.papers.icl.frame import PAPER

ERRATA = [entry for entry in vars(errata).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_sixteen():
    assert len(ERRATA) == 16 and {entry.paper for entry in ERRATA} == {PAPER}
