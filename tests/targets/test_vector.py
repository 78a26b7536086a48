"""Several formulas in one network: shared keys or side by side, whichever is smaller."""

import pytest
import torch

import headsmith as hs


def measured(net, formulas, lo, hi):
    g = torch.Generator().manual_seed(0)
    x = torch.cat([torch.linspace(lo, hi, 3001, dtype=torch.float64), lo + (hi - lo) * torch.rand(1000, generator=g)])
    x = x.clamp(lo, hi).to(net.dtype)
    truth = torch.stack([hs.parse(f)(x.double()) for f in formulas], -1)
    out = net(x)
    assert out.shape == (*x.shape, len(formulas))
    return float((out.double() - truth).abs().max())


@pytest.fixture(scope="module")
def shared():
    return hs.compile(["sin(x)", "x^2"], domain=(-2, 2), eps=1e-6)


@pytest.fixture(scope="module")
def beside():
    return hs.compile(["relu(x)", "tanh(x)", "2*x"], domain=(-2, 2), eps=1e-6)


def test_smooth_components_share_their_keys(shared):
    assert shared.kind == "grid" and shared.plan.anchors <= 7 and shared.plan.heads == 1
    assert measured(shared, ["sin(x)", "x^2"], -2, 2) <= shared.certificate.bound <= 1e-6


def test_kinked_components_stand_side_by_side(beside):
    assert beside.kind == "vector" and beside.plan.anchors <= 8
    assert measured(beside, ["relu(x)", "tanh(x)", "2*x"], -2, 2) <= beside.certificate.bound <= 1e-6


def test_composed_components_keep_their_own_variables():
    formulas = ["abs(sin(3*x))", "abs(x)"]
    net = hs.compile(formulas, domain=(-1, 1), eps=1e-4)
    assert measured(net, formulas, -1, 1) <= net.certificate.bound <= 1e-4


def test_float32(shared):
    net = hs.compile(["sin(x)", "cos(x)"], domain=(-1, 1), eps=1e-4, dtype="float32")
    assert measured(net, ["sin(x)", "cos(x)"], -1, 1) <= net.certificate.bound <= 1e-4


def test_several_variables_and_several_components():
    net = hs.compile(["x*y", "x + y"], domain={"x": (-1, 1), "y": (0, 2)}, eps=1e-3)
    x, y = torch.tensor([0.5, -1.0], dtype=torch.float64), torch.tensor([1.5, 2.0], dtype=torch.float64)
    assert torch.allclose(net(x, y), torch.stack([x * y, x + y], -1), atol=net.certificate.bound, rtol=0)
    assert net(x[:, None], y).shape == (2, 2, 2)


@pytest.mark.parametrize("which", ["shared", "beside"])
def test_files_keep_the_proof(which, request, tmp_path):
    net = request.getfixturevalue(which)
    back = hs.load(net.save(tmp_path / "v.safetensors"))
    x = torch.linspace(-2, 2, 11, dtype=torch.float64)
    assert torch.equal(back(x), net(x)) and back.certificate.record() == net.certificate.record()
    assert 0.98 * net.certificate.bound <= back.reprove().bound <= net.certificate.bound * (1 + 1e-9)
    assert torch.all(back.certify(x) <= net.certificate.bound)


def test_a_changed_weight_is_noticed_by_the_proof(beside, tmp_path):
    net = hs.load(beside.save(tmp_path / "v.safetensors"))
    with torch.no_grad():
        net.network.layers["level1"].memory[1, 0, -1] += 0.01
    with pytest.raises(hs.StaleCertificate):
        _ = net.certificate


@pytest.mark.parametrize(("target", "says"), [([], "empty"), (["x", "step(x)"], "jump"), (["x", 3], "formula")])
def test_refusals(target, says):
    with pytest.raises(hs.Refusal, match=says):
        hs.plan(target, domain=(-1, 1), eps=1e-3)
