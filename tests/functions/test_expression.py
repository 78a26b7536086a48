import copy
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings

from headsmith.functions import Expression, parse
from headsmith.refusal import Refusal

from .formulas import formulas

x, y = Expression.variable("x"), Expression.variable("y")


@settings(max_examples=200, deadline=None)
@given(formulas(leaves=20))
def test_text_and_tree_give_the_expression_back(f):
    assert parse(str(f)) is f
    assert Expression.from_tree(json.loads(json.dumps(f.tree()))) is f


@pytest.mark.parametrize(
    "text",
    [
        "-x^2",
        "(-x)^2",
        "-(x*y)",
        "x - (y - z)",
        "x/(y*z)",
        "(2^x)^y",
        "2^-x",
        "(-3)^2",
        "x*-y",
        "1e-7*x",
        "(x + 1)*2",
    ],
)
def test_canonical_text_has_no_spare_brackets(text):
    assert str(parse(text)) == text


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


def test_terms_carry_their_signs():
    assert [str(term) for term in parse("x - (2*y - 3) + -sin(x)").terms()] == ["x", "-(2*y)", "3", "-sin(x)"]


def test_substitution():
    assert parse("x^2 + y").substitute("x", parse("y + 1")) is parse("(y+1)^2 + y")
    with pytest.raises(Refusal, match="divides by zero"):
        parse("1/x").substitute("x", 0)


def test_affine_maps_are_recognised():
    assert parse("2*(x - 1)/4 + 3").affine() == (Fraction(1, 2), Fraction(5, 2))
    slope, intercept = parse("-x*pi + sqrt(2)").affine()
    assert abs(float(slope) + 3.141592653589793) < 1e-15 and abs(float(intercept) - 2**0.5) < 1e-15
    assert parse("7").affine() == (0, 7)
    for text in ("x*x", "1/x", "sin(x)", "x + y", "x^2", "abs(x)"):
        assert parse(text).affine() is None


@pytest.mark.parametrize(
    "tree",
    [
        None, [], ["sin"], ["sin", ["var", "x"], ["var", "x"]], ["eval", ["var", "x"]], ["num", 3],
        ["num", "inf"], ["num", "0x10"], ["num", "1_0"], ["num", "1" * 5000], ["var", "__class__"],
        ["var", "e"], ["var"], "x", {"op": "sin"}, [["sin"], ["var", "x"]], ["^", ["var", "x"],
        ["num", "1e9"]], ["pi", ["num", "1"]], ["neg", "x"], ["num", "٣"],
    ],
)  # fmt: skip
def test_bad_trees_are_refused(tree):
    with pytest.raises(Refusal):
        Expression.from_tree(tree)


def test_a_bottomless_tree_is_refused():
    tree = ["var", "x"]
    for _ in range(5000):
        tree = ["sin", tree]
    with pytest.raises(Refusal, match="nests"):
        Expression.from_tree(tree)
