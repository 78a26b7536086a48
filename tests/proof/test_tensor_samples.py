"""Maps that are code: what happens between samples is charged to the head, to the constant and to the remainder."""

import math

import numpy as np
import pytest

from headsmith.proof import tensor_samples
from headsmith.proof.approximation import Unprovable
from headsmith.proof.tensor import Axis, TensorHead
from headsmith.proof.tensor_samples import prove_tensor_samples, refuse_contradicted
from headsmith.refusal import Refusal

ZERO = TensorHead((Axis(np.zeros(1), np.zeros(1)),), np.zeros((1, 1)))
# 40/(1 + 40 cosh(1.5 x)), nearly sech(1.5 x): it rises by 0.57 between -1 and 0, with slopes of at most 0.74
ARCH = TensorHead(
    (Axis(np.array([-1.5, 0.0, 1.5]), np.array([math.log(20), 0.0, math.log(20)])),), np.array([[0.0], [40.0], [0.0]])
)


def constant(value):
    return lambda x: np.full((1, *x.shape), float(value))


def test_the_head_moves_between_the_samples():
    """The ends are the only samples, and there the arch is what f is; in the middle it is not."""
    low, high = (float(ARCH.grid([np.array([x])])[0, 0]) for x in (1.0, 0.0))
    found = prove_tensor_samples(ARCH, constant(low), 1e-9, [(-1.0, 1.0)], 4.0)
    assert high - low <= found < 1.6 * (high - low)


def test_the_slopes_of_all_variables_add_up():
    """x + y from two ramps, sampled at the corners of one cell."""
    ramp = Axis(np.array([0.0, 0.2]), np.zeros(2))
    head = TensorHead((ramp, ramp), np.array([[0.0, 10.0], [10.0, 20.0]])[..., None])
    shifts = [float(head.grid([np.array([x]), np.array([y])])[0, 0, 0]) for x in (-1, 1) for y in (-1, 1)]
    seen = []

    def corners(x, y):
        seen.append(x.shape)
        return (np.where(x < 0, np.where(y < 0, shifts[0], shifts[1]), np.where(y < 0, shifts[2], shifts[3])))[None]

    found = prove_tensor_samples(head, corners, 2.0, [(-1.0, 1.0)] * 2, 20.0)
    assert seen == [(2, 2)] and found >= 1.0 + 2.0  # half a cell: slopes 1/2 + 1/2 of the head, 2 of the constant


def test_the_function_moves_between_the_samples():
    """A tent over the only cell: it is the head at its ends, and lipschitz away from it in the middle."""
    found = prove_tensor_samples(ZERO, constant(0), 1.0, [(-1.0, 1.0)], 4.0)
    assert 1.0 <= found <= 1.01


def test_the_remainder_counts_twice_and_rounding_once(monkeypatch):
    honest = tensor_samples.interpolate
    monkeypatch.setattr(tensor_samples, "interpolate", lambda *a: (honest(*a)[0], [(((-1.0, 1.0),), 3.0)]))
    assert prove_tensor_samples(ZERO, constant(0), 1e-9, [(-1.0, 1.0)], 4.0) >= 6.0
    monkeypatch.setattr(tensor_samples, "prove_tensor_rounding", lambda *a: 5.0)
    assert prove_tensor_samples(ZERO, constant(0), 1e-9, [(-1.0, 1.0)], 4.0) >= 11.0


def test_a_sample_off_the_head_is_seen():
    assert prove_tensor_samples(ZERO, constant(0.5), 1e-9, [(-1.0, 1.0)], 4.0) >= 0.5


def test_every_cell_is_sampled():
    """A steep head needs many cells; the function leaves it in one of them only."""
    head = TensorHead((Axis(np.array([0.0, 30.0]), np.zeros(2)),), np.array([[0.0], [1.0]]))

    def f(x):
        return head.grid([x]) + np.maximum(0.0, 0.5 - 10 * np.abs(x + 0.7))[None]

    assert prove_tensor_samples(head, f, 20.0, [(-1.0, 1.0)], 0.2) >= 0.5


def test_what_is_not_finite_is_not_proved():
    with pytest.raises(Unprovable, match="finite"):
        prove_tensor_samples(ZERO, constant(math.nan), 1.0, [(-1.0, 1.0)], 1.0)
    with pytest.raises(Unprovable, match="outputs"):
        prove_tensor_samples(ZERO, lambda x: np.zeros((2, *x.shape)), 1.0, [(-1.0, 1.0)], 1.0)


def test_too_many_samples_are_refused_before_any_is_taken():
    with pytest.raises(Unprovable, match="samples"):
        prove_tensor_samples(ZERO, None, 1e9, [(-1.0, 1.0)], 1.0)


def test_a_constant_that_neighbours_disprove():
    values = np.array([[0.0, 1.0, 1.0]])
    refuse_contradicted(values, [np.array([0.0, 1.0, 2.0])], 1.0)
    with pytest.raises(Refusal, match="at least 1"):
        refuse_contradicted(values, [np.array([0.0, 1.0, 2.0])], 0.9)


def test_samples_and_a_constant_bound_an_opaque_function():
    rng = np.random.default_rng(2)
    head = TensorHead(
        tuple(Axis(rng.normal(0, 0.5, 3), rng.normal(0, 2, 3)) for _ in range(2)), rng.normal(size=(3, 3, 1))
    )

    def f(x, y):
        return np.stack([np.broadcast_to(np.sin(x) * y, np.broadcast_shapes(x.shape, y.shape))])

    bound = prove_tensor_samples(head, f, 2.0, [(-1.0, 1.0)] * 2, 0.2)
    z = np.linspace(-1, 1, 301)
    seen = np.abs(head.grid([z, z]) - f(z[:, None], z[None, :])).max()
    assert seen <= bound <= seen + 0.2
    with pytest.raises(Refusal, match="no Lipschitz constant"):
        prove_tensor_samples(head, f, 0.1, [(-1.0, 1.0)] * 2, 0.2)
