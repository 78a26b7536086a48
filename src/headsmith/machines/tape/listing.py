"""The listing of a tape program: one line an instruction, what it reads and writes, activation, view and size."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from headsmith.machines.tape.instruction import Instruction
from headsmith.records.shown import Shown

if TYPE_CHECKING:
    from headsmith.machines.tape.program import TapeProgram

COLUMNS = ("", "instruction", "reads", "writes", "activation", "view", "numbers")


class TapeListing(Shown):
    """The instructions of a program as a table."""

    def __init__(self, program: TapeProgram) -> None:
        self.program = program

    def title(self) -> str:
        return self.program.title()

    @property
    def table(self) -> list[tuple[str, ...]]:
        """The lines below the title, a text for each of `COLUMNS`."""
        program, loop = self.program, range(0)
        if program.times:
            first = len(program.instructions)
            loop = range(first, first + len(program.loop))
        return [(f"{i}{'*' * (i in loop)}", *_line(instruction)) for i, instruction in enumerate(program.written)]

    @property
    def _notes(self) -> list[str]:
        return [f"* {self.program.times} times"] if self.program.times else []

    def __str__(self) -> str:
        lines = [COLUMNS, *self.table]
        widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
        shown = [
            "  ".join(
                text.rjust(width) if column in (0, 6) else text.ljust(width)
                for column, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title(), *(f"  {line}" for line in shown), *(f"  {note}" for note in self._notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = [
            "".join(f"<{tag} style='text-align:left'>{html.escape(text)}</{tag}>" for text in line)
            for tag, line in [("th", COLUMNS), *(("td", line) for line in self.table)]
        ]
        body = "".join(f"<tr>{line}</tr>" for line in cells)
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes)
        return f"<b>{html.escape(self.title())}</b><table>{body}</table>{notes}"


def _line(instruction: Instruction) -> tuple[str, ...]:
    writes = ", ".join(f"{'+' if how == 'add' else ''}{slot}" for slot, how in sorted(instruction.put.items()))
    bent = "" if instruction.activation == "identity" else instruction.activation
    return (
        instruction.name,
        ", ".join(str(slot) for slot in instruction.reads),
        writes,
        " ".join(filter(None, [bent, "unit" if instruction.unit else ""])),
        "" if instruction.view == "self" else instruction.view,
        f"{instruction.numbers:,}".replace(",", " "),
    )
