import numpy as np
import pytest

from headsmith.constructions.printed import LARGEST, printed_part, printed_steps
from headsmith.functions import parse
from headsmith.refusal import Refusal


def test_the_rule():
    assert printed_steps(parse("relu(x)"), (-1.0, 1.0), 0.01) == pytest.approx(400, abs=5)
    assert printed_steps(parse("sin(3*x)"), (-2.0, 2.0), 1e-6) == pytest.approx(2.4e7, rel=0.02)


def test_no_slope_no_finite_rule_by_slope():
    """sqrt has no Lipschitz constant: the modulus of continuity asks for steps of (eps/2)^2."""
    assert printed_steps(parse("sqrt(x)"), (0.0, 1.0), 0.02) == pytest.approx(1e4, rel=0.1)


def test_beyond_all_floats():
    assert printed_steps(parse("exp(x)"), (-700.0, 700.0), 1e-3) > 1e300


def test_the_staircase_keeps_its_promise():
    f = parse("sin(3*x)")
    part = printed_part(f, (-2.0, 2.0), 0.1, "float64", "x", "out")
    z = np.linspace(-2, 2, 4001)
    assert part.keys == printed_steps(f, (-2.0, 2.0), 0.1) + 1
    assert np.abs(part(z) - f(z)).max() <= 0.1


def test_too_large_to_build_names_an_eps_that_is_not():
    f = parse("sin(3*x)")
    with pytest.raises(Refusal, match="ask for eps = ") as refused:
        printed_part(f, (-2.0, 2.0), 1e-6, "float64", "x", "out")
    named = float(str(refused.value).split("ask for eps = ")[1].split(",")[0])
    assert printed_part(f, (-2.0, 2.0), named, "float64", "x", "out").keys <= LARGEST
