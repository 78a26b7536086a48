"""The table that multiplies: its numbers, what is proved of it, and heads of three factors."""

import pytest
import torch

from headsmith.constructions.training.multiplying import ROOM, Factors, multiply, slip, table
from headsmith.functions.smooth import SMOOTH
from headsmith.proof.rounding import FORMATS


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("reach", [2.0**-20, 1.0, 64.0, 2.0**60])
def test_no_format_rounds_its_numbers(reach, dtype):
    stored, head = table(reach).cast(dtype), table(reach)
    for name in ("slopes", "offsets", "values"):
        assert (getattr(stored, name) == getattr(head, name)).all()


@pytest.mark.parametrize("dtype", FORMATS)
def test_what_is_proved_is_rounding_and_grows_with_the_reach(dtype):
    one, large, unit = slip(1.0, dtype), slip(64.0, dtype), FORMATS[dtype].unit
    assert one.approximation <= 1e-16 and 20 * unit <= one.fixed <= 100 * unit and one.each == 0
    assert large.fixed == pytest.approx(64 * one.fixed, rel=1e-6)
    assert large.approximation == pytest.approx(64 * one.approximation, rel=1e-6)


@pytest.mark.parametrize("dtype", FORMATS)
def test_no_product_is_further_off_than_is_proved(dtype):
    """Over the whole range, its ends included, and next to 0."""
    kind, found = getattr(torch, dtype), slip(4.0, dtype)
    x = torch.cat([torch.linspace(-4 * ROOM, 4 * ROOM, 20001), torch.logspace(-30, 0, 200)]).to(kind)
    layer = multiply([Factors([0], [1], [1], [2])], 3, 4.0, kind)
    out = layer(torch.stack([x, torch.ones_like(x), torch.zeros_like(x)], -1))[:, 2]
    error = float((out.double() - x.double()).abs().max())
    assert error <= found.approximation + found.fixed <= 200 * error


def test_there_is_room_for_what_slopes_make_of_numbers_up_to_the_reach():
    """delta = r' q is read by a head again, and |r'| may be more than 1."""
    assert all(found.steep + 0.1 < ROOM for found in SMOOTH.values())


def test_a_head_has_three_factors_and_heads_their_own_lengths():
    """(q . k) v for vectors q, k and v; what is not written keeps its bits."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(2, 5, 9, generator=g, dtype=torch.float64)
    layer = multiply(
        [Factors([0, 1], [2, 3], [4, 5, 6], [5, 6, 7]), Factors([4], [4], [0], [8])], 9, 16.0, torch.float64
    )
    found = layer(x) - x
    dot = (x[..., [0, 1]] * x[..., [2, 3]]).sum(-1, keepdim=True)
    assert float((found[..., 5:8] - dot * x[..., 4:7]).abs().max()) <= 1e-13
    assert float((found[..., 8] - x[..., 4] ** 2 * x[..., 0]).abs().max()) <= 1e-13
    assert not found[..., :5].any()
    assert layer.heads == 2 and layer.copies == 31
