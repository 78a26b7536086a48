import math

import numpy as np
import pytest
import torch

from headsmith.constructions.assemble import assemble
from headsmith.constructions.gate import gate, line
from headsmith.functions import parse
from headsmith.proof.approximation import Approximation
from headsmith.proof.composition import Error, Proved, exact, propagate, prove_part, prove_program
from headsmith.proof.rounding import Rounding
from headsmith.proof.statement import Head, Part

DOMAIN = (-1.0, 1.0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_heads_added_onto_something_large(dtype):
    """24 heads of half an ulp each onto 2^20, one after the other, vanish one after the other."""
    unit, level, count = {"float64": 2.0**-53, "float32": 2.0**-24}[dtype], 2.0**20, 24
    small = 0.9375 * unit * level
    parts = [
        Part("x", "out", parse("1048576"), DOMAIN, (Head.table([0.0], [0.0], [level]),)),
        Part("x", "mid", parse("x"), DOMAIN, (line(1.0),)),
        Part("mid", "out", parse("0*x"), (-2.0, 2.0), (Head.table([0.0], [0.0], [small]),) * count),
    ]
    proofs, errors = [], {"x": exact(DOMAIN)}
    for part in parts:
        proofs.append(prove_part(part, dtype, errors[part.input]))
        errors = propagate(proofs, exact(DOMAIN), dtype)
    y = assemble(parts, getattr(torch, dtype))(torch.zeros(1, 1, 1, dtype=getattr(torch, dtype)))
    assert float(y) == level
    assert count * small <= errors["out"].rounding <= 4 * count * unit * level


def test_a_late_bias_stands_before_every_head():
    """The bias of a later part is in the stream from the start, and costs a rounding in every addition."""
    level, count, unit = 2.0**20, 24, 2.0**-53
    small = 0.9375 * unit * level
    parts = [
        Part("x", "out", parse("0*x"), DOMAIN, (Head.table([0.0], [0.0], [small]),) * count),
        Part("x", "mid", parse("x"), DOMAIN, (line(1.0),)),
        Part("mid", "out", parse("1048576 + 0*x"), (-2.0, 2.0), (Head.table([0.0], [0.0], [0.0]),), level),
    ]
    proofs, errors = [], {"x": exact(DOMAIN)}
    for part in parts:
        proofs.append(prove_part(part, "float64", errors[part.input]))
        errors = propagate(proofs, exact(DOMAIN), "float64")
    y = float(assemble(parts)(torch.zeros(1, 1, 1, dtype=torch.float64)))
    assert abs(y - level - count * small) <= errors["out"].rounding


def test_errors_pass_through_with_the_targets_slope():
    """mid = x + 0.25, out meant to be 3 mid: the output is off by 3 x 0.25 and the proof says just that."""
    first = Part("x", "mid", parse("x"), DOMAIN, (line(1.0, 0.25),))
    below = prove_part(first, "float64", exact(DOMAIN))
    error = propagate([below], exact(DOMAIN), "float64")["mid"]
    second = Part("mid", "out", parse("3*x"), error.widened(), (line(3.0),))
    above = prove_part(second, "float64", error)
    out = propagate([below, above], exact(DOMAIN), "float64")["out"]
    assert 0.75 <= out.approximation <= 0.75 * 1.03
    assert out.rounding < 1e-14


def test_inputs_that_leave_the_domain_are_refused():
    part = Part("mid", "out", parse("relu(x)"), DOMAIN, (gate((10.0, 0.0), (1.0, 0.0)),))
    with pytest.raises(ArithmeticError, match="leave the domain"):
        prove_part(part, "float64", Error(1e-3, 0.0, DOMAIN))


def test_widened_holds_true_and_executed_values():
    lo, hi = Error(1e-3, 1e-5, (-2.0, 3.0)).widened()
    assert lo < -2.00101 and hi > 3.00101 and lo > -2.0011 and hi < 3.0011


def test_infinite_slope_is_not_lost():
    part = Part("mid", "out", parse("sqrt(x)"), (0.0, 1.0), (Head.table([0.0], [0.0], [0.5]),))
    proof = prove_part(part, "float64", Error(0.0, 1e-9, (0.1, 0.9)))
    assert not propagate([proof], Error(0.0, 1e-9, (0.1, 0.9)), "float64")["out"].total < math.inf


def test_composed_network_on_many_points(forged):
    net = forged("abs(sin(3*x)) + x^2", -1, 1, 1e-6)
    x = torch.linspace(-1, 1, 20001, dtype=torch.float64)
    error = (net(x) - (torch.sin(3 * x).abs() + x * x)).abs().max()
    assert float(error) <= net.certificate.bound <= 1e-6
    assert np.isfinite(net.certificate.bound)


def proved(own: Part, approximation: float, rounding: float, reach: tuple[float, float], slope: float) -> Proved:
    """A part with a proof that says what one likes."""
    return Proved(own, Approximation(approximation, 0.0, 0.0, own.domain, reach), Rounding(rounding, own.domain), slope)


def test_each_error_grows_by_the_slope_and_nothing_is_forgotten():
    """0.5 + 3 x 0.25 and 0.125 + 3 x 0.0625, in numbers that are exact."""
    part = Part("mid", "out", parse("3*x"), DOMAIN, (line(3.0),))
    out = propagate([proved(part, 0.5, 0.125, DOMAIN, 3.0)], Error(0.25, 0.0625, DOMAIN), "float64")["out"]
    assert 1.25 <= out.approximation <= 1.25 * (1 + 1e-12)
    assert 0.3125 <= out.rounding <= 0.3125 * (1 + 1e-12)


def test_parts_that_write_one_variable_add_up():
    """Errors and values of both, and for each addition a rounding of all that is added: 5 lines and a bias."""
    first = Part("x", "out", parse("x"), DOMAIN, (line(1.0),) * 2)
    second = Part("x", "out", parse("x"), DOMAIN, (line(1.0),) * 3, 64.0)
    proofs = [proved(first, 0.5, 0.25, (8.0, 16.0), 0.0), proved(second, 0.125, 0.0625, (1.0, 32.0), 0.0)]
    out = propagate(proofs, exact(DOMAIN), "float32")["out"]
    assert out.reach == (9.0, 48.0)
    assert 0.625 <= out.approximation <= 0.625 * (1 + 1e-12)
    size = 5 * 1.0 + 64.0 + 0.3125
    assert 0.3125 + 5 * 2.0**-24 * size <= out.rounding <= 0.3125 + 5.001 * 2.0**-24 * size


def test_small_heads_between_two_large_ones_that_cancel():
    """The order of additions is nobody's promise: 24 halves of an ulp, added between 2^20 and -2^20, all vanish."""
    level, count = 2.0**20, 24
    small = 0.9375 * 2.0**-53 * level
    large = tuple(Head.table([0.0], [0.0], [v]) for v in (level, -level))
    little = (Head.table([0.0], [0.0], [small]),) * count
    proofs = [
        prove_part(Part("x", "out", parse("0*x"), DOMAIN, heads), "float64", exact(DOMAIN)) for heads in (large, little)
    ]
    added = level
    for term in (*[small] * count, -level):
        added += term
    rounding = propagate(proofs, exact(DOMAIN), "float64")["out"].rounding
    assert count * small <= rounding + added <= 4 * count * 2.0**-53 * level


def test_a_domain_is_widened_by_our_own_error():
    """mid is x + 0.25, so the next part meets 1.25, where it is far off."""
    parts = (
        Part("x", "mid", parse("x"), DOMAIN, (line(1.0, 0.25),)),
        Part("mid", "out", parse("min(x, 1.1)"), DOMAIN, (line(1.0),)),
    )
    _, last = prove_program(parts, DOMAIN, "float64")
    assert last.part.domain[0] <= -1.25 and last.part.domain[1] >= 1.25
    assert last.approximation.bound >= 0.15


def test_both_errors_widen():
    lo, hi = Error(0.25, 0.5, DOMAIN).widened()
    assert lo <= -1.75 and hi >= 1.75
