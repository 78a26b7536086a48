import itertools
import math

import pytest

from headsmith.functions import Unresolved, bound, lipschitz, parse
from headsmith.functions.bounds import slopes


@pytest.mark.parametrize(
    ("text", "lo", "hi", "slope", "size"),
    [
        ("sin(3*x)", -2, 2, 3, 1),
        ("x^2 - x", -2, 1, 5, 6),
        ("abs(sin(20*x))", -2, 2, 20, 1),
        ("1/(1+1000*x^2)", -1, 1, 20.5396, 1),
        ("sin(x)/x", -3, 3, 0.43618, 1),
        ("gelu(x)", -5, 5, 1.1289, 5),
        ("exp(x)", -40, 40, math.exp(40), math.exp(40)),
        ("0*x", 0, 1, 0, 0),
        ("sqrt(x)", 0, 4, math.inf, 2),
        ("x*log(x)", 0, 1, math.inf, math.exp(-1)),
        ("step(x)", -1, 1, math.inf, 1),
        ("1/x", -1, 1, math.inf, math.inf),
        ("sqrt(x)", -1, 1, math.inf, math.inf),
    ],
)
def test_largest_slope_and_value(text, lo, hi, slope, size):
    f = parse(text)
    for found, true in ((lipschitz(f, lo, hi), slope), (f.bound(lo, hi), size)):
        assert found == true or true * (1 - 1e-4) <= found <= true * 1.011


@pytest.mark.parametrize("text", ["sin(3*x) + x^2", "exp(-x)*cos(x)", "gelu(x)", "abs(x - 0.1)"])
def test_slopes_hold_every_difference_quotient(text):
    """f(z) - f(y) = (z - y) f'(xi) for some xi of the cell: the quotient lies in the hull of the branches."""
    f, (a, b) = parse(text), (-0.5, 0.75)
    found = [wide for wide, _ in slopes(f, a, b)]
    low, high = min(float(s.lower()) for s in found), max(float(s.upper()) for s in found)
    points = [a + (b - a) * k / 20 for k in range(21)]
    for y, z in itertools.pairwise(points):
        assert low - 1e-12 <= (f(z) - f(y)) / (z - y) <= high + 1e-12


def test_each_branch_has_its_slope():
    assert sorted(float(middle) for _, middle in slopes(parse("abs(x)"), -1, 1)) == [-1, 1]
    assert slopes(parse("7"), 0, 1)[0][0] == 0
    with pytest.raises(Unresolved):
        slopes(parse("sqrt(x)"), 0, 1)


def test_a_bound_is_never_below_a_value():
    f = parse("sin(50*x)*exp(-x^2)")
    assert max(abs(f(k / 1000)) for k in range(-1000, 1001)) <= bound(f, -1, 1)
