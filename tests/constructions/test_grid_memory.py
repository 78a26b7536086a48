"""Each term of the L2 bound of a grid memory, at a map or at numbers that attain it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions.design import Altered
from headsmith.constructions.grid_memory import GridMemory, Staircase, _moment, _nearest, marked, multisets
from headsmith.constructions.rank_one import Steps
from headsmith.proof.approximation import Unprovable
from headsmith.proof.context_ids import enclosed
from headsmith.proof.rounding import FORMATS


def same(X):
    return X.clone()


def nothing(X):
    return 0 * X


def asked(f, tokens=2, lipschitz=1.0, domain=(0, 1), dtype="float64", features=1):
    target = hs.target.EquivariantMap(f, tokens, features, lipschitz)
    return target, Request.read(target, 1e-3, domain, dtype, "auto")


def measured(design, target, request, per=512):
    """(int |network - f|^2)^(1/2) over the box, by the midpoint rule."""
    (lo, hi), n, d = request.domain["X"], target.tokens, target.features
    axis = torch.tensor(lo, dtype=torch.float64) + (hi - lo) * (torch.arange(per, dtype=torch.float64) + 0.5) / per
    X = torch.cartesian_prod(*[axis] * (n * d)).reshape(-1, n, d)
    network = design.network(target, request.dtype)
    out = network(X.to(network.dtype)).double()
    return math.sqrt(float((out - target.function(X)).square().sum((1, 2)).mean()) * (hi - lo) ** (n * d))


def wide(design, width):
    """The same cells with ramps of this width."""
    cells = tuple(Staircase(c.left, np.full_like(c.slope, 1 / width), c.marks) for c in design.cells)
    return replace(design, cells=cells)


@pytest.mark.parametrize("tokens, domain", [(1, (0, 1)), (2, (0, 1)), (2, (-1, 3))])
def test_the_cells_of_the_identity(tokens, domain):
    target, request = asked(same, tokens, domain=domain)
    design = GridMemory.of(target, request, 8)
    bound = design.prove(target, request)
    assert 0.98 * bound.total <= measured(design, target, request) <= bound.total


def haunted(design, target, request):
    """A table that holds 0 at every id, and 1 wherever there is none."""
    kinds = multisets(design.count**target.features, target.tokens)
    lengths = np.full(len(kinds), target.tokens)
    found = enclosed(marked(design.cells, kinds), design.head, lengths, False, request.format)
    _, one = np.unique(found.ids.round(12), return_index=True)
    low, high = (found.ids + 4 * found.radius)[one][:-1], (found.ids - 4 * found.radius)[one][1:]
    width = 0.01 * (high - low)
    left, slope = np.stack([low, high - width], 1).reshape(-1), np.repeat(1.01 / width, 2)
    levels = (np.arange(len(left) + 1) % 2)[:, None].repeat(target.features, 1).astype(float)
    return replace(design, steps=Steps(left, slope, levels, np.zeros(target.features)))


@pytest.mark.parametrize("tokens, features", [(2, 1), (1, 2)])
def test_the_ramps(tokens, features):
    target, request = asked(nothing, tokens, 1e-9, features=features)
    design = haunted(wide(GridMemory.of(target, request, 4), 2.0**-7), target, request)
    bound = design.prove(target, request)
    assert 0.9 * bound.total <= measured(design, target, request) <= bound.total


def test_what_is_stored_against_what_is_asked():
    target, request = asked(nothing, lipschitz=1e-9)
    design = wide(GridMemory.of(target, request, 2), 2.0**-20)
    moved = replace(design, steps=replace(design.steps, levels=design.steps.levels + 0.125))
    bound = moved.prove(target, request)
    assert 0.99 * bound.total <= measured(moved, target, request) <= bound.total


def one(X):
    return torch.ones_like(X)


def test_what_the_function_rounds():
    """A map that is 1, and answers 8 ulps less everywhere."""
    target, request = asked(one, 2, 1e-30, (0, 3), features=2)
    bound = GridMemory.of(target, request, 2).prove(target, request)
    assert 0.75 * bound.total <= 8 * 2.0**-52 * math.sqrt(2 * 2 * 3**4) <= bound.total


def test_real_numbers_between_coarse_floats():
    """Each real number has the cell of the nearest float, which may be the one beside its own."""
    far = 2.0**20  # the next float32 is 1/8 away
    ends, x = (far, far + 1), far + (np.arange(2**16) + 0.5) / 2**16
    cells = Staircase.of(ends, 4, 8.0, np.random.default_rng(0))
    off = x - cells.centres(ends)[np.searchsorted(cells.left, x.astype(np.float32))]
    slip = _nearest(ends, FORMATS["float32"])
    assert _moment(cells, ends, 0.0) < (off**2).mean() <= _moment(cells, ends, slip)


def test_both_tokens_and_all_features_count():
    target = hs.target.EquivariantMap(same, 2, 2, 1.0)
    request = Request.read(target, 1e-3, (0, 1), "float64", "auto")
    design = GridMemory.of(target, request, 3)
    X = torch.rand(40000, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    error = math.sqrt(float((design.network(target, "float64")(X) - X).square().sum((1, 2)).mean()))
    assert 0.98 * design.prove(target, request).total <= error <= design.prove(target, request).total


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda c: replace(c, slope=c.slope * 1.5), "no power of two"),
        (lambda c: replace(c, left=c.left[::-1].copy()), "are not in order"),
        (lambda c: replace(c, slope=np.full_like(c.slope, 1.0)), "are not in order"),
        (lambda c: replace(c, marks=c.marks + np.linspace(0, 1, len(c.marks))[:, None] / 3), "not exact sums"),
        (lambda c: replace(c, slope=c.slope * 2.0**40), "does not begin and end at a float"),
    ],
)
def test_cells_that_are_none(change, said):
    target, request = asked(same)
    design = GridMemory.of(target, request, 4)
    with pytest.raises(Unprovable, match=said):
        replace(design, cells=(change(design.cells[0]),)).prove(target, request)


def test_a_ramp_whose_slope_rounds():
    target, request = asked(same, domain=(-1, 1))
    design = GridMemory.of(target, request, 2)
    assert 49 * (1 / 49) < 1 and design.cells[0].left.tolist() == [0.0]
    with pytest.raises(Unprovable, match="no power of two"):
        wide(design, 1 / 49).prove(target, request)


def test_ids_on_a_ramp():
    target, request = asked(same)
    design = GridMemory.of(target, request, 4)
    steps = design.steps
    late = replace(steps, left=np.array([*steps.left[:-1], steps.left[-1] + 0.7 / steps.slope[-1]]))
    with pytest.raises(Unprovable, match="does not tell all contexts of 4 cells"):
        replace(design, steps=late).prove(target, request)


def test_cells_without_marks_are_charged_for_it():
    target, request = asked(same)
    design = GridMemory.of(target, request, 4)
    blank = replace(design, cells=(replace(design.cells[0], marks=0 * design.cells[0].marks),))
    bound = blank.prove(target, request).total
    assert 0.4 <= measured(blank, target, request) <= bound and bound > 4 * design.prove(target, request).total


def test_ids_of_all_multisets():
    for kinds, size in ((5, 1), (4, 3), (9, 2)):
        found = multisets(kinds, size)
        assert len(found) == math.comb(kinds + size - 1, size)
        assert (np.diff(found, axis=1) >= 0).all() and len(np.unique(found, axis=0)) == len(found)


def test_features_of_other_numbers_of_cells():
    """Cells that the first feature has none of would be in no context that is looked at."""
    target = hs.target.EquivariantMap(same, 1, 2, 1.0)
    request = Request.read(target, 1e-3, (0, 1), "float64", "auto")
    few, many = (GridMemory.of(target, request, count) for count in (2, 4))
    with pytest.raises(Altered, match="another shape than the map"):
        replace(few, cells=(few.cells[0], many.cells[1])).prove(target, request)
    narrow = replace(few.steps, levels=few.steps.levels[:, :1], skip=few.steps.skip[:1])
    with pytest.raises(Altered, match="another shape than the map"):
        replace(few, steps=narrow).prove(target, request)


def test_a_ramp_that_ends_between_two_float32():
    target, request = asked(same, dtype="float32")
    design = GridMemory.of(target, request, 4)
    with pytest.raises(Unprovable, match="does not begin and end at a float"):
        wide(design, 2.0**-30).prove(target, request)
