import math
from dataclasses import replace

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from headsmith.constructions.gate import gate, line
from headsmith.functions import parse, precision
from headsmith.proof import cells
from headsmith.proof.cells import NEGLIGIBLE, NODES, ORDER, cell_bound, frame, head_series, polynomial_bound
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


# each term of the remainder, where it is all there is


def gap_of(head: Head, c: float, h: float, y: float) -> arb:
    """|phi - polynomial| at c + h y, and the remainder that should hold it."""
    with precision(128, ORDER + 2):
        series, remainder = head_series(head, c, h)
    with precision(400):
        polynomial = sum((x * arb(y) ** k for k, x in enumerate(series)), arb(0))
        gap = abs(exact(Part("x", "y", None, (-1.0, 1.0), (head,)), arb(c) + arb(h) * y) - polynomial)
    return gap, remainder


def test_a_skipped_key_of_great_value_is_paid_for():
    """It weighs e^-81 and is worth 1e40."""
    head = Head.table([0.0, 0.0], [0.0, -81.0], [0.0, 1e40])
    assert frame(head, 0.0, 1.0).skipped == 1
    gap, remainder = gap_of(head, 0.0, 1.0, 1.0)
    assert 1e4 < float(gap) <= float(remainder)


def test_values_of_skipped_keys_may_be_lines():
    """The key that is left out is the token itself, and its value grows with z."""
    head = Head(np.array([0.0, 0.0]), np.array([-81.0, 0.0]), np.array([0.0, 0.0]), np.array([1e40, 0.0]))
    gap, remainder = gap_of(head, 0.0, 1.0, 1.0)
    assert 1e4 < float(gap) <= float(remainder)


def plain_remainder(head: Head, c: float, h: float, steered) -> float:
    """The theorem at the top of `cells`, written out: (tail_N + tail_Z |q| + |excess|) / (Z_0 exp(-|Z_1|/Z_0))."""
    with precision(128, ORDER + 2):
        q = [float(x) for x in head_series(head, c, h)[0]]
    q[0] -= steered.value
    N, Z, tail_n, tail_z = np.zeros(ORDER + 2), np.zeros(ORDER + 1), 0.0, 0.0
    for j in steered.active:
        e = math.exp(head.slopes[j] * c + head.offsets[j] - steered.top)
        d, tilt = (head.slopes[j] - steered.mean) * h, head.lines[j] * h
        v = head.values[j] + head.lines[j] * c - steered.value
        terms = e * d ** np.arange(ORDER + 1) / [math.factorial(k) for k in range(ORDER + 1)]
        Z, N = Z + terms, N + np.append(terms * v, 0) + np.append(0, terms * tilt)
        tail = abs(terms[-1] * d / (ORDER + 1)) / (1 - abs(d) / (ORDER + 2))
        tail_z, tail_n = tail_z + tail, tail_n + tail * abs(v) + abs(tilt) * (tail + abs(terms[-1]))
    widest = np.abs(head.values).max() + np.abs(head.lines).max() * (abs(c) + h) + abs(steered.value)
    tail_z, tail_n = tail_z + steered.skipped * NEGLIGIBLE, tail_n + steered.skipped * NEGLIGIBLE * widest
    excess = np.convolve(q, Z)
    excess[: ORDER + 1] -= N[: ORDER + 1]
    whole = tail_n + tail_z * np.abs(q).sum() + np.abs(excess[ORDER + 1 :]).sum()
    return whole / (Z[0] * math.exp(-abs(Z[1]) / Z[0]))


FAR_KEYS = Head.table([-0.1, 0.1, *[0.0] * 9], [0.0, 0.0, *[-90.0] * 9], [-1e30, 1e30, *[0.0] * 9])
REMAINDERS = {
    "a curve": (Head.table([-0.5, 0.5], [0.0, 0.0], [-1.0, 1.0]), 1.0),
    "equal values": (Head.table([-0.5, 0.5], [0.0, 0.0], [1.0, 1.0]), 1.0),
    "equal lines": (Head(*(np.array(row) for row in ([-0.5, 0.5], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0]))), 1.0),
    "a gate": (gate((1.0, 0.0), (1.0, 0.0)), 1.0),
    "skipped keys": (FAR_KEYS, 1e-3),
    "a skipped key of great value": (Head.table([-0.1, 0.1, 0.0], [0.0, 0.0, -90.0], [-1.0, 1.0, 1e40]), 1e-3),
}


@pytest.mark.parametrize("name", REMAINDERS)
@pytest.mark.parametrize("steer", ["as it is", "another mean", "another value"])
def test_no_term_of_the_remainder_is_missing(name, steer, monkeypatch):
    """As stated; and for other steering numbers, since far from the mean slope only Jensen's inequality bounds Z."""
    head, h = REMAINDERS[name]
    f = frame(head, 0.0, h)
    mean = f.mean + (1.5 / h if steer == "another mean" else 0.0)
    value = f.value + (2.0 * max(1.0, np.abs(head.values).max()) if steer == "another value" else 0.0)
    f = replace(f, mean=mean, value=value, top=f.top + 0.5)
    monkeypatch.setattr(cells, "frame", lambda *_: f)
    with precision(128, ORDER + 2):
        _, remainder = head_series(head, 0.0, h)
    stated = plain_remainder(head, 0.0, h, f)
    assert 0.99999 * stated <= float(remainder) <= 1.001 * stated
    gap, remainder = gap_of(head, 0.0, h, 1.0)
    assert gap.lower() <= remainder.upper()


def test_the_heads_of_a_part_and_its_target_share_one_bound():
    """Each of three heads leaves a remainder, and so does the target: the bound is not below their sum."""
    heads = tuple(Head.table([-d, d], [0.0, 0.0], [-1.0, 1.0]) for d in (1.0, 1.1, 0.9))
    part = Part("x", "y", parse("sin(3*x)"), (-1.0, 1.0), heads)
    with precision(128, ORDER + 2):
        rests = [float(head_series(head, 0.0, 1.0)[1]) for head in heads]
        [jet] = part.target.jets(0.0, 1.0, ORDER)
        bound = cell_bound(part, 0.0, 1.0)
    assert bound.remainder >= 0.999 * (sum(rests) + float(jet.remainder))
    assert bound.upper >= bound.lower + 1.9 * 0.999 * (sum(rests) + float(jet.remainder))


def test_the_bias_of_a_part_counts():
    part = Part("x", "y", parse("x"), (-1.0, 1.0), (Head.table([0.0], [0.0], [0.0]),), 0.5)
    with precision(128, ORDER + 2):
        bound = cell_bound(part, 0.0, 1.0)
    assert 1.5 <= bound.upper <= 1.52 and 1.48 <= bound.lower <= 1.5


def test_dropped_coefficients_are_paid_for():
    assert polynomial_bound([arb(1), arb(0), arb(0.5)], floor=0.6)[0] >= 1.5


def test_every_branch_is_compared():
    """On [-1, 1] abs(x) may be x or -x; a head that is x is off by 2 from the other."""
    for slope in (1.0, -1.0):
        part = Part("x", "y", parse("abs(x)"), (-1.0, 1.0), (line(slope),))
        with precision(128, ORDER + 2):
            bound = cell_bound(part, 0.0, 1.0)
        assert bound.upper >= 2 and bound.lower == 0 and bound.remainder >= 2


def test_the_reach_holds_the_values():
    part = Part("x", "y", parse("3*x + x^2 - 1"), (-1.0, 1.0), (line(1.0),))
    with precision(128, ORDER + 2):
        low, high = cell_bound(part, 0.0, 1.0).reach
    assert low <= -3.25 and high >= 3.0
