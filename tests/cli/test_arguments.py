"""Minus signs, in a toy app with the signatures of compile and run."""

from typing import Annotated

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from headsmith.cli import execute
from headsmith.cli.arguments import values_last


@pytest.fixture(scope="module")
def seen():
    return {}


@pytest.fixture(scope="module")
def toy(seen):
    app = typer.Typer(add_completion=False)

    @app.command("compile")
    def compile_(
        formula: str,
        domain: Annotated[tuple[float, float], typer.Option(metavar="LO HI")] = (-1.0, 1.0),
        eps: float = 1e-6,
        dtype: str = "float64",
        json: Annotated[bool, typer.Option("--json")] = False,
    ):
        seen.update(formula=formula, domain=domain, eps=eps, dtype=dtype, json=json)

    @app.command()
    def run(file: str, numbers: list[float]):
        seen.update(file=file, numbers=numbers)

    return typer.main.get_command(app)


@pytest.mark.parametrize(
    "words",
    [
        ["-x^2", "--domain", "-2", "2", "--eps", "1e-3", "--json"],
        ["--domain", "-2", "2", "--json", "--eps", "1e-3", "-x^2"],
        ["--json", "--eps=1e-3", "-x^2", "--domain", "-2", "2"],
        ["--json", "--eps=1e-3", "--domain=-2", "2", "-x^2"],
        ["--eps", "1e-3", "--json", "--domain", "-2", "2", "--", "-x^2"],
    ],
)
def test_a_formula_with_a_minus_stands_before_between_or_after_options(toy, seen, words):
    assert execute(toy, ["compile", *words]) == 0
    assert seen["formula"] == "-x^2" and seen["domain"] == (-2.0, 2.0)
    assert seen["eps"] == 1e-3 and seen["json"] is True


@given(st.text("x-+*/^()1.e ", min_size=1, max_size=8).filter(lambda s: s != "-"))
def test_any_formula_arrives_unchanged(toy, seen, body):
    formula = "-" + body
    if not formula.startswith("--"):
        assert execute(toy, ["compile", formula, "--eps", "0.5"]) == 0
        assert seen["formula"] == formula and seen["eps"] == 0.5


def test_letters_of_options_do_not_shadow_formulas(toy, seen):
    for formula in ("-h^2", "-e^x", "-x", "-d", "-json"):
        assert execute(toy, ["compile", formula]) == 0
        assert seen["formula"] == formula


def test_negative_numbers_keep_their_order(toy, seen):
    assert execute(toy, ["run", "f.safetensors", "-0.5", "1", "-1.25", "-1e-3", "-inf"]) == 0
    assert seen["file"] == "f.safetensors" and seen["numbers"] == [-0.5, 1, -1.25, -1e-3, -float("inf")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compile", "-x^2", "--epz", "1"], "No such option: --epz"),
        (["compile", "--epz", "-x^2"], "--eps"),
        (["compil", "-x^2"], "Did you mean 'compile'?"),
        (["compile", "-x^2", "--domain", "-2"], "--domain takes 2 values"),
        (["compile", "-x^2", "--domain", "-2", "two"], "Invalid value for '--domain'"),
        (["compile", "-x^2", "-x^3"], "unexpected extra argument"),
        (["compile"], "Missing argument"),
    ],
)
def test_misuse_is_one_sentence_and_status_two(toy, capsys, words, message):
    assert execute(toy, words) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_help_is_still_help(toy, capsys):
    assert execute(toy, ["compile", "-x", "--help"]) == 0
    assert "--domain" in capsys.readouterr().out


def test_words_behind_two_dashes_are_left_alone(toy):
    assert values_last(toy, ["compile", "--", "--json"]) == ["compile", "--", "--json"]
