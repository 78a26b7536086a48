import json

import pytest

from headsmith.cli import main
from headsmith.compiler.files import load


def words(*given):
    return [str(word) for word in given]


def test_compile_shows_the_sizes_the_bound_and_what_the_papers_would_need(tmp_path, capsys):
    out = tmp_path / "square.safetensors"
    assert main(words("compile", "-x^2", "--domain", -2, 2, "--eps", "1e-3", "--out", out)) == 0
    shown = capsys.readouterr().out
    for text in ("-x^2", "analytic", "printed rule", "32 002", "certified bound", "measured error", "proved: "):
        assert text in shown
    assert str(load(out).plan.target) == "-x^2"


def test_json_holds_plain_numbers_that_agree_with_the_file(tmp_path, capsys):
    out = tmp_path / "abs.safetensors"
    request = ("--domain", -1, 1, "--eps", "1e-5", "--dtype", "float32", "--out", out, "--json")
    assert main(words("compile", "abs(x)", *request)) == 0
    told, net = json.loads(capsys.readouterr().out), load(out)
    assert told["formula"] == "abs(x)" and told["dtype"] == "float32" and told["method"] == "gate"
    assert told["bound"] == net.certificate.bound <= told["eps"] == 1e-5
    assert told["keys"] == net.plan.anchors and told["parameters"] == net.network.cost().parameters
    assert 0 < told["measured"] <= told["bound"] and told["measured_points"] > 20_000
    assert told["printed_keys"] == 400_001


def test_plan_promises_what_compile_keeps_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = words("tanh(x)", "--domain", -2, 2, "--eps", "1e-9", "--json")
    assert main(["plan", *request]) == 0
    promised = json.loads(capsys.readouterr().out)
    assert main(["compile", *request]) == 0
    kept = json.loads(capsys.readouterr().out)
    assert {name: kept[name] for name in promised} == promised
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "status", "sentence"),
    [
        ({"eps": "abc"}, 1, "eps must be a positive number such as 1e-6, not 'abc'"),
        ({"eps": "-1"}, 1, "eps must be a positive number"),
        ({"eps": "nan"}, 1, "eps must be a positive number"),
        ({"domain": ("2", "-2")}, 1, "the domain [2, -2] is empty"),
        ({"domain": ("0", "inf")}, 1, "is not finite"),
        ({"domain": ("0", "one")}, 1, "domain must be two numbers"),
        ({"dtype": "float16"}, 1, "dtype must be float64 or float32"),
        ({"method": "magic"}, 1, "no method is called 'magic'"),
        ({"out": "no/such/file"}, 1, "there is no folder no/such"),
        ({"out": "."}, 1, "is a folder"),
        ({"formula": ""}, 1, "the formula is empty"),
        ({"formula": "sin(x"}, 1, "not closed"),
        ({"formula": "__import__('os')"}, 1, "cannot read the formula"),
        ({"formula": "step(x)"}, 1, "jumps by 1 at 0"),
        ({"formula": "1/x"}, 1, "has a pole at 0"),
        ({"eps": "1e-9", "method": "printed"}, 1, "the printed rule asks for"),
        ({"eps": None}, 2, "Missing option '--eps'"),
        ({"domain": None}, 2, "Missing option '--domain'"),
    ],
)
def test_wrong_requests_are_one_sentence_and_leave_no_file(changed, status, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = {"formula": "x", "domain": ("-1", "1"), "eps": "1e-3", "out": "file", **changed}
    formula = asked.pop("formula")
    options = [
        word
        for name, value in asked.items()
        if value is not None
        for word in (f"--{name}", *([value] if isinstance(value, str) else value))
    ]
    assert main(["compile", formula, *options]) == status
    shown = capsys.readouterr()
    assert shown.err.startswith("headsmith: ") and sentence in shown.err and shown.err.count("\n") == 1
    assert shown.out == "" and list(tmp_path.iterdir()) == []


def test_a_refusal_does_not_touch_an_older_file(tmp_path, capsys):
    out = tmp_path / "f.safetensors"
    assert main(words("compile", "x", "--domain", -1, 1, "--eps", "1e-3", "--out", out)) == 0
    older = out.read_bytes()
    assert main(words("compile", "step(x)", "--domain", -1, 1, "--eps", "1e-3", "--out", out)) == 1
    assert out.read_bytes() == older and "compile the pieces" in capsys.readouterr().err


def test_two_variables_are_compiled_too(capsys):
    assert main(words("compile", "x*y", "--domain", -1, 1, "--eps", "1e-3", "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bound"] <= 1e-3 and told["kind"] == "proved" and told["measured"] is None


def test_an_activation_belongs_to_an_mlp(capsys):
    assert main(["compile", "x", "--domain", "0", "1", "--eps", "0.1", "--activation", "relu"]) == 1
    assert "--activation is for an MLP" in capsys.readouterr().err
