"""Every term of the bounds is attained by a network that the hypotheses allow; the printed ones are to the letter."""

import math

import pytest
import torch

from headsmith.papers.deep_optimizers import bounds
from headsmith.papers.deep_optimizers.bounds import SIGMOID, TANH, CurveBounds, Eps, Hypotheses
from headsmith.papers.deep_optimizers.sums import apart, passed, sigmoid_slope, summed, tanh_slope

CURVES = {"tanh": (TANH, torch.tanh, tanh_slope), "sigmoid": (SIGMOID, torch.sigmoid, sigmoid_slope)}


def alike(h, y):
    """All rows of a layer point the same way and all samples are x: no norm is larger than it has to be."""
    rows, fan = [], h.inputs
    for n in h.units:
        rows.append(torch.full((n, fan), h.row / math.sqrt(fan), dtype=torch.float64))
        fan = n
    x = torch.full((1, h.inputs), h.x / math.sqrt(h.inputs), dtype=torch.float64)
    return rows, x, torch.full((1, h.outputs), y, dtype=torch.float64)


def missed(h, r, slope, e):
    """How far the gradient is off where every error has the worst sign."""
    rows, x, y = alike(h, -h.y)
    exact = passed(rows, x, y, r, slope)
    off = passed(rows, x, y - e.loss / 2, lambda z: r(z) + e.r, lambda z: slope(z) + e.slope)
    return float(apart(exact, off))


LINE = CurveBounds(lambda t: t, 1.0, 0.0, 0.0)


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("e", [Eps(0.01, 0, 0), Eps(0, 0.02, 0), Eps(0, 0, 0.03), Eps(0.01, 0.02, 0.03)])
def test_linear_networks_attain_the_norms(depth, e):
    h = Hypotheses(depth, inputs=3, width=4, outputs=2, row=0.8, x=1.5, y=0.7)
    assert missed(h, lambda z: z, torch.ones_like, e) == pytest.approx(bounds.two_norm(h, LINE, e), rel=1e-12)


@pytest.mark.parametrize("e", [Eps(1e-6, 0, 0), Eps(1e-6, 1e-6, 1e-6)])
@pytest.mark.parametrize("y", [0.5, 50.0])
def test_bent_networks_attain_the_norms(e, y):
    """r = t + t^2/2 at t = 1 in every layer, where its slope is largest; what slopes are off by counts if y is far."""
    h = Hypotheses(3, inputs=3, width=4, outputs=2, row=1 / 3, x=3.0, y=y)
    r = CurveBounds(lambda t: t + t * t / 2, 2.001, 1.0, 0.0)
    found = missed(h, lambda z: z + z * z / 2, lambda z: 1 + z, e)
    bound = bounds.two_norm(h, r, e)
    assert 0.99 * bound <= found <= bound


def test_the_range_is_reached():
    h, e = Hypotheses(3, inputs=3, width=4, outputs=2, row=0.8, x=1.5, y=0.7), 0.25 / 2 / (1 + 0.8 * 2)
    rows, x, y = alike(h, 0.0)
    off = passed(rows, x, y, lambda z: z + e, torch.ones_like)
    assert max(bounds._apart(h, LINE, Eps(e, 0.0))[:-1]) == pytest.approx(bounds.ROOM)
    assert float(max(z.max() for z in off.z)) == pytest.approx(bounds.reach(h, LINE))


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("knots", [9, 64, 257])
def test_equal_steps_are_off_by_at_most_what_is_said(name, knots):
    shape, r, slope = CURVES[name]
    z = torch.linspace(-5, 5, 40_001, dtype=torch.float64)
    e = bounds.uniform(shape, 5.0, knots)
    for curve, most in ((r, e.r), (slope, e.slope)):
        found = float((summed(curve, 5.0, knots)(z) - curve(z)).abs().max())
        assert found <= most and (knots == 9 or found >= 0.8 * most)


@pytest.mark.parametrize("name", CURVES)
def test_shapes_are_those_of_the_curves(name):
    shape, r, slope = CURVES[name]
    z = torch.linspace(-6, 6, 120_001, dtype=torch.float64, requires_grad=True)
    [first] = torch.autograd.grad(r(z).sum(), z, create_graph=True)
    [second] = torch.autograd.grad(first.sum(), z, create_graph=True)
    [third] = torch.autograd.grad(second.sum(), z)
    assert torch.allclose(first, slope(z), atol=1e-14)
    for found, most in ((first, shape.steep), (second, shape.bend), (third, shape.twist)):
        assert 0.9999 * most <= float(found.detach().abs().max()) <= most * (1 + 1e-12)
    assert shape.highest(1.5) == pytest.approx(float(r(torch.tensor(1.5).double())), rel=1e-15)


@pytest.mark.parametrize("bound", [bounds.two_norm, bounds.mended])
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_nothing_is_off_by_more(bound, name, depth):
    shape, r, slope = CURVES[name]
    g = torch.Generator().manual_seed(depth)
    h = Hypotheses(depth, inputs=3, width=6, outputs=2, row=1.3, x=2.0, y=1.0)
    end = bounds.reach(h, shape)
    e, fan, rows = bounds.uniform(shape, end, 129), 3, []
    for n in h.units:
        drawn = torch.randn(200, n, fan, generator=g).double()
        drawn[100:] = drawn[100:].abs()
        rows.append(h.row * drawn / drawn.norm(dim=-1, keepdim=True))
        fan = n
    x = torch.randn(200, 5, 3, generator=g).double()
    x, y = h.x * x / x.norm(dim=-1, keepdim=True), torch.rand(200, 5, 2, generator=g).double() * 2 - 1
    off = passed(rows, x, y, summed(r, end, 129), summed(slope, end, 129))
    assert float(apart(passed(rows, x, y, r, slope), off).max()) <= bound(h, shape, e)


def test_the_mended_form_bounds_what_rows_and_columns_do():
    """E5: all rows of V_2 are B_v e_1, and s(2) is the same everywhere: K B_v |s|, and as much more again above."""
    K, row = 16, 0.5
    h = Hypotheses(3, inputs=2, width=K, outputs=K, row=row, x=1.0, y=3.0)
    one = torch.zeros(K, K, dtype=torch.float64)
    one[:, 0] = row
    first = torch.zeros(K, 2, dtype=torch.float64)
    e = Eps(0.0, 0.0, 1.0)
    x, y = torch.tensor([[1.0, 0.0]]).double(), torch.full((1, K), -3.0).double()
    exact, off = (passed([first, one, one], x, at, lambda z: z, torch.ones_like) for at in (y, y - 0.5))
    assert 2 * float((exact.deltas[0] - off.deltas[0]).abs().max()) == pytest.approx((K * row) ** 1 * row * 1, rel=0.01)
    B_s, E_s = bounds._lemma_6(h, LINE, K, 1.0, 2 * 3.0)
    assert 2 * float(exact.deltas[0].abs().max()) <= B_s and 2 * float(off.deltas[0].abs().max()) <= B_s + E_s.loss
    assert float(apart(exact, off)) <= bounds.mended(h, LINE, e)


def test_the_printed_form_is_to_the_letter():
    """N = 2, by hand: E_r = P (1 + P L B_v), B_s = max(1, P L B_v) L B_l."""
    h, e = Hypotheses(2, inputs=2, width=9, outputs=4, row=0.7, x=1.2, y=0.4), Eps(2e-3, 3e-3, 5e-3)
    P, L, bend, row = 3.0, 1.0, TANH.bend, 0.7
    B1 = math.tanh(row * 1.2)
    B2 = math.tanh(row * B1)
    B_l, B_r, E_r = 2 * (B2 + 0.4), max(1.2, B1, B2), max(P, 2.0 * (1 + P * L * row))
    turn = P * L * row
    B_s = max(1.0, turn) * L * B_l
    E_s_r = max(B_l * bend * row * E_r + L * 2 * E_r,
                bend * E_r * P * B_s * row**2 + turn * (B_l * bend * row * E_r + L * 2 * E_r))  # fmt: skip
    E_s_slope, E_s_loss = max(B_l, P * B_s * row + turn * B_l), max(1.0, turn) * L
    off = E_s_r * e.r + E_s_slope * e.slope + E_s_loss * e.loss
    assert bounds.printed(h, TANH, e) == pytest.approx(P * (off * math.sqrt(P) * B_r + B_s * E_r * e.r), rel=1e-12)


def test_sums_that_leave_their_range_have_no_bound():
    h = Hypotheses(4, inputs=3, width=5, outputs=3, row=2.0, x=2.0, y=1.0)
    assert bounds.a_priori(h, TANH, 17) == math.inf
    e = bounds.uniform(TANH, bounds.reach(h, TANH), 4097)
    assert bounds.a_priori(h, TANH, 4097) == bounds.two_norm(h, TANH, e) < math.inf


def test_trajectories_part_as_fast_as_they_are_allowed_to():
    """f = L_f w^2 / 2 upside down: the gap of two paths grows by 1 + rate L_f, and by rate eps, in each step."""
    lipschitz, rate, eps, gap = 3.0, 0.2, 1e-3, 0.0
    for step in range(1, 8):
        gap += rate * (lipschitz * gap + eps)
        assert gap == pytest.approx(bounds.trajectory(eps, lipschitz, rate, step), rel=1e-12)
    assert bounds.printed_trajectory(eps, lipschitz, 5, 2) == pytest.approx(16**2 * eps / 3)


@pytest.mark.parametrize("name", CURVES)
def test_the_demand_is_the_smallest(name):
    shape, h, eps = CURVES[name][0], Hypotheses(3, inputs=3, width=5, outputs=3, row=1.0, x=1.0, y=1.0), 1e-3
    need = bounds.demand(h, shape, eps)
    assert bounds.a_priori(h, shape, need.knots) <= eps < bounds.a_priori(h, shape, need.knots - 1)
    assert need.heads == 13 * need.knots
    finer = bounds.demand(h, shape, eps / 100)
    assert finer.knots == pytest.approx(10 * need.knots, rel=0.05)
    assert finer.printed_heads == pytest.approx(1e4 * need.printed_heads)
    e = [2 * eps / (3 * 2 * bounds.printed(h, shape, one)) for one in (Eps(1, 0), Eps(0, 1))]
    assert need.printed_heads == pytest.approx(max(5 / e[0] ** 2, 13 / e[1] ** 2))
