"""Steps of a learning rule in exact arithmetic, in balls: with f itself, not with its table."""

import pytest
import torch

from headsmith import machine, prompt
from headsmith.functions import precision
from headsmith.refusal import Refusal

X = torch.randn(6, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
y = X @ torch.tensor([0.5, -1.0], dtype=torch.float64)


@pytest.mark.parametrize("f", ["tanh(t)", "t", "t/(1+t^2)", "sin(t)"])
def test_the_coefficients_lie_near_those_of_float64(f):
    program, found = prompt.rule(f, X, y, rate=0.3, steps=20), []
    for bits in (200, 800):
        with precision(bits):
            found.append(program.enclosed())
    assert found[0].radius < 1e-40 and found[0].distance(program.reference()) < 1e-14
    pairs = zip(found[0].rows.entries(), found[1].rows.entries(), strict=True)
    assert all(wide.contains(narrow.mid()) for wide, narrow in pairs)


@pytest.mark.parametrize("f", ["tanh(t)", "relu(t)", "t^2"])
def test_few_bits_hold_many(f):
    program, found = prompt.rule(f, X, y, rate=0.3, steps=3), []
    for bits in (12, 24, 400):
        with precision(bits):
            found.append(program.enclosed().rows.entries())
    for wide, narrow in ((0, 1), (1, 2), (0, 2)):
        assert all(a.contains(b.mid()) for a, b in zip(found[wide], found[narrow], strict=True))


def test_the_theorem_about_a_tape_covers_the_table_of_the_rule():
    """A coarse table moves the coefficients, and the bound says how far."""
    bounds = []
    for eps in (1e-3, 1e-9):
        vm, tape = machine.host(prompt.rule("sin(t)", X, y, rate=0.3, steps=20, eps=eps))
        certificate = vm(tape).prove()
        bounds.append(certificate.bound)
        assert "f(t) = sin(t), rate 0.3" in certificate.statement
    assert 1e-6 < bounds[0] < 1e-2 and bounds[1] < 1e-8


def test_a_table_that_is_not_found_is_a_refusal():
    with pytest.raises(Refusal, match=r"no table of t\*t on residuals up to .* take a larger eps"):
        machine.host(prompt.rule("t*t", [[1.0], [2.0]], [2.0, 4.0], rate=0.1, steps=5, eps=1e-4))
