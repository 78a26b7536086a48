"""ReLU networks from anchors (Thm F.2): measured below proved, and what each table and each sum adds."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from headsmith.compiler.request import Request
from headsmith.constructions.anchored import RANGE, Anchored, anchored_design, anchored_head, reach_of
from headsmith.constructions.design import Short
from headsmith.proof.domain import Domain


def network(seed=2, n=3, units=5, d=2):
    rng = np.random.default_rng(seed)
    inner, bias = rng.normal(size=(n, units, n, d)), rng.normal(size=(n, units))
    return SimpleNamespace(inner=inner, outer=rng.choice([-1.0, 1.0, 0.5], (n, units)), bias=bias)


def request(eps, method="anchors", dtype="float64"):
    return Request(eps, Domain({"X": (-1.0, 1.0)}), dtype, method)


def measured(target, design, asked):
    X = np.random.default_rng(0).uniform(-1, 1, (300, *target.inner.shape[2:]))
    X[:80] = np.sign(X[:80])
    X = torch.from_numpy(X).to(getattr(torch, asked.dtype))
    sums = np.einsum("ikjd,bjd->bik", target.inner, X.double().numpy()) + target.bias
    truth = (target.outer * np.maximum(sums, 0)).sum(-1)
    return float(np.abs(design.network(target, asked.dtype)(X)[..., 0].double().numpy() - truth).max())


@pytest.mark.parametrize(
    ("method", "eps", "dtype"), [("anchors", 0.2, "float64"), ("printed", 3.0, "float64"), ("anchors", 0.5, "float32")]
)
def test_the_direct_bound_is_kept(method, eps, dtype):
    target, asked = network(), request(eps, method, dtype)
    [design] = anchored_design(target, asked)
    assert measured(target, design, asked) <= design.prove(target, asked).total <= eps
    back = Anchored.stored(target, design.network(target, dtype), asked, {})
    for name in ("identity", "ramp"):
        for part in ("slopes", "offsets", "values"):
            assert np.array_equal(getattr(getattr(back, name), part), getattr(getattr(design, name), part))


def test_a_table_that_is_off_is_charged():
    """One unit over two tokens: the identity errs once for each token, Range once."""
    target = SimpleNamespace(inner=np.ones((2, 1, 2, 1)), outer=np.ones((2, 1)), bias=np.zeros((2, 1)))
    asked = request(0.1)
    [design] = anchored_design(target, asked)
    design = replace(design, ramp=anchored_head(0.0, 4.0, 81, RANGE))  # wide enough for sums that are off
    for name, times in (("identity", 2), ("ramp", 1)):
        head = getattr(design, name)
        moved = replace(design, **{name: replace(head, values=head.values + 0.25)})
        found = measured(target, moved, asked)
        assert found >= 0.2 * times and found <= moved.prove(target, asked).total


def test_rounding_that_grows_with_the_numbers():
    target = network(3)
    target.inner *= 1e4
    asked = request(1e4, dtype="float32")
    [design] = anchored_design(target, asked)
    exact = design.network(target, "float64"), design.network(target, "float32")
    X = torch.rand(200, 3, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1
    apart = float((exact[0](X.double()) - exact[1](X).double()).abs().max())
    assert 0 < apart <= design.prove(target, asked).rounding


def test_too_many_anchors_name_what_fits():
    with pytest.raises(Short, match="anchors would be needed") as short:
        list(anchored_design(network(), request(1e-4)))
    assert list(anchored_design(network(), request(1.1 * short.value.best)))


def test_the_reach_of_parts_and_sums_is_attained():
    """One token's part is |inner| + |bias|/n, the sum of a unit |inner| + |bias|, of the worst unit."""
    inner = np.zeros((2, 2, 2, 1))
    inner[0, 0, :, 0], inner[1, 1, :, 0] = (3.0, -1.0), (0.5, 0.5)
    target = SimpleNamespace(inner=inner, bias=np.array([[2.0, 0.0], [-8.0, 1.0]]))
    assert reach_of(target, 2.0) == (3.0 * 2 + 2.0 / 2, (3.0 + 1.0) * 2 + 2.0)


def test_the_token_with_the_largest_weights_counts():
    target = network(seed=3)
    heavy = SimpleNamespace(**vars(target) | {"outer": target.outer * np.array([[1.0], [1.0], [100.0]])})
    asked = request(20.0)
    [design] = anchored_design(heavy, asked)
    design = replace(design, ramp=replace(design.ramp, values=design.ramp.values + 0.5))
    assert 100 < measured(heavy, design, asked) <= design.prove(heavy, asked).total
