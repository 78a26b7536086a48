"""What can be read off an expression: text, tree, summands, factors, slope."""

from fractions import Fraction

import pytest

from headsmith.functions import Expression, parse
from headsmith.functions.shape import factors
from headsmith.refusal import Refusal


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


def test_factors_multiply_to_the_whole():
    assert [str(f) for f in factors(parse("-(2*x)*sin(x)"))] == ["-1", "2", "x", "sin(x)"]
    assert factors(parse("x + 1")) == [parse("x + 1")]
