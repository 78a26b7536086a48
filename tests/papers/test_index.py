import pytest

from headsmith.papers.index import citations, index, where
from headsmith.refusal import Refusal

GATE = '''"""A gate (softmax-universality Thm 3.4)."""

class Gate:
    """Corollary 3.1.2, repaired."""

    def open(self):
        """By deep-optimizers Lemma F.1."""
        text = "Thm 9.9 is not a citation here"  # nor is Thm 8.8 here
'''


@pytest.fixture
def package(tmp_path):
    (tmp_path / "heads").mkdir()
    (tmp_path / "heads" / "gate.py").write_text(GATE)
    (tmp_path / "rule.py").write_text('"""Theorem 3.4 of deep-optimizers."""\nimport no_such_module\n')
    return tmp_path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Thm 3.4", ["Thm 3.4"]),
        ("theorem 3.4, Lemmas F.1, F.2 and F.10.", ["Thm 3.4", "Lemma F.1", "Lemma F.2", "Lemma F.10"]),
        ("Eq. (3.2) (Cor 3.1.2)", ["Eq 3.2", "Cor 3.1.2"]),
        ("Appendix D", ["App D"]),
        ("see the table A user asked for; the theorem is 3 pages", []),
    ],
)
def test_citations(text, found):
    assert [statement for _, statement in citations(text)] == found


def test_each_citation_knows_its_paper_file_and_object(package):
    places = {(p.statement, p.paper, p.file, p.object) for p in index(package)}
    assert places == {
        ("Thm 3.4", "softmax-universality", "heads/gate.py", "module"),
        ("Cor 3.1.2", "softmax-universality", "heads/gate.py", "Gate"),
        ("Lemma F.1", "deep-optimizers", "heads/gate.py", "Gate.open"),
        ("Thm 3.4", "deep-optimizers", "rule.py", "module"),
    }


def test_where_finds_all_papers_or_the_one_named(package):
    assert {p.file for p in where("Theorem 3.4", package)} == {"heads/gate.py", "rule.py"}
    assert [p.file for p in where("deep-optimizers Thm 3.4", package)] == ["rule.py"]


def test_an_unknown_statement_names_near_ones(package):
    with pytest.raises(Refusal, match=r"no file cites Thm 3.5; the nearest are Thm 3.4"):
        where("Thm 3.5", package)
    with pytest.raises(Refusal, match="not the name of a statement"):
        where("gates", package)


def test_the_package_itself_can_be_indexed():
    assert all(place.file.endswith(".py") for place in index())
