"""Steps of descent as instructions: the same iteration, to the last digits, in every loss."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

from headsmith import Refusal, prompt
from headsmith.machines.tape.descending import descent_sizes
from headsmith.machines.tape.host import reach
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.lowering import lower
from headsmith.reference.solvers import Objective, gradient_descent

from ..data import random

SIZES = Sizes(16, 9, 1)
X, Y = random(30, 3, seed=1), random(30, seed=2) + random(30, 3, seed=1) @ torch.tensor([2.0, 0.0, -1.0]).double()
LABELS = (Y > 0).double()
CASES = {
    "ols": {},
    "ridge": {"l2": 0.3},
    "lasso": {"l1": 0.4},
    "elastic net": {"l1": 0.2, "l2": 0.1},
    "path": {"l1": [0.0, 0.1, 0.5, 3.0]},
    "huber": {"loss": "huber", "delta": 0.5},
    "sparse huber": {"loss": "huber", "delta": 0.5, "l1": 0.35, "l2": 0.1},
    "logistic": {"loss": "logistic", "l2": 0.05},
    "sparse logistic": {"loss": "logistic", "l1": [0.01, 0.2]},
    "momentum": {"momentum": 0.5},
    "sparse momentum": {"momentum": 0.5, "l1": 0.4},
    "own rate": {"rate": 0.125, "l2": 0.5},
}


def program_of(case, steps=60):
    options = CASES[case]
    return prompt.descent(X, LABELS if options.get("loss") == "logistic" else Y, steps=steps, **options)


@pytest.mark.parametrize("case", CASES)
def test_the_tape_is_the_same_iteration(case):
    program = program_of(case)
    tape, wanted = lower(program, SIZES, domain=256.0), program.reference()
    value = tape.reference()
    assert value.shape == wanted.shape
    assert float((value - wanted).abs().max()) <= 1e-13 * float(wanted.abs().max())
    assert torch.equal(value == 0, wanted == 0) and (not program.sparse or bool((wanted == 0).any()))


@pytest.mark.parametrize("case", ["ols", "ridge", "huber", "logistic"])
def test_the_reference_is_gradient_descent(case):
    program, options = program_of(case), CASES[case]
    problem = Objective.of(program.loss, X, program.y, 0.0, options.get("l2", 0.0), options.get("delta", 1.0))
    path = gradient_descent(problem, 60, program.rate)
    assert np.abs(path[-1] - program.reference().numpy()).max() < 1e-13


@pytest.mark.parametrize("case", [case for case in CASES if case != "path"])
def test_it_goes_to_the_minimiser(case):
    program, options = program_of(case, steps=3000), CASES[case]
    for l1, w in zip(program.l1.tolist(), program.reference().reshape(len(program.l1), -1), strict=True):
        problem = Objective.of(program.loss, X, program.y, l1, program.l2, program.delta)
        subgradient = problem.gradient(w.numpy()) + l1 * np.sign(w.numpy())
        assert np.abs(subgradient[w.numpy() != 0]).max(initial=0.0) < 1e-9, options


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("domain", [4.0, 256.0])
def test_the_units_keep_every_sum_in_the_domain(case, domain):
    program = program_of(case)
    if program.loss == "logistic" and domain == 4.0:
        with pytest.raises(Refusal, match=r"take domain=\d+"):
            lower(program, SIZES, domain=domain)
        return
    tape = lower(program, SIZES, domain=domain)
    assert domain / 32 <= reach(tape, None) <= domain / 4 or program.loss == "logistic"
    assert reach(tape, None) <= domain


@pytest.mark.parametrize("options", [{}, {"l1": [0.3, 30.0]}, {"loss": "huber", "delta": 30.0}])
def test_diabetes_as_it_is(options):
    data, target = load_diabetes(return_X_y=True)
    program = prompt.descent(data, target, steps=50, **options)
    tape = lower(program, Sizes(384, 7, 12))
    wanted = program.reference()
    assert float((tape.reference() - wanted).abs().max()) <= 1e-12 * float(wanted.abs().max())
    assert len(tape.loop) == (4 if options.get("loss") == "huber" else 3) and len(tape) == 50 * len(tape.loop)


def test_the_block_that_suits_a_program_holds_it():
    for case in CASES:
        program = program_of(case)
        for widest in (5, 384):
            lower(program, descent_sizes(program, widest))


@pytest.mark.parametrize(
    ("case", "sizes", "words"),
    [
        ("sparse momentum", Sizes(11, 9, 1), r"keeps 12 numbers of its 3 coefficients in one slot.*slot=12, slots=9"),
        ("huber", Sizes(16, 4, 1), r"takes 5 slots of 16 numbers, the block has 4: .*slots=5"),
        ("path", Sizes(16, 3, 1), r"takes 4 slots"),
    ],
)
def test_what_does_not_fit_is_refused(case, sizes, words):
    with pytest.raises(Refusal, match=words):
        lower(program_of(case), sizes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "hinge"}, "no loss is called 'hinge'"),
        ({"l1": -1.0}, "l1 must be a number that is not negative"),
        ({"l1": []}, "at least one l1"),
        ({"rate": 0.0}, "rate must be a positive number"),
        ({"steps": 0}, "steps must be a positive whole number"),
        ({"momentum": 1.0}, "from 0 to below 1"),
        ({"delta": 0.0}, "delta of the Huber loss"),
        ({"loss": "logistic"}, "labels of a logistic regression"),
    ],
)
def test_what_is_no_descent_is_refused(options, words):
    with pytest.raises(Refusal, match=words):
        prompt.descent(X, Y, **options)
    with pytest.raises(Refusal, match="30 samples in X and 2 in y"):
        prompt.descent(X, Y[:2])


def test_steps_that_diverge_beyond_floats_are_refused():
    with pytest.raises(Refusal, match="grow beyond all floats: take a rate below 10"):
        prompt.descent([[1.0, 0.5], [2.0, -1.0]], [2.0, 4.0], rate=10.0, steps=500).listing()
