import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headsmith.constructions.gate import RELU_GAP, Hinges, gate, hinges, line
from headsmith.functions import parse

Z = np.linspace(-3, 3, 601)


def test_relu_gap_is_the_maximum_of_t_sigmoid_minus_t():
    t = np.linspace(1.2, 1.4, 100001)
    assert pytest.approx((t / (1 + np.exp(t))).max(), rel=1e-9) == RELU_GAP
    assert RELU_GAP * math.exp(RELU_GAP) == pytest.approx(math.exp(-1), rel=1e-12)


def test_silu_is_a_gate():
    assert np.allclose(gate((1.0, 0.0), (1.0, 0.0))(Z), Z / (1 + np.exp(-Z)), atol=1e-15, rtol=0)


def test_line_attends_to_itself():
    head = line(-2.0, 0.5)
    assert head.keys == 1 and head.attends_to_itself
    assert np.array_equal(head(Z), 0.5 - 2 * Z)


@pytest.mark.parametrize(
    ("formula", "domain", "heads"),
    [
        ("relu(x)", (-1.0, 1.0), 1),
        ("abs(x)", (-1.0, 1.0), 2),
        ("clip(x, -1, 1)", (-2.0, 2.0), 2),
        ("max(x, 0.1*x)", (-2.0, 2.0), 2),
        ("relu(x) - relu(x - 1) + 3", (-2.0, 2.0), 2),
        ("abs(abs(x) - 0.5)", (-1.0, 1.0), 4),
        ("max(x, max(-x, 0.5))", (-2.0, 2.0), 2),
        ("2*x - 1", (-1.0, 1.0), 1),
        ("min(x, pi)", (0.0, 4.0), 1),
    ],
)
def test_piecewise_linear_functions_are_read_off(formula, domain, heads):
    f = parse(formula)
    bent = hinges(f, *domain, f.places(*domain).kinks)
    assert bent is not None
    found = bent.heads(1e-9)
    z = np.linspace(*domain, 501)
    assert len(found) == heads
    assert np.abs(bent.intercept + sum(h(z) for h in found) - f(z)).max() <= heads * 1.1e-9


@pytest.mark.parametrize("formula", ["x^2", "x^7", "x^8", "x^64", "sin(x)", "abs(x)*x", "relu(x)^2", "x + 0.001*x^9"])
def test_curved_functions_are_not(formula):
    """x^8 has no terms of degree 2 to 6 at 0 and is no line all the same."""
    f = parse(formula)
    assert hinges(f, -1.0, 1.0, f.places(-1.0, 1.0).kinks) is None


@given(st.floats(-1, 1), st.sampled_from([-1.0, 1.0]), st.floats(0.01, 100), st.floats(-8, -1))
def test_each_gate_is_within_its_eps(place, side, jump, log_eps):
    eps = 10**log_eps
    (head,) = Hinges(0.0, 0.0, ((place, side, jump),)).heads(eps)
    wanted = jump * np.maximum(side * (Z - place), 0)
    assert np.abs(head(Z) - wanted).max() <= 1.001 * eps + 1e-12 * jump
