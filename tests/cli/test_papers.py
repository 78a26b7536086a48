import re

import pytest

import headsmith.papers
from headsmith.cli import main
from headsmith.papers import errata, registry
from headsmith.papers.printed import PAPERS


@pytest.fixture
def toy(monkeypatch):
    """One experiment and two errata in place of the package's own."""
    experiments, collection = registry.Registry(), errata.Errata()
    monkeypatch.setattr(headsmith.papers, "load", lambda: None)
    monkeypatch.setattr(registry, "registry", experiments)
    monkeypatch.setattr(errata, "errata", collection)

    claim = registry.Claim("eight keys are enough", lambda m: m["keys"] <= 8)
    presets = {"smoke": {"keys": 8}, "full": {"keys": 9}}

    @experiments.experiment("ours/toy", claim, presets=presets, self_check=lambda: True, where="Thm 3.4")
    def toy(settings, record):
        return registry.Outcome({"keys": settings["keys"]}, [registry.Row("sin", 10**6, settings["keys"])])

    for paper, fails in (("softmax-universality", True), ("deep-optimizers", False)):
        collection.erratum(paper, "E1", printed="minus", repair="plus", where="x.py")(
            lambda fails=fails: (0.5, 1e-9, fails, True)
        )


def test_the_list_names_papers_and_experiments(toy, capsys):
    assert main(["papers"]) == 0
    shown = capsys.readouterr().out
    assert (
        all(paper in shown for paper in PAPERS) and "run ours/..." in shown and "toy" in shown and "eight keys" in shown
    )
    assert main(["papers", "list"]) == 0
    assert capsys.readouterr().out == shown


def test_run_prints_the_verdict_and_the_folder(toy, capsys, tmp_path):
    assert main(["papers", "run", "ours/toy", "--out", str(tmp_path)]) == 0
    [folder] = tmp_path.iterdir()
    shown = capsys.readouterr().out
    assert "holds" in shown and folder.name in shown
    assert main(["papers", "run", "ours/toy", "--out", str(tmp_path)]) == 0
    assert "read back" in capsys.readouterr().out
    assert main(["papers", "run", "ours/toy", "--preset", "full", "--out", str(tmp_path)]) == 0
    assert "fails" in capsys.readouterr().out


def test_nonsense_is_one_sentence_with_close_matches(toy, capsys, tmp_path):
    assert main(["papers", "run", "ours/tyo", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "headsmith: there is no experiment 'ours/tyo'; did you mean ours/toy?\n"
    assert main(["papers", "run", "nonsense", "--out", str(tmp_path)]) == 1
    assert "ours/toy" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_errata_fail_when_one_is_not_confirmed(toy, capsys):
    assert main(["errata", "softmax-universality"]) == 0
    assert "confirmed" in capsys.readouterr().out
    assert main(["errata"]) == 1
    assert main(["errata", "unheard-of"]) == 1
    assert "the papers are" in capsys.readouterr().err


def test_where_prints_names_of_files_that_can_be_copied(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["papers", "where", "universality Thm 3.14"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "Thm 3.14, softmax-universality" and len(rest) > 2
    assert all(re.match(r"  (defines|uses   )  headsmith/[\w/]+\.py:\d+ ", line) for line in rest)


def test_where_refuses_what_nobody_cites(capsys):
    assert main(["papers", "where", "Thm 99.99"]) == 1
    assert capsys.readouterr().err.startswith("headsmith: no file cites Thm 99.99")
