import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headsmith.functions import Unresolved, parse

from .formulas import formulas, reference

cells = st.tuples(st.floats(-2, 2), st.sampled_from([1.0, 0.3, 0.05, 1e-4]), st.floats(-1, 1))


def holds(f, centre, radius, y, order):
    """Whether one branch's polynomial and remainder hold f at centre + radius y."""
    jets = f.jets(centre, radius, order)
    y = mpmath.mpf(y)
    true = reference(f, mpmath.mpf(centre) + mpmath.mpf(radius) * y)
    number = lambda ball: mpmath.mpf(ball.str(60, radius=False))  # noqa: E731
    for jet in jets:
        middle = sum(number(c.mid()) * y**k for k, c in enumerate(jet.coefficients))
        spread = number(jet.remainder) + sum(number(c.rad()) for c in jet.coefficients)
        if abs(true - middle) <= spread + mpmath.mpf(10) ** -40 * (1 + abs(true)):
            return True
    return False


@settings(max_examples=250, deadline=None)
@given(formulas(), cells, st.integers(0, 12))
def test_every_value_lies_in_a_branch(f, cell, order):
    try:
        assert holds(f, *cell, order)
    except (Unresolved, ZeroDivisionError, OverflowError):
        assume(False)


@pytest.mark.parametrize(
    "text",
    ["sin(x)/x", "(1-cos(x))/x^2", "(exp(x)-1)/x", "log(1+x)/x", "x/tanh(x)", "(x-sin(x))/x^3",
     "exp(x)*sin(x)/x + abs(x - 0.1)"],
)  # fmt: skip
def test_removable_points_inside_beside_and_at_the_end_of_a_cell(text):
    f = parse(text)
    for centre, radius in ((0.0, 0.25), (0.125, 0.25), (0.25, 0.25), (0.5, 0.125)):
        assert all(jet.remainder < 1e-3 for jet in f.jets(centre, radius, 12))
        for y in (-0.999, -0.3, 0.001, 0.77):
            assert holds(f, centre, radius, y, 12)


def test_the_remainder_falls_with_the_cell():
    f = parse("sin(3*x)")
    wide, narrow = (f.jets(0.3, h, 12)[0].remainder for h in (0.2, 0.1))
    assert 2**12 < wide / narrow < 2**14


def test_branches():
    assert [len(parse("abs(x)").jets(c, 0.5, 3)) for c in (0.0, 1.0)] == [2, 1]
    assert len(parse("abs(x) + relu(x) + abs(x)").jets(0.0, 0.5, 3)) == 2
    assert len(parse("clip(x, -1, 1)").jets(0.0, 2.0, 3)) == 3
    assert sorted(float(jet.coefficients[0]) for jet in parse("floor(x)").jets(0.0, 1.5, 2)) == [-2, -1, 0, 1]
    many = "+".join(f"abs(x - 0.{k})" for k in range(1, 6))
    with pytest.raises(Unresolved, match="branches"):
        parse(many).jets(0.3, 0.5, 3)


@pytest.mark.parametrize("text", ["1/x", "log(x)", "sqrt(x)", "tan(2*x)", "abs(x)/x", "x^0.5", "sin(x)/x^2"])
def test_undecided_cells_say_so(text):
    with pytest.raises(Unresolved):
        parse(text).jets(0.0, 0.9, 5)
