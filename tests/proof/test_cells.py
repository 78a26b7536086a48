import math

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from headsmith.functions import parse, precision
from headsmith.heads.gate import gate
from headsmith.proof.cells import NODES, ORDER, cell_bound, frame, head_series, polynomial_bound
from headsmith.proof.statement import Head, Part

from .nasty import exact, nasty_head


@given(st.integers(0, 2**32), st.floats(-3, 1.5), st.floats(-1, 1))
def test_series_encloses_nasty_heads(seed, log_width, place):
    """Slopes to 1e10, values to 1e5, duplicate keys, a key that is oneself, against 300 bits."""
    rng = np.random.default_rng(seed)
    head = nasty_head(rng, 10)
    h = 10**log_width / float(np.abs(head.slopes).max())
    c = place + float(rng.normal()) * h
    with precision(128, ORDER + 2):
        series, remainder = head_series(head, c, h)
    part = Part("x", "y", None, (-1.0, 1.0), (head,))
    with precision(300):
        for y in (-1.0, 1.0, *rng.uniform(-1, 1, 4).tolist()):
            polynomial = sum((x * arb(y) ** k for k, x in enumerate(series)), arb(0))
            gap = abs(exact(part, arb(c) + arb(h) * y) - polynomial)
            assert not remainder.is_finite() or gap.lower() <= remainder.upper()


def test_series_is_tight():
    """A remainder that is attained: the proof does not buy soundness with slack."""
    head = Head.table([-1.0, 1.0], [0.0, 0.0], [-1.0, 1.0])
    with precision(128, ORDER + 2):
        series, remainder = head_series(head, 0.25, 0.5)
    part = Part("x", "y", None, (-1.0, 1.0), (head,))
    with precision(300):
        gaps = [
            abs(exact(part, arb(0.25) + arb(0.5) * y) - sum((x * arb(y) ** k for k, x in enumerate(series)), arb(0)))
            for y in (-1.0, 1.0)
        ]
    assert max(float(g) for g in gaps) <= float(remainder) <= 100 * max(float(g) for g in gaps)


@pytest.mark.parametrize("h", [0.25, 0.5, 1.0])
def test_the_linear_value_of_a_gate_has_its_own_tail(h):
    """relu-like gate at 0: its value is purely linear there, so that all of the remainder comes from z exp(d y)."""
    part = Part("x", "y", None, (-1.0, 1.0), (gate((8.0, 0.0), (1.0, 0.0)),))
    with precision(128, ORDER + 2):
        series, remainder = head_series(part.heads[0], 0.0, h)
    with precision(300):
        for y in np.linspace(-1, 1, 21).tolist():
            polynomial = sum((x * arb(y) ** k for k, x in enumerate(series)), arb(0))
            assert abs(exact(part, arb(h) * y) - polynomial) <= remainder


def test_far_keys_are_left_out_but_paid_for():
    head = Head.table([0.0, 1e3, 2e3], [0.0, -1e3, -4e3], [0.0, 1.0, 1e5])
    f = frame(head, 0.0, 0.1)
    assert f.active.tolist() == [0] and f.skipped == 2
    with precision(128, ORDER + 2):
        assert float(head_series(head, 0.0, 0.1)[1]) > 0


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=ORDER + 1))
def test_polynomial_bound_brackets_the_maximum(coefficients):
    p = [arb(x) for x in coefficients]
    upper, lower, y = polynomial_bound(p)
    peak = np.abs(np.polynomial.polynomial.polyval(np.linspace(-1, 1, 5001), coefficients)).max()
    assert lower <= abs(np.polynomial.polynomial.polyval(y, coefficients)) + 1e-15
    assert peak <= upper <= 1.02 * peak / math.cos(ORDER * math.pi / (2 * NODES)) + 1e-12


def test_chebyshev_between_nodes():
    """T_12 reaches 1 at points that are no nodes: only the Ehlich-Zeller factor saves the bound."""
    p = [arb(x) for x in np.polynomial.chebyshev.cheb2poly([0.0] * 12 + [1.0]).tolist()]
    assert 1.0 <= polynomial_bound(p)[0] < 1.02


def test_balls_count_in_the_polynomial_bound():
    assert polynomial_bound([arb(0, 0.5)])[0] >= 0.5
    assert polynomial_bound([arb(0), arb(1, 2)])[0] >= 3


def test_values_beyond_floats_are_infinite_not_zero():
    """Coefficients that overflow as floats must not turn into NaN, and NaN into 0."""
    part = Part("x", "y", parse("exp(x^2)"), (27.0, 28.0), (Head.table([0.0], [0.0], [0.0]),))
    with precision(128, ORDER + 2):
        assert cell_bound(part, 27.5, 0.01).upper == math.inf


@pytest.mark.parametrize(
    ("formula", "c", "h"),
    [("sin(3*x)", 0.3, 0.2), ("sin(x)/x", 0.0, 0.5), ("abs(x-0.1)", 0.1, 0.05), ("sqrt(x)", 0.001, 0.001)],
)
def test_cell_bound_holds_at_every_sample(formula, c, h):
    f = parse(formula)
    part = Part("x", "y", f, (c - h, c + h), (Head.table([-1.0, 1.0], [0.0, 0.1], [-0.3, 0.7]),), 0.125)
    with precision(128, ORDER + 2):
        bound = cell_bound(part, c, h)
    with precision(200):
        gaps = [float(abs(exact(part, z) - f.at(z, prec=200))) for z in np.linspace(c - h, c + h, 41).tolist()]
    assert max(gaps) <= bound.upper
    assert bound.lower <= bound.upper
