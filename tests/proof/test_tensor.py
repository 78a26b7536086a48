"""The proof over boxes: every inequality of it against brute force, and the rounding theorem against executed heads."""

import numpy as np
import pytest
import torch
from flint import arb, arb_series
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith.functions import Unresolved, parse, precision
from headsmith.functions.several import at_point, on_grid, pure_series
from headsmith.proof.chebyshev import angles, cosines, interpolant_bound
from headsmith.proof.rounding import FORMATS
from headsmith.proof.steepness import steepness
from headsmith.proof.tensor import DEGREES, Axis, TensorHead, prove_tensor, spill
from headsmith.proof.tensor_rounding import cell_rounding, prove_tensor_rounding
from headsmith.proof.tensor_samples import prove_tensor_samples
from headsmith.refusal import Refusal

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


@settings(max_examples=12)
@given(SEEDS, st.sampled_from([1, 2, 3]))
def test_executed_heads_stay_within_the_rounding_theorem(seed, dims):
    rng = np.random.default_rng(seed)
    fmt = FORMATS["float32"]
    head = random_head(rng, dims, steep=float(rng.choice([1.0, 30.0])), size=float(rng.choice([1.0, 100.0])))
    head = TensorHead(
        tuple(Axis(a.slopes.astype(np.float32).astype(float), np.round(a.offsets * 8) / 8) for a in head.axes),
        head.values.astype(np.float32).astype(float),
    )
    keys = [np.array(list(_outer([a.slopes for a in head.axes])))]
    offsets = np.array([sum(p) for p in _outer([a.offsets for a in head.axes])])
    key = np.concatenate([keys[0], offsets[:, None]], 1)
    x = np.concatenate([rng.uniform(-1, 1, (200, dims)), np.sign(rng.normal(size=(8, dims)))]).astype(np.float32)
    query = np.concatenate([x, np.ones((len(x), 1), np.float32)], 1)
    narrow = torch.softmax(torch.from_numpy(query) @ torch.from_numpy(key.astype(np.float32)).T, -1)
    executed = (narrow @ torch.from_numpy(head.values.reshape(-1, 1).astype(np.float32))).double().numpy()[:, 0]
    exact = np.array([head.grid([np.array([t]) for t in p]).reshape(-1)[0] for p in x.astype(float)])
    box = [(-1.0, 1.0)] * dims
    assert np.abs(executed - exact).max() <= prove_tensor_rounding(head, box, fmt, 0.0, most=60)
    for p, error in zip(x[:20].astype(float), np.abs(executed - exact)[:20], strict=True):
        assert error <= cell_rounding(head, [(t, t) for t in p], fmt)


def _outer(parts):
    if not parts:
        return [()]
    return [(a, *rest) for a in parts[0] for rest in _outer(parts[1:])]


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


def test_steepness_bounds_every_rise():
    f = parse("sin(3*x)*y")
    found = steepness([f], ["x", "y"], UNIT)
    assert 3.0 <= found <= 4.2
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 500, 2))
    rise = np.abs(f(x=a[:, 0], y=a[:, 1]) - f(x=b[:, 0], y=b[:, 1]))
    assert (rise <= found * np.abs(a - b).max(1)).all()


def test_samples_and_a_constant_bound_an_opaque_function():
    rng = np.random.default_rng(2)
    head = random_head(rng, 2, steep=0.5)

    def f(x, y):
        return np.stack([np.broadcast_to(np.sin(x) * y, np.broadcast_shapes(x.shape, y.shape))])

    bound = prove_tensor_samples(head, f, 2.0, UNIT, 0.2)
    z = np.linspace(-1, 1, 301)
    seen = np.abs(head.grid([z, z]) - f(z[:, None], z[None, :])).max()
    assert seen <= bound <= seen + 0.2
    with pytest.raises(Refusal, match="no Lipschitz constant"):
        prove_tensor_samples(head, f, 0.1, UNIT, 0.2)
