"""Programs that are transformers, in exact arithmetic: what `enclosed` holds is what `reference` comes near to."""

from fractions import Fraction

import pytest
import torch
from flint import arb

import headsmith as hs
from headsmith.functions import precision
from headsmith.machines.prompts.layers import chain, norm, pool, residual, unit
from headsmith.proof.ball_matrix import BallMatrix
from headsmith.refusal import Refusal


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def heads(scale=1.0, **options):
    weights = [random(3, 2, 4, seed=k) for k in range(3)]
    return hs.prompt.head(*weights, scale, tuple(random(3, 2, seed=k + 3) for k in range(3)), **options)


def linear(rows, features, activation="identity", seed=9):
    return hs.prompt.linear(random(rows, features, seed=seed), random(rows, seed=seed + 1), activation)


LAYER = (
    residual(heads("1/sqrt(2)"), linear(4, 6)),
    norm(random(4, seed=20), random(4, seed=21), 1e-12),
    residual(linear(8, 4, "gelu"), linear(4, 8)),
    norm(random(4, seed=22), random(4, seed=23)),
)
PROGRAMS = {
    "head": chain(heads()),
    "scaled head": chain(heads(0.1)),
    "causal head that bends": chain(heads("1/sqrt(2)", causal=True, activation="silu")),
    **{act: chain(linear(5, 4, act)) for act in ("identity", "tanh", "silu", "relu", "gelu")},
    "mlp": chain(linear(6, 4, "tanh"), linear(2, 6)),
    "norm": chain(norm(random(4), random(4, seed=1), 1e-3)),
    "rms": chain(norm(random(4), eps=1e-3, centred=False)),
    "residual": chain(residual(linear(4, 4, "tanh"))),
    "unit": chain(unit(4)),
    "pool": chain(linear(3, 4), pool(), linear(2, 3)),
    "transformer": chain(chain(*LAYER), chain(*LAYER), pool(), unit(4)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_enclosed_is_what_the_program_computes(name):
    x, program = random(2, 5, 4, seed=40), PROGRAMS[name]
    with precision(150):
        found = program.enclosed(BallMatrix.of(x))
    assert found.radius < 1e-24 and found.distance(program.reference(x)) < 3e-14


@pytest.mark.parametrize("name", PROGRAMS)
def test_more_bits_lie_within_fewer(name):
    x, found = random(1, 3, 4, seed=40), []
    for bits in (120, 480):
        with precision(bits):
            found.append(PROGRAMS[name].enclosed(BallMatrix.of(x)))
    pairs = zip(*(part.rows.entries() for part in found), strict=True)
    assert all(wide.contains(narrow.mid()) for wide, narrow in pairs)


@pytest.mark.parametrize("scale", [0.1, 1 / 3, "1/3", "1/sqrt(32)"])
def test_the_scale_is_the_number_that_was_given_and_not_what_folding_leaves(scale):
    """Queries of 0.1 and 0.3 times a scale are no floats: the enclosure knows the product exactly."""
    W_Q = torch.tensor([[0.1], [0.3]], dtype=torch.float64)
    program = hs.prompt.head([[1.0], [2.0]], W_Q, [[1.0], [0.0]], scale)
    x = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    with precision(200):
        exact = arb(32).rsqrt() if scale == "1/sqrt(32)" else arb(1) / 3 if scale == "1/3" else arb(scale)
        score = exact * (arb(0.1) + 2 * arb(0.3))
        expected = (score.exp() - (-score).exp()) / (score.exp() + (-score).exp())
        found = program.enclosed(BallMatrix.of(x)).rows[0, 0]
        folded = (
            hs.prompt.head([[1.0], [2.0]], program.weights[1], [[1.0], [0.0]]).enclosed(BallMatrix.of(x)).rows[0, 0]
        )
    assert found.overlaps(expected) and found.rad() < 1e-50
    assert not folded.overlaps(expected), "this test tells the two apart"


def test_the_unit_vector_is_exact_where_its_gamma_is_no_float():
    x = torch.tensor([[1.0, 2.0, 2.0]], dtype=torch.float64)
    with precision(200):
        found = unit(3).enclosed(BallMatrix.of(x)).rows
        assert found[0, 0].overlaps(arb(1) / 3) and found[0, 0].rad() < 1e-50
    assert Fraction(float(unit(3).gamma[0])) ** 2 != Fraction(1, 3)
    with pytest.raises(Refusal, match="positive whole number"):
        hs.prompt.unit(0)


@pytest.mark.parametrize("scale", ["a", "x", "1/0", float("nan"), True, None, "sqrt(-1)"])
def test_a_scale_that_is_no_number_is_refused(scale):
    with pytest.raises(Refusal, match="scale of a head"):
        hs.prompt.head([[1.0]], [[1.0]], [[1.0]], scale)


def test_programs_say_what_is_enclosed():
    assert heads("1/sqrt(2)").formula.startswith("heads softmax(1/sqrt(2) q.k) v over all tokens")
    assert "up to its own" in heads(causal=True).formula and "0.5 q.k" in heads(0.5).formula
    assert linear(1, 1, "gelu").formula == "gelu(W x + b) with gelu(t) = t (1 + erf(t/sqrt(2)))/2"
    assert norm([1.0], eps=1e-12).formula.endswith("with c = x - mean x, eps = 1e-12")
    assert "c = x," in norm([1.0], centred=False).formula


def test_an_mlp_of_no_module_and_matrices_of_no_numbers_are_refused():
    with pytest.raises(Refusal, match="read from a torch module, not from int"):
        hs.prompt.mlp(3)
    with pytest.raises(Refusal, match="Theta must be a matrix"):
        hs.prompt.linear(torch.zeros(0, 3))
