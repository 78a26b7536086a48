"""All commands in one app, and nothing heavy imported before one of them is run."""

import subprocess
import sys
from importlib import import_module

import pytest

from headsmith.cli.app import MODULES, command

COMMANDS = {"compile", "plan", "run", "certify", "show", "explain", "solve", "lab", "papers", "errata", "demo"}


def test_every_command_is_there_with_a_sentence_of_help():
    commands = command().commands
    assert set(commands) >= COMMANDS, set(commands)
    assert not [name for name, one in commands.items() if not one.help]


@pytest.mark.parametrize("name", MODULES)
def test_every_module_registers_itself(name):
    assert callable(import_module(f"headsmith.cli.{name}").register)


def test_help_needs_neither_torch_nor_matplotlib():
    code = (
        "import sys; from headsmith.cli import main; main(['--help']); "
        "sys.exit(bool({'torch', 'numpy', 'scipy', 'matplotlib', 'flint'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
