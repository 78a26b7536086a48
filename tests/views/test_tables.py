import io
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from headsmith.views.tables import Table, cell, number, upper

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, st.integers(1, 6))
def test_a_shown_bound_is_a_bound_and_the_least_one(x, digits):
    shown = Decimal(upper(x, digits))
    assert shown >= Decimal(x)
    if x:
        unit = Decimal(10) ** (Decimal(x).adjusted() + 1 - digits)
        assert shown - Decimal(x) < unit


@given(finite, st.integers(1, 6))
def test_a_shown_number_is_within_half_a_unit(x, digits):
    if x:
        unit = Decimal(10) ** (Decimal(x).adjusted() + 1 - digits)
        assert abs(Decimal(number(x, digits)) - Decimal(x)) <= unit / 2


@pytest.mark.parametrize(
    ("x", "shown"),
    [(9.9401e-7, "1e-6"), (0.25, "0.25"), (1.001, "1.1"), (0.0, "0"), (99.5, "100"), (-1.29, "-1.2")],
)
def test_upper(x, shown):
    assert upper(x) == shown


def test_what_is_not_finite_says_so():
    assert (upper(math.inf), number(-math.inf), number(math.nan)) == ("∞", "-∞", "nan")


def test_cells():
    shown = [cell(v) for v in (None, True, 7, 12500, 1 / 3, "x|y", (1, 0.5))]
    assert shown == ["–", "yes", "7", "12 500", "0.333", "x|y", "1, 0.5"]


def test_markdown_aligns_numbers_and_escapes_bars():
    text = Table("Keys", ("f", "keys"), [("|x|", 2), ("[sin]\n", None)]).markdown()
    assert text.splitlines() == [
        "**Keys**",
        "",
        "| f | keys |",
        "|---|---:|",
        r"| \|x\| | 2 |",
        "| [sin]  | – |",
    ]


def test_the_terminal_shows_the_same_cells_and_no_markup_is_lost():
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(Table("T [b]", ("f [a]", "n"), [("[bold]x[/bold]", 12500)]).rich())
    text = console.export_text()
    assert "[bold]x[/bold]" in text and "12 500" in text and "f [a]" in text and "T [b]" in text


def test_the_name_of_a_file_is_not_broken():
    console, name = Console(width=60, record=True, file=io.StringIO()), "out/" + "x" * 40 + ".png"
    console.print(
        Table("", ("file", "what it is"), [(name, "a picture of many words " * 3)]).rich(),
    )
    assert name in console.export_text()


def test_a_ragged_row_is_an_error():
    with pytest.raises(ValueError, match="a row of 1 cells"):
        Table("", ("a", "b"), [(1,)])
