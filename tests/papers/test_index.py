from functools import cache

import pytest

from headsmith.papers import index as module
from headsmith.papers.index import citations, index, where
from headsmith.papers.printed import PAPERS, RESTATED, names
from headsmith.refusal import Refusal

GATE = '''"""A gate (softmax-universality Thm 3.4)."""

class Gate:
    """Corollary 3.1.2, repaired."""

    def open(self):
        """By deep-optimizers Lemma F.1."""
        text = "Thm 9.9 is not a citation here"  # nor is Thm 8.8 here
'''
USER = '"""Runs a gate. It is the one of softmax-universality, Theorem G.2, as Thm 3.4 is called in the appendix."""\n'


@pytest.fixture
def package(tmp_path):
    """A package with one definition, one user in another room, one experiment, and another paper's theorem."""
    for folder in ("constructions", "targets", "papers/icl"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "constructions" / "gate.py").write_text(GATE)
    (tmp_path / "targets" / "clip.py").write_text(USER)
    (tmp_path / "papers" / "icl" / "lengths.py").write_text('"""Figures 4 and 8."""\n')
    (tmp_path / "papers" / "index.py").write_text('"""Thm 3.4 is an example here."""\n')
    (tmp_path / "rule.py").write_text('"""Theorem 3.4 of Transformers are Deep Optimizers."""\nimport no_such_module\n')
    return tmp_path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Thm 3.4", ["Thm 3.4"]),
        ("thm3.4", ["Thm 3.4"]),
        ("THEOREM 3.4", ["Thm 3.4"]),
        ("theorem 3.4, Lemmas F.1, F.2 and F.10.", ["Thm 3.4", "Lemma F.1", "Lemma F.2", "Lemma F.10"]),
        ("Eq. (3.2) (Cor 3.1.2)", ["Eq 3.2", "Cor 3.1.2"]),
        ("Appendix D", ["App D"]),
        ("figures 4a, 4b and 8", ["Fig 4", "Fig 8"]),
        ("Figure 4b", ["Fig 4"]),
        ("Figures 16 to 19 and Table 2", ["Fig 16", "Fig 17", "Fig 18", "Fig 19", "Table 2"]),
        ("Cor 3.1.2 to 3.1.4, Lemmas D.9 to E.1", ["Cor 3.1.2", "Cor 3.1.3", "Cor 3.1.4", "Lemma D.9", "Lemma E.1"]),
        ("see the table A user asked for; the theorem is 3 pages", []),
        ("a section2 variable and theory", ["Sec 2"]),
    ],
)
def test_citations(text, found):
    assert [statement for _, statement, _ in citations(text)] == found


@pytest.mark.parametrize(
    "text",
    [
        "deep-optimizers, Lemma F.1",
        "Lemma F.1 of Transformers are\n    Deep Optimizers",
        "Lemma F.1 (deep-optimizers; Thm 3.4 of softmax-universality)",
    ],
)
def test_a_paper_may_stand_before_or_after(text):
    assert next(citations(text))[:2] == ("deep-optimizers", "Lemma F.1")


def test_a_paper_belongs_to_the_citation_that_follows_it():
    found = [(paper, name) for paper, name, _ in citations("Thm 3.1 (deep-optimizers Lemma F.1)")]
    assert found == [("", "Thm 3.1"), ("deep-optimizers", "Lemma F.1")]


def test_each_citation_knows_its_paper_file_and_object(package):
    places = {(p.statement, p.paper, p.file, p.object) for p in index(package)}
    assert places == {
        ("Thm 3.4", "softmax-universality", "constructions/gate.py", "module"),
        ("Thm 3.4", "softmax-universality", "targets/clip.py", "module"),
        ("Cor 3.1.2", "softmax-universality", "constructions/gate.py", "Gate"),
        ("Lemma F.1", "deep-optimizers", "constructions/gate.py", "Gate.open"),
        ("Thm 3.4", "deep-optimizers", "rule.py", "module"),
        ("Fig 4", "icl-linear-regression", "papers/icl/lengths.py", "module"),
        ("Fig 8", "icl-linear-regression", "papers/icl/lengths.py", "module"),
    }


def test_one_file_defines_a_statement_and_comes_first(package):
    found = where("softmax-universality Thm 3.4", package)
    assert [(p.file, p.defines) for p in found] == [("constructions/gate.py", True), ("targets/clip.py", False)]
    definers = [(p.statement, p.paper) for p in index(package) if p.defines]
    assert len(definers) == len(set(definers)) == len({(p.statement, p.paper) for p in index(package)})


def test_where_finds_all_papers_or_the_one_named(package):
    assert {p.file for p in where("Theorem 3.4", package)} == {"constructions/gate.py", "targets/clip.py", "rule.py"}
    assert [p.file for p in where("deep-optimizers Thm 3.4", package)] == ["rule.py"]


@pytest.mark.parametrize("name", names("softmax-universality"))
@pytest.mark.parametrize("form", ["{} thm3.4", "Theorem 3.4 of {}", "{}: Thm G.2"])
def test_a_paper_is_understood_by_its_title_its_short_name_and_its_folder(package, name, form):
    assert [p.file for p in where(form.format(name), package)] == ["constructions/gate.py", "targets/clip.py"]


def test_the_label_of_a_restatement_finds_what_it_restates(package):
    assert {p.paper for p in where("Thm G.2", package)} == {"softmax-universality"}
    assert {p.statement for p in where("Thm G.2", package)} == {"Thm 3.4"}
    with pytest.raises(Refusal, match=r"no file cites deep-optimizers Thm G\.2"):
        where("deep-optimizers Thm G.2", package)


def test_no_restatement_is_restated():
    for paper, labels in RESTATED.items():
        assert paper in PAPERS and not set(labels) & set(labels.values())


def test_an_unknown_statement_names_near_ones(package):
    with pytest.raises(Refusal, match=r"no file cites Thm 3.5; the nearest are Thm 3.4"):
        where("Thm 3.5", package)
    with pytest.raises(Refusal, match="not the name of a statement"):
        where("gates", package)


@cache
def everything(root=None):
    """The index of the package, read once."""
    return index()


@pytest.mark.parametrize(
    ("asked", "file"),
    [
        ("icl Prop C.1", "lab/theory/approximate.py"),
        ("Figure 2 of In-Context Linear Regression Demystified", "papers/icl/patterns.py"),
        ("emulation Thm D.5", "machines/layouts.py"),
        ("softmax-universality thm3.4", "constructions/clip.py"),
        ("emulation Cor 3.1.2", "constructions/gradient_step.py"),
        ("emulation Cor 3.1.1", "targets/rule.py"),
        ("emulation Cor 3.1.3", "constructions/least_squares.py"),
        ("emulation Cor 3.1.4", "constructions/least_squares.py"),
        ("emulation Cor D.1.1", "constructions/least_squares.py"),
        ("emulation Thm 4.1", "machines/layouts.py"),
        ("emulation Thm 4.2", "machines/layouts.py"),
        ("emulation Thm D.6", "machines/layouts.py"),
        ("emulation Thm D.1", "machines/layouts.py"),
        ("universality Thm 4.2", "constructions/gradient_step.py"),
        ("universality Thm G.20", "constructions/bumps.py"),
        ("universality Thm G.13", "constructions/explicit_relu.py"),
        ("universality Lemma 3.12", "constructions/bumps.py"),
        ("universality Lemma G.19", "constructions/bumps.py"),
        ("emulation Remark 4.1", "machines/token_grid.py"),
        ("emulation Lemma D.3", "network/attention.py"),
        ("universality Thm D.4", "constructions/gradient_step.py"),
        ("emulation Lemma D.4", "constructions/gradient_step.py"),
        ("universality Def 3.2", "targets/clip.py"),
        ("icl Figure 17", "papers/icl/multitask.py"),
        ("icl Fig 4b", "papers/icl/lengths.py"),
        ("icl Figure 1a", "papers/icl/patterns.py"),
        ("icl Table 2", "papers/icl/multitask.py"),
    ],
)
def test_statements_of_the_package_have_their_file(asked, file, monkeypatch):
    monkeypatch.setattr(module, "index", everything)
    assert [p.file for p in where(asked) if p.defines] == [file]
