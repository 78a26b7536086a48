import pytest

from headsmith.papers.errata import Errata, errata_tables
from headsmith.refusal import Refusal


@pytest.fixture
def collection():
    errata = Errata()
    text = {"printed": "-2 beta", "repair": "+2 beta", "where": "constructions/gate.py"}

    @errata.erratum("softmax-universality", "E1", **text)
    def sign():
        return 0.9, 1e-9, True, True

    @errata.erratum("deep-optimizers", "E1", **text)
    def refuted():
        return 0.0, 0.0, False, True

    @errata.erratum("deep-optimizers", "E2", **text)
    def broken():
        return 1 / 0

    return errata


def test_only_a_failure_beside_a_repair_that_works_confirms(collection):
    assert [finding.confirmed for finding in collection.run()] == [True, False, False]


def test_one_paper_can_be_chosen(collection):
    findings = collection.run("deep-optimizers")
    assert [finding.erratum.item for finding in findings] == ["E1", "E2"]


def test_the_table_shows_both_measurements_and_a_crash(collection):
    tables = errata_tables(collection.run())
    assert [table.title for table in tables] == [f"Errata of {p}" for p in ("softmax-universality", "deep-optimizers")]
    text = "\n".join(table.markdown() for table in tables)
    assert "| E1 | printed | -2 beta | 0.9 | confirmed |" in tables[0].markdown()
    assert "| constructions/gate.py | repaired | +2 beta | 1e-9 |  |" in text
    assert "ZeroDivisionError: division by zero" in text
    assert text.count("not confirmed") == 2


def test_unknown_papers_and_empty_collections_are_refused(collection):
    with pytest.raises(Refusal, match="no paper 'deep'; the papers are softmax-universality"):
        collection.run("deep")
    with pytest.raises(Refusal, match="no erratum is registered for icl-linear-regression"):
        collection.run("icl-linear-regression")


def test_an_item_is_registered_once(collection):
    with pytest.raises(ValueError, match="twice"):
        collection.erratum("deep-optimizers", "E2", printed="", repair="", where="")
