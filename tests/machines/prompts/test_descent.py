"""Steps of descent in exact arithmetic, in balls."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from flint import arb, arb_mat

from headsmith import Refusal, machine, prompt
from headsmith.functions import precision
from headsmith.machines.prompts.descent import _soft
from headsmith.machines.tape.proving import prove
from headsmith.proof.ball_matrix import entered


def data(samples=9, features=3, seed=0):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(samples, features, dtype=torch.float64, generator=g)
    return X, X @ torch.tensor([1.0, -0.5, 0.0][:features], dtype=torch.float64) + 0.1 * torch.randn(
        samples, generator=g
    )


X, y = data()
LABELS = (y > 0).double()
PROGRAMS = {
    "squared": prompt.descent(X, y, steps=30),
    "ridge": prompt.descent(X, y, l2=0.3, steps=30),
    "lasso": prompt.descent(X, y, l1=0.3, steps=30),
    "path": prompt.descent(X, y, l1=[0.0, 0.1, 0.5, 9.0], steps=20),
    "momentum": prompt.descent(X, y, l1=0.05, momentum=0.5, steps=20),
    "huber": prompt.descent(X, y, "huber", delta=0.3, l2=0.1, steps=30),
    "logistic": prompt.descent(X, LABELS, "logistic", l2=0.01, steps=30),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_coefficients_lie_near_those_of_float64(name):
    program = PROGRAMS[name]
    with precision(300):
        found = program.enclosed()
    assert found.radius < 1e-50 and found.distance(program.reference()) < 1e-14
    assert name != "path" or (found.rows.nrows() == 4 and found.lengths == (1, 1, 1, 1))


@pytest.mark.parametrize("name", PROGRAMS)
def test_more_bits_lie_within_fewer(name):
    found = []
    for bits in (150, 600):
        with precision(bits):
            found.append(PROGRAMS[name].enclosed().rows.entries())
    assert all(wide.contains(narrow.mid()) for wide, narrow in zip(*found, strict=True))


def in_fractions(p):
    """The same steps on rational numbers, one problem."""
    X, y = [[Fraction(v) for v in row] for row in p.X.tolist()], [Fraction(v) for v in p.y.tolist()]
    rate, l1, l2, theta = (Fraction(v) for v in (p.rate, float(p.l1[0]), p.l2, p.momentum))
    w = old = [Fraction(0)] * len(X[0])
    for _ in range(p.steps):
        v = [a + theta * (a - b) for a, b in zip(w, old, strict=True)]
        r = [sum(a * b for a, b in zip(row, v, strict=True)) - t for row, t in zip(X, y, strict=True)]
        if p.loss == "huber":
            r = [max(-Fraction(p.delta), min(Fraction(p.delta), t)) for t in r]
        pull = [sum(row[k] * t for row, t in zip(X, r, strict=True)) / len(y) for k in range(len(v))]
        u = [a - rate * (g + l2 * a) for a, g in zip(v, pull, strict=True)]
        w, old = [max(a - rate * l1, 0) - max(-a - rate * l1, 0) for a in u], w
    return w


@pytest.mark.parametrize("name", ["squared", "ridge", "lasso", "momentum", "huber"])
def test_three_steps_in_rational_numbers(name):
    program = replace(PROGRAMS[name], steps=3)
    with precision(400):
        found = program.enclosed()
        exact = [arb(x.numerator) / arb(x.denominator) for x in in_fractions(program)]
        assert all(a.overlaps(b) for a, b in zip(found.rows.entries(), exact, strict=True)) and found.radius < 1e-100


def test_momentum_that_few_bits_do_not_see_widens_the_balls():
    """In six bits w no longer moves after some steps, and so does w - w': the velocity lies in the radius alone."""
    program, found = prompt.descent([[1.0]], [1.0], rate=1e-5, momentum=0.9, steps=300), []
    for bits in (6, 400):
        with precision(bits):
            found.append(program.enclosed().rows[0, 0])
    assert found[0].contains(found[1].mid())


def test_zeros_of_the_lasso_are_exact():
    with precision(300):
        w = prompt.descent(X, y, l1=[9.0], steps=5).enclosed().rows.entries()
    assert all(x == 0 for x in w)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_tape_computes_is_proved(name):
    program = PROGRAMS[name]
    vm, tape = machine.host(program)
    result = vm(tape)
    certificate = result.prove()
    assert (
        float((result.value - program.reference()).abs().max()) <= certificate.bound + 1e-13
        and certificate.bound < 1e-9
    )
    assert "soft(v - rate" in certificate.statement and "X of SHA-256" not in certificate.statement
    with pytest.raises(Refusal, match="carries its own data"):
        prove(program, X, result.value)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("width", [1e-6, 0.1, 2.0])
def test_slopes_and_thresholds_of_wide_balls_hold_those_of_their_members(name, width):
    """Ends and middles of balls around both kinks of the clip, and of the soft threshold."""
    program = PROGRAMS[name]
    places = torch.linspace(-1.0, 1.0, len(y), dtype=torch.float64)
    with precision(100):
        z, still = arb_mat([[arb(p, width) for p in places.tolist()]]), entered(LABELS[None])
        slopes = program._slope(z, still).entries()
        soft = _soft(z, [arb(0.25)] * len(y)).entries()
    for share in (-0.99, 0.0, 0.5, 0.99):
        at = places + share * width
        r = at - LABELS
        slope = {"huber": r.clamp(-program.delta, program.delta), "logistic": torch.sigmoid(at) - LABELS}
        expected = slope.get(program.loss, r)
        assert all(s.overlaps(arb(float(e), 1e-15)) for s, e in zip(slopes, expected, strict=True))
        shrunk = at.sign() * (at.abs() - 0.25).clamp(min=0)
        assert all(s.overlaps(arb(float(e), 1e-15)) for s, e in zip(soft, shrunk, strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_moves_balls_as_far_as_their_members(name):
    """Few bits: balls of the iterates are as wide as their errors, and each step must carry them on."""
    program, found = replace(PROGRAMS[name], steps=3), []
    for bits in (12, 24, 400):
        with precision(bits):
            found.append(program.enclosed().rows.entries())
    for wide, narrow in ((0, 1), (1, 2), (0, 2)):
        assert all(a.contains(b.mid()) for a, b in zip(found[wide], found[narrow], strict=True))
