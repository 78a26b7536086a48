"""What a smooth unit adds to the error of a step: each term against the worst that can happen."""

import math

import pytest
import torch
from flint import arb

from headsmith.functions.smooth import SMOOTH, Smooth
from headsmith.proof.curves import SOFT, Slip, Smoothness, added
from headsmith.proof.rounding import Format
from headsmith.reference.backpropagation import CURVES

from .worst_case import COARSE, worst

EXACT, u = Format("float64", 0.0, 0.0), COARSE.unit
TURNS = {"tanh": 0.6585, "sigmoid": 1.317, "silu": 0.0, "softplus": 0.0, "gelu": 0.0}  # where |r''| is largest


def value(name, z):
    return float(CURVES[name][0](arb(z)).mid())


def slope(name, z):
    return float(CURVES[name][1](arb(z)).mid())


def tensor(x):
    return torch.tensor([x], dtype=torch.float64)


NONE = Slip()
NONE_OF_IT = torch.zeros(1, dtype=torch.float64)
"""|V| |p|, which nothing here depends on."""


def numbers(name, a=NONE, b=NONE):
    return Smoothness(Smooth.of(name), a, b)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_pre_activation_that_is_off_costs_its_slope_and_its_bend(name):
    """r(z + E) - r(z) to second order where r bends most: the bound holds, and is met within 2 %."""
    for off in (0.02, -0.02):
        z = TURNS[name]
        found = abs(value(name, z + off) - value(name, z))
        bound = float(numbers(name).bent(tensor(z), tensor(slope(name, z)), tensor(abs(off)), NONE_OF_IT, EXACT))
        assert found <= bound
    z, off = TURNS[name], 0.02
    bend = max(abs(value(name, z + s * off) - value(name, z) - s * off * slope(name, z)) for s in (1, -1))
    assert bend <= bound - off * abs(slope(name, z)) <= 1.02 * bend


@pytest.mark.parametrize("name", SMOOTH)
def test_a_slope_that_is_off_is_charged(name):
    """(r' + E_slope)(q + E_q) - r' q, z being off where r' changes most."""
    z, off, q, e_q = TURNS[name], 0.01, 1.5, 0.25
    # r' changes by bend off on one side, and so does what it is multiplied by
    moved = max((slope(name, z + s * off) - slope(name, z) for s in (1, -1)), key=abs)
    found = abs(moved) * (q + e_q) + abs(slope(name, z)) * e_q
    bound = float(
        numbers(name).handed(tensor(q), tensor(e_q), tensor(z), tensor(slope(name, z)), tensor(off), NONE_OF_IT, EXACT)
    )
    assert found <= bound <= 1.01 * found


def test_a_table_that_is_off_is_charged_everywhere():
    a, b = Slip(0.5, 0.25, 0.125), Slip(0.3, 0.2, 0.1)
    z, zero = tensor(-2.0), tensor(0.0)
    assert float(numbers("softplus", a).bent(z, zero, zero, NONE_OF_IT, EXACT)) == 0.5 + 0.25 + 0.25
    assert float(
        numbers("softplus", a, b).handed(tensor(3.0), zero, z, zero, zero, NONE_OF_IT, EXACT)
    ) == pytest.approx(0.7 * 3)
    assert float(
        numbers("softplus", a, b).handed(zero, tensor(3.0), z, zero, zero, NONE_OF_IT, EXACT)
    ) == pytest.approx(0.7 * 3)
    off = numbers("tanh", Slip(), b).bent(z, zero, tensor(1.0), NONE_OF_IT, EXACT)
    assert float(off) == pytest.approx(0.7 + 0.7699 / 2)
    assert added([a, b]) == Slip(0.8, 0.45, 0.225) and added([]) == Slip()


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_three_keys_round_no_more_than_soft(name):
    """Every operation rounds where it hurts: within SOFT, and more than half of it is reached for tanh."""
    smooth, most = Smooth.of(name), 0.0
    for table in (*smooth.value, *smooth.slope):

        def head(op, table=table, z=0.0):
            weights = op.softmax([table.k * z, op(math.log(2)), -table.k * z], 4)
            return op(op.sum([op(w * level) for w, level in zip(weights, table.levels, strict=True)]))

        found = max(worst(lambda op, z=z: head(op, z=z)) for z in (-3.0, -0.5, 0.0, 0.25, 1.25, 2.5))
        assert found <= SOFT * u
        most = max(most, found)
    assert name != "tanh" or most > SOFT / 2 * u


def test_the_sum_of_two_heads_rounds():
    """silu': s + (s (1 - s)) z in numbers that a format holds; gelu: relu(z) + what a table gives."""
    zero = tensor(0.0)
    found = worst(lambda op: op(0.7 + 0.3))
    handed = numbers("silu").handed(tensor(1.0), zero, zero, tensor(1.0), zero, NONE_OF_IT, COARSE)
    assert 3 * u <= float(handed) <= 3.01 * u  # the sum, and a product and a sum
    assert found <= float(numbers("silu").bent(tensor(1.0), zero, zero, NONE_OF_IT, COARSE)) <= 1.01 * found


def test_what_is_flushed_is_charged():
    flushed, zero = Format("float64", 0.0, 1e-3), tensor(0.0)
    assert float(numbers("tanh").bent(zero, zero, zero, NONE_OF_IT, flushed)) == 1e-3
    assert float(numbers("tanh").handed(tensor(1.0), zero, zero, zero, zero, NONE_OF_IT, flushed)) == 2e-3


def test_smooth_functions_have_no_kinks():
    assert not numbers("gelu").doubtful(tensor(0.0), tensor(1.0)).any()


def test_in_exact_arithmetic_only_the_approximation_remains():
    left = numbers("gelu", Slip(0.5, 0.25, 0.125), Slip(0.1, 0.2, 0.3)).exact()
    assert left.value == Slip(0.5) and left.slope == Slip(0.1)
