"""Formulas of a file: strict arity, limits, printing, sums."""

import pytest

from headsmith.functions import parse
from headsmith.proof.checker import formulas
from headsmith.proof.checker.verdict import Rejected

from .helpers import tree_of


@pytest.mark.parametrize("power", ["65", "1e2", "-64.5"])
def test_powers_have_a_limit(power):
    with pytest.raises(Rejected):
        formulas.read(["^", ["var", "x"], ["num", power]])


TEXTS = ["-x^2", "2^-x + sin(3*x)/x", "(x + 1)*(x - 2)", "x - (1 - x)", "-(x + 1)", "(-2)^2*x", "x/(2*x)/3", "2^3^x"]


@pytest.mark.parametrize("text", [*TEXTS, "clip(x, -1, pi)", "min(x, e)", "-(-x^2)", "(x^2)^3", "abs(x) - -1e-30*x"])
def test_formulas_are_printed_alike(text):
    assert str(tree_of(text)) == str(parse(text))


def test_sums_are_compared_by_their_terms():
    same = ["x - 2*sin(x) + 1", "1 - (2*sin(x) - x)", "-(2*sin(x)) + (x + 1)"]
    assert len({tuple(formulas.summands(tree_of(t))) for t in same}) == 1
    assert formulas.summands(tree_of("x + 1")) != formulas.summands(tree_of("x - 1"))
    assert formulas.summands(tree_of("x + 1")) != formulas.summands(tree_of("x + 1 + 1"))


@pytest.mark.parametrize("op", formulas.ARITY)
def test_every_operation_has_so_many_arguments(op):
    x = ["var", "x"]
    right = formulas.ARITY[op]
    assert formulas.read([op, *[x] * right]).steps
    for count in {0, 1, 2, 3, 4} - {right}:
        with pytest.raises(Rejected):
            formulas.read([op, *[x] * count])


def test_depth_has_a_limit():
    tree = ["var", "x"]
    for _ in range(310):
        tree = ["neg", tree]
    with pytest.raises(Rejected, match="nests more"):
        formulas.read(tree)


@pytest.mark.parametrize("text", ["1/3", " 1", "1_000", "[1 +/- 1]", "nan", "+1", "1.", ".5", "1E5", "٣"])
def test_numbers_are_plain_decimals(text):
    with pytest.raises(Rejected, match="no number"):
        formulas.read(["num", text])


@pytest.mark.parametrize("name", ["xy", "pi", "", "x1234", "_", "x y"])
def test_variables_are_letters(name):
    with pytest.raises(Rejected, match="no number or variable"):
        formulas.read(["var", name])
