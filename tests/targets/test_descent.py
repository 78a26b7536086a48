"""Gradient descent inside attention, against gradient descent."""

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.reference.solvers import Objective, gradient_descent

DOMAIN = {"residual": 2.74, "x": 3.0, "w": 3.0, "y": 2.74}


@pytest.fixture(scope="module")
def data():
    """d = 4, n = 16, |y| = 2.74: with a rate of 1/L no residual leaves [-2.74, 2.74]."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (16, 4))
    y = X @ rng.normal(size=4) + 0.3 * rng.normal(size=16)
    return X, y * 2.74 / np.linalg.norm(y), float(1 / np.linalg.eigvalsh(X.T @ X / 16)[-1])


def descent(loss, steps, rate, **options):
    return hs.target.Descent(loss, features=4, samples=16, steps=steps, rate=rate, **options)


def errors(net, X, y, loss="squared", **penalty):
    """Distance from exact gradient descent after every step."""
    X, y = (torch.tensor(part, dtype=net.dtype) for part in (X, y))
    exact = gradient_descent(Objective.of(loss, X.double(), y.double(), **penalty), net.target.steps, net.target.rate)
    path = torch.stack(net.path(X, y)).double().numpy()
    return np.abs(path - exact).max(1), float(net.certify(X, y).max()) + 1e-14  # the reference is rounded too


@pytest.mark.parametrize("eps, steps", [(1e-3, 10), (1e-6, 15)])
def test_one_step_and_its_size(data, eps, steps):
    X, y, rate = data
    net = hs.compile(descent("squared", 1, rate), domain=DOMAIN, eps=eps)
    error, certified = errors(net, X, y)
    assert error[-1] <= certified <= net.certificate.bound <= eps
    assert net.plan.design.table[0].keys <= steps + 1 and net.plan.printed_anchors > 1000 * net.plan.anchors


def test_forty_steps(data):
    X, y, rate = data
    net = hs.compile(descent("squared", 40, rate), domain=DOMAIN, eps=1e-7)
    error, certified = errors(net, X, y)
    assert error.max() <= 1e-7 and error[-1] <= certified < net.certificate.bound / 10
    stacked = net.unrolled()
    assert len(stacked.layers) == 80
    tokens = net.encode(torch.tensor(X), torch.tensor(y), torch.zeros(4, dtype=torch.float64))
    assert torch.equal(net.decode(stacked(tokens)), net(X, y))


def test_logistic_is_exact(data):
    X, y, _ = data
    labels = (y > 0).astype(float)
    net = hs.compile(descent("logistic", 100, 0.5), domain=20.0, eps=1e-9)
    error, certified = errors(net, X, labels, "logistic")
    assert error.max() <= 1e-12 and error[-1] <= certified
    assert net.plan.method == "exact" and net.plan.design.table[0].keys == 2


def test_huber_and_ridge(data):
    X, y, rate = data
    net = hs.compile(descent("huber", 10, rate), domain=DOMAIN, eps=1e-3)
    error, certified = errors(net, X, y, "huber")
    assert error[-1] <= certified <= net.certificate.bound <= 1e-3
    net = hs.compile(descent("squared", 20, 0.8 * rate, l2=0.2), domain=DOMAIN, eps=1e-7)
    error, certified = errors(net, X, y, l2=0.2)
    assert error[-1] <= certified <= net.certificate.bound <= 1e-7


def test_float32(data):
    X, y, rate = data
    net = hs.compile(descent("squared", 3, rate), domain=DOMAIN, eps=1e-2, dtype="float32")
    error, certified = errors(net, X, y)
    assert error[-1] <= certified <= net.certificate.bound <= 1e-2
    with pytest.raises(hs.Refusal, match=r"eps = .* can be had"):
        hs.compile(descent("squared", 3, rate), domain=DOMAIN, eps=1e-7, dtype="float32")


@pytest.mark.parametrize("eps, heads", [(1e-3, 2), (1e-10, 4)])
def test_gate_heads(data, eps, heads):
    """Thm 4.2 = D.4, repaired: two gates give z within a^2, four within a^4."""
    X, y, rate = data
    net = hs.compile(descent("squared", 1, rate), domain=DOMAIN, eps=eps, method="gate")
    error, certified = errors(net, X, y)
    assert len(net.plan.design.table) == heads and error[-1] <= certified <= net.certificate.bound <= eps
    assert net.network.layers["rule"].visible == "self"


def test_one_gate_is_the_logistic_step(data):
    X, y, _ = data
    net = hs.compile(descent("logistic", 5, 0.5), domain=4.0, eps=1e-9, method="gate")
    error, certified = errors(net, X, (y > 0).astype(float), "logistic")
    assert error.max() < 1e-14 and error[-1] <= certified
    with pytest.raises(hs.Refusal, match="no gate heads"):
        hs.compile(descent("huber", 1, 0.5), domain=4.0, eps=1e-3, method="gate")


def test_the_printed_layer_is_the_mean_gradient(data):
    X, y, rate = data
    net = hs.compile(descent("squared", 1, rate), domain=DOMAIN, eps=1.0, method="printed")
    start = np.full(4, 0.1)
    problem = Objective.of("squared", X, y)
    found = net(X, y, start).numpy()
    assert np.abs(found - problem.gradient(start)).max() <= net.certificate.bound
    assert np.abs(found - gradient_descent(problem, 1, rate, start)[-1]).max() > 0.1
    with pytest.raises(hs.Refusal, match="cannot be stacked"):
        hs.compile(descent("squared", 2, rate), domain=DOMAIN, eps=1.0, method="printed")


def test_what_cannot_be_promised_is_refused(data):
    X, y, rate = data
    net = hs.compile(descent("squared", 1, 2.5 * rate), domain=DOMAIN, eps=1e-3)
    with pytest.raises(hs.Refusal, match="too large for these data"):
        net(X, y)
    net = hs.compile(descent("squared", 1, rate), domain=DOMAIN, eps=1e-3)
    with pytest.raises(hs.Refusal, match=r"sample .* has a residual"):
        net(X, y, np.full(4, 2.9))
    with pytest.raises(hs.Refusal, match="no loss is called"):
        hs.target.Descent("hinge", 4, 16)
    with pytest.raises(hs.Refusal, match=r"every y must be one of \{0, 1\}"):
        hs.compile(descent("logistic", 1, 0.5), domain=4.0, eps=1e-3)(X, y)
    with pytest.raises(hs.Refusal, match="rate must be"):
        hs.target.Descent("squared", 4, 16, rate="fast")  # type: ignore[arg-type]
    with pytest.raises(hs.Refusal, match=r"eps = .* can be had") as refused:
        hs.plan(descent("logistic", 5, 0.5), domain=4.0, eps=1e-30)
    eps = float(str(refused.value).split("eps = ")[1].split()[0])
    assert hs.plan(descent("logistic", 5, 0.5), domain=4.0, eps=eps).bound <= eps


def test_batches_and_files(data, tmp_path):
    X, y, rate = data
    net = hs.compile(descent("squared", 2, rate), domain=DOMAIN, eps=1e-6)
    both = net(np.stack([X, X[::-1]]), np.stack([y, y[::-1]]))
    assert torch.allclose(both[0], both[1], atol=1e-13) and both.shape == (2, 4)
    for made in (net, hs.compile(descent("squared", 2, rate), domain=DOMAIN, eps=1e-6, method="gate")):
        again = hs.load(made.save(tmp_path / "descent.safetensors"))
        assert torch.equal(again(X, y), made(X, y)) and again.certificate == made.certificate
        assert torch.equal(again.certify(X, y), made.certify(X, y))
        assert hs.certify(tmp_path / "descent.safetensors").status == 0


@pytest.mark.parametrize("dtype, eps", [("float64", 1e-4), ("float32", 2e-3)])
@pytest.mark.parametrize("method", ["auto", "gate"])
def test_the_worst_case_is_inside_the_certificate(dtype, eps, method):
    """All samples alike, at the end of the range of x, residuals sweeping the table: nothing averages out."""
    net = hs.compile(descent("squared", 1, 0.2), domain=DOMAIN, eps=eps, dtype=dtype, method=method)
    r = torch.linspace(-2.74, 2.74, 301, dtype=torch.float64).to(net.dtype).clamp(-2.739999, 2.739999)
    X = torch.zeros(301, 16, 4, dtype=net.dtype)
    X[..., 0] = 3.0
    found = net(X, r.unsqueeze(-1).expand(301, 16)).double()
    exact = torch.zeros(301, 4, dtype=torch.float64)
    exact[:, 0] = 0.2 * 3.0 * r.double()
    error = float((found - exact).abs().max())
    assert 0.1 * net.certificate.approximation <= error <= net.certificate.bound <= eps
