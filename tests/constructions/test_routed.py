"""One head for several rows: each term of its bound has a head that needs it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions.design import Altered
from headsmith.constructions.routed import Routed

LINE = hs.target.RoutedClip([[1.0]], [0.0], edges=[0.4], into=[1, 0], margin=0.05)
ASKED = Request.read(LINE, 0.05, (-1, 1), "float64", "auto")


def error(design, target=LINE, dtype="float64", points=8001):
    """The largest error of a row on tokens that keep their distance."""
    x = torch.linspace(-1, 1, points, dtype=torch.float64).to(getattr(torch, dtype))
    z = x.double() * float(target.W[0, 0]) + float(target.t[0])
    x, z = x[(z - 0.4).abs() >= 0.05], z[(z - 0.4).abs() >= 0.05]
    found = design.network(target, dtype)(x[:, None, None])[:, 0].double()
    truth = torch.stack([torch.where(z > 0.4, z, 0.0), torch.where(z > 0.4, 0.0, z)], -1)
    return float((found - truth.clamp(-1, 1)).abs().max())


@pytest.mark.parametrize("keys", [12, 40, 81])
def test_the_bound_is_attained(keys):
    """Few keys leak across the margin, many follow Range within 0.0615 steps."""
    design = Routed.of(LINE, keys, "float64")
    bound = design.prove(LINE, ASKED)
    assert 0.95 * bound.total <= error(design) <= bound.total


def test_the_size_that_is_asked_for_is_enough():
    for eps in (0.2, 0.02, 2e-3):
        keys = Routed.enough(LINE, eps)
        assert Routed.of(LINE, keys, "float64").prove(LINE, ASKED).total <= eps


@pytest.mark.parametrize("row", [0, 1])
def test_what_is_written_into_the_row_of_another_interval(row):
    """Where a row should be empty, a value of 0.3 at the first or the last key is all of the error."""
    design = Routed.of(LINE, 81, "float64")
    values = design.values.copy()
    values[[0, -1][row == 1], row] += 0.3
    moved = replace(design, values=values)
    assert 0.25 < error(moved) <= moved.prove(LINE, ASKED).total <= 0.32


def test_weights_that_the_dtype_rounds():
    """A steep border, 0.05 away from which float32 has moved z by its own rounding of w and t."""
    third = hs.target.RoutedClip([[1 / 3]], [0.1], edges=[0.4], into=[1, 0], margin=0.05)
    asked = Request.read(third, 0.05, (-1, 1), "float32", "auto")
    design = Routed.of(third, 81, "float32")
    bound = design.prove(third, asked)
    exact = design.prove(third, Request.read(third, 0.05, (-1, 1), "float64", "auto"))
    assert error(design, third, "float32") <= bound.total
    assert bound.approximation > exact.approximation + 5e-9 and bound.rounding > 1e-7 > 1e-12 > exact.rounding


def test_a_margin_below_the_rounding_of_z():
    tiny = hs.target.RoutedClip([[1.0]], [0.0], edges=[0.4], into=[1, 0], margin=1e-9)
    with pytest.raises(Altered, match="smaller than the rounding"):
        Routed.of(tiny, 9, "float32").prove(tiny, Request.read(tiny, 0.5, (-1, 1), "float32", "auto"))


def test_what_is_stored_is_what_was_built():
    design = Routed.of(LINE, 21, "float32")
    back = Routed.stored(LINE, design.network(LINE, "float32"), ASKED, {})
    assert all(np.array_equal(getattr(back, name), getattr(design, name)) for name in ("slopes", "offsets", "values"))
    three = hs.target.RoutedClip([[1.0]], [0.0], edges=[0.0, 0.4], into=[1, 0, 2], margin=0.05)
    with pytest.raises(Altered, match="another number of rows"):
        Routed.stored(three, design.network(LINE, "float32"), ASKED, {})
