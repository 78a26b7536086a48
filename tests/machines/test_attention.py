"""One frozen machine runs any head: within its certificate, on one hash, and it says when a prompt does not fit."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from headsmith import Refusal
from headsmith.machines.attention import Attention
from headsmith.machines.prompts.heads import (
    head,
    kernel_regression,
    linear,
    mean,
    nearest_neighbour,
    samples,
)  # fmt: skip
from headsmith.machines.prompts.layers import chain, mlp, norm, pool, residual

from .data import filled, random


@pytest.fixture(scope="module")
def vm():
    return Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=1e-3)


@pytest.fixture(scope="module")
def wide():
    return Attention(features=16, head_dim=16, tokens=16, domain=16.0, eps=1e-7)


def test_the_floor_twelve_heads_and_few_keys(vm):
    assert vm.sizes.heads == 12 and vm.sizes.keys - 1 <= 12
    assert vm.certificate.kind == "proved" and vm.certificate.bound <= 1e-3
    assert vm.sizes.printed_41 > 1e7 and vm.sizes.printed_42 > 1e7


def test_fifty_random_heads_stay_within_their_certificates_on_one_hash(vm):
    before, promise, worst = vm.weight_hash, vm.certificate.bound, 0.0
    for seed in range(50):
        program, x = filled(seed, tokens=3 + seed % 10)
        result = vm(program, x)
        error = float((result.value - program.reference(x)).abs().max())
        assert error <= result.certificate.bound <= promise
        worst = max(worst, error)
    assert 1e-7 < worst <= promise
    assert vm.weight_hash == before


@given(st.integers(0, 10**6), st.floats(1e-6, 50.0), st.sampled_from(["float64", "float32"]))
def test_certificates_hold_for_sharp_and_flat_heads(seed, sharpness, dtype):
    machine = MACHINES[dtype]
    program, x = filled(seed, domain=1.9)
    program = head(program.weights[0], program.weights[1] * min(1.0, sharpness), program.weights[2])
    x = x.to(machine.dtype)
    try:
        result = machine(program, x)
    except Refusal:
        return  # rounding x to float32 pushed an entry over the end
    error = (result.value.double() - program.reference(x.double())).abs().max()
    assert float(error) <= result.certificate.bound


MACHINES = {
    "float64": Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=1e-9),
    "float32": Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=1e-2, dtype="float32"),
}


def test_worst_case_keys_and_queries():
    """Entries at both ends of the domain, where scores are largest."""
    machine = MACHINES["float64"]
    x = torch.tensor([[1.0, 0, 0, 0], [-1.0, 0, 0, 0], [0, 1.0, 0, 0]], dtype=torch.float64)
    w = torch.full((4, 4), 1.999, dtype=torch.float64)
    program = head(w, w, w)
    result = machine(program, x)
    assert float((result.value - program.reference(x)).abs().max()) <= result.certificate.bound <= 1e-9


def test_smaller_programs_scales_biases_and_batches(vm):
    w = [random(2, 3, seed=k) * 0.3 for k in range(3)]
    biases = tuple(random(2, seed=9 + k) * 0.1 for k in range(3))
    program, x = head(*w, scale=0.5, biases=biases), random(5, 7, 3, seed=20) * 0.5
    result = vm(program, x)
    k, q, v = (x @ m.T + b for m, b in zip(w, biases, strict=True))
    plain = torch.softmax(0.5 * q @ k.mT, -1) @ v
    assert result.value.shape == (5, 7, 2)
    assert float((result.value - plain).abs().max()) <= result.certificate.bound


def test_permuted_tokens_give_permuted_outputs(vm):
    program, x = filled(3)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(vm(program, x[order]).value, vm(program, x).value[order], atol=1e-13)


def test_refusals_name_what_does_not_fit(vm):
    program, x = filled(1)
    with pytest.raises(Refusal, match=r"K\[\d\] of token \d+ has size .* domain=4.04 or more"):
        vm(head(*(2 * w for w in program.weights)), x)
    with pytest.raises(Refusal, match="1 to 12 tokens"):
        vm(program, random(13, 4, seed=0))
    with pytest.raises(Refusal, match="NaN"):
        vm(program, x * math.nan)
    with pytest.raises(Refusal, match=r"comes from hs\.prompt"):
        vm(torch.eye(4), x)
    with pytest.raises(Refusal, match="positive whole number"):
        Attention(features=0, head_dim=4, tokens=12, domain=2.0, eps=1e-3)


def test_a_refused_eps_names_one_that_can_be_had():
    with pytest.raises(Refusal, match="can be had") as refused:
        Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=1e-7, dtype="float32")
    offered = float(str(refused.value).split("eps = ")[1].split(" ")[0])
    assert (
        Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=offered, dtype="float32").certificate.bound
        <= offered
    )


@pytest.mark.parametrize(("method", "eps", "keys"), [("two-key", 1e-3, 2), ("printed", 2.0, 29)])
def test_other_tables_on_request(method, eps, keys):
    machine = Attention(features=2, head_dim=2, tokens=4, domain=0.5, eps=eps, method=method)
    program, x = filled(8, domain=0.49, tokens=4, features=2, rows=2)
    result = machine(program, x)
    assert machine.sizes.keys == keys
    assert float((result.value - program.reference(x)).abs().max()) <= result.certificate.bound <= eps
    with pytest.raises(Refusal, match=r"keys a head|method=auto"):
        Attention(features=2, head_dim=2, tokens=4, domain=0.5, eps=1e-13, method=method)


def test_a_library_shares_one_machine():
    library = [head(random(r, 3, seed=r), random(r, 3, seed=r + 1), random(r, 3, seed=r + 2)) for r in (1, 2, 3)]
    machine = Attention.for_library(library, tokens=6, inputs=1.0, eps=1e-4)
    x = random(6, 3, seed=7).clamp(-1, 1)
    for program in library:
        result = machine(program, x)
        assert float((result.value - program.reference(x)).abs().max()) <= result.certificate.bound <= 1e-4


@pytest.mark.parametrize("act", [nn.Tanh, nn.SiLU, nn.GELU, nn.ReLU])
def test_mlps_in_the_prompt(wide, act):
    torch.manual_seed(0)
    net = (
        nn.Sequential(nn.Linear(4, 16), act(), nn.Linear(16, 16), act(), nn.Linear(16, 2))
        .double()
        .requires_grad_(False)
    )
    x = random(8, 4, seed=1)
    result = wide(mlp(net), x)
    assert float((result.value - net(x)).abs().max()) <= result.certificate.bound <= 1e-9
    assert wide.weight_hash == wide(linear(torch.eye(4)), x).certificate.weights


def test_linear_programs_refuse_what_the_machine_lacks(wide):
    with pytest.raises(Refusal, match="build a wider one"):
        wide(mlp(nn.Sequential(nn.Linear(2, 17), nn.Linear(17, 1))), torch.zeros(1, 2))


def test_estimators_are_prompts_of_one_machine():
    machine = Attention(features=5, head_dim=3, tokens=30, domain=1500.0, eps=1e-1)
    x, query = random(20, 1, seed=0).clamp(-1, 1), torch.linspace(-1, 1, 5).double()[:, None]
    y, far = torch.sin(3 * x[:, 0]), (x[:, 0] - query).square()
    tokens = samples(x, y, query)
    for tau, program in ((0.0, mean()), (2.0, kernel_regression(2.0)), (300.0, nearest_neighbour())):
        weight = torch.softmax(-tau * far, -1)
        value = machine(program, tokens).value[20:, 0]
        assert float((value - weight @ y).abs().max()) <= 1e-8
    with pytest.raises(Refusal, match="samples"):
        machine(mean(), torch.zeros(3, 4))
    with pytest.raises(Refusal, match="is_query"):
        machine(mean(), random(3, 5, seed=1))


def test_estimators_fit_a_small_domain():
    machine = Attention(features=16, head_dim=16, tokens=32, domain=4.0, eps=1e-5)
    x, query = random(24, 6, seed=0).clamp(-1, 1), random(8, 6, seed=1).clamp(-1, 1)
    y, far = torch.sin(3 * x[:, 0]), torch.cdist(query, x).square()
    for tau, program in ((0.0, mean()), (1.0, kernel_regression(1))):
        result = machine(program, samples(x, y, query))
        error = float((result.value[24:, 0] - torch.softmax(-tau * far, -1) @ y).abs().max())
        assert error <= result.certificate.bound <= 1e-5 and result.value.shape == (32, 16)


def test_wrong_arguments_are_named():
    machine, eye = Attention(features=4, head_dim=4, tokens=4, domain=2.0, eps=1e-3), torch.eye(4)
    for wrong, says in (
        (lambda: machine(head(eye, eye, eye)), "needs tokens"),
        (lambda: machine.explain(head(eye, eye, eye), torch.zeros(4, 4), query="a"), "a token 0..3"),
        (lambda: Attention(features=4, head_dim=4, tokens=4, domain=2.0, eps=1e-30), "can be had"),
    ):
        with pytest.raises(Refusal, match=says):
            wrong()


@pytest.fixture(scope="module")
def coarse():
    """Two keys, A tanh(z/A): at the end of the range the error is the whole of what is proved, and inwards."""
    return Attention(features=2, head_dim=1, tokens=2, domain=2.0, eps=0.2, method="two-key")


def layer(weight, activation="identity"):
    return linear([[weight]], activation=activation)


def chained(*stages):
    return type(mlp(nn.Sequential(nn.Linear(1, 1))))("mlp", stages)


def error(vm, program, x):
    x = torch.tensor(x, dtype=vm.dtype)
    result = vm(program, x)
    return float((result.value.double() - program.reference(x.double())).abs().max()), result.certificate.bound


@pytest.mark.parametrize(
    ("program", "x", "share"),
    [
        (layer(1.0), 1.999, 0.95),
        (layer(2.0), 0.9995, 0.95),
        (chained(layer(1.0), layer(1.0)), 1.999, 0.85),
        (chained(layer(1.0), layer(1.0), layer(1.0)), 1.999, 0.8),
    ],
    ids=["read", "scaled", "two layers", "three layers"],
)
def test_the_errors_of_layers_are_met(coarse, program, x, share):
    found, bound = error(coarse, program, [[x]])
    assert share * bound < found <= bound


def test_an_activation_stretches_what_was_read():
    """SiLU has the slope 1.09 at the end of this range."""
    vm = Attention(features=1, head_dim=1, tokens=1, domain=2.0, eps=1e-3, method="two-key")
    found, bound = error(vm, layer(1.0, "silu"), [[1.999]])
    assert 0.95 * bound < found <= bound and found > 1.08 * vm.entry_errors([2.0])[0][0]


def test_the_error_of_a_value_is_met(coarse):
    """A head that looks at one token: its output is off by what its value is off."""
    found, bound = error(coarse, head([[0.0, 0.0]], [[0.0, 0.0]], [[1.0, 0.0]]), [[1.999, 0.0]])
    assert 0.95 * bound < found <= bound


def test_the_error_of_a_gate_is_met():
    """ReLU in float32 is off by 0.2785 / 2^12, most of what is certified at 1.278 / 2^12."""
    vm = Attention(features=1, head_dim=1, tokens=1, domain=1.0, eps=1e-5, dtype="float32")
    found, bound = error(vm, layer(1.0, "relu"), [[1.278 / 2**12]])
    assert 0.8 * bound < found <= bound


def test_weights_are_rounded_before_they_cancel():
    """1e4 (1 + 0.9 u) - 1e4: the prompt's float32 holds only 1e4, and the difference is lost."""
    vm = Attention(features=2, head_dim=1, tokens=1, domain=1.0, eps=1e-5, dtype="float32")
    program = linear([[8192 * (1 + 0.9 * 2.0**-24), -8192.0]])
    found, bound = error(vm, program, [[1.0, 1.0]])
    assert 4e-4 < found <= bound


def test_what_is_read_beyond_the_proof_of_an_activation_is_not_bounded(coarse):
    assert math.isinf(coarse.bend_error("gelu", 1.1e-3 * coarse.domain)[0])
    assert coarse.bend_error("identity", 1.0)[:2] == (0.0, 0.0)


def test_float32_entries_cannot_be_carried_over_the_end():
    """What float32 may execute must lie where the table is proved: near the end, large sums are refused."""
    vm = Attention(features=2, head_dim=1, tokens=1, domain=1.0, eps=1e-5, dtype="float32")
    with pytest.raises(Refusal, match="beyond the machine's domain"):
        vm(linear([[8192.0, -8191.0009765625]]), torch.ones(1, 2))
    assert vm(linear([[0.5, 0.4999]]), torch.ones(1, 2)).certificate.bound <= 1e-4


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (norm([1.0] * 4), "a norm needs hs.machine.Tape"),
        (pool(), "a pool needs"),
        (residual(linear(random(4, 4, seed=1))), "a residual needs"),
        (chain(linear(random(4, 4, seed=1)), norm([1.0] * 4)), "a chain with a norm runs on hs.machine.Tape"),
        (head(*(random(4, 4, seed=i) for i in range(3)), causal=True), "a causal head runs on hs.machine.Tape"),
    ],
)
def test_what_only_the_tape_runs_is_refused(vm, program, words):
    with pytest.raises(Refusal, match=words):
        vm(program, random(3, 4, seed=2))


def test_a_chain_of_linear_programs_is_an_mlp(vm):
    stages = [linear(0.3 * random(4, 4, seed=i), None, "tanh") for i in (1, 2)]
    assert (
        float((vm(chain(*stages), x := random(3, 4, seed=3) / 2).value - chain(*stages).reference(x)).abs().max())
        < 1e-3
    )
