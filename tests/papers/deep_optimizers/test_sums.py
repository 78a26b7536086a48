"""Sums of ReLUs, the gradient of autograd, and each term of the certificate attained."""

import math

import pytest
import torch

from headsmith.papers.deep_optimizers.bounds import SIGMOID, TANH, CurveBounds, Eps, Hypotheses, reach, uniform
from headsmith.papers.deep_optimizers.sums import a_posteriori, apart, passed, sigmoid_slope, summed, tanh_slope

CURVES = {"tanh": (TANH, torch.tanh, tanh_slope), "sigmoid": (SIGMOID, torch.sigmoid, sigmoid_slope)}


def drawn(depth, count, seed, row=1.5):
    g = torch.Generator().manual_seed(seed)
    h = Hypotheses(depth, inputs=3, width=5, outputs=2, row=row, x=1.5, y=1.0)
    rows, fan = [], 3
    for n in h.units:
        V = torch.randn(count, n, fan, generator=g).double()
        V[count // 2 :] = V[count // 2 :].abs()
        rows.append(row * V / V.norm(dim=-1, keepdim=True))
        fan = n
    x, y = torch.randn(count, 7, 3, generator=g).double(), torch.randn(count, 7, 2, generator=g).double().clamp(-1, 1)
    return h, rows, 1.5 * x / x.norm(dim=-1, keepdim=True), y


def test_a_sum_meets_the_curve_at_its_knots_and_goes_on_linearly():
    z = torch.linspace(-2, 2, 257, dtype=torch.float64)
    found = summed(torch.tanh, 2.0, 257)
    assert torch.allclose(found(z), torch.tanh(z), atol=1e-15)
    out = torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64)
    assert float(found(out).diff(n=2).abs().max()) < 1e-14 < float(found(out).diff().min())


@pytest.mark.parametrize("bent", [None, 2, 0])
def test_the_gradient_is_that_of_autograd(bent):
    _, rows, x, y = drawn(3, 4, 0)
    rows = [V.requires_grad_() for V in rows]
    p = x
    for j, V in enumerate(rows):
        p = p @ V.mT
        p = torch.tanh(p) if j < (3 if bent is None else bent) else p
    slopes = torch.autograd.grad(0.5 * (p - y).square().sum() / 7, rows)
    found = passed([V.detach() for V in rows], x, y, torch.tanh, tanh_slope, bent)
    assert all(torch.allclose(a, b, atol=1e-13) for a, b in zip(slopes, found.gradient, strict=True))
    other = passed([V.detach() for V in rows], x, y + 0.1, torch.tanh, tanh_slope, bent)
    flat = [torch.cat([part.flatten(1) for part in each.gradient], 1) for each in (found, other)]
    assert torch.allclose(apart(found, other), (flat[0] - flat[1]).norm(dim=1), atol=1e-14)


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("knots", [65, 513])
def test_no_gradient_is_off_by_more(name, depth, knots):
    shape, r, slope = CURVES[name]
    h, rows, x, y = drawn(depth, 60, depth)
    end = 2 * reach(h, shape)
    off = passed(rows, x, y, summed(r, end, knots), summed(slope, end, knots))
    found, bound = apart(passed(rows, x, y, r, slope), off), a_posteriori(off, shape, uniform(shape, end, knots), end)
    assert bool((found <= bound).all()) and float((bound / found).min()) < 60


@pytest.mark.parametrize("e", [Eps(1e-7, 0, 0), Eps(0, 1e-7, 0), Eps(0, 0, 1e-7), Eps(1e-7, 2e-7, 3e-7)])
@pytest.mark.parametrize("curve", ["line", "parabola"])
def test_networks_of_positive_numbers_attain_it(e, curve):
    """r = z, and r = z + z^2/2 at z = 1 in every layer, where its slope is largest; y far below."""
    shape = {
        "line": CurveBounds(lambda t: t, 1.0, 0.0, 0.0),
        "parabola": CurveBounds(lambda t: t + t * t / 2, 2.0, 1.0, 0.0),
    }[curve]
    r = {"line": lambda z: z, "parabola": lambda z: z + z * z / 2}[curve]
    slope = {"line": torch.ones_like, "parabola": lambda z: 1 + z}[curve]
    rows = [torch.full(size, 1 / 6 if size[1] == 4 else 1.0, dtype=torch.float64) for size in ((4, 3), (4, 4), (2, 4))]
    x, y = torch.full((2, 3), 1 / 3, dtype=torch.float64), torch.full((2, 2), -20.0, dtype=torch.float64)
    off = passed(rows, x, y - e.loss / 2, lambda z: r(z) + e.r, lambda z: slope(z) + e.slope)
    held = passed(rows, x, y, lambda z: r(z) + e.r, lambda z: slope(z) + e.slope)
    found = float(apart(passed(rows, x, y, r, slope), off))
    bound = float(a_posteriori(held, shape, e, 10.0))
    assert 0.9999 * bound <= found <= bound * (1 + 1e-4)


def test_outside_of_the_range_nothing_is_bounded():
    h, rows, x, y = drawn(3, 20, 5)
    e = Eps(1e-3, 1e-3)
    off = passed(rows, x, y, torch.tanh, tanh_slope)
    highest = max(float(z.abs().max()) for z in off.z)
    assert bool((a_posteriori(off, TANH, e, 0.9 * highest) == math.inf).any())
    assert bool((a_posteriori(off, TANH, e, highest + 1.0) < math.inf).all())
    near = a_posteriori(off, TANH, e, highest + 1e-9)  # which what z is off by may take it out of
    assert bool((near == math.inf).any()) and reach(h, TANH) > highest
