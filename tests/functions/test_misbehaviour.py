"""What few keys do not follow is named before a search; ends without a value move to the next number that has one."""

import numpy as np
import pytest

from headsmith.functions import parse
from headsmith.functions.misbehaviour import defined_ends, refuse_edges, refuse_misbehaviour, refuse_overflow
from headsmith.refusal import Refusal

UNIT = ((-1.0, 1.0), (-1.0, 1.0))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sign(x)", "jumps by 2 at 0"),
        ("step(x - 0.25)", "jumps by 1 at 0.25"),
        ("floor(3*x)", "jumps by 1"),
        ("1/x", "pole at 0"),
        ("tan(2*x)", "pole at"),
        ("log(x)", "no value on [-1, 0]"),
        ("sqrt(x)", "no value on [-1, 0]"),
    ],
)
def test_misbehaviour_is_named(text, words):
    with pytest.raises(Refusal) as found:
        refuse_misbehaviour(parse(text), (-1.0, 1.0))
    assert words in str(found.value) and "\n" not in str(found.value)


@pytest.mark.parametrize(("text", "domain"), [("abs(x)", (-1.0, 1.0)), ("1/x", (0.5, 1.0)), ("sqrt(x)", (0.0, 1.0))])
def test_continuous_functions_are_not_refused(text, domain):
    refuse_misbehaviour(parse(text), domain)


@pytest.mark.parametrize(
    ("text", "domain", "dtype"), [("exp(x)", (0.0, 709.0), "float64"), ("x^8", (0.0, 9e4), "float32")]
)
def test_values_beyond_the_dtype(text, domain, dtype):
    with pytest.raises(Refusal, match=f"beyond the range of {dtype}"):
        refuse_overflow(parse(text), domain, dtype)


def test_an_end_without_a_value_moves_to_the_next_number():
    f, ends = parse("sqrt(x - 0.3)"), (0.3, 1.0)
    moved, note = defined_ends(f, ends, "float64")
    assert moved == (float(np.nextafter(0.3, 1.0)), 1.0) and "has no value at 0.3" in note
    assert defined_ends(parse("sqrt(x)"), (0.0, 1.0), "float64") == ((0.0, 1.0), "")
    assert defined_ends(parse("1/x"), (0.0, 1.0), "float64")[0] == (0.0, 1.0)  # a pole is not moved away from


def edges(text, box=UNIT):
    return refuse_edges((parse(text),), ("x", "y"), box, text)


@pytest.mark.parametrize(
    ("text", "box", "words"),
    [
        ("sqrt(x)*y", ((0.0, 1.0), (0.0, 1.0)), "infinitely steep at x = 0, an end of the box"),
        ("x*sqrt(1 - y)", ((0.0, 1.0), (0.0, 1.0)), "infinitely steep at y = 1, an end of the box"),
        ("log(x) + y", ((0.0, 1.0), (0.0, 1.0)), "has no value at x = 0, an end of the box"),
        ("floor(x) + y", UNIT, "jumps where floor(x) does"),
        ("x*sign(x - y)", UNIT, "jumps where sign(x - y) does"),
        ("abs(x - y)", UNIT, "kink of abs(x - y)"),
        ("sin(relu(x)*y)", UNIT, "kink of relu(x)"),
        ("max(x, y)", UNIT, "kink of max(x, y)"),
        ("clip(x*y, -0.5, 2)", UNIT, "kink of clip(x*y, -0.5, 2)"),
        ("clip(x*y, -2, 0.5)", UNIT, "kink of clip(x*y, -2, 0.5)"),
    ],
)
def test_what_a_grid_does_not_follow_is_named(text, box, words):
    with pytest.raises(Refusal) as found:
        edges(text, box)
    assert words in str(found.value) and "\n" not in str(found.value)


@pytest.mark.parametrize("text", ["abs(x + 2)*y", "max(x, y + 3)", "clip(x*y, -2, 2)", "min(x, 5) + relu(-y - 4)"])
def test_kinks_outside_of_the_box_do_no_harm(text):
    edges(text)
