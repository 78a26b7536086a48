"""A rule whose data lie in the tokens: what the two instructions compute is the rule, for any continuous f."""

import pytest
import torch

from headsmith import Refusal, prompt
from headsmith.machines.tape.host import reach
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.lowering import lower
from headsmith.machines.tape.rule_tokens import rule_sizes

from ..data import random

X = random(11, 3, seed=1)
Y = X @ torch.tensor([1.0, -2.0, 0.5]).double() + 0.1 * random(11, seed=2)
SIZES = Sizes(24, 4, 1)


def apart(program, sizes=SIZES, **options):
    return float((lower(program, sizes, **options).reference() - program.reference()).abs().max())


@pytest.mark.parametrize(
    ("f", "eps", "error"),
    [
        ("tanh(t)", 1e-9, 1e-14),
        ("sigmoid(t) - 1/2", 1e-9, 1e-14),
        ("t", 1e-9, 1e-10),
        ("t/4", 1e-9, 1e-10),
        ("sin(t)", 1e-3, 1e-2),
        ("relu(t)", 1e-2, 1e-1),
    ],
)
def test_the_rule(f, eps, error):
    program = prompt.rule(f, X, Y, 0.1, 40, eps=eps)
    tape = lower(program, SIZES)
    assert apart(program) <= error and tape.reference().shape == (3,)
    assert len(tape) == 80 and len(tape.start) == 11 * program.table.keys
    assert reach(tape, None) <= 256.0


def test_no_weight_goes_to_other_samples():
    program = prompt.rule("tanh(t)", 5 * X, 100 * Y, 0.1, 40)
    assert apart(program) < 1e-12


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_any_number_of_samples(n):
    program = prompt.rule("tanh(t)", X[:n], Y[:n], 0.5, 20)
    assert apart(program, rule_sizes(program)) < 1e-13


def test_units_change_nothing():
    program = prompt.rule("tanh(t)", 1e-3 * X, Y, 1e4, 40)
    assert apart(program) < 1e-10 * float(program.reference().abs().max())


def test_what_does_not_fit_is_refused():
    program = prompt.rule("tanh(t)", X, Y, 0.1, 4)
    with pytest.raises(Refusal, match=r"keeps 11 numbers of a sample .*slot=11, slots=4"):
        lower(program, Sizes(10, 4, 1))
    with pytest.raises(Refusal, match=r"slot=24, slots=3"):
        lower(program, Sizes(24, 2, 1))
    with pytest.raises(Refusal, match="take a larger eps"):
        lower(prompt.rule("relu(t)", X, Y, 0.1, 4, eps=1e-5), SIZES, domain=64.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("x*y", X, Y), "formula of one variable"),
        (("t", X, Y[:3]), "11 samples in X and 3 in y"),
        (("t", X, Y, -1.0), "rate must be"),
        (("t", X, Y, 0.1, 0), "steps must be"),
    ],
)
def test_what_is_no_rule_is_refused(given, words):
    with pytest.raises(Refusal, match=words):
        prompt.rule(*given)


def test_a_rule_that_jumps_has_no_table():
    with pytest.raises(Refusal):
        lower(prompt.rule("sign(t)", X, Y, 0.1, 4), SIZES)
