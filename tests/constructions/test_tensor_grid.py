"""Heads on a tensor grid, of formulas of several variables: floors, calls, files, forgeries and refusals."""

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.files import read, seal, write

UNIT = {"x": (-1, 1), "y": (-1, 1)}


@pytest.fixture(scope="module")
def mixed():
    return hs.compile("sin(2*x)*cos(y) + x*y", domain=UNIT, eps=1e-3)


def points(net, count=4000, seed=0):
    """Random inputs and the corners and edges of the box, in the dtype of the network."""
    g = torch.Generator().manual_seed(seed)
    columns = []
    for name in net.target.variables:
        lo, hi = net.certificate.domain[name]
        inside = lo + (hi - lo) * torch.rand(count, generator=g, dtype=torch.float64)
        ends = torch.tensor([lo, hi], dtype=torch.float64)[torch.randint(0, 2, (count,), generator=g)]
        columns.append(torch.where(torch.rand(count, generator=g) < 0.2, ends, inside).to(net.dtype))
    return columns


def measured(net, f):
    x = points(net)
    truth = hs.parse(f)(**{name: c.double() for name, c in zip(net.target.variables, x, strict=True)})
    return float((net(*x).double() - truth).abs().max())


@pytest.mark.parametrize(
    ("f", "eps", "tokens"),
    [
        ("sin(2*x)*cos(y) + x*y", 1e-3, 14),
        ("sin(2*x)*cos(y) + x*y", 1e-6, 36),
        ("exp(-x^2-y^2)", 1e-3, 12),
        ("exp(-x^2-y^2)", 1e-6, 30),
        ("1/(1+x^2+2*y^2)", 1e-4, 56),
    ],
)
def test_floors_of_two_variables(f, eps, tokens):
    net = hs.compile(f, domain=UNIT, eps=eps)
    assert net.certificate.kind == "proved"
    assert net.plan.anchors <= tokens and net.plan.heads == 1
    seen = measured(net, f)
    assert seen <= net.certificate.bound <= eps
    assert net.certificate.bound <= 1.25 * seen


@pytest.mark.parametrize("f", ["sin(2*x)*cos(y) + x*y", "x*y", "1/(1+x^2+2*y^2)"])
def test_float32_keeps_its_certificate(f):
    net = hs.compile(f, domain=UNIT, eps=1e-3, dtype="float32")
    assert net.dtype == torch.float32
    assert measured(net, f) <= net.certificate.bound <= 1e-3


@pytest.mark.parametrize("f", ["exp(-x^2-y^2-z^2)", "x*y*z", "x*y*z*w"])
def test_three_and_four_variables(f):
    names = hs.parse(f).variables
    net = hs.compile(f, domain=dict.fromkeys(names, (-1, 1)), eps=1e-3)
    assert measured(net, f) <= net.certificate.bound <= 1e-3


@pytest.mark.slow
def test_four_variables_that_mix():
    net = hs.compile("cos(x+y-z+w)", domain=dict.fromkeys("wxyz", (-1, 1)), eps=1e-3)
    assert measured(net, "cos(x+y-z+w)") <= net.certificate.bound <= 1e-3


def test_calls_broadcast_and_take_names(mixed):
    x, y = torch.linspace(-1, 1, 5, dtype=torch.float64), torch.linspace(-1, 1, 3, dtype=torch.float64)[:, None]
    out = mixed(x, y)
    assert out.shape == (3, 5)
    assert torch.equal(out, mixed(y=y, x=x))
    assert float(mixed(0.25, -0.5)) == float(mixed(x=0.25, y=-0.5))


@pytest.mark.parametrize(
    "call", [lambda n: n(0.1), lambda n: n(x=0.1), lambda n: n(0.1, x=0.2), lambda n: n(0.1, z=1.0)]
)
def test_wrong_calls_are_refused(mixed, call):
    with pytest.raises(hs.Refusal, match=r"net\(x, y\)"):
        call(mixed)


@pytest.mark.parametrize("f", ["sin(x)/x + y", "x*((1 - cos(y))/y^2)", "(x + 2)^y", "max(x + y, -5)"])
def test_removable_points_powers_and_kinks_outside_of_the_box(f):
    net = hs.compile(f, domain=UNIT, eps=1e-3)
    assert measured(net, f) <= net.certificate.bound <= 1e-3


def test_variables_may_be_named_that_the_formula_does_not_use():
    net = hs.compile("x^2", domain={"x": (-1, 1), "y": (0, 9)}, eps=1e-3)
    assert net.target.variables == ("x", "y") and abs(float(net(0.5, 7.0)) - 0.25) <= 1e-3
    assert float(hs.compile("abs(x)", domain={"x": (-1, 1)}, eps=1e-6)(-0.5)) == pytest.approx(0.5, abs=1e-6)


def test_shapes_that_do_not_broadcast_are_refused(mixed):
    with pytest.raises(hs.Refusal, match="broadcast"):
        mixed(torch.zeros(2), torch.zeros(3))


def test_inputs_outside_of_their_own_interval_are_refused():
    net = hs.compile("x*y", domain={"x": (-1, 1), "y": (0, 3)}, eps=1e-3)
    net(0.0, 2.5)
    with pytest.raises(hs.Refusal, match="outside"):
        net(2.5, 0.0)


def test_each_input_has_its_own_certified_error(mixed):
    x, y = torch.tensor([0.3, -1.0], dtype=torch.float64), torch.tensor([0.7, 1.0], dtype=torch.float64)
    error = mixed.certify(x, y)
    truth = torch.sin(2 * x) * torch.cos(y) + x * y
    assert torch.all(error <= mixed.certificate.bound)
    assert torch.allclose(error, (mixed(x, y) - truth).abs(), atol=1e-14)


def test_a_file_brings_everything_back(mixed, tmp_path):
    path = mixed.save(tmp_path / "f.safetensors")
    back = hs.load(path)
    x, y = points(mixed, 100)
    assert torch.equal(back(x, y), mixed(x, y))
    assert back.certificate.bound == mixed.certificate.bound
    assert "x in [-1, 1]" in str(back.plan) and "certified" in str(back) and "memory tokens" in str(back.plan)
    layer = back.network.layers["grid"]
    with torch.no_grad():
        layer.memory[5, -1] += 0.5
    with pytest.raises(hs.StaleCertificate):
        _ = back.certificate


def edited(net, tmp_path, edit):
    """The verdict on a file of the network with something changed and every hash made right."""
    manifest, tensors = read(net.save(tmp_path / "honest.safetensors"))
    layers = {layer["name"]: layer for layer in manifest["network"]["layers"]}
    edit(manifest, layers, tensors)
    return hs.certify(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors))


def dropped(manifest, layers, tensors):
    tensors["grid.memory"] = tensors["grid.memory"][:-1].clone()


def one_more_output(manifest, layers, tensors):
    manifest["target"]["formulas"] *= 2


FORGERIES = {
    "hardmax for softmax": lambda m, n, t: n["grid"].update(weights="hardmax"),
    "scale 2": lambda m, n, t: n["grid"].update(scale=(2.0).hex()),
    "a dropped key": dropped,
    "a moved bias": lambda m, n, t: t["lift.bias"].view(-1)[2].add_(1e-3),
    "a bias on a variable": lambda m, n, t: t["lift.bias"].view(-1)[0].add_(1e-3),
    "no residual": lambda m, n, t: n["grid"].update(residual=False),
    "the variables exchanged": lambda m, n, t: n["lift"]["map"].update(index=[1, 0, *n["lift"]["map"]["index"][2:]]),
    "keys of another variable": lambda m, n, t: n["grid"]["query"].update(index=[[1, 0, 2]]),
    "a key that is no product": lambda m, n, t: t["grid.memory"][5, -2].add_(2.0**-20),
    "a moved key": lambda m, n, t: t["grid.memory"][:, -4].mul_(1.5),
    "a moved value": lambda m, n, t: t["grid.memory"][5, -1].add_(0.5),
    "a value that is none": lambda m, n, t: t["grid.memory"][5, -1].fill_(float("nan")),
    "a value without end": lambda m, n, t: t["grid.memory"][5, -1].fill_(float("inf")),
    "a key without end": lambda m, n, t: t["grid.memory"][5, -2].fill_(float("-inf")),
    "its own keys too": lambda m, n, t: n["grid"].update(visible="self"),
    "one more output": one_more_output,
}


@pytest.mark.parametrize("edit", FORGERIES.values(), ids=FORGERIES.keys())
def test_forgeries_are_not_proved(mixed, tmp_path, edit):
    found = edited(mixed, tmp_path, edit)
    assert found.status == 1 and not found.statement, found


@pytest.mark.parametrize(
    ("f", "domain", "eps", "says"),
    [
        ("abs(x+y)", UNIT, 1e-2, "kink"),
        ("sqrt(x)*y", (0, 1), 1e-2, "infinitely steep at x = 0, an end of the box"),
        ("sqrt(x-0.3)*y", (0.3, 1), 1e-2, "at x = 0.3, an end of the box"),
        ("x*log(y)", (0, 1), 1e-2, "no value at y = 0, an end of the box"),
        ("step(x)*y", UNIT, 1e-2, "jump"),
        ("1/(x+y)", UNIT, 1e-2, "pole"),
        ("x*y", None, 1e-2, "needs a domain"),
        ("x*y", {"x": (-1, 1)}, 1e-2, "variables x, y"),
        ("x*y", {"x": (1, -1), "y": (0, 1)}, 1e-2, "empty"),
        ("x*y*z*w*v", (-1, 1), 1e-2, "at most 4 variables"),
    ],
)
def test_refusals_name_the_reason(f, domain, eps, says):
    with pytest.raises(hs.Refusal, match=says):
        hs.plan(f, domain=domain, eps=eps)


@pytest.mark.slow
def test_the_refusal_of_float32_names_an_eps_that_works():
    with pytest.raises(hs.Refusal, match="can be had") as refused:
        hs.plan("exp(-x^2-y^2)", domain=UNIT, eps=1e-6, dtype="float32")
    eps = float(str(refused.value).split("eps = ")[-1].split(" ")[0])
    assert hs.plan("exp(-x^2-y^2)", domain=UNIT, eps=eps, dtype="float32").bound <= eps


def test_the_plan_is_the_certificate(mixed):
    plan = hs.plan("sin(2*x)*cos(y) + x*y", domain=UNIT, eps=1e-3)
    assert plan.bound == mixed.certificate.bound
    assert np.isfinite(plan.printed_anchors) and plan.printed_anchors > 1e5


def test_the_network_is_readable_and_has_textbook_matrices(mixed):
    assert mixed.network.features[:3] == ("x", "y", "one")
    x = mixed.encode(torch.tensor([0.5], dtype=torch.float64), torch.tensor([0.25], dtype=torch.float64))
    pattern = mixed.network.trace(x)["blocks.1.attn.hook_pattern"]
    assert torch.allclose(pattern.sum(-1), torch.ones_like(pattern.sum(-1)))
    dense = mixed.network.dense()
    assert torch.allclose(dense(x), mixed.network(x), atol=1e-12)
