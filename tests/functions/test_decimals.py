from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headsmith.functions.decimals import EXACT_BITS, canonical, negated, rational
from headsmith.refusal import Refusal


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("0", "0"), ("0.000", "0"), ("-0", "0"), ("1e3", "1000"), ("007", "7"), ("0.10", "0.1"), ("-2.50", "-2.5"),
        ("12e-1", "1.2"), ("1e-7", "1e-7"), ("1.5e-9", "1.5e-9"), ("1e30", "1e30"), ("123456e20", "1.23456e25"),
    ],
)  # fmt: skip
def test_one_spelling(text, spelling):
    assert canonical(text) == spelling


@given(st.decimals(allow_nan=False, allow_infinity=False, places=30) | st.floats(1e-200, 1e200).map(repr))
def test_a_spelling_keeps_the_value_and_is_stable(number):
    found = canonical(str(number))
    assert Decimal(found) == Decimal(str(number)) and canonical(found) == found


@pytest.mark.parametrize("text", ["1e301", "1e-302", "1e99999999999999999999", "1" * 1201])
def test_what_is_out_of_reach_is_refused(text):
    with pytest.raises(Refusal):
        canonical(text)


def test_the_opposite_is_its_own_opposite():
    assert negated("2.5") == "-2.5" and negated(negated("2.5")) == "2.5"


def test_rationals_stay_exact_while_they_are_small():
    half, third = Fraction(1, 2), Fraction(1, 3)
    assert rational("+", [half, third]) == Fraction(5, 6) and rational("/", [half, third]) == Fraction(3, 2)
    assert rational("^", [third, Fraction(-2)]) == 9 and rational("neg", [half]) == -half
    assert rational("^", [Fraction(2), half]) is None and rational("^", [Fraction(0), Fraction(-1)]) is None
    assert rational("+", [half, None]) is None and rational("sin", [half]) is None
    assert rational("^", [Fraction(2), Fraction(EXACT_BITS)]) is None
    huge = Fraction(2) ** (EXACT_BITS - 1)
    assert rational("*", [huge, Fraction(1)]) == huge and rational("*", [huge, huge]) is None
