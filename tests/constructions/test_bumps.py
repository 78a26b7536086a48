"""The bumps of Thm 3.14: each term of the repaired theorem has a network that needs it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions.bumps import Cells
from headsmith.constructions.design import Altered

Map = hs.target.SequenceMap
LINE = Map(["x1"], tokens=1, features=1)
FLAT = Map(["x1/1000"], tokens=1, features=1)


def planned(target, eps, dtype="float64", method="bumps", domain=(-1, 1)):
    plan = hs.plan(target, domain=domain, eps=eps, dtype=dtype, method=method)
    return plan.design, plan.request


def error(target, design, request):
    """The largest error on a line through every cell, walls among the points."""
    lo, hi = request.domain["X"]
    X = torch.linspace(lo, hi, 1921, dtype=torch.float64)[:, None, None].to(getattr(torch, request.dtype))
    out = design.network(target, request.dtype)(X).double().numpy()
    truth = np.moveaxis(target.evaluate(X.double().numpy()[:, 0, 0]), 0, -1)[:, None]
    return float(np.abs(out - truth).max())


@pytest.mark.parametrize("method", ["bumps", "softmax"])
def test_near_the_walls_the_value_of_the_cell_is_off_by_its_half_width(method):
    design, request = planned(LINE, 0.3, method=method)
    found, bound = error(LINE, design, request), design.prove(LINE, request)
    assert 0.6 * bound.total <= found <= bound.total


def test_values_that_are_not_those_of_the_function():
    design, request = planned(FLAT, 0.1)
    moved = Cells(design.bumps, design.values + 0.5)
    assert 0.49 <= error(FLAT, moved, request) <= moved.prove(FLAT, request).total <= 0.6


def test_cells_that_are_not_told_apart():
    """A blunt reader averages all cells: the leak is nearly all of the error at the ends."""
    wide = Map(["x1*50"], tokens=1, features=1)
    design, request = planned(wide, 8.0, domain=(-1, 1))
    blunt = Cells(replace(design.bumps, beta=1e-3), design.values)
    walls = design.prove(wide, request).total
    found = error(wide, blunt, request)
    assert found > 2 * walls and found <= blunt.prove(wide, request).total


def test_rounding_of_the_second_layer():
    """A constant that float32 holds: no cell is off, and only rounding is left."""
    constant = Map(["1000001 + 0*x1"], tokens=1, features=1)
    design, request = planned(constant, 100.0, "float32")
    bound = design.prove(constant, request)
    assert 0 < error(constant, design, request) <= bound.total and bound.rounding > 100 * bound.approximation


def test_code_is_checked_between_the_centres():
    steep = Map(lambda X: 3 * X, tokens=1, features=1, lipschitz=1.0)
    with pytest.raises(hs.Refusal, match="no Lipschitz constant"):
        hs.plan(steep, domain=(-1, 1), eps=0.5, method="bumps")


def test_what_is_stored_is_what_was_built():
    design, request = planned(Map(["x1/4", "x2/2"], 2, 1), 0.3)
    target = Map(["x1/4", "x2/2"], 2, 1)
    back = Cells.stored(target, design.network(target, "float64"), request, {})
    assert back.bumps == design.bumps and np.array_equal(back.values, design.values)
    with pytest.raises(Altered):
        Cells.stored(target, design.network(target, "float64"), replace(request, method="auto"), {})
    with pytest.raises(Altered):
        Cells.stored(Map(["x1", "x2", "x3"], 3, 1), design.network(target, "float64"), request, {})


def test_printed_cells_are_measured_again_from_the_file():
    design, request = planned(LINE, 0.3, method="printed")
    assert design.prove(LINE, request) == design.prove(LINE, request)
    assert not design.promises and isinstance(request, Request)
