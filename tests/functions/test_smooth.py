"""Smooth activations: the constants are those of the formulas, and every table is what it is called."""

import math

import pytest
import torch
from flint import arb
from torch.nn import functional as F

from headsmith.functions.balls import precision
from headsmith.functions.smooth import FAR, HIGHEST, SMOOTH, TAIL, Smooth
from headsmith.reference.backpropagation import CURVES

TORCH = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu, "gelu": F.gelu,
         "softplus": lambda z: F.softplus(z, threshold=1e3)}  # fmt: skip
Z = torch.linspace(-12, 12, 4801, dtype=torch.float64, requires_grad=True)


def derivatives(name):
    value = TORCH[name](Z)
    [slope] = torch.autograd.grad(value.sum(), Z, create_graph=True)
    [bend] = torch.autograd.grad(slope.sum(), Z)
    return value.detach(), slope.detach(), bend


@pytest.mark.parametrize("name", SMOOTH)
def test_steep_and_bend_are_the_largest_slopes(name):
    smooth, (value, slope, bend) = Smooth.of(name), derivatives(name)
    assert 0.999 * smooth.steep <= float(slope.abs().max()) <= smooth.steep
    assert 0.998 * smooth.bend <= float(bend.abs().max()) <= smooth.bend
    z = Z.detach().abs()
    assert bool((value.abs() <= (z + smooth.lift).clamp(max=smooth.most)).all())


@pytest.mark.parametrize("name", SMOOTH)
def test_value_and_slope_in_balls_are_those_of_torch(name):
    value, slope, _ = derivatives(name)
    for part, found in zip(CURVES[name], (value, slope), strict=True):
        exact = torch.tensor([float(part(arb(z)).mid()) for z in Z[::300].tolist()], dtype=torch.float64)
        assert torch.allclose(exact, found[::300], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_tables_add_up(name):
    """relu(z) where tables are folded, then each mean of three values, or formula, times what it is multiplied by."""
    smooth, (value, slope, _), z = Smooth.of(name), derivatives(name), Z.detach()
    reads = {"z": z, "fold": z.abs().clamp(max=smooth.cut), "cut": z.clamp(-smooth.cut, smooth.cut)}

    def mean(table):
        x = reads[table.reads]
        if table.formula:
            return torch.tensor(table.expression(x.numpy()))
        scores = torch.stack([table.k * x, torch.full_like(x, math.log(2)), -table.k * x], -1)
        return scores.softmax(-1) @ torch.tensor(table.levels).double()

    sums = [sum(mean(t) * (z if t.times == "z" else 1) for t in own) for own in (smooth.value, smooth.slope)]
    assert torch.allclose(sums[0] + z.clamp(min=0) * (smooth.cut > 0), value, rtol=0, atol=1e-14)
    assert torch.allclose(sums[1], slope, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", FAR)
def test_beyond_far_a_table_is_flat(name):
    with precision(200):
        value, slope = CURVES[name]
        for z in (arb(FAR[name]), arb(FAR[name] + 5)):
            assert abs(value(-z)) < TAIL and abs(slope(-z)) < TAIL and abs(1 - slope(z)) < TAIL


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_cut_off_stays_in_the_range_of_the_table(dtype):
    kind = getattr(torch, dtype)
    cut = torch.tensor(Smooth.of("gelu").cut, dtype=kind)
    z = (torch.rand(100000, generator=torch.Generator().manual_seed(0)) * HIGHEST).to(kind)
    kept = z - torch.relu(z - cut)
    assert bool(((kept - cut).abs() <= 1)[z > cut].all()) and torch.equal(kept[z <= cut], z[z <= cut])
