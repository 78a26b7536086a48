"""headsmith compile FILE --as FORM."""

import json

import pytest

from headsmith.cli import main
from headsmith.compiler.files import load
from headsmith.papers.low_rank_memorization.conll import SMALL


def test_a_labelled_file_is_compiled(tmp_path, capsys):
    out = tmp_path / "tagger.safetensors"
    assert main(["compile", str(SMALL), "--as", "conll", "--out", str(out)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for text in (
        "119 to tell apart",
        "119 of 119 tokens",
        "smallest gap",
        "hidden units",
        "proved: network",
        "words.json",
    ):
        assert text in shown
    assert load(out).certificate.exact
    assert main(["certify", str(out)]) == 0
    assert main(["show", str(out), "--out", str(tmp_path / "tagger.png")]) == 0
    assert "17 sequences, 119 tokens, with positions, its ids and their labels" in capsys.readouterr().out


def test_json_is_plain(capsys):
    assert main(["compile", str(SMALL), "--as", "conll", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["accuracy"] == 1 and told["ids"] == 119 and told["files"] == [] and told["exact"] is True


def test_other_forms_are_read(tmp_path, capsys):
    path = tmp_path / "data.jsonl"
    path.write_text('{"tokens": ["a", "b"], "labels": ["X", "Y"]}\n{"tokens": ["b", "a"], "labels": ["X", "X"]}\n')
    assert main(["compile", str(path), "--as", "jsonl", "--dtype", "float32"]) == 0
    assert "4 of 4 tokens" in capsys.readouterr().out


def test_a_file_of_words_that_is_not_ours_is_kept_and_nothing_is_written(tmp_path, capsys):
    out, theirs = tmp_path / "tagger.safetensors", tmp_path / "tagger.words.json"
    theirs.write_text('{"mine": 1}')
    assert main(["compile", str(SMALL), "--as", "conll", "--out", str(out)]) == 1
    assert "tagger.words.json was not written by headsmith" in capsys.readouterr().err
    assert theirs.read_text() == '{"mine": 1}' and not out.exists()
    theirs.unlink()
    for _ in range(2):  # our own are replaced
        assert main(["compile", str(SMALL), "--as", "conll", "--out", str(out)]) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--as", "xml"], "the forms of a labelled file are conll, csv, jsonl; not 'xml'"),
        (["--as", "conll", "--eps", "1"], "--domain, --eps and --activation have no meaning here"),
        (["--as", "conll", "--domain", "0", "1"], "have no meaning here"),
        (["--as", "conll", "--out", "no/such/file"], "there is no folder no/such"),
        (["--as", "csv"], "must begin with a header"),
    ],
)
def test_wrong_requests_are_one_sentence(options, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["compile", str(SMALL), *options]) == 1
    shown = capsys.readouterr()
    assert sentence in shown.err and shown.err.count("\n") == 1 and shown.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_form_is_told_of_forms(capsys):
    assert main(["compile", str(SMALL)]) == 2
    assert "'--domain', which a formula needs, or '--as conll' (csv, jsonl) where" in capsys.readouterr().err


def test_a_missing_file_is_named(capsys):
    assert main(["compile", "nowhere.txt", "--as", "conll"]) == 1
    assert "nowhere.txt" in capsys.readouterr().err
