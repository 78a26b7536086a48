"""The bumps of Thm 3.14: each term of the repaired theorem has a network that needs it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.constructions.bumps import Bumps, Cells, anyhow, leak
from headsmith.constructions.design import Altered
from headsmith.proof.rounding import FORMATS
from headsmith.proof.statement import Head

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


@pytest.mark.parametrize("level", [1.0, -1.0])
def test_a_constant_comes_out_as_often_as_there_are_cells(level):
    """W_O = 1 sums equal columns: the printed network of f = 1 is off by all cells but one."""
    constant = Map([f"{level} + 0*x1"], tokens=1, features=1)
    design, request = planned(constant, 0.3, method="printed")
    most = design.bumps.cells - 1
    assert not design.promises and most * (1 - 1e-12) <= error(constant, design, request)
    assert error(constant, design, request) <= design.prove(constant, request).total <= most * (1 + 1e-9)


def test_whichever_cell_is_picked():
    """One cell, averaged: its value is off by the half width of the cell, and nothing is lost."""
    bumps = Bumps(1, 1, 1, 0.0, 1.0, 0.25, 1.0)
    values = np.zeros((1, 1, 1))
    assert anyhow(bumps, values, 1.0, FORMATS["float64"]) == (1.0 + 1e-12, 0.0)
    apart = anyhow(replace(bumps, g=2), np.array([-3.0, 2.0])[:, None, None], 0.5, FORMATS["float64"])[0]
    assert 5.5 <= apart <= 5.5 * (1 + 1e-11)


def test_rounding_of_the_printed_sum():
    """A third is not a float32: the sum of all columns slips by more than the approximation allows for."""
    constant = Map(["1000001 + 0*x1"], tokens=1, features=1)
    design, request = planned(constant, 100.0, "float32", method="printed")
    design = Cells(replace(design.bumps, g=49), np.full((49, 1, 1), 1000001.0))
    bound = design.prove(constant, request)
    assert bound.approximation < error(constant, design, request) <= bound.total


class Crooked(Bumps):
    """Range is too low by 6 % around its ramp and too high far from it, which brings the sums of far cells nearer."""

    def range_head(self):
        places = np.array([-4.0, 0.0, 0.25, 0.5, 0.75, 1.0, 10.0])
        values = np.clip(places, 0, 1) + 0.06 * np.array([1, -1, -1, -1, -1, -1, 1])
        return Head.table(90 * places, -45 * places**2, values)


def far(bumps):
    """The share of the weights that cells beyond the ramps have where two cells meet, averaged over the queries."""
    s = bumps.g * (bumps.mid - bumps.centres()[:, 0, 0]) / bumps.half
    slope, bias = bumps.ramp()
    sums = sum(bumps.range_head()(sign * slope * s + bias) for sign in (1, -1))
    asks = sums if bumps.reader == "attention" else np.ones(1)
    weights = np.exp(bumps.beta * np.outer(asks, sums - sums.max()))
    return float((weights[:, np.abs(s) >= 1 + bumps.delta].sum(1) / weights.sum(1)).mean())


@pytest.mark.parametrize(
    "bumps",
    [
        Bumps(1, 1, 64, 0.0, 1.0, 0.25, 14.0, anchors=5, reader="softmax"),
        Bumps(1, 1, 64, 0.0, 1.0, 0.25, 24.0, anchors=5),
        Crooked(1, 1, 4, 0.0, 1.0, 0.25, 80.0, reader="softmax"),
    ],
    ids=["many cells", "queries that ask softly", "sums that are off"],
)
def test_what_leaks_at_a_wall(bumps):
    values = np.linspace(0, 1, bumps.g)[:, None, None]
    assert 0 < far(bumps) <= leak(bumps, values, FORMATS["float64"])[0] < 1
