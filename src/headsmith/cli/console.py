"""What the commands share: signs of life, tables, JSON for machines, and files that are loaded or refused."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.compiled import Compiled
    from headsmith.records.shown import Shown
    from headsmith.views.tables import Table


def working(label: str) -> AbstractContextManager[Any]:
    """A spinner and the time on the terminal's stderr while something longer goes on; nothing where nobody watches."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn("dots"), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    shown = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    shown.add_task(label, total=None)
    return shown


def show(*things: Table | Shown | Properties | str) -> None:
    """Tables, one below another; a plain string is a line of text."""
    from rich.console import Console

    from headsmith.views.tables import Table

    console = Console()
    for thing in things:
        if isinstance(thing, str):
            console.print(thing, highlight=False, markup=False, soft_wrap=True)
        elif isinstance(thing, Table | Properties):
            console.print(thing.rich())
        else:
            console.print(Properties(thing.title(), thing.rows()).rich(), "")


@dataclass(frozen=True)
class Properties:
    """A title and rows (name, value), or (name, value, the same of something else) under `columns`."""

    title: str
    rows: Sequence[tuple[Any, ...]]
    columns: Sequence[str] = ()

    def rich(self) -> Any:
        import rich.box
        import rich.table
        from rich.text import Text

        from headsmith.views.tables import cell

        table = rich.table.Table(
            title=Text(self.title),  # a list of formulas is no markup
            title_justify="left",
            title_style="bold",
            box=rich.box.SIMPLE_HEAD if self.columns else None,
            show_header=bool(self.columns),
            padding=(0, 2),
            pad_edge=False,
        )
        for k in range(len(self.rows[0])):
            name = self.columns[k] if self.columns else ""
            table.add_column(Text(name), style="dim" if k != 1 else "", overflow="fold")
        for row in self.rows:
            table.add_row(*(Text("" if value is None else cell(value)) for value in row))
        return table


def show_json(obj: Any) -> None:
    """One JSON object on stdout, in plain decimal numbers; what is infinite or unknown is null."""
    import json

    print(json.dumps(_plain(obj), indent=2, ensure_ascii=False))


def _plain(obj: Any) -> Any:
    if isinstance(obj, dict):
        return {key: _plain(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return [_plain(value) for value in obj]
    return None if isinstance(obj, float) and not math.isfinite(obj) else obj


def writable(path: Path) -> Path:
    """The path, if a file can be written there; asked before the work, not after it."""
    from headsmith.records import replaceable

    target = replaceable(path)
    folder = target.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise Refusal(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise Refusal(f"{path} cannot be written: the folder {folder} is read-only")
    return path


def load_scalar(path: Path) -> Compiled:
    """The network of one variable in a file."""
    from headsmith.compiler.files import load

    net = load(path)
    if hasattr(net, "listing"):
        raise Refusal(f"{path} holds a tape program: headsmith tape run and headsmith tape listing take it")
    if not hasattr(net, "target"):
        raise Refusal(f"{path} holds a machine, which runs programs: load it in Python with hs.load")
    inputs = net.target.inputs
    if len(inputs) != 1 or any(given.shape for given in inputs.values()):
        takes = ", ".join(net.target.arguments)
        raise Refusal(f"{path} is no function of one number, it takes ({takes}): load it in Python with hs.load")
    return net
