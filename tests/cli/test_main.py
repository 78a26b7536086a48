import subprocess
import sys

import pytest
import typer

from headsmith.cli import execute, main
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


def test_no_arguments_show_the_help(capsys):
    main([])
    shown = capsys.readouterr()
    assert "papers" in shown.out + shown.err
