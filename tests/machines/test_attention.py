"""One frozen machine runs any head: within its certificate, on one hash, and it says when a prompt does not fit."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from headsmith import Refusal, StaleCertificate
from headsmith.machines.attention import Attention
from headsmith.machines.bending import ACTIVATIONS, activation_error
from headsmith.machines.bounds import a_posteriori, a_priori
from headsmith.machines.identity import lattice, smooth, two_key
from headsmith.machines.layouts import FAULTS, EveryToken, Rows
from headsmith.machines.programs.heads import (
    HeadProgram,
    head,
    kernel_regression,
    linear,
    mean,
    mlp,
    nearest_neighbour,
    samples,
)  # fmt: skip
from headsmith.machines.reading import Reading
from headsmith.proof.rounding import FORMATS


@pytest.fixture(scope="module")
def vm():
    return Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=1e-3)


@pytest.fixture(scope="module")
def wide():
    return Attention(features=16, head_dim=16, tokens=16, domain=16.0, eps=1e-7)


def random(*shape, seed):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def filled(seed, domain=2.0, tokens=12, features=4, rows=4, spread=1.0):
    """A random head whose K, Q, V reach the end of the domain, and its tokens."""
    x = random(tokens, features, seed=seed) * spread
    weights = [random(rows, features, seed=seed + 1000 * k) for k in (1, 2, 3)]
    return head(*(w * (0.999 * domain / (x @ w.T).abs().max()) for w in weights)), x


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


def test_the_structured_layer_is_the_textbook_one(vm):
    program, x = filled(5, tokens=4)
    prompt = vm.encode(program, x)
    layer = vm.network.layers["read"]
    dense = prompt
    for part in layer.dense(prompt.shape[-2]):
        dense = part(dense)
    grouped = Reading(
        layer.slopes, layer.offsets, layer.anchors, rows=layer.rows, features=4, carried=layer.carried, grouped=True
    )
    assert torch.allclose(dense, layer(prompt), atol=1e-12)
    assert torch.allclose(grouped(prompt), layer(prompt), atol=1e-12)
    assert sum(p.numel() for p in layer.parameters()) == 3 * layer.keys


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_whole_machine_is_textbook_attention(name):
    machine = Attention(features=2, head_dim=2, tokens=3, domain=4.0, eps=1e-3)
    program, x = filled(1, domain=3.9, tokens=3, features=2, rows=2)
    prompt = machine.encode(HeadProgram(name, program.weights, program.biases, name), x)
    assert torch.allclose(machine.network.dense()(prompt), machine.network(prompt), atol=1e-12)


def test_any_change_of_the_weights_changes_the_hash():
    machine = Attention(features=2, head_dim=2, tokens=4, domain=1.0, eps=1e-2)
    other = Attention(features=2, head_dim=2, tokens=4, domain=1.0, eps=1e-3)
    same = Attention(features=2, head_dim=2, tokens=4, domain=1.0, eps=1e-2)
    assert machine.weight_hash == same.weight_hash != other.weight_hash


def test_a_changed_weight_makes_certificates_stale():
    machine = Attention(features=2, head_dim=2, tokens=4, domain=1.0, eps=1e-2)
    before = machine.weight_hash
    machine.network.layers["read"].anchors.data[0] += 1e-12
    assert machine.weight_hash != before
    with pytest.raises(StaleCertificate):
        machine(head(torch.eye(2), torch.eye(2), torch.eye(2)), torch.zeros(2, 2))
    with pytest.raises(StaleCertificate):
        _ = machine.certificate


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
    with pytest.raises(Refusal, match="one shape"):
        head(torch.eye(2), torch.eye(3), torch.eye(2))
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


def test_explain_shows_room_and_attention(vm):
    program, x = filled(2)
    shown = vm.explain(program, x, query=3)
    assert len(shown.entries) == 12 and all(0 <= room <= 1 for *_, room in shown.entries)
    value = {name: value for name, value, *_ in shown.entries}
    assert value["K[0]"] == pytest.approx(float((x @ program.weights[0].T)[3, 0]), abs=1e-4)
    assert sum(w for _, w in shown.attended) + shown.leak == pytest.approx(1.0)
    with pytest.raises(Refusal, match=r"0\.\.11"):
        vm.explain(program, x, query=12)


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


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_proved_and_keep_their_bound(wide, name):
    z = torch.cat([torch.linspace(-15.9, 15.9, 301), torch.tensor([0.0, 1e-13, -1e-13, 1e-300])]).double()[:, None]
    program = linear([[1.0]], activation=name)
    result = wide(program, z)
    approximation, rounding, _ = activation_error(name, 16.0, "float64")
    assert approximation + rounding <= 1e-12
    assert float((result.value - program.reference(z)).abs().max()) <= result.certificate.bound <= 1e-9


def test_linear_programs_refuse_what_the_machine_lacks(wide):
    with pytest.raises(Refusal, match="no 'swish'"):
        linear(torch.eye(2), activation="swish")
    with pytest.raises(Refusal, match="build a wider one"):
        wide(mlp(nn.Sequential(nn.Linear(2, 17), nn.Linear(17, 1))), torch.zeros(1, 2))
    with pytest.raises(Refusal, match="none of these"):
        mlp(nn.Sequential(nn.Linear(2, 2), nn.Softmax()))


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
    with pytest.raises(Refusal, match="not negative"):
        kernel_regression(-1.0)


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
        (lambda: head(eye, eye, eye, biases=(torch.zeros(4),) * 2), "biases of a head are three"),
        (lambda: head(eye, eye, eye, biases=3), "biases of a head are three"),
        (lambda: head(eye, eye, eye, scale="a"), "scale of a head"),
        (lambda: head("a", eye, eye), "W_K must hold numbers"),
        (lambda: machine.explain(head(eye, eye, eye), torch.zeros(4, 4), query="a"), "a token 0..3"),
        (lambda: Attention(features=4, head_dim=4, tokens=4, domain=2.0, eps=1e-30), "can be had"),
    ):
        with pytest.raises(Refusal, match=says):
            wrong()


@pytest.mark.parametrize(
    ("radius", "eps", "most"), [(5.0, 1e-3, 10), (6.0, 1e-12, 24), (64.0, 1e-9, 21), (64.0, 1e-12, 26)]
)
def test_identity_tables_are_short_and_proved(radius, eps, most):
    table = smooth(radius, eps)
    z = torch.linspace(-radius, radius, 4001).double().numpy()
    assert table.steps + 1 <= most and table.proof.bound <= eps
    assert abs(table(z) - z).max() <= table.proof.bound + 1e-13 * radius


def test_two_keys_and_the_alias_of_a_coarse_lattice():
    assert two_key(2.0, 1e-6).proof.bound <= 1e-6 and two_key(2.0, 1e-6).steps == 1
    coarse, fine = lattice(20.0, 40, 2.0, 12.0), lattice(20.0, 80, 2.0, 12.0)
    assert coarse.proof.bound > 1e-2 > 1e-7 > fine.proof.bound


@given(st.integers(0, 10**6), st.floats(1e-12, 1.0), st.integers(1, 6))
def test_errors_in_keys_queries_and_values_are_bounded(seed, e, tokens):
    k, q, v = (random(tokens, 3, seed=seed + i) for i in range(3))
    noise = [random(tokens, 3, seed=seed + 10 + i).sign() * e for i in range(3)]
    moved, rounding = a_posteriori(k, q, v, (e, e, e), "float64")
    near = torch.softmax(q @ k.mT, -1) @ v
    far = torch.softmax((q + noise[1]) @ (k + noise[0]).mT, -1) @ (v + noise[2])
    assert bool(((near - far).abs() <= moved + rounding + 1e-14).all())
    size = float(max(t.abs().max() for t in (k, q, v))) + e
    assert float((near - far).abs().max()) <= sum(a_priori(e, size, 3, tokens, FORMATS["float64"])) * 1.0001


def test_theorem_41_as_printed_fails_and_its_repairs_work():
    program, x = filled(11, domain=1.0, tokens=8, features=3, rows=2)
    exact = torch.cat([x @ w.T for w in program.weights], -1)

    def error(*faults, heads=12):
        return float((EveryToken(3, 2, 8, 1.0, heads, faults).read(program, x) - exact).abs().max())

    assert error("double shift", "ends") > 0.5 and error("offset", "ends") > 0.5 and error(*FAULTS) > 0.5
    step = EveryToken(3, 2, 8, 1.0, 12).grid()[1]
    assert error() <= 0.51 * step
    assert error(heads=1) <= EveryToken(3, 2, 8, 1.0).entry().proof.bound <= 1e-4
    assert EveryToken(3, 2, 8, 1.0).width == 47


def test_theorem_d1_returns_zero_beyond_its_last_grid_point():
    program = head(torch.ones(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    x = torch.linspace(-2.0, 2.0, 8).double()[:, None]
    printed = EveryToken(1, 1, 8, 2.0, 16, ("ends",)).read(program, x)
    repaired = EveryToken(1, 1, 8, 2.0, 16).read(program, x)
    assert abs(float(printed[-1, 0])) < 0.1 and float(repaired[-1, 0]) == pytest.approx(2.0, abs=0.05)


def test_theorem_42_with_weights_as_rows():
    program, x = filled(4, domain=2.0, tokens=6, features=3, rows=6)
    good = Rows(3, 6, reach=8.0, steps=16, beta=0.55)
    assert float((good(program, x) - program.reference(x)).abs().max()) < 1e-3
    small, _ = filled(4, features=3, rows=2)
    assert good(small, x * 0.1).shape == (6, 2)
