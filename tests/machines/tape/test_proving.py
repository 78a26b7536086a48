"""A theorem about one X: it is true whatever the value is, as near as balls can tell, and never empty."""

import math
from dataclasses import replace

import pytest
import torch

import headsmith as hs
from headsmith.functions import precision
from headsmith.machines.tape.proving import prove
from headsmith.proof.ball_matrix import BallMatrix
from headsmith.proof.certificate import SLACK, StaleCertificate
from headsmith.refusal import Refusal

from ..prompts.test_layers import LAYER, PROGRAMS, heads, linear, random

chain = hs.prompt.chain
X = random(5, 4, seed=40)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_torch_computes_is_proved(name):
    program = PROGRAMS[name]
    certificate = prove(program, X, program.reference(X))
    assert certificate.kind == "proved" and 0 <= certificate.bound < 1e-13
    assert certificate.statement.startswith("|value - exact| <= bound in every entry for the X of SHA-256")


@pytest.mark.parametrize("error", [1e-30, 1e-12, 0.5, 1e6])
def test_the_bound_is_the_error(error):
    """A value that is off by so much, in one entry: no less, and hardly more, is proved."""
    program, value = chain(hs.prompt.linear([[2.0]])), torch.tensor([[2.0], [6.0]], dtype=torch.float64)
    off = value + torch.tensor([[0.0], [error]], dtype=torch.float64)
    certificate = prove(program, torch.tensor([[1.0], [3.0]]), off)
    true = float((off - value).abs().max())
    assert true <= certificate.bound <= true * SLACK * (1 + 1e-12)


@pytest.mark.parametrize("name", ["transformer", "causal head that bends", "norm"])
def test_the_bound_lies_above_the_error_against_many_more_bits(name):
    program, value = PROGRAMS[name], PROGRAMS[name].reference(X) + 1e-9
    bound = prove(program, X, value).bound
    with precision(900):
        exact = program.enclosed(BallMatrix.of(X))
    assert exact.distance(value) <= bound <= exact.distance(value) * 1.03


def test_balls_that_are_wider_than_the_error_are_taken_with_twice_the_bits():
    """Seven times 1e6 (x - y) of two equal numbers: 147 bits are lost, 112 are there at first."""
    apart = hs.prompt.linear([[1e6, -1e6], [1e6, -1e6]])
    program, x = chain(hs.prompt.linear(torch.eye(2), None, "tanh"), *[apart] * 7), torch.tensor([[0.3, 0.3]])
    certificate = prove(program, x, torch.full((1, 2), 1e-9))
    assert certificate.bound == pytest.approx(1e-9, rel=0.003) and "(balls of 224 bits" in certificate.statement
    assert "(balls of 88 bits" in prove(chain(*program.stages[:2]), x, torch.full((1, 2), 1e-9)).statement


def test_a_norm_that_few_bits_do_not_resolve_is_taken_with_twice_the_bits():
    """tanh 35 and tanh 36 agree to 30 digits, 88 bits are 26 of them."""
    program = chain(hs.prompt.linear(torch.eye(2), None, "tanh"), hs.prompt.norm([1.0, 1.0], eps=0.0))
    x, value = torch.tensor([[35.0, 36.0]]), torch.tensor([[-1.0, 1.0]])
    certificate = prove(program, x, value)
    assert certificate.bound < 1e-15 and "(balls of 176 bits" in certificate.statement
    with pytest.raises(Refusal, match=r'88 bits.*square of a norm may be 0.*bits="auto"'):
        prove(program, x, value, bits=88)


def test_few_bits_are_refused_and_not_vacuous():
    program = chain(*LAYER * 8)
    value = program.reference(X)
    with pytest.raises(Refusal, match=r'balls of 53 bits .* ask for bits="auto"'):
        prove(program, X, value, bits=53)
    assert prove(program, X, value).bound < 1e-10


def test_balls_as_wide_as_the_error_are_refused():
    program = chain(*LAYER)
    value = program.reference(X)
    with pytest.raises(Refusal, match=r'wide, too much for an error of .*; ask for bits="auto"'):
        prove(program, X, value, bits=60)
    assert prove(program, X, value + 1.0, bits=60).bound == pytest.approx(1.0, rel=0.01)


def test_a_norm_without_a_value_is_refused_in_words():
    program = chain(hs.prompt.norm([1.0, 1.0], eps=0.0))
    with pytest.raises(Refusal, match="the square of a norm may be 0"):
        prove(program, torch.ones(2, 2), torch.zeros(2, 2))
    with pytest.raises(
        Refusal, match=r"88 and 176 bits .* bits=704, which helps unless the program itself has no value"
    ):
        prove(program, torch.ones(2, 2), torch.zeros(2, 2))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (torch.zeros(5, 3), "the value of that very run"),
        (torch.zeros(4, 4), "the value of that very run"),
        (torch.zeros(4, 5), "the value of that very run"),
        (torch.zeros(0, 4), "the value of that very run"),
        (torch.zeros(()), "the value of that very run"),
        (torch.full((5, 4), math.nan), "finite|NaN"),
        (torch.full((5, 4), math.inf), "finite|infinit"),
    ],
)
def test_what_is_no_value_of_this_run_is_refused(value, words):
    with pytest.raises(Refusal, match=words):
        prove(chain(hs.prompt.norm(torch.ones(4))), X, value)


@pytest.mark.parametrize("bits", [0, 1, -5, "many", 2.5, True, 10**12])
def test_bits_are_a_whole_number(bits):
    with pytest.raises(Refusal, match="bits"):
        prove(PROGRAMS["identity"], X, PROGRAMS["identity"].reference(X), bits=bits)


def test_the_certificate_speaks_of_these_numbers_alone():
    program, other = chain(linear(2, 4)), chain(linear(2, 4, seed=11))
    value = program.reference(X)
    first = prove(program, X, value)
    assert prove(program, X, value).weights == first.weights
    assert len({first.weights, prove(other, X, value).weights, prove(program, X + 1, value).weights}) == 3
    assert prove(program, X, value + 1).weights != first.weights
    assert prove(program, X + 1, value).statement != first.statement
    causal = chain(heads(causal=True))
    assert prove(causal, X, value.new_zeros(5, 6)).weights != prove(chain(heads()), X, value.new_zeros(5, 6)).weights
    assert first.assumptions == ("balls of Arb hold what they enclose",)


def test_the_statement_says_which_function_is_proved():
    said = prove(PROGRAMS["transformer"], X, PROGRAMS["transformer"].reference(X)).statement
    for part in ("heads softmax(1/sqrt(2) q.k) v", "erf(t/sqrt(2))", "eps = 1e-12", "x/|x|", "mean over the tokens"):
        assert said.count(part) == 1


def test_float32_tokens_are_the_numbers_they_are():
    program, x = chain(linear(2, 4)), X.float()
    assert prove(program, x, program.reference(x)).bound < 1e-14
    assert prove(program, X, program.reference(x)).bound > 1e-9


@pytest.mark.parametrize("name", ["transformer", "causal head that bends", "mlp"])
def test_a_run_of_a_tape_proves_its_own_value(name):
    vm, program = hs.machine.host(PROGRAMS[name], sample=X)
    result = vm(program, X)
    certificate = result.prove()
    error = float((result.value - PROGRAMS[name].reference(X)).abs().max())
    assert error - 1e-13 <= certificate.bound <= 1.01 * error + 1e-13
    with pytest.raises(Refusal, match="balls of 40 bits"):
        result.prove(bits=40)
    result.value[0] += 1.0
    with pytest.raises(StaleCertificate, match="changed after the run"):
        result.prove()


@pytest.mark.parametrize("x", [X[:, :3], X[:0], X.T])
def test_tokens_that_the_program_does_not_read_are_refused(x):
    with pytest.raises(Refusal, match=r"reads tokens \(..., tokens, 4\), not"):
        prove(PROGRAMS["mlp"], x, torch.zeros(5, 2))


def test_sequences_side_by_side_are_proved_at_once():
    x, program = random(2, 3, 4, seed=50), PROGRAMS["transformer"]
    certificate = prove(program, x, program.reference(x))
    assert certificate.bound <= 1e-14
    with pytest.raises(Refusal, match="of that very run"):
        prove(program, x.reshape(6, 4), program.reference(x))


def test_programs_without_a_value_in_balls_are_refused():
    with pytest.raises(Refusal, match=r"program.on\(X\)"):
        prove(hs.prompt.mean(), X, X)
    with pytest.raises(Refusal, match="needs its X"):
        prove(PROGRAMS["mlp"], None, X)
    tokens = hs.prompt.samples([[0.0], [1.0]], [2.0, 4.0], [[0.5]])
    head = hs.prompt.kernel_regression(1.5).on(tokens)
    assert prove(head, tokens, head.reference(tokens)).bound < 1e-14


@pytest.mark.parametrize(
    "program", [hs.prompt.descent([[1.0]], [2.0], rate=0.5, steps=3), hs.prompt.rule("t", [[1.0]], [2.0], 0.5, 3)]
)
def test_the_sentence_says_how_many_steps_whatever_the_name(program):
    called = replace(program, name="no step at all")
    assert ", 3 times, " in prove(called, None, program.reference()).statement


def test_more_bits_than_anyone_can_wait_for_are_refused():
    with pytest.raises(Refusal, match="balls have 2 to 16384 bits"):
        prove(hs.prompt.chain(hs.prompt.pool()), torch.ones(1, 1), torch.ones(1), bits=10**9)
