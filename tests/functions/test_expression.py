import copy
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings

from headsmith.functions import Expression, parse

from .formulas import formulas

x, y = Expression.variable("x"), Expression.variable("y")


@settings(max_examples=200, deadline=None)
@given(formulas(leaves=20))
def test_text_and_tree_give_the_expression_back(f):
    assert parse(str(f)) is f
    assert Expression.from_tree(json.loads(json.dumps(f.tree()))) is f


def test_equal_formulas_are_one_object():
    f = parse("sin(3*x) + 0.10")
    assert f is parse("sin( 3*x )+1e-1") and len({f, parse("sin(3*x) + 0.1")}) == 1
    assert copy.deepcopy(f) is f
    with pytest.raises(AttributeError):
        f.op = "cos"


def test_numbers_are_exact_decimals():
    assert parse("0.1").exact == Fraction(1, 10)
    assert parse("0.1").tree() == ["num", "0.1"]
    assert (parse("0.1").at() * 10 - 1).contains(0)
    assert not (parse("0.1").at() - 0.1).contains(0)


def test_building_in_code():
    assert 3 * x**2 - "0.5" is parse("3*x^2 - 0.5")
    assert 1 / (1 - x) + 2 is parse("1/(1-x) + 2")
    with pytest.raises(TypeError):
        x + 0.1


def test_the_parts_of_a_formula():
    f = parse("sin(3*x)/t")
    assert (f.op, f.children, f.variables) == ("/", (parse("sin(3*x)"), parse("t")), ("t", "x"))
    assert f.tree() == ["/", ["sin", ["*", ["num", "3"], ["var", "x"]]], ["var", "t"]]
    assert parse("sqrt(2)*pi").is_constant and not f.is_constant
