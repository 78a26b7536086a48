import subprocess
import sys

import pytest
import typer

from headsmith import __version__
from headsmith.cli import execute, main
from headsmith.compiler.files import FORMAT
from headsmith.refusal import Refusal


def failing(error):
    app = typer.Typer(add_completion=False)

    @app.command()
    def fail():
        raise error

    return typer.main.get_command(app)


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (Refusal("eps is too small; 1e-7 can be had"), 1, "headsmith: eps is too small; 1e-7 can be had\n"),
        (
            FileNotFoundError(2, "No such file or directory", "f.st"),
            1,
            "headsmith: f.st: no such file or directory\n",
        ),
        (PermissionError(13, "Permission denied", "f.st"), 1, "headsmith: f.st: permission denied\n"),
        (KeyboardInterrupt(), 130, "headsmith: interrupted\n"),
    ],
)
def test_errors_of_a_user_are_one_sentence(capsys, error, status, sentence):
    assert execute(failing(error), []) == status
    assert capsys.readouterr().err.lstrip("\n") == sentence


def test_a_command_chooses_its_own_status():
    assert execute(failing(typer.Exit(2)), []) == 2


def test_our_own_mistakes_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        execute(failing(ZeroDivisionError()), [])


def test_help_loads_nothing_heavy():
    script = (
        "import sys; from headsmith.cli import main; status = main(['--help']);"
        "heavy = {'torch', 'numpy', 'scipy', 'matplotlib', 'flint', 'pydantic'} & set(sys.modules);"
        "print('heavy', sorted(heavy), 'status', status)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "heavy [] status 0" in done.stdout and "papers" in done.stdout


@pytest.mark.parametrize("words", [[], ["lab"]])
def test_no_arguments_show_the_help_and_no_empty_sentence(capsys, words):
    assert main(words) == 2
    shown = capsys.readouterr()
    assert "Commands" in shown.out and shown.err == ""


def test_the_version_names_the_format_of_files(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"headsmith {__version__}, file format {FORMAT}\n"


def test_an_interrupt_while_commands_are_imported_is_a_sentence(capsys, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("headsmith.cli.app.command", interrupted)
    assert main(["--help"]) == 130
    assert capsys.readouterr().err == "headsmith: interrupted\n"
