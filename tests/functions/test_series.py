"""Taylor coefficients of the functions that flint lacks, against mpmath's; and division where it is removable."""

import mpmath
import pytest
from flint import arb, arb_series

from headsmith.functions import Unresolved, precision, series
from headsmith.functions.balls import hull

TERMS = 6
FUNCTIONS = {
    "tanh": mpmath.tanh,
    "sigmoid": lambda u: 1 / (1 + mpmath.exp(-u)),
    "softplus": lambda u: mpmath.log(1 + mpmath.exp(u)),
    "gelu": lambda u: u * (1 + mpmath.erf(u / mpmath.sqrt(2))) / 2,
    "gelu_tanh": lambda u: u * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (u + mpmath.mpf("0.044715") * u**3))) / 2,
    "silu": lambda u: u / (1 + mpmath.exp(-u)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("centre", [-2.5, 0.0, 0.75])
def test_coefficients(name, centre):
    with precision(128, TERMS):
        found = getattr(series, name)(arb_series([centre, 1], TERMS))
    true = mpmath.taylor(FUNCTIONS[name], centre, TERMS - 1)
    assert [float(found[k]) for k in range(TERMS)] == pytest.approx([float(c) for c in true], rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softplus"])
def test_a_wide_centre_gives_the_hull_of_its_ends(name):
    function = getattr(series, name)
    wide = function(hull(-800, 800))
    for u in (-800, -1, 0, 1, 800):
        assert wide.overlaps(function(arb(u)))
    assert wide.upper() <= function(arb(800)).upper() + 1e-5
    with precision(128, 3):
        slopes = function(arb_series([hull(-1, 1), 1], 3))
        assert all(slopes[1].contains(function(arb_series([c, 1], 3))[1]) for c in (-1.0, -0.4, 0.0, 0.9))


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5, 8])
def test_powers(n):
    with precision(128, 4):
        found = series.power(arb_series([1.5, 1], 4), n)
    true = mpmath.taylor(lambda u: u**n, 1.5, 3)
    assert [float(found[k]) for k in range(4)] == pytest.approx([float(c) for c in true], rel=1e-12)


def test_an_even_power_around_zero_is_told_to_be_nonnegative():
    with precision(64, 3):
        assert -1e-6 < series.power(arb_series([hull(-1, 2), 1], 3), 4)[0].lower() <= 0


def test_what_may_vanish_is_unresolved():
    for refuse, value in ((series.positive, 0), (series.positive, -1), (series.nonzero, 0)):
        with pytest.raises(Unresolved):
            refuse(arb(value))
        with pytest.raises(Unresolved):
            refuse(arb_series([value, 1]))
    with pytest.raises(Unresolved):
        series.power(arb(0, 1), -2)
    assert series.positive(arb(2)) == 2 and series.nonzero(arb(-2)) == -2


def test_leading_zeros_are_counted_and_divided_away():
    u = arb_series([0, 0, 3, 4], 4)
    assert series.zeros(u) == 2 and series.zeros(arb(1)) == 0
    assert [float(c) for c in series.shift(u, 2)] == [3, 4]
    with pytest.raises(Unresolved):
        series.shift(u, 4)
