"""One frozen machine: six regressions on one hash, each proved for its own prompt."""

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headsmith as hs


@cache
def diabetes():
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return (X - X.mean(0)) / X.std(0), y - y.mean()


@pytest.fixture(scope="module")
def solver():
    return hs.machine.Solver(features=10, samples=442, eps=1e-6)


@pytest.fixture(scope="module")
def small():
    return hs.machine.Solver(features=4, samples=30, eps=1e-6)


def data(seed=0, n=30, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def programs(X, y):
    p, labels = hs.prompt, (y > 0).astype(float)
    return {
        "ols": p.ols(X, y),
        "ridge": p.ridge(X, y, 0.1),
        "lasso": p.lasso(X, y, 1.0),
        "elastic_net": p.elastic_net(X, y, 0.5, 0.5),
        "logistic": p.logistic(X, labels),
        "huber": p.huber(X, y, 50.0),
    }


def compare(program, result):
    """(error, certified) relative to the largest coefficient of the reference."""
    reference = program.problem.minimiser()
    found = result.weights.numpy()
    if program.intercept:
        found = np.append(found, float(result.intercept))
    assert np.array_equal(found == 0, reference == 0)
    top = np.abs(reference).max()
    return np.abs(found - reference).max() / top, result.certificate.bound / top


@pytest.mark.slow
def test_six_programs_on_diabetes_with_one_hash(solver):
    before = solver.weight_hash
    results = {}
    for name, program in sorted(programs(*diabetes()).items(), reverse=True):
        results[name] = (program, solver(program))
    assert solver.weight_hash == before
    for name, (program, result) in results.items():
        error, certified = compare(program, result)
        assert error < (1e-7 if name == "huber" else 1e-8)
        assert error <= certified <= 1e-6
        assert result.certificate.kind == "proved" and result.certificate.weights == before
    assert int((results["lasso"][1].weights == 0.0).sum()) == 3


@pytest.mark.parametrize("name", ["ridge", "lasso", "elastic_net"])
def test_diabetes(solver, name):
    program = programs(*diabetes())[name]
    error, certified = compare(program, solver(program))
    assert error < 1e-8 and error <= certified <= 1e-6


def test_scales_of_columns_and_responses_change_nothing(small):
    X, y = data()
    scales = np.geomspace(1e-4, 1e4, 4)
    plain = small([hs.prompt.ols(X, y), hs.prompt.lasso(X, y, 0.1)])
    scaled = small([hs.prompt.ols(X * scales, y * 1e6), hs.prompt.lasso(X, y * 1e-6, 0.1e-6)])
    assert torch.allclose(scaled[0].weights * torch.tensor(scales) / 1e6, plain[0].weights, rtol=1e-8, atol=0)
    assert torch.allclose(scaled[1].weights * 1e6, plain[1].weights, rtol=1e-8, atol=0)
    assert [r.loops for r in plain] == [r.loops for r in scaled]


def test_a_batch_of_programs_is_the_programs_one_by_one(small):
    X, y = data()
    prompts = [hs.prompt.ols(X, y), hs.prompt.lasso(X, y, 0.5), hs.prompt.huber(X[:20], y[:20], 0.7)]
    for alone, together in zip(map(small, prompts), small(prompts), strict=True):
        assert torch.allclose(alone.weights, together.weights, rtol=1e-9, atol=1e-12)


def test_the_prompt_is_the_program(small):
    """Every program runs through the same module; only the tokens differ, and the tokens alone decide."""
    X, y = data()
    one, other = (small.encode(p) for p in (hs.prompt.ridge(X, y, 0.1), hs.prompt.ridge(X, y, 1.0)))
    assert one.shape == other.shape and not torch.equal(one, other)
    p = torch.zeros(4, dtype=torch.float64)
    first, second = small.step(one, p, p), small.step(other, p, p)
    assert not torch.equal(first, second)
    gradient = hs.prompt.ridge(X, y, 0.1)
    expected = -gradient.rate * gradient.scaled.gradient(np.zeros(4))
    assert np.allclose(first.numpy(), expected, atol=1e-12)


def test_the_block_is_softmax_attention_and_equals_its_dense_form():
    tiny = hs.machine.Solver(features=2, samples=4)
    X, y = data(n=4, d=2)
    prompt = tiny.encode(hs.prompt.elastic_net(X, y, 0.1, 0.1))
    state = torch.tensor([0.3, -0.2], dtype=torch.float64)
    fast = tiny.step(prompt, state, 0.5 * state)
    assert torch.allclose(tiny.network.dense()(prompt)[..., 0, :], fast, atol=1e-12)
    pattern = tiny.network.trace(prompt)["blocks.0.attn.hook_pattern"]
    assert torch.allclose(pattern.sum(-1), torch.ones_like(pattern.sum(-1)))


def test_every_frozen_number_is_in_the_hash():
    one, other = hs.machine.Solver(features=2, samples=4), hs.machine.Solver(features=2, samples=4)
    assert one.weight_hash == other.weight_hash
    for part in ("read", "bend", "write", "sum", "widen", "shrink"):
        parameter = next(one.network.layers[part].parameters())
        saved = parameter.data.clone()
        parameter.data.view(-1)[0] += 1e-9
        assert one.weight_hash != other.weight_hash
        parameter.data.copy_(saved)
    assert hs.machine.Solver(features=2, samples=4, radius=30.0).weight_hash != other.weight_hash


@cache
def roomy():
    return hs.machine.Solver(features=5, samples=30)


@settings(max_examples=8)
@given(seed=st.integers(0, 1000), kind=st.sampled_from(["ols", "ridge", "lasso", "elastic", "logistic", "huber"]))
def test_certified_on_random_data(seed, kind):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 30)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, d)
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    p = hs.prompt
    program = {
        "ols": lambda: p.ols(X, y, intercept=bool(seed % 2)),
        "ridge": lambda: p.ridge(X, y, 10.0 ** rng.uniform(-4, 2)),
        "lasso": lambda: p.lasso(X, y, 10.0 ** rng.uniform(-3, 1)),
        "elastic": lambda: p.elastic_net(X, y, 0.1, 0.2),
        "logistic": lambda: p.logistic(X, rng.integers(0, 2, n).astype(float), 0.05),
        "huber": lambda: p.huber(X, y, 1.5),
    }[kind]()
    result = roomy()(program)
    reference = program.problem.minimiser()
    found = result.weights.numpy()
    found = np.append(found, float(result.intercept)) if program.intercept else found
    assert np.abs(found - reference).max() <= result.certificate.bound + 1e-12 * np.abs(reference).max()
    assert result.certificate.bound <= 1e-6 * max(1.0, np.abs(reference).max())


def test_more_features_than_samples():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 20))
    y = X[:, :2] @ [1.0, -2.0] + 0.1 * rng.normal(size=12)
    machine = hs.machine.Solver(features=20, samples=12)
    program = hs.prompt.lasso(X, y, 0.3)
    error, certified = compare(program, machine(program))
    assert error <= certified <= 1e-6
    with pytest.raises(hs.Refusal, match="condition number of these data is infinite"):
        machine(hs.prompt.ols(X, y))


def test_refusals(small, monkeypatch):
    X, y = data()
    with pytest.raises(hs.Refusal, match="31 samples of 4 features are more than the 30 x 4"):
        small(hs.prompt.ols(*data(n=31)))
    with pytest.raises(hs.Refusal, match="features must be a positive whole number"):
        hs.machine.Solver(features=2.5, samples=3)
    with pytest.raises(hs.Refusal, match="minimiser may not be unique"):
        small(hs.prompt.lasso(X[:, [0, 0, 1]], y, 0.1))
    with pytest.raises(hs.Refusal, match="a solver runs regressions"):
        small([])
    narrow = hs.machine.Solver(features=4, samples=30, radius=1.0)
    with pytest.raises(hs.Refusal, match=r"sample .* beyond the radius 1 of this solver"):
        narrow(hs.prompt.ols(X, y))
    monkeypatch.setattr("headsmith.machines.solver.MOST", 40)
    Z = X.copy()
    Z[:, 1] = Z[:, 0] + 1e-2 * Z[:, 1]
    with pytest.raises(hs.Refusal, match=r"condition number of these data is .*eps = .* can be had"):
        small(hs.prompt.ols(Z, y))


def test_what_is_refused_names_an_eps_that_can_be_had(monkeypatch):
    monkeypatch.setattr("headsmith.machines.solver.MOST", 300)
    X, y = data(n=12, d=2)
    X[:, 1] = X[:, 0] + 1e-2 * X[:, 1]
    with pytest.raises(hs.Refusal) as refusal:
        hs.machine.Solver(features=2, samples=12, eps=1e-13)(hs.prompt.ols(X, y))
    eps = float(str(refusal.value).split("eps = ")[1].split()[0])
    assert hs.machine.Solver(features=2, samples=12, eps=eps)(hs.prompt.ols(X, y)).certificate.bound > 0


def test_all_zero_solutions_are_exact(small):
    X, y = data()
    result = small(hs.prompt.lasso(X, y, 1e3))
    assert torch.equal(result.weights, torch.zeros(4, dtype=torch.float64)) and result.certificate.bound < 1e-300


def test_trivial_data(small):
    """No response, one sample, a column of zeros, a delta that nothing reaches."""
    X, y = data()
    assert small(hs.prompt.ols(X, 0 * y)).weights.abs().max() < 1e-9
    assert torch.allclose(small(hs.prompt.ols(X[:1, :1], y[:1])).weights, torch.tensor(y[:1] / X[0, :1]))
    assert small(hs.prompt.ridge(X * [1, 0, 1, 1], y, 0.1)).weights[1].abs() < 1e-9
    square, huber = small([hs.prompt.ols(X, y), hs.prompt.huber(X, y, 1e9)])
    assert torch.allclose(square.weights, huber.weights, rtol=1e-8)


def test_it_shows_itself(small):
    text = str(small)
    assert small.weight_hash in text and "certified" in text and "printed rule" in text
    X, y = data()
    assert "condition" in str(hs.prompt.ols(X, y)) and "momentum" in str(hs.prompt.ols(X, y))
    result = small(hs.prompt.ols(X, y))
    assert str(result).startswith("Result of ols: error at most")
    result.weights.requires_grad_(True).sum().backward()  # an ordinary tensor, whatever was used to compute it
