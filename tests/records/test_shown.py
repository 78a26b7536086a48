import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headsmith.records.shown import Shown, number, upper


@given(st.floats(1e-300, 1e300), st.integers(1, 6))
def test_an_upper_bound_never_shrinks_and_is_the_least_of_its_digits(x, digits):
    text = upper(x, digits)
    shown = Fraction(text)
    assert Fraction(x) <= shown <= Fraction(x) * (1 + Fraction(10) ** (1 - digits))
    assert len(text.split("e")[0].replace(".", "").strip("0").lstrip("-")) <= digits


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.0, "0"), (-0.0, "0"), (2.0, "2"), (1234.5, "1230"), (123456.0, "1.23e5"), (-2.5e-9, "-2.5e-9"),
     (0.0001, "0.0001"), (1e-5, "1e-5"), (math.inf, "∞"), (-math.inf, "-∞"), (math.nan, "nan"), (99999.0, "1e5")],
)  # fmt: skip
def test_numbers(x, text):
    assert number(x) == text


class Pair(Shown):
    def rows(self):
        return [("a", "<1>"), ("long", "2")]


def test_a_table_in_the_terminal_and_in_a_notebook():
    assert str(Pair()) == repr(Pair()) == "Pair\n  a     <1>\n  long  2"
    page = Pair()._repr_html_()
    assert page.startswith("<b>Pair</b><table>") and "&lt;1&gt;" in page and page.count("<tr>") == 2
    assert str(Shown()) == "Shown"
