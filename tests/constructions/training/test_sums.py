"""Sums that stand for an activation and its slope: exact where they can be, ramps at kinks, tables of knots."""

import numpy as np
import pytest
import torch

from headsmith.constructions.design import Short
from headsmith.constructions.training.sums import IDENTITY, RAMP, curve_of, kinked_sums, ramped, smooth_sums
from headsmith.functions.smooth import SMOOTH
from headsmith.reference.autograd import ACTIVATIONS

KINKED = ("relu", "leaky", "hard tanh")


def exact(name, z):
    at = torch.tensor(z).double().requires_grad_()
    value = ACTIVATIONS[name](at)
    return value.detach().numpy(), torch.autograd.grad(value.sum(), at)[0].numpy()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", KINKED)
def test_kinks_are_ramps(name, dtype):
    """Value and slope are those of torch wherever z is not on a ramp, and at the kink itself."""
    sums, kinked = kinked_sums(name, dtype), ramped(name, dtype)
    z = np.concatenate([np.linspace(-4, 4, 801), [0.0, 1.0, -1.0], RAMP[dtype] * np.array([-1.0, -1e-3, 1.0])])
    value, slope = exact(name, z)
    room = kinked.room(torch.tensor(z)).numpy()
    clear = (room <= 0) | (room >= kinked.gap)
    assert clear.sum() > 790 and np.abs(sums.value(z) - value).max() <= 1e-15
    assert np.abs(sums.slope(z) - slope)[clear].max() <= 1e-9
    inner = np.linspace(0, 1, 11)[1:-1] * kinked.gap
    on = inner if name != "hard tanh" else 1 - inner
    between = sums.slope(on)
    assert kinked.floor < between.min() and between.max() < 1


@pytest.mark.parametrize("name", KINKED)
def test_numbers_of_a_ramp_are_those_of_float32(name):
    for part in (kinked_sums(name, "float32").slope, kinked_sums(name, "float32").value):
        numbers = np.concatenate([part.slopes, part.offsets])
        assert (numbers == numbers.astype(np.float32)).all()


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_ones_are_proved(name):
    sums = smooth_sums(name, 1e-3, "float64")
    curve = curve_of(name, sums, "float64")
    z = np.linspace(-30, 30, 20_001)
    value, slope = exact(name, z)
    for found, wanted, slip in ((sums.value, value, curve.value), (sums.slope, slope, curve.slope)):
        measured = np.abs(found(z) - wanted).max()
        assert measured <= slip.approximation <= 1.1e-3 and measured >= 0.8 * slip.approximation


def test_what_takes_too_many_is_short():
    with pytest.raises(Short, match=r"ReLUs a unit stand for tanh within 1e-08, more than 2048"):
        smooth_sums("tanh", 1e-8, "float64")


def test_the_identity_is_two_relus_and_its_slope_one():
    z = np.linspace(-3, 3, 13)
    assert (IDENTITY.value(z) == z).all() and (IDENTITY.slope(z) == 1).all()
