"""Numbers for a network: typed, piped or in a CSV file, each remembered with the place it came from.

A wrong cell in the ten-thousandth line must be found by its number, so every input carries its origin until
it has been checked against the domain.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from headsmith.refusal import Refusal


class Given(NamedTuple):
    """A number as it was written, and where."""

    text: str
    place: str  # "" for a number on the command line


def read_inputs(words: Sequence[str], table: Path | None, variable: str) -> list[Given]:
    """The numbers of the command line, or of a CSV file, or of stdin."""
    if table is not None and words:
        raise Refusal("give numbers or --csv, not both")
    if table is not None:
        found = list(_column(table, variable))
    elif words:
        return [Given(word, "") for word in words]
    elif sys.stdin is None or sys.stdin.isatty():
        raise Refusal("give numbers after the file, on stdin, or with --csv FILE")
    else:
        found = list(_words(sys.stdin))
    if not found:
        raise Refusal(f"{table or 'stdin'} holds no numbers")
    return found


def read_rows(path: Path) -> list[list[float]]:
    """The lines of a CSV file of numbers alone, each as long as the others."""
    rows: list[list[float]] = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    rows.append(_row(cells, f"{path} line {reader.line_num}"))
                    if len(rows[-1]) != len(rows[0]):
                        raise Refusal(
                            f"{path} line {reader.line_num} holds {len(rows[-1])} numbers, the first {len(rows[0])}"
                        )
    except (UnicodeDecodeError, csv.Error):
        raise Refusal(f"{path} is not a CSV file of text") from None
    if not rows:
        raise Refusal(f"{path} holds no numbers")
    return rows


def _row(cells: Sequence[str], place: str) -> list[float]:
    """The numbers of a line; what is none is named."""
    values = []
    for cell in cells:
        value = _number(cell)
        if value is None or not math.isfinite(value):
            raise Refusal(f"{place}: {cell.strip()!r} is not a finite number; commas go between numbers")
        values.append(value)
    return values


def numbers(given: Sequence[Given], domain: tuple[float, float], dtype: str) -> list[float]:
    """The numbers, rounded to the dtype; what is none, or outside the domain, is named with its place."""
    import numpy as np

    from headsmith.records.shown import interval

    kind, (lo, hi) = np.dtype(dtype).type, domain
    values = []
    for text, place in given:
        where = f"{place}: " if place else ""
        value = _number(text)
        if value is None:
            raise Refusal(f"{where}{text!r} is not a number")
        with np.errstate(over="ignore"):
            value = float(kind(value))
        if not math.isfinite(value):
            raise Refusal(f"{where}{text} is not a finite number in {dtype}")
        if not lo <= value <= hi:
            raise Refusal(f"{where}{text} lies outside the certified domain {interval(domain)}: compile a wider one")
        values.append(value)
    return values


def written(value: float, dtype: str) -> str:
    """A float with the digits that tell it from its neighbours; a float32 with as many as show its rounding.

    >>> written(0.1, "float64"), written(0.10000000149011612, "float32"), written(0.5, "float32")
    ('0.1', '0.100000001', '0.5')
    """
    return repr(value) if dtype == "float64" else f"{value:.9g}"


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _words(lines: Iterable[str]) -> Iterator[Given]:
    try:
        for count, line in enumerate(lines, 1):
            for word in line.replace(",", " ").split():
                yield Given(word, f"stdin line {count}")
    except UnicodeDecodeError:
        raise Refusal("stdin is not text") from None


def _column(path: Path, variable: str) -> Iterator[Given]:
    """The column named like the variable, or the first; a first row without a number there is a header."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            column, first = 0, True
            for row in reader:
                cells = [cell.strip() for cell in row]
                if not any(cells):
                    continue
                if first:
                    first = False
                    if variable in cells:
                        column = cells.index(variable)
                        continue
                    if _number(cells[0]) is None:
                        continue
                if column >= len(cells):
                    raise Refusal(f"{path} line {reader.line_num}: there is no column {column + 1}")
                yield Given(cells[column], f"{path} line {reader.line_num}")
    except (UnicodeDecodeError, csv.Error):
        raise Refusal(f"{path} is not a CSV file of text") from None
