"""All commands in one app.

Each module of this folder named in ``MODULES`` holds a few related commands and a function ``register(app)``
that adds them. These modules import only typer at their top; the library is imported inside the commands.
"""

from importlib import import_module
from typing import Annotated, Any

import typer

MODULES: tuple[str, ...] = ("compile", "files", "solve", "tape", "lab", "papers", "demo")


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
    def root(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
        ] = False,
    ) -> None:
        """Forge attention heads that provably run your algorithm."""

    for module in MODULES:
        import_module(f"headsmith.cli.{module}").register(app)
    return typer.main.get_command(app)


def _version(asked: bool) -> None:
    """The version, and the format of its files: what a refused file is compared with."""
    if asked:
        from headsmith import __version__
        from headsmith.compiler.files import FORMAT

        print(f"headsmith {__version__}, file format {FORMAT}")
        raise typer.Exit
