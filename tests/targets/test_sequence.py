"""Maps of whole sequences: through the tensor grid, by repaired bumps, and as printed."""

import pytest
import torch

import headsmith as hs

Map = hs.target.SequenceMap
F = ("sin(2*x1)*x2 + x1/2", "cos(1.5*(x1+x2))")


def f(X):
    a, b = X[..., 0, 0], X[..., 1, 0]
    return torch.stack([torch.sin(2 * a) * b + a / 2, torch.cos(1.5 * (a + b))], -1)[..., None]


def measured(net, truth=f, count=600):
    g = torch.Generator().manual_seed(0)
    n, d = net.plan.tokens, net.plan.features
    X = torch.rand(count, n, d, generator=g, dtype=torch.float64) * 2 - 1
    X[: count // 5] = X[: count // 5].sign()
    X = X.to(net.dtype)
    out = torch.cat([net(part) for part in X.split(100)])
    assert out.shape == X.shape
    return float((out.double() - truth(X.double())).abs().max())


@pytest.fixture(scope="module")
def grid():
    return hs.compile(Map(F, tokens=2, features=1), domain=(-1, 1), eps=1e-4)


def test_formulas_are_proved_through_the_grid(grid):
    assert grid.certificate.kind == "proved" and grid.plan.anchors <= 40
    assert measured(grid, count=4000) <= grid.certificate.bound <= 1e-4
    assert "g^(dn)" in str(grid.plan)


def test_float32():
    net = hs.compile(Map(F, tokens=2, features=1), domain=(-1, 1), eps=1e-3, dtype="float32")
    assert measured(net) <= net.certificate.bound <= 1e-3


def test_gathering_copies_bit_for_bit(grid):
    X = torch.tensor([[[0.1], [-0.7]]], dtype=torch.float64)
    seen = grid.network.trace(X)["blocks.1.hook_resid_post"]
    assert seen[0, :, 1:3].tolist() == [[0.1, -0.7], [0.1, -0.7]]


def test_two_tokens_of_two_features():
    target = Map([["x1*x3", "x2"], ["x4", "x1 - x2"]], tokens=2, features=2)
    net = hs.compile(target, domain=(-1, 1), eps=1e-3)

    def truth(X):
        (a, b), (c, d) = (X[..., 0, 0], X[..., 0, 1]), (X[..., 1, 0], X[..., 1, 1])
        return torch.stack([torch.stack([a * c, b], -1), torch.stack([d, a - b], -1)], -2)

    assert measured(net, truth) <= net.certificate.bound <= 1e-3


def test_a_callable_is_conditional_and_its_constant_is_checked():
    net = hs.compile(Map(f, tokens=2, features=1, lipschitz=4.0), domain=(-1, 1), eps=3e-2)
    assert net.certificate.kind == "conditional" and "4" in net.certificate.statement
    assert measured(net) <= net.certificate.bound <= 3e-2
    with pytest.raises(hs.Refusal, match="no Lipschitz constant"):
        hs.plan(Map(f, tokens=2, features=1, lipschitz=1.0), domain=(-1, 1), eps=1e-1)
    with pytest.raises(hs.Refusal, match="give lipschitz"):
        hs.plan(Map(f, tokens=2, features=1), domain=(-1, 1), eps=1e-1)


@pytest.mark.parametrize("method", ["bumps", "softmax"])
def test_repaired_bumps_keep_a_sup_norm_theorem(method, tmp_path):
    net = hs.compile(Map(F, tokens=2, features=1), domain=(-1, 1), eps=0.6, method=method)
    assert net.certificate.kind == "proved"
    assert measured(net) <= net.certificate.bound <= 0.6
    back = hs.load(net.save(tmp_path / "b.safetensors"))
    assert back.reprove().bound == net.certificate.bound


def test_as_printed_nothing_is_promised():
    net = hs.compile(Map(F, tokens=2, features=1), domain=(-1, 1), eps=0.6, method="printed")
    assert net.certificate.kind == "measured" and net.certificate.bound > 10
    assert "measured" in net.certificate.title() and "certified" not in net.certificate.title()
    with pytest.raises(hs.Refusal, match="cannot be proved"):
        net.reprove()


def test_a_file_is_proved_again(grid, tmp_path):
    back = hs.load(grid.save(tmp_path / "s.safetensors"))
    assert back.certificate.record() == grid.certificate.record()
    assert back.reprove().bound == pytest.approx(grid.certificate.bound, rel=1e-9)
    with torch.no_grad():
        back.network.layers["grid"].memory[3, -1] += 1.0
    assert back.reprove().bound > 100 * grid.certificate.bound


@pytest.mark.parametrize(
    "one",
    [
        lambda X: X.flip(0),
        lambda X: torch.stack([X[1] / 2, X[0] - X[1]]),
        lambda X: X if X.sum() > -9 else -X,
    ],
)
def test_a_callable_on_one_sequence(one):
    net = hs.compile(Map(one, tokens=2, features=1, lipschitz=2.0), domain=(-1, 1), eps=2e-1)
    X = torch.tensor([[0.9], [-0.3]]).double()
    assert float((net(X) - one(X)).abs().max()) <= net.certificate.bound <= 2e-1


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        (Map(["x1"] * 6, tokens=6, features=1), {}, r"g\^\(dn\)"),
        (Map(["x1"], tokens=2, features=1), {}, "need 2 formulas"),
        (Map(["x1", "y"], tokens=2, features=1), {}, "x1, x2"),
        (Map(F, tokens=2, features=1), {"domain": None}, "domain"),
        (Map(F, tokens=0, features=1), {}, "positive number"),
        (Map(F, tokens=2, features=1), {"method": "bumps", "eps": 1e-3}, r"g\^\(dn\)"),
        (Map(F, tokens=2, features=1), {"method": "magic"}, "no method"),
        (Map(3, tokens=2, features=1), {}, "list of 2 formulas"),
        (Map(lambda X: X[0], tokens=2, features=1, lipschitz=1.0), {}, "same shape"),
    ],
)
def test_refusals(target, options, says):
    with pytest.raises(hs.Refusal, match=says):
        hs.plan(target, **({"domain": (-1, 1), "eps": 1e-2} | options))
