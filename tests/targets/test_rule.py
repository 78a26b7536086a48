"""f(w.x - y) x in one layer: block, dense and printed, each inside its certificate, at random and worst-case inputs."""

import numpy as np
import pytest
import torch

import headsmith as hs

RULES = {"tanh(t)": torch.tanh, "t": lambda t: t, "sin(2*t)": lambda t: torch.sin(2 * t), "abs(t)": torch.abs}


def data(dtype=torch.float64, samples=6, features=3, batch=40, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = (torch.rand(batch, samples, features, generator=g, dtype=torch.float64) * 4 - 2).to(dtype)
    w = (torch.rand(batch, features, generator=g, dtype=torch.float64) - 0.5).to(dtype)
    y = (torch.rand(batch, samples, generator=g, dtype=torch.float64) * 2 - 1).to(dtype)
    return x, y, w


def truth(f, x, y, w):
    x, y, w = x.double(), y.double(), w.double()
    w = w if w.dim() == x.dim() else w.unsqueeze(-2)
    return f((x * w).sum(-1) - y).unsqueeze(-1) * x


@pytest.mark.parametrize("f", RULES)
@pytest.mark.parametrize("dtype, eps", [("float64", 1e-4), ("float32", 5e-2)])
def test_within_the_certificate(f, dtype, eps):
    net = hs.compile(hs.target.ResidualRule(f, features=3, samples=6), domain=4.0, eps=eps, dtype=dtype)
    x, y, w = data(net.dtype)
    assert (net(x, y, w).double() - truth(RULES[f], x, y, w)).abs().max() <= net.certificate.bound <= eps
    # the worst case: one feature at the end of its range, residuals sweeping the table
    z = torch.linspace(-3.99, 3.99, 6000, dtype=torch.float64).reshape(1000, 6).to(net.dtype)
    x = torch.zeros(1000, 6, 3, dtype=net.dtype)
    x[..., 0] = 4.0
    error = (
        (net(x, -z, torch.zeros(3, dtype=net.dtype)).double() - truth(RULES[f], x, -z, torch.zeros(1000, 3)))
        .abs()
        .max()
    )
    assert 0.02 * net.certificate.approximation <= error <= net.certificate.bound
    assert net.plan.printed_anchors > 100 * net.plan.anchors


@pytest.mark.parametrize("f", ["tanh(t)", "t"])
def test_the_dense_layer_of_the_paper_agrees_with_the_block_layer(f):
    rule = hs.target.ResidualRule(f, features=3, samples=6)
    block, whole = (hs.compile(rule, domain=4.0, eps=1e-5, method=m) for m in ("auto", "dense"))
    x, y, w = data()
    assert (whole(x, y, w) - truth(RULES[f], x, y, w)).abs().max() <= whole.certificate.bound <= 1e-5
    assert (whole(x, y, w) - block(x, y, w)).abs().max() < 1e-7
    assert whole.network.layers["attend"].visible == "all"


def test_every_sample_may_bring_its_own_w():
    net = hs.compile(hs.target.ResidualRule("tanh(t)", features=3, samples=6), domain=4.0, eps=1e-6)
    x, y, _ = data()
    w = torch.linspace(-0.5, 0.5, 18, dtype=torch.float64).reshape(6, 3).expand_as(x)
    assert (net(x, y, w) - truth(torch.tanh, x, y, w)).abs().max() < 1e-12


def test_exact_functions_need_two_keys():
    net = hs.compile(hs.target.ResidualRule("2*tanh(t/2) + 1", features=2, samples=3), domain=3.0, eps=1e-9)
    assert net.plan.method == "exact" and net.plan.anchors == 6


def test_the_printed_table_works_and_is_far_larger():
    rule = hs.target.ResidualRule("tanh(t)", features=2, samples=4)
    net = hs.compile(rule, domain=1.0, eps=0.2, method="printed")
    x, y, w = (part * 0.4 for part in data(samples=4, features=2))
    assert (net(x, y, w) - truth(torch.tanh, x, y, w)).abs().max() <= net.certificate.bound
    assert net.plan.anchors > 4 * hs.plan(rule, domain=1.0, eps=0.2).anchors


def test_one_honest_layer_for_least_squares():
    """Cor 3.1.3: with the preconditioned sample as direction and w = 0, the mean of the layer is minus the solution."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6, 3))
    y = X @ [0.5, -0.2, 0.1]
    toward = np.linalg.solve(X.T @ X / 6, X.T).T
    net = hs.compile(
        hs.target.ResidualRule("t", 3, 6), domain={"residual": 2.0, "x": 20.0, "w": 1.0, "y": 2.0}, eps=1e-8
    )
    layer = net(X, y, np.zeros(3), direction=toward)
    assert np.abs(-layer.mean(0).numpy() - [0.5, -0.2, 0.1]).max() <= net.certificate.bound


def test_inputs_out_of_range_are_refused_by_name():
    net = hs.compile(hs.target.ResidualRule("tanh(t)", features=2, samples=3), domain=2.0, eps=1e-3)
    x, y, w = torch.ones(3, 2).double(), torch.zeros(3).double(), torch.ones(2).double()
    with pytest.raises(hs.Refusal, match="sample 1 has a residual of size 3"):
        net(x, torch.tensor([0.0, -1.0, 0.0]).double(), w)
    with pytest.raises(hs.Refusal, match=r"x 5 lies outside"):
        net(5 * x, y, 0 * w)
    with pytest.raises(hs.Refusal, match=r"shape \(..., 3, 2\)"):
        net(x[:2], y[:2], w)
    with pytest.raises(hs.Refusal, match="formula of one variable"):
        hs.compile(hs.target.ResidualRule("a*b", 2, 3), domain=2.0, eps=1e-3)
    with pytest.raises(hs.Refusal, match="positive number that bounds"):
        hs.compile(hs.target.ResidualRule("t", 2, 3), domain=-1, eps=1e-3)
    with pytest.raises(hs.Refusal, match=r"cannot be certified: .*; eps = .* can be had") as refusal:
        hs.compile(hs.target.ResidualRule("tanh(t)", 2, 3), domain=2.0, eps=1e-16)
    eps = float(str(refusal.value).split("eps = ")[1].split()[0])
    assert hs.compile(hs.target.ResidualRule("tanh(t)", 2, 3), domain=2.0, eps=eps).certificate.bound <= eps
    with pytest.raises(hs.Refusal, match="can be had"):
        hs.compile(hs.target.ResidualRule("tanh(t)", 2, 3), domain=(-2, 2), eps=1e-30)


@pytest.mark.parametrize("method", ["auto", "dense"])
def test_files(tmp_path, method):
    net = hs.compile(hs.target.ResidualRule("t^2", features=3, samples=6), domain=4.0, eps=1e-3, method=method)
    again = hs.load(net.save(tmp_path / "rule.safetensors"))
    assert torch.equal(again(*data()), net(*data())) and again.certificate == net.certificate
    assert np.array_equal(again.plan.design.head.values, net.plan.design.head.values)
    assert hs.certify(tmp_path / "rule.safetensors").status == 0


def test_the_ranges_that_the_proof_uses_are_in_the_statement():
    """|w| <= 3e9 makes residuals slip by far more than |w| <= 3, and says so."""
    target = hs.target.ResidualRule("tanh(t)", features=4, samples=2)
    nets = [hs.compile(target, domain={"residual": 5.0, "x": 3.0, "w": w, "y": 5.0}, eps=1e-3) for w in (3.0, 3e9)]
    small, large = (net.certificate for net in nets)
    assert small.bound < 1e-12 and large.bound > 1e-5
    assert "w in [-3, 3]" in small.statement and "w in [-3000000000, 3000000000]" in large.statement
    assert "x in [-3, 3], y in [-5, 5]" in small.statement and "w.x - y in [-5, 5]" in small.statement


def test_a_w_for_all_is_a_w_for_each():
    net = hs.compile(hs.target.ResidualRule("tanh(t)", features=3, samples=6), domain=4.0, eps=1e-6)
    x, y, w = data()
    every = w.unsqueeze(-2).expand_as(x)
    assert torch.equal(net(x, y, w), net(x, y, every)) and torch.equal(net.encode(x, y, w), net.encode(x, y, every))
    assert torch.equal(net(x[0], y[0], 0.0), net(x[0], y[0], torch.zeros(3).double()))
    errors = net.certify(x[:3], y[:3], w[:3], direction=-x[:3])
    assert errors.shape == (3, 6, 3) and float(errors.max()) <= net.certificate.bound
    with pytest.raises(hs.Refusal, match=r"x 9 lies outside"):
        net(x, y, w, direction=9 + 0 * x)
