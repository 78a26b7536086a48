"""All commands in one app.

Each module of this folder named in ``MODULES`` holds a few related commands and a function ``register(app)``
that adds them. These modules import only typer at their top; the library is imported inside the commands.
"""

from importlib import import_module
from typing import Any

import typer

MODULES: tuple[str, ...] = ("compile", "files", "solve", "lab", "papers", "demo")


def command() -> Any:
    """The whole command line as one click command."""
    app = typer.Typer(
        name="headsmith",
        help="Forge attention heads that provably run your algorithm.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def root() -> None:
        """Forge attention heads that provably run your algorithm."""

    for module in MODULES:
        import_module(f"headsmith.cli.{module}").register(app)
    return typer.main.get_command(app)
