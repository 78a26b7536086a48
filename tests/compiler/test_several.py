"""Formulas of several variables: what no grid follows is named; grids come smallest first."""

from contextlib import suppress

import numpy as np
import pytest

from headsmith.compiler.request import Request
from headsmith.compiler.several import grid_heads, printed_cells, too_many
from headsmith.constructions.design import Short
from headsmith.functions import parse
from headsmith.functions.several import evaluator
from headsmith.proof.domain import Domain
from headsmith.refusal import Refusal

UNIT = ((-1.0, 1.0), (-1.0, 1.0))


def test_grids_meet_eps_on_samples_and_come_smallest_first():
    f, box = parse("sin(2*x)*cos(y) + x*y"), Domain({"x": (-1.0, 1.0), "y": (-1.0, 1.0)})
    heads = []
    with suppress(Short):  # after the last
        heads.extend(grid_heads("f", (f,), ("x", "y"), UNIT, Request(1e-2, box)))
    sizes = [head.tokens for head in heads]
    assert sizes and sizes == sorted(set(sizes))
    net, points = heads[0], np.linspace(-1, 1, 21)
    a, b = (np.exp(np.multiply.outer(points, axis.slopes) + axis.offsets) for axis in net.axes)
    values = np.einsum("ip,jq,pq->ij", a, b, np.asarray(net.values).reshape(a.shape[1], b.shape[1]))
    found = values / np.outer(a.sum(-1), b.sum(-1))
    assert np.abs(found - f(x=points[:, None], y=points[None])).max() <= 1.01e-2


def test_after_the_last_grid_the_best_error_is_told():
    box = Domain({"x": (-1.0, 1.0), "y": (-1.0, 1.0)})
    with pytest.raises(Short, match="tokens leaves an error of") as short:
        list(grid_heads("f", (parse("x*y"),), ("x", "y"), UNIT, Request(1e-6, box, "float32")))
    assert 0 < short.value.best < 1e-2


def test_a_pole_inside_the_box_is_a_matter_of_the_box():
    box = Domain({"x": (-1.0, 1.0), "y": (-1.0, 1.0)})
    with pytest.raises(Refusal, match=r"not finite everywhere .* leaves the pole out"):
        next(grid_heads("1/(x - y)", (parse("1/(x - y)"),), ("x", "y"), UNIT, Request(1e-2, box)))


def test_all_components_are_evaluated_on_the_common_shape():
    f = evaluator([parse("x + 2*y"), parse("3")], ("x", "y"))
    assert f(np.array([[1.0], [2.0]]), np.array([[10.0, 20.0]])).tolist() == [[[21, 41], [22, 42]], [[3, 3], [3, 3]]]


def test_printed_cells_and_too_many_variables():
    names = ("a", "b", "c", "d", "g")
    f, box = evaluator([parse("a + b + c + d + g")], names), ((0.0, 1.0),) * 5
    assert printed_cells(evaluator([parse("x + 3*y")], ("x", "y")), UNIT, 0.1) == pytest.approx(81**2, rel=0.05)
    assert printed_cells(f, box, 1e-200) == float("inf")
    text = str(too_many("f", f, box, 0.1, "split it"))
    assert "5 variables" in text and "at most 4 variables" in text and text.endswith("split it")
