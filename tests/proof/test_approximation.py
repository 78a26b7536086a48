import math
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from flint import arb

from headsmith.constructions.gate import gate, line
from headsmith.functions import parse, precision
from headsmith.proof.approximation import Unprovable, cell, prove, starting_edges
from headsmith.proof.cells import ORDER, cell_bound
from headsmith.proof.statement import Head, Part

from .nasty import exact


def measured(part: Part, points: np.ndarray) -> float:
    with precision(200):
        return max(float(abs(exact(part, z) - part.target.at(z, prec=200))) for z in points.tolist())


@pytest.mark.parametrize("beta", [10.0, 1e4, 1e8])
def test_relu_gate_has_its_known_error(beta):
    part = Part("x", "y", parse("relu(x)"), (-1.0, 1.0), (gate((beta, 0.0), (1.0, 0.0)),))
    proof = prove(part, 1e-3 / beta, [0.0])
    assert 0.27846454 / beta <= proof.bound <= 1.03 * 0.27846454 / beta
    assert 0.99 * 0.278464 / beta <= proof.least <= proof.bound


def test_cells_cover_the_domain_and_the_witness_is_inside():
    part = Part("x", "y", parse("abs(x - pi/4)"), (-1.0, 1.0), (Head.table([-3.0, 3.0], [0.0, 0.1], [1.0, 0.5]),))
    proof = prove(part, 1e-6, [math.pi / 4])
    assert proof.edges[0] == -1.0 and proof.edges[-1] == 1.0 and list(proof.edges) == sorted(set(proof.edges))
    assert -1.0 <= proof.witness <= 1.0
    with precision(200):
        assert float(abs(exact(part, proof.witness) - part.target.at(proof.witness))) >= proof.least


@pytest.mark.parametrize(
    ("formula", "domain", "kinks"),
    [
        ("sin(3*x)", (-2.0, 2.0), []),
        ("abs(x - pi/4)*x", (-1.0, 1.0), [math.pi / 4]),
        ("sin(x)/x", (-3.0, 3.0), [0.0]),
        ("sqrt(x)", (0.0, 1.0), [0.0]),
        ("x*log(x)", (0.0, 1.0), [0.0]),
        ("max(sin(x), cos(x))", (-2.0, 2.0), [math.pi / 4]),
        ("exp(x)", (1e6, 1e6 + 1.0), []),
        ("sin(x)", (1e6, 1e6 + 1.0), []),
        ("sin(x)", (0.0, 1e-9), []),
    ],
)
def test_bound_is_within_five_per_cent(formula, domain, kinks):
    """A coarse table, so that the error is large: the bound must be above it and near it."""
    lo, hi = domain
    if formula == "exp(x)":
        formula = "exp(x - 1000000)"
    f, anchors = parse(formula), np.linspace(lo, hi, 5)
    slopes = (anchors - (lo + hi) / 2) * 30 / (hi - lo) ** 2
    head = Head.table(slopes, -slopes * (anchors + (lo + hi) / 2) / 2, f(anchors))
    part = Part("x", "y", f, domain, (head,))
    proof = prove(part, 1e-9 * (hi - lo), kinks)
    points = np.concatenate(
        [np.linspace(lo, hi, 301), np.clip(proof.witness + np.linspace(-0.01, 0.01, 41) * (hi - lo), lo, hi)]
    )
    worst = max(measured(part, points), proof.least)
    assert worst <= proof.bound <= 1.05 * worst


def test_a_moved_value_is_noticed():
    """The mutant: one value off by more than twice the bound cannot keep it."""
    head = gate((1e3, 0.0), (1.0, 0.0))
    part = Part("x", "y", parse("relu(x)"), (-1.0, 1.0), (head,))
    bound = prove(part, 1e-6, [0.0]).bound
    moved = replace(part, heads=(replace(head, values=head.values + np.array([0.0, 3 * bound])),))
    assert prove(moved, 1e-6, [0.0]).bound > 2 * bound


def test_equal_function_and_head_cost_nothing():
    part = Part("x", "y", parse("3*x + 1"), (-1.0, 1.0), (line(3.0, 1.0),))
    assert prove(part, 1e-20).bound <= 1e-19


def test_a_jump_is_never_proved_away():
    part = Part("x", "y", parse("sign(x - 0.3)"), (-1.0, 1.0), (Head.table([-9.0, 9.0], [0.0, 0.0], [-1.0, 1.0]),))
    with suppress(Unprovable):
        assert prove(part, 1e-3, [0.3]).bound >= 1.0


def test_a_pole_has_no_bound():
    part = Part("x", "y", parse("1/(x - 0.3)"), (0.0, 1.0), (Head.table([0.0], [0.0], [0.0]),))
    with precision(128, ORDER + 2):
        assert cell_bound(part, 0.3, 1e-15).upper == math.inf


def test_cells_are_rounded_outwards():
    rng = np.random.default_rng(0)
    for left, right in np.sort(rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-9, 9, (200, 1)), axis=1).tolist():
        c, h = cell(left, right)
        with precision(200):
            assert arb(c) - h <= left and arb(c) + h >= right


def test_starting_edges_climb_to_kinks():
    edges = starting_edges(-1.0, 1.0, [0.0], 1e-12)
    assert edges[0] == -1.0 and edges[-1] == 1.0 and edges == sorted(set(edges))
    assert min(abs(e) for e in edges if e) <= 1e-12


def test_sqrt_at_the_far_end_resolves_to_neighbouring_floats():
    """sqrt(1 - x) near 1 changes by 1e-8 between two floats; the cell between them is taken as it is."""
    part = Part("x", "y", parse("sqrt(1 - x)"), (0.5, 1.0), (Head.table([0.0], [0.0], [0.0]),))
    proof = prove(part, 1e-12, [1.0])
    assert 2**-0.5 <= proof.bound <= 1.02 * 2**-0.5
