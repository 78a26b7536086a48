import pytest

from headsmith.functions import Expression, parse
from headsmith.refusal import Refusal

x = Expression.variable("x")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("-x^2", "-(x^2)"),
        ("2^-x", "2^(-x)"),
        ("2^3^2", "2^(3^2)"),
        ("x**2", "x^2"),
        ("-x*y", "(-x)*y"),
        ("a-b-c", "(a-b)-c"),
        ("a/b/c", "(a/b)/c"),
        ("a/b*c", "(a/b)*c"),
        ("1+2*x^3", "1+(2*(x^3))"),
        ("2^-x^2", "2^(-(x^2))"),
        ("+x", "x"),
        ("--x", "x"),
        ("x - -3", "x + 3"),
        (".5*x", "0.50*x"),
        ("5.e1", "50"),
        ("1E+2", "100"),
        (" x\t+\n1 ", "x+1"),
        ("max(x, 1, y)", "max(max(x, 1), y)"),
        ("2e-3*e", "0.002*(e)"),
    ],
)
def test_operators_bind_as_in_mathematics(text, same):
    assert parse(text) is parse(same)


def test_the_value_of_a_tower_of_powers():
    assert parse("2^3^2").exact == 512
    assert parse("-3^2").exact == -9
    assert parse("(-3)^2").exact == 9


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("3x", "write 3*x"),
        ("x y", "write x*y"),
        ("(x)(x)", "side by side"),
        ("x(x+1)", "x is not a function"),
        ("sin x", "write sin(x)"),
        ("sin", "needs brackets"),
        ("ln(x)", "did you mean log"),
        ("sine(x)", "did you mean sin"),
        ("__import__('os')", "no meaning"),
        ("__import__(x)", "unknown"),
        ("x.real", "no meaning"),
        ("'x'", "no meaning"),
        ("x; y", "no meaning"),
        ("lambda x: x", "no meaning"),
        ("x if x else 1", "side by side"),
        ("x = 1", "no meaning"),
        ("foo(x)", "unknown"),
        ("sin(x, y)", "takes 1 argument, 2 given"),
        ("clip(x, 1)", "takes 3 arguments, 2 given"),
        ("max(x)", "takes 2 arguments, 1 given"),
        ("sin()", "before ')'"),
        ("x^65", "largest exponent is 64"),
        ("9^9^9^9", "largest exponent is 64"),
        ("2^(100*pi)", "largest exponent is 64"),
        ("1e999", "beyond 1e300"),
        ("1e-99999999999999999999", "beyond 1e300"),
        ("1/0", "divides by zero"),
        ("x/(1-1)", "divides by zero"),
        ("x +", "ends where"),
        ("* x", "before '*'"),
        ("(x", "column 1 is not closed"),
        ("x)", "does not belong"),
        ("x,y", "does not belong"),
        ("λ + x", "no meaning"),
        ("x²", "write ^2"),
        ("x\x00", "no meaning"),
        ("x" * 10_001, "10001 characters"),
        ("(" * 10_000, "levels of brackets"),
        ("-" * 9_999 + "x", "levels of brackets"),
        ("2^" * 4_000 + "x", "levels of brackets"),
        ("sin(" * 2_500, "levels of brackets"),
        ("1+" * 4_000 + "1", "nests more than 300"),
    ],
)
def test_anything_else_is_refused_in_one_sentence(text, hint):
    with pytest.raises(Refusal) as refusal:
        parse(text)
    said = str(refusal.value)
    assert hint in said
    assert "\n" not in said and len(said) < 300


def test_a_refusal_points_at_the_place():
    with pytest.raises(Refusal, match="column 10"):
        parse("sin(x) + $")


def test_what_is_not_text_is_refused():
    with pytest.raises(Refusal, match="not int"):
        parse(3)


def test_the_largest_allowed_formulas_are_read():
    assert parse("(" * 99 + "x" + ")" * 99) is x
    assert len(parse("+".join(["x"] * 300)).terms()) == 300
