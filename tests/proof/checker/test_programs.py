"""Errors from part to part: slopes, sums, domains; and that parts make the target."""

import math

import pytest
from flint import arb

from headsmith.proof.checker import programs
from headsmith.proof.checker.heads import Key
from headsmith.proof.checker.programs import Part, propagated
from headsmith.proof.checker.rounding import head_slip
from headsmith.proof.checker.verdict import Budget, Rejected

from .helpers import DOUBLE, IDENTITY, tree_of


def error_of(parts, goal, aims=(1e-9, 1.02)):
    return propagated(parts, (-1.0, 1.0), tree_of(goal), DOUBLE, aims, Budget())


def test_errors_pass_through_with_the_slope_of_the_target():
    """mid = x + 0.25 is off by 0.25; out, meant to be 3 mid + 1, by 0.5 more."""
    parts = [
        Part("x", "mid", tree_of("x"), 0.0, ((Key(0.0, 0.0, 0.25, 1.0),),)),
        Part("mid", "out", tree_of("3*x + 1"), 1.5, ((Key(0.0, 0.0, 0.0, 3.0),),)),
    ]
    found = error_of(parts, "3*x + 1")
    assert 1.25 <= found.approximation <= 1.26
    one = head_slip((Key(0.0, 0.0, 0.25, 1.0),), (1.0, 1.0), DOUBLE)[0]
    two = head_slip((Key(0.0, 0.0, 0.0, 3.0),), (1.25, 1.25), DOUBLE)[0]
    assert found.rounding >= 3 * one + two + DOUBLE.u * (1.5 + 3.75 - 1)


def test_parts_that_write_one_variable_add_up():
    parts = [
        Part("x", "mid", tree_of("2*x"), 0.0, ((Key(0.0, 0.0, 0.0, 2.0),),)),
        Part("x", "out", tree_of("x"), 0.0, ((Key(0.0, 0.0, 0.25, 1.0),),)),
        Part("mid", "out", tree_of("x"), 64.0, ((Key(0.0, 0.0, -63.5, 1.0),),)),
    ]
    found = error_of(parts, "x + 2*x")
    assert 0.75 <= found.approximation <= 0.76
    assert found.rounding >= 2 * DOUBLE.u * (64 + 61.5)
    large = [Part("x", "out", tree_of("x"), 0.0, ((Key(0.0, 0.0, 2.0**30, 1.0),),)), *parts[:1]]
    large += [Part("mid", "out", tree_of("x"), 0.0, ((Key(0.0, 0.0, -(2.0**30), 1.0),),))]
    each = [head_slip(part.heads[0], (1.0, 1.0), DOUBLE)[0] for part in large]
    added = DOUBLE.u * (2.0**31 - 8)
    assert error_of(large, "x + 2*x", (1e9, 1.02)).rounding >= each[0] + each[2] + added


def test_a_domain_is_widened_by_our_own_error():
    """mid is x + 0.25, so the next part meets 1.25, where it is off by 0.15 more."""
    parts = [
        Part("x", "mid", tree_of("x"), 0.0, ((Key(0.0, 0.0, 0.25, 1.0),),)),
        Part("mid", "out", tree_of("min(x, 1.1)"), 0.0, (IDENTITY,)),
    ]
    assert error_of(parts, "min(x, 1.1)").approximation >= 0.4


def test_parts_must_make_the_target():
    with pytest.raises(Rejected):
        error_of([Part("x", "out", tree_of("x"), 0.0, (IDENTITY,))], "2*x")


def test_values_are_exact():
    sigmoid = (Key(0.0, 0.0, 0.0, 0.0), Key(1.0, 0.0, 1.0, 0.0))
    assert abs(float(programs.value([sigmoid], 0.5, arb(1))) - 0.5 - 1 / (1 + math.exp(-1))) < 1e-15
