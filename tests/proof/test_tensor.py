"""The proof over boxes: every inequality of it against brute force, and where it is attained."""

import math

import numpy as np
import pytest
from flint import arb, arb_series
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith.functions import Unresolved, parse, precision
from headsmith.functions.several import at_point, on_grid, pure_series
from headsmith.proof.approximation import Unprovable
from headsmith.proof.chebyshev import angles, cosines, interpolant_bound
from headsmith.proof.tensor import DEGREES, RADII, Axis, Interpolation, TensorHead, _variance, prove_tensor, spill

SEEDS = st.integers(0, 10_000)
UNIT = [(-1.0, 1.0), (-1.0, 1.0)]


def random_head(rng, dims, steep=4.0, size=1.0, components=1):
    sizes = rng.integers(2, 5, dims)
    axes = tuple(Axis(rng.normal(0, steep, p), np.round(rng.normal(0, 2, p), 3)) for p in sizes)
    return TensorHead(axes, rng.normal(0, size, (*sizes, components)))


@given(SEEDS)
def test_interpolation_of_a_head_errs_less_than_its_spill(seed):
    rng = np.random.default_rng(seed)
    head = random_head(rng, 1, steep=float(rng.uniform(0.1, 8)))
    axis, n, c, h = head.axes[0], DEGREES[2], float(rng.uniform(-1, 1)), float(rng.uniform(0.05, 0.6))
    count = n + 1
    values = head.grid([c + h * np.cos(angles(count))])[0]
    transform = cosines(count, count, count).T * (2 / count)
    transform[0] /= 2
    y = np.linspace(-1, 1, 301)
    polynomial = np.polynomial.chebyshev.chebval(y, transform @ values)
    error = np.abs(polynomial - head.grid([c + h * y])[0]).max()
    assert error <= spill(axis, c, h, n) * float(np.ptp(head.values)) / 2 + 1e-12


@settings(max_examples=10)
@given(SEEDS)
def test_no_point_of_the_box_exceeds_the_bound(seed):
    rng = np.random.default_rng(seed)
    head = random_head(rng, 2, steep=2.0)
    f = parse("sin(2*x + y) + x*y^2")
    proof = prove_tensor(head, [f], ["x", "y"], UNIT, 1e-3)
    points = np.concatenate([rng.uniform(-1, 1, (200, 2)), np.array([[a, b] for a in (-1, 1) for b in (-1, 1)])])
    x, y = points.T
    phi = np.array([head.grid([np.array([a]), np.array([b])])[0, 0, 0] for a, b in points])
    errors = np.abs(phi - f(x=x, y=y))
    assert errors.max() <= proof.bound
    assert proof.least <= proof.bound
    at = np.abs(head.grid([np.array([t]) for t in proof.witness])[0, 0, 0] - f(x=proof.witness[0], y=proof.witness[1]))
    assert at == pytest.approx(proof.least, rel=1e-6)


def test_the_bound_is_within_five_per_cent_of_the_error():
    rng = np.random.default_rng(3)
    head = random_head(rng, 2, steep=2.0)
    f = parse("cos(x)*y")
    proof = prove_tensor(head, [f], ["x", "y"], UNIT, 1e-3)
    z = np.linspace(-1, 1, 401)
    seen = np.abs(head.grid([z, z])[0] - f(x=z[:, None], y=z[None, :])).max()
    assert seen <= proof.bound <= 1.05 * seen + 2e-3


def test_three_variables_and_several_components():
    rng = np.random.default_rng(5)
    head = random_head(rng, 3, steep=1.0, components=2)
    fs = [parse("x*y*z"), parse("1")]
    proof = prove_tensor(head, fs, ["x", "y", "z"], [(-1, 1)] * 3, 1e-2)
    points = rng.uniform(-1, 1, (50, 3))
    for p in points:
        phi = head.grid([np.array([t]) for t in p]).reshape(2)
        assert abs(phi[0] - p.prod()) <= proof.bound and abs(phi[1] - 1) <= proof.bound


@given(SEEDS, st.integers(1, 3))
def test_a_polynomial_stays_under_its_bound(seed, dims):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    values = rng.normal(size=(n + 1,) * dims)
    bound = interpolant_bound(values, n, 1e-3, 2000)
    transform = cosines(n + 1, n + 1, n + 1).T * (2 / (n + 1))
    transform[0] /= 2
    points = rng.uniform(-1, 1, (300, dims))
    coefficients = values
    for k in range(dims):
        coefficients = np.moveaxis(np.tensordot(transform, coefficients, (1, k)), 0, k)
    for p in points:
        out = coefficients
        for t in p:
            out = np.polynomial.chebyshev.chebval(t, out)
        assert abs(float(out)) <= bound


def test_pure_series_are_taylor_series_and_kinks_need_a_side():
    with precision(128, 6):
        x = arb_series([arb(0.5), 1])
        found = pure_series(parse("exp(x*y)"), {"x": x, "y": arb(2)})
        assert abs(float(found[3]) - float(arb(1).exp()) * 8 / 6) < 1e-12
        assert float(pure_series(parse("abs(x+y)"), {"x": x, "y": arb(-2)})[1]) == -1
        with pytest.raises(Unresolved):
            pure_series(parse("abs(x+y)"), {"x": arb_series([arb(0, 1), 1]), "y": arb(0)})


def test_a_product_grid_holds_the_values_at_its_points():
    f = parse("x^2/(2+y) - y")
    points = {"x": [arb(0.25), arb(1)], "y": [arb(-1), arb(0.5), arb(3)]}
    found = on_grid(f, points)
    expected = [at_point(f, ["x", "y"], [float(a), float(b)]) for a in points["x"] for b in points["y"]]
    assert all(a.overlaps(b) for a, b in zip(found, expected, strict=True))


T9 = "256*x^9 - 576*x^7 + 432*x^5 - 120*x^3 + 9*x"
U8 = "256*x^8 - 448*x^6 + 240*x^4 - 40*x^2 + 1"  # alternates at the nine zeros of T9, and is at least 1 there


def nothing(dims):
    """The head that is zero everywhere, and is interpolated without error."""
    return TensorHead((Axis(np.zeros(1), np.zeros(1)),) * dims, np.zeros((*[1] * dims, 1)))


def test_a_spike_between_the_nodes_is_not_overlooked():
    """One key wins within 0.05 of x = 0.17 only: at all nine nodes of [-1, 1] the head is zero to five digits."""
    axis = Axis(np.array([-100.0, 0.0, 100.0]), np.array([12.0, 0.0, -22.0]))
    spike = TensorHead((axis,), np.array([[0.0], [1.0], [0.0]]))
    assert np.abs(spike.grid([np.cos(angles(9))])).max() < 1e-5
    assert (
        prove_tensor(spike, [parse("0")], ["x"], [(-1, 1)], 1e-3).bound >= spike.grid([np.array([0.17])])[0, 0] > 0.98
    )


@pytest.mark.parametrize(("h", "degree"), [(0.5, 8), (0.25, 14), (1.0, 11)])
def test_the_spill_of_two_keys_is_that_of_the_theorem(h, degree):
    """|Z(x+iy)| >= Z(x) cos(yA/2) is attained at x = 0 by two keys, so nothing smaller is proved."""
    found = spill(Axis(np.array([-1.0, 1.0]), np.zeros(2)), 0.0, h, degree)
    least = min(
        4 * rho**-degree / ((rho - 1) * math.cos(b))
        for rho in RADII
        if (b := h * (rho - 1 / rho) / 2) < math.pi / 2 and math.cos(b) > 0.05
    )
    assert least <= found <= 1.01 * least


def test_a_remainder_that_is_attained():
    """T9 vanishes at the nine nodes of degree 8, and is its own remainder: one at both ends."""
    assert 1.0 <= prove_tensor(nothing(1), [parse(T9)], ["x"], [(-1, 1)], 1.1).bound <= 1.01


def test_remainders_of_two_variables_that_are_attained():
    both = parse(f"{T9} + {T9.replace('x', 'y')}")
    assert 2.0 <= prove_tensor(nothing(2), [both], ["x", "y"], UNIT, 5.0).bound <= 3.5


def lebesgue_of_nine():
    """What interpolation of U8's signs at the nine nodes reaches at 1: the sum of all |l_j(1)|."""
    nodes = np.cos(angles(9))
    signs = np.sign(np.polyval([256, 0, -448, 0, 240, 0, -40, 0, 1], nodes))
    return float(np.polynomial.chebyshev.chebval(1.0, np.polynomial.chebyshev.chebfit(nodes, signs, 8)))


def test_a_lebesgue_factor_that_is_almost_attained():
    """The remainder in y alternates at the nodes of x, so interpolating it in x multiplies it by the whole factor."""
    f = parse(f"clip({U8}, -1, 1)*y^9")
    proof = Interpolation(nothing(2), [f], ("x", "y"), 8, 1.0)
    with precision(128, 16):
        _, found = proof.remainders(((-1.0, 1.0), (-1.0, 1.0)))
    attained = lebesgue_of_nine() / 256  # (1 - I) y^9 = T9(y)/256, one 256th at y = 1
    assert attained > 2.3 / 256 and attained <= found <= 1.05 * attained


def test_errors_at_the_nodes_grow_by_the_lebesgue_factor():
    """Nodes known up to one: an error that alternates there is 2.36 at the end, and so on for each variable."""
    for dims in (1, 2):
        proof = Interpolation(nothing(dims), (), ("x", "y")[:dims], 8, 1.0)
        blank = np.zeros((1, *[9] * dims))
        assert lebesgue_of_nine() ** dims <= proof.bound(blank, 1.0, 0.0, 100) <= 1.1 * lebesgue_of_nine() ** dims
        assert proof.bound(blank, 0.0, 1.0, 100) >= 1.0
        assert proof.bound(blank, math.inf, 1.0, 100) == proof.bound(blank * math.nan, 0.0, 1.0, 100) == math.inf


def test_a_polynomial_between_the_points_where_it_is_sampled():
    """|T8| is cos(pi/4) at all sixteen points, and one between them."""
    values = np.cos(8 * angles(9))
    assert 1.0 <= interpolant_bound(values, 8, 0.0, 16) <= 1.001
    assert 1.0 <= interpolant_bound(np.outer(values, values), 8, 0.0, 256) <= 1.001


def test_coefficients_that_are_left_out_are_paid_for():
    assert 0.05 <= interpolant_bound(0.05 * np.cos(8 * angles(9)), 8, 0.1, 16) <= 0.0501


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_never_proved(wrong):
    for k in range(3):
        numbers = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
        numbers[k][1] = wrong
        slopes, offsets, values = map(np.array, numbers)
        with pytest.raises(Unprovable, match="finite"):
            prove_tensor(TensorHead((Axis(slopes, offsets),), values[:, None]), [parse("x")], ["x"], [(-1, 1)], 1.0)


def test_shapes_that_do_not_belong_together_are_never_proved():
    axis, f = Axis(np.zeros(2), np.zeros(2)), parse("x")
    for head, box, targets in (
        (TensorHead((axis,), np.zeros((2, 2))), [(-1, 1)], [f]),
        (TensorHead((axis,), np.zeros((3, 1))), [(-1, 1)], [f]),
        (TensorHead((axis, axis), np.zeros((2, 2, 1))), [(-1, 1)], [f]),
        (TensorHead((axis,), np.zeros((2, 1))), [(1, -1)], [f]),
        (TensorHead((axis,), np.zeros((2, 1))), [(0, 0)], [f]),
        (TensorHead((Axis(np.zeros(2), np.zeros(1)),), np.zeros((2, 1))), [(-1, 1)], [f]),
    ):
        with pytest.raises(Unprovable):
            prove_tensor(head, targets, ["x", "y"][: len(box)], box, 1.0)


def test_the_variance_between_the_places_where_it_is_worked_out():
    """Two keys share their weight at 0 alone, where the slopes 0 and 1 vary by 1/4; the places are 1/4 away from it."""
    two = Axis(np.array([0.0, 1.0]), np.zeros(2))
    assert two.weights(np.array([-0.25, 0.25])).prod(1).max() < 0.247
    assert 0.25 <= _variance(two, 0.0, 1.0) < 0.35


def test_values_are_half_their_range_away_from_their_middle():
    two = Axis(np.array([0.0, 1.0]), np.zeros(2))
    proof = Interpolation(TensorHead((two,), np.array([[-1.0, 0.0], [1.0, 3.0]])), (parse("x"),) * 2, ("x",), 8, 1e-6)
    assert proof.half_range == pytest.approx(1.5) and proof.half_range >= 1.5


def test_the_balls_at_the_nodes_count():
    """In few bits the values at the nodes are known to as many."""
    head = TensorHead((Axis(np.array([0.0, 1.0]), np.zeros(2)),), np.array([[0.0], [1.0]]))
    proof = Interpolation(head, (parse("sigmoid(x) + sin(1000*x)"),), ("x",), 8, 1e-6)
    with precision(200, 12):
        true, _ = proof.samples(((-1.0, 1.0),))
    proof.tables.clear()
    with precision(30, 12):
        rough, slack = proof.samples(((-1.0, 1.0),))
    assert 1e-9 < np.abs(rough - true).max() <= slack
