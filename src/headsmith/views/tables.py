"""Tables: the same rows for a terminal, a notebook and a Markdown file.

Numbers are shown with three significant digits. A *bound* must not shrink when it is shown, so it is rounded
up in decimal (``upper``): the printed digits are themselves a bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from headsmith.records.shown import number, upper

if TYPE_CHECKING:
    import rich.table

__all__ = ["Table", "cell", "number", "upper"]


def cell(value: Any) -> str:
    """A value as the text of a table cell: numbers short, None as a dash, everything else as ``str`` has it.

    >>> cell(None), cell(True), cell(12500), cell(1 / 3)
    ('–', 'yes', '12 500', '0.333')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ") if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return str(value)


@dataclass(frozen=True)
class Table:
    """A title, column names and rows of values; shown by ``rich()`` or ``markdown()``.

    >>> print(Table("Keys", ("f", "keys"), [("sin(3*x)", 8)]).markdown())
    **Keys**
    <BLANKLINE>
    | f | keys |
    |---|---:|
    | sin(3*x) | 8 |
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells in a table of {len(self.columns)} columns: {row}")

    def _numeric(self, column: int) -> bool:
        values = [row[column] for row in self.rows if row[column] is not None]
        return bool(values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)

    def markdown(self) -> str:
        """The table in GitHub's Markdown, numbers to the right."""
        rules = ["---:" if self._numeric(k) else "---" for k in range(len(self.columns))]
        rows = [self.columns, *(map(cell, row) for row in self.rows)]
        head, *body = ["| " + " | ".join(map(_one_line, row)) + " |" for row in rows]
        title = [f"**{self.title}**", ""] if self.title else []
        return "\n".join([*title, head, "|" + "|".join(rules) + "|", *body])

    def rich(self) -> "rich.table.Table":
        """The table for ``rich.print``."""
        import rich.box
        import rich.table
        from rich.text import Text

        title = Text(self.title) if self.title else None  # a list of formulas is no markup
        shown = rich.table.Table(title=title, title_justify="left", box=rich.box.SIMPLE_HEAD)
        for k, name in enumerate(self.columns):
            whole = name == "file"  # a name that is broken over lines cannot be copied
            justify: Literal["left", "right"] = "right" if self._numeric(k) else "left"
            shown.add_column(Text(name), justify=justify, overflow="fold", no_wrap=whole)
        for row in self.rows:
            shown.add_row(*(Text(cell(value)) for value in row))
        return shown


def _one_line(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
