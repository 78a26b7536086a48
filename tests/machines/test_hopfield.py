"""Hopfield layers that compute: neurons and gradients from stored patterns, and where the print goes wrong."""

import math
from fractions import Fraction

import pytest
import torch

from headsmith import Refusal
from headsmith.functions import parse
from headsmith.machines.hopfield import Gradients, Neurons
from headsmith.proof.statement import Head


def random(*shape, seed):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("f", "exact", "eps"), [("tanh(x)", torch.tanh, 1e-12), ("sin(x)", torch.sin, 1e-2), ("relu(x)", torch.relu, 5e-2)]
)
def test_neurons_read_their_weights_from_patterns(f, exact, eps):
    layer = Neurons(f, features=3, neurons=4, domain=3.0, eps=eps)
    before = layer.weight_hash
    for seed in range(2):
        a, b, z = random(4, 3, seed=seed) * 0.3, random(4, seed=seed + 9) * 0.2, random(2, 6, 3, seed=seed + 20)
        result = layer(a, b, z)
        error = (result.value - exact(z @ a.T + b)).abs().max()
        assert result.value.shape == (2, 6, 4)
        assert float(error) <= result.certificate.bound <= 1.01 * eps + 1e-12
    assert layer.weight_hash == before


def test_neurons_refuse_what_leaves_the_domain():
    layer = Neurons("tanh(x)", features=2, neurons=1, domain=1.0, eps=1e-6)
    with pytest.raises(Refusal, match="neuron 0 meets 2 at state 1"):
        layer([[1.0, 0.0]], [0.0], [[0.5, 0.0], [2.0, 0.0]])
    with pytest.raises(Refusal, match="these neurons read"):
        layer([[1.0]], [0.0], [[0.5, 0.0]])
    with pytest.raises(Refusal, match="NaN"):
        layer([[1.0, 0.0]], [float("nan")], [[0.5, 0.0]])


def samples(seed=0):
    x, w = random(6, 3, seed=seed).clamp(-1, 1), random(3, seed=seed + 1)
    y = torch.tensor([-8.0, 8.0, 0.0, 5.0, -5.0, 3.0], dtype=torch.float64)
    return x, y, w, x @ w - y


@pytest.mark.parametrize(("f", "exact"), [("x", lambda r: r), ("tanh(x)", torch.tanh)])
def test_gradients_of_all_samples(f, exact):
    x, y, w, r = samples()
    layer = Gradients(f, features=3, samples=6, residual=12.0, inputs=1.0, eps=1e-3)
    result = layer(x, y, w)
    error = float((result.value - exact(r)[:, None] * x).abs().max())
    assert error <= result.certificate.bound <= 1e-3 and result.certificate.kind == "proved"
    each = random(6, 3, seed=5)
    own = layer(x, y, each).value
    assert torch.allclose(own, exact((x * each).sum(-1) - y)[:, None] * x, atol=1e-3)


@pytest.mark.parametrize("fault", ["sign", "constant"])
def test_theorem_e2_as_printed_reads_the_wrong_pattern(fault):
    x, y, w, r = samples()
    sizes = {"features": 3, "samples": 6, "residual": 12.0, "inputs": 1.0, "eps": 1e-3, "steps": 32}
    exact = r[:, None] * x
    printed = Gradients("x", **sizes, faults=(fault,))(x, y, w)
    repaired = Gradients("x", **sizes)(x, y, w)
    assert float((printed.value - exact).abs().max()) > 1.0 and printed.certificate.kind == "unproved"
    assert float((repaired.value - exact).abs().max()) <= repaired.certificate.bound <= 0.5


def test_a_state_that_would_read_another_sample_is_refused():
    """Each state meets its own sample within the range; the pattern of the other one would win all the same."""
    layer = Gradients("tanh(x)", features=1, samples=2, residual=3.0, inputs=1.0, eps=1e-6)
    with pytest.raises(Refusal, match="sample 1 has the residual -100 with the state of sample 0"):
        layer([[1.0], [1.0]], [0.0, 100.0], [[0.0], [100.0]])


def test_machines_with_the_faults_of_the_print_are_not_saved(tmp_path):
    layer = Gradients("x", features=1, samples=2, residual=3.0, inputs=1.0, eps=1e-2, steps=8, faults=("sign",))
    with pytest.raises(Refusal, match="promises nothing"):
        layer.save(tmp_path / "f.safetensors")


def test_gradients_refuse_by_name():
    x, y, w, _ = samples()
    layer = Gradients("x", features=3, samples=6, residual=2.0, inputs=1.0, eps=1e-2)
    with pytest.raises(Refusal, match="sample 1 has the residual"):
        layer(x, y, w)
    with pytest.raises(Refusal, match="patterns hold"):
        layer(x[:5], y, w)
    with pytest.raises(Refusal, match="give steps"):
        Gradients("x", features=3, samples=6, residual=2.0, inputs=1.0, eps=1e-2, faults=("sign",))


def test_what_leaks_to_another_sample_is_certified():
    """The state's own sample has the residual 0 and the value 0, the other one is as loud as it may be."""
    layer = Gradients("tanh(x)", features=1, samples=2, residual=3.0, inputs=1.0, eps=0.5)
    result = layer([[1.0], [1.0]], [0.0, 2.99], [0.0])
    found = abs(float(result.value[0, 0]))
    assert 1e-3 < 0.1 * result.certificate.bound < found <= result.certificate.bound


def test_the_error_of_the_table_is_met():
    """sin within 1e-2, at the worst of many states: times the input."""
    layer = Gradients("sin(x)", features=1, samples=1, residual=2.0, inputs=4.0, eps=0.1)
    worst, bound = 0.0, 0.0
    for r in torch.linspace(-1.99, 1.99, 30, dtype=torch.float64).tolist():
        result = layer([[4.0]], [0.0], [r / 4])
        worst = max(worst, abs(float(result.value[0, 0]) - 4 * float(torch.sin(torch.tensor(r).double()))))
        bound = result.certificate.bound
    assert 0.8 * bound < worst <= bound
    neurons = Neurons("sin(x)", features=1, neurons=1, domain=2.0, eps=1e-2)
    z = torch.linspace(-1.99, 1.99, 400, dtype=torch.float64)[:, None]
    result = neurons([[1.0]], [0.0], z)
    assert 0.8 * result.certificate.bound < float((result.value - z.sin()).abs().max()) <= result.certificate.bound


def test_sums_that_cancel_cost_their_size():
    """1e6 (1 + u) z - 1e6 z: products round before they cancel."""
    layer = Neurons("tanh(x)", features=2, neurons=1, domain=1.0, eps=1e-9)
    small, large = (layer([[a, -a]], [0.0], [[1.0, 1.0]]).certificate.bound for a in (0.5, 0.5e6))
    assert large > 1e-11 > 1e-13 > small
    x = 0.1
    value = layer([[1e6 + 0.1, -1e6]], [0.0], [[x, x]])
    exact = math.tanh(float(Fraction(1e6 + 0.1) * Fraction(x) - Fraction(1e6) * Fraction(x)))
    assert 1e-13 < abs(float(value.value[0, 0]) - exact) <= value.certificate.bound


def test_faults_that_the_print_does_not_have():
    with pytest.raises(Refusal, match="the faults of the print are 'sign' and 'constant', not 'spelling'"):
        Gradients("x", features=1, samples=1, residual=1.0, inputs=1.0, eps=0.1, steps=10, faults=("spelling",))


def holding(f, table, constant, samples=2, residual=1.0):
    """Gradients of one feature with this table and this constant between samples."""
    machine = Gradients.__new__(Gradients)
    machine._size(f=parse(f), features=1, samples=samples, residual=residual, inputs=1.0, constant=constant)
    machine._freeze({"f": Head.table(*table)})
    return machine


@pytest.mark.parametrize(
    ("table", "constant", "share"),
    [
        (([3.0], [0.0], [1.0]), 13.0, math.exp(-7)),
        (([0.0, 20.0, 20.0, 20.0], [0.0, -20.0, -20.0, -20.0], [1.0] * 4), 9.0, 4 * math.exp(-9)),
    ],
    ids=["one key", "four keys of the other sample tie"],
)
def test_weight_that_goes_to_a_sample_of_the_opposite_sign(table, constant, share):
    """f = 1, x = (1, -1): what leaks counts twice, and every key of the other sample takes its part."""
    machine = holding("1", table, constant)
    off = 1 - float(machine([[1.0], [-1.0]], [0.999999, -0.999999], [0.0]).value[0, 0])
    assert off == pytest.approx(2 * share, rel=2e-3) and off <= machine.certificate.bound


def test_a_constant_so_large_that_scores_are_rounded():
    machine = holding("tanh(x)", ([-1.0, 1.0], [0.0, 0.0], [-1.0, 1.0]), 1e13, samples=1)
    residuals = torch.linspace(0.1, 0.9, 50, dtype=torch.float64).tolist()
    off = max(abs(float(machine([[1.0]], [0.0], [r]).value) - math.tanh(r)) for r in residuals)
    assert 1e-5 < off <= machine.certificate.bound


def test_sums_that_are_rounded_into_the_domain_are_refused():
    beyond = [1.0, 2.0**-53]  # add up to more than 1, which is what they round to
    with pytest.raises(Refusal, match="beyond its domain"):
        Neurons("tanh(x)", features=2, neurons=1, domain=1.0, eps=1e-6)([[1.0, 1.0]], [0.0], [beyond])
    with pytest.raises(Refusal, match="residual"):
        Gradients("tanh(x)", 2, 1, residual=1.0, inputs=1.0, eps=1e-6)([[1.0, 1.0]], [0.0], beyond)
