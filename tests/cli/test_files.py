import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from headsmith.cli import main
from headsmith.doors.compile import compile


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    made = {
        "tanh": compile("tanh(x)", domain=(-2, 2), eps=1e-9),
        "abs": compile("abs(t)", domain=(-1, 1), eps=1e-5, dtype="float32"),
        "code": compile(torch.tanh, domain=(-1, 1), eps=1e-2, lipschitz=1.0),
        "both": compile(["sin(x)", "x^2"], domain=(-1, 1), eps=1e-3),
        "product": compile("x*y", domain=(-1, 1), eps=1e-2),
    }
    return {name: str(net.save(folder / f"{name}.safetensors")) for name, net in made.items()}


def told(capsys):
    return json.loads(capsys.readouterr().out)


def test_values_come_with_errors_that_hold(files, capsys):
    assert main(["run", files["tanh"], "0.5", "-1.25", "--json"]) == 0
    answer = told(capsys)
    assert [result["x"] for result in answer["results"]] == [0.5, -1.25]
    for result in answer["results"]:
        assert abs(result["value"] - math.tanh(result["x"])) <= result["error"] + 2e-16
        assert result["error"] <= answer["bound"]
    assert main(["run", files["tanh"], "0.5", "-1.25"]) == 0
    assert "tanh(x)" in (shown := capsys.readouterr().out) and "-1.25" in shown and "certified: within" in shown


def test_a_vector_has_a_column_for_each_component(files, capsys):
    assert main(["run", files["both"], "0.5", "--json"]) == 0
    [result] = told(capsys)["results"]
    assert result["value"] == pytest.approx([math.sin(0.5), 0.25], abs=result["error"])
    assert main(["run", files["both"], "0.5"]) == 0
    assert "sin(x)" in (shown := capsys.readouterr().out) and "x^2" in shown
    assert main(["explain", files["both"], "0.5"]) == 0
    assert "x to out.1" in capsys.readouterr().out


def test_a_title_is_no_markup(files, capsys):
    assert main(["show", files["both"]]) == 0
    assert "Plan: [sin(x), x^2]" in capsys.readouterr().out


def test_a_function_of_two_numbers_is_refused_by_its_arguments(files, capsys):
    assert main(["run", files["product"], "0.5"]) == 1
    assert "it takes (x, y): load it in Python" in capsys.readouterr().err


def test_a_float32_network_shows_the_input_it_really_got(files, capsys):
    assert main(["run", files["abs"], "0.1"]) == 0
    assert "0.100000001" in capsys.readouterr().out
    assert main(["run", files["abs"], "0.1", "--json"]) == 0
    assert told(capsys)["results"][0]["x"] == float(np.float32(0.1))


def test_stdin_and_csv_give_the_same_numbers(files, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdin", io.StringIO("0.5, -1\n\n1.5\n"))
    assert main(["run", files["tanh"], "--json"]) == 0
    piped = told(capsys)
    for text in (
        "0.5\n-1\n1.5\n",
        "n,x\n1,0.5\n2,-1\n\n3,1.5\n",
        "value\n0.5\n-1\n1.5\n",
        "\ufeffx,n\n0.5,1\n-1,2\n1.5,3\n",
    ):
        table = tmp_path / "in.csv"
        table.write_text(text, encoding="utf-8")
        assert main(["run", files["tanh"], "--csv", str(table), "--json"]) == 0
        assert told(capsys) == piped


def test_many_inputs_get_the_uniform_bound_in_plain_columns(files, capsys, tmp_path):
    table = tmp_path / "many.csv"
    table.write_text("\n".join(str(x) for x in np.linspace(-2, 2, 2001)))
    assert main(["run", files["tanh"], "--csv", str(table)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2002 and len({line.split("\t")[2] for line in lines[1:]}) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x\n0.5\noops\n", "line 3: 'oops' is not a number"),
        ("0.5\n2.5\n", "line 2: 2.5 lies outside the certified domain [-2, 2]"),
        ("0.5\n\nnan\n", "line 3: nan is not a finite number"),
        ("n,x\n1,0.5\n2\n", "line 3: there is no column 2"),
        ("", "holds no numbers"),
    ],
)
def test_a_bad_cell_is_found_by_its_line(files, capsys, tmp_path, text, sentence):
    table = tmp_path / "in.csv"
    table.write_text(text)
    assert main(["run", files["tanh"], "--csv", str(table)]) == 1
    shown = capsys.readouterr()
    assert sentence in shown.err and shown.err.count("\n") == 1 and shown.out == ""


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize(
    ("word", "sentence"), [("7", "outside"), ("-inf", "finite"), ("1_0", "not a number"), ("x", "not a number")]
)
def test_wrong_inputs_are_one_sentence(files, capsys, command, word, sentence):
    assert main([command, files["tanh"], word]) == 1
    assert sentence in (error := capsys.readouterr().err) and error.count("\n") == 1


@pytest.mark.parametrize("command", [["run", "{}", "1"], ["show", "{}"], ["explain", "{}", "1"], ["certify", "{}"]])
def test_wrong_files_are_one_sentence(command, capsys, tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("missing", "text", "empty", "."):
        status = main([word.format(tmp_path / name) for word in command])
        shown = capsys.readouterr()
        assert status in (1, 2) and (shown.out + shown.err).count("\n") == 1


def test_nothing_to_read_is_said(files, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["run", files["tanh"]]) == 1
    assert capsys.readouterr().err == "headsmith: stdin holds no numbers\n"
    assert main(["run", files["tanh"], "1", "--csv", "x.csv"]) == 1
    assert "not both" in capsys.readouterr().err


def test_certify_proves_again_and_notices_a_changed_byte(files, capsys, tmp_path):
    assert main(["certify", files["tanh"]]) == 0
    assert "proved" in capsys.readouterr().out
    altered = tmp_path / "altered.safetensors"
    data = bytearray(Path(files["tanh"]).read_bytes())
    data[-3] ^= 1
    altered.write_bytes(data)
    assert main(["certify", str(altered), "--json"]) == 1
    assert told(capsys)["status"] == 1
    assert main(["certify", str(altered)]) == 1
    assert capsys.readouterr().out == f"{altered}: not proved: it was altered: it does not match its own hash\n"
    assert main(["certify", files["code"]]) == 2
    assert "cannot be repeated" in capsys.readouterr().out


def test_show_prints_the_plan_or_draws_a_picture(files, capsys, tmp_path):
    assert main(["show", files["abs"]]) == 0
    shown = capsys.readouterr().out
    assert "Plan: abs(t)" in shown and "Certificate" in shown and "dense parameters" in shown
    assert main(["show", files["abs"], "--out", str(tmp_path / "abs.png")]) == 0
    assert (tmp_path / "abs.png").read_bytes().startswith(b"\x89PNG")
    assert main(["show", files["abs"], "--out", str(tmp_path / "abs.pdf")]) == 1
    assert "ends in .png" in capsys.readouterr().err and not (tmp_path / "abs.pdf").exists()
    assert main(["show", files["abs"], "--out", str(tmp_path / "no" / "abs.png")]) == 1
    assert not (tmp_path / "no").exists()


def test_explain_names_the_keys_and_their_shares(files, capsys):
    assert main(["explain", files["abs"], "-0.25"]) == 0
    shown = capsys.readouterr().out
    assert "itself" in shown and "abs(t) at t = -0.25: 0.25" in shown


def test_a_function_given_as_code_is_explained_without_an_error(files, capsys):
    assert main(["run", files["code"], "0.5"]) == 0
    assert "conditional: within" in capsys.readouterr().out
    assert main(["explain", files["code"], "0.5"]) == 0
    assert "key" in (shown := capsys.readouterr().out) and "off by" not in shown


def test_machines_are_certified_and_shown_or_refused_in_a_sentence(tmp_path, capsys):
    from headsmith.machines import Neurons

    path = str(Neurons("tanh(x)", features=2, neurons=1, domain=2.0, eps=1e-6).save(tmp_path / "neurons.safetensors"))
    assert main(["certify", path]) == 0
    assert "f = tanh(x), for up to 1 float64 neurons" in capsys.readouterr().out
    assert main(["show", path]) == 0
    assert "Neurons: 1 x tanh(x) of 2 features" in capsys.readouterr().out
    for command in (["run", path, "0.5"], ["explain", path, "0.5"], ["show", path, "--out", str(tmp_path / "a.png")]):
        assert main(command) == 1
        assert "machine" in (said := capsys.readouterr().err) and "Traceback" not in said
