"""Where each function of the language is defined: inside, at the edge and beyond it."""

import math

import pytest
from flint import arb

from headsmith.functions import parse
from headsmith.functions.expression import ARITY
from headsmith.proof.checker import formulas
from headsmith.proof.checker.heads import extent
from headsmith.proof.checker.ranges import Range, ranges
from headsmith.proof.checker.taylor import local
from headsmith.proof.checker.verdict import Budget

from .helpers import ONE, tree_of


def test_every_function_of_the_language_is_here():
    assert set(formulas.ARITY) == set(ARITY) and formulas.ARITY == ARITY
    assert set(ONE) | {"+", "-", "*", "/", "^", "max", "min", "clip", "pi", "e"} == set(ARITY)


EDGES = [
    # formula, an interval on which it has values everywhere, one on which it has not
    ("sqrt(x)", (0.0, 1.0), (-5e-324, 1.0)),
    ("sqrt(1 - x^2)", (-1.0, 1.0), (-1.0, 1.0000000000000002)),
    ("sqrt(sin(x))", (0.0, 1.0), (-1e-300, 1.0)),
    ("sqrt(1 - cos(x))", (0.0, 1.0), None),
    ("log(x)", (5e-324, 1.0), (0.0, 1.0)),
    ("x*log(x)", (0.0, 1.0), (-5e-324, 1.0)),
    ("log(x)*sqrt(x)*3", (0.0, 1.0), (-5e-324, 1.0)),
    ("1/x", (5e-324, 1.0), (0.0, 1.0)),
    ("1/x", (-1.0, -5e-324), (-1.0, 0.0)),
    ("x^-1", (5e-324, 1.0), (0.0, 1.0)),
    ("x^-2", (0.5, 1.0), (-1.0, 1.0)),
    ("x^0", (0.5, 1.0), (-1.0, 1.0)),
    ("x^0.5", (0.0, 1.0), (-5e-324, 1.0)),
    ("x^(1/3)", (0.0, 1.0), (-1.0, 0.0)),
    ("x^-0.5", (0.5, 1.0), (0.0, 1.0)),
    ("x^pi", (0.0, 1.0), (-5e-324, 1.0)),
    ("x^x", (0.5, 1.0), (0.0, 1.0)),
    ("tan(x)", (-1.5, 1.5), (1.5, 1.6)),
    ("tan(x)", (1.6, 4.6), (1.6, 4.8)),
    ("sqrt(x - 0.3)", (0.30000000000000004, 1.0), (0.3, 1.0)),
    ("sqrt(x)/sqrt(x)", (0.5, 1.0), (0.0, 1.0)),
    ("0*log(x)", (0.5, 1.0), (0.0, 1.0)),
]


@pytest.mark.parametrize("text, good, bad", EDGES)
def test_domains_end_where_they_end(text, good, bad):
    f = tree_of(text)
    assert local(f, *good, 12, Budget()) is not None
    assert bad is None or local(f, *bad, 12, Budget()) is None


CONSTANTS = ["sqrt(-1)", "log(0)", "log(-1)", "(-8)^(1/3)", "(-1)^0.5", "0^-1", "0^0"]


@pytest.mark.parametrize("text", CONSTANTS)
def test_constants_without_a_value(text):
    """Real parts, cube roots of negative numbers and 0^0 are nobody's business."""
    tree = ["+", ["var", "x"], parse(text).tree()]
    assert local(formulas.read(tree), 0.5, 1.0, 12, Budget()) is None


def test_exponents_are_exact():
    """3 * (1/3) is 1 and not nearly so: (-2)^1 has a value, (-2)^0.999... has none."""
    assert local(tree_of("(0 - 2)^(3*(1/3)) + x"), 0.0, 1.0, 12, Budget()) is not None
    assert local(tree_of("(0 - 2)^(1.0000000000000000000001) + x"), 0.0, 1.0, 12, Budget()) is None
    assert local(tree_of("x^(0.1 + 0.2 - 0.3 + 3)"), -1.0, 1.0, 12, Budget()) is not None


def test_t_log_t_goes_down_to_its_bottom():
    low, high = extent(tree_of("x*log(x)"), (0.0, 1.0), Budget())
    assert -1.01 / math.e <= low and 0 <= high <= 0.01
    here = ranges(tree_of("x*log(x)"), {"x": Range(arb(0), arb(1))})[-1]
    assert here.lo < -0.367879441 and low < -0.367879441
