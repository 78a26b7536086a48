"""X -> A X B by softmax: exact up to rounding, for B of any sign and shape."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headsmith as hs
from headsmith.targets.product import mixture, product_network

Product = hs.target.Product


def worst(net, A, B, seed=0):
    rng = np.random.default_rng(seed)
    lo, hi = net.plan.domain
    X = rng.uniform(lo, hi, (300, A.shape[1], B.shape[0]))
    X = np.concatenate([X, np.where(X > 0, hi, lo)])
    X = torch.from_numpy(X).to(net.dtype)
    truth = (
        np.asarray(A, dtype=np.longdouble)
        @ X.double().numpy().astype(np.longdouble)
        @ np.asarray(B, dtype=np.longdouble)
    )
    return float(np.abs(net(X).double().numpy() - truth).max())


@given(st.integers(0, 10_000), st.sampled_from(["float64", "float32"]))
def test_random_products_keep_their_certificate(seed, dtype):
    rng = np.random.default_rng(seed)
    d, rows, n, m = rng.integers(1, 5, 4)
    A, B = rng.normal(size=(rows, d)), rng.normal(size=(n, m)) * (rng.uniform(size=(n, m)) < 0.7)
    net = hs.compile(Product(A, B), eps=1e-10 if dtype == "float64" else 1e-2, dtype=dtype)
    assert worst(net, A, B, seed) <= net.certificate.bound


def test_a_signed_sparse_matrix_within_1e_12():
    A = np.array([[1.0, -2.0], [0.5, 0.25]])
    B = np.array([[0.0, 3.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1e-3]])
    net = hs.compile(Product(A, B), eps=1e-12)
    assert net.certificate.kind == "proved" and net.plan.heads == 2
    assert worst(net, A, B) <= net.certificate.bound <= 1e-12


def test_positive_and_negative_matrices_need_one_head():
    A = np.eye(2)
    for sign in (1, -1):
        B = sign * np.array([[1.0, 2.0], [3.0, 0.5]])
        assert hs.plan(Product(A, B), eps=1e-12).heads == 1
        assert worst(hs.compile(Product(A, B), eps=1e-12), A, B) <= 1e-12


def test_the_error_grows_with_the_domain():
    P = Product([[1.0]], [[2.0, -1.0], [0.5, 0.0]])
    small, large = hs.plan(P, eps=1e-9), hs.plan(P, eps=1e-9, domain=(-1000, 10))
    assert large.bound == pytest.approx(1000 * small.bound, rel=1e-6)


def test_printed_weights_sum_to_three_times_the_largest_column():
    B = np.array([[1.0, 2.0], [3.0, 0.5]])
    stored = mixture(np.eye(2), B, 0.0, 3.0)
    weights = np.exp(stored.logs[0])
    assert np.allclose(weights.sum(0), 12.0) and np.allclose(weights[:2], B)
    with pytest.raises(hs.Refusal, match="floor"):
        hs.plan(Product(np.eye(2), [[0.0, 1.0], [1.0, 1.0]]), eps=1e-9, method="printed")


def test_without_a_floor_zero_entries_give_nan():
    with np.errstate(invalid="ignore"):
        broken = product_network(mixture(np.eye(2), np.array([[0.0, 1.0], [-1.0, 0.0]]), floor=0.0), torch.float64)
    assert torch.isnan(broken(torch.ones(2, 2, dtype=torch.float64))).any()


def test_a_file_is_proved_again_and_a_changed_one_is_not(tmp_path):
    A, B = np.array([[1.0, -2.0]]), np.array([[0.5, -1.0], [0.0, 2.0]])
    net = hs.compile(Product(A, B), eps=1e-12)
    back = hs.load(net.save(tmp_path / "p.safetensors"))
    assert back.certificate.record() == net.certificate.record() and back.reprove().bound == net.certificate.bound
    with torch.no_grad():
        back.network.layers["mix"].key.weight[0, 0, 2] += 1e-6
    assert back.reprove().bound > 1e-7
    with torch.no_grad():
        back.network.layers["mix"].key.weight[0, 0, 0] = 1.0
    with pytest.raises(hs.Refusal, match="not the product construction"):
        back.reprove()


@pytest.mark.parametrize(
    ("A", "B", "options", "says"),
    [
        ([[1.0]], [[1.0]], {"dtype": "float32", "eps": 1e-12}, "can be had"),
        ([1.0], [[1.0]], {}, "A must be a matrix"),
        ([[1.0]], [["b"]], {}, "B must be a matrix"),
        ([[float("nan")]], [[1.0]], {}, "finite"),
        (np.ones((40, 40)), np.ones((40, 40)), {}, "blocks"),
    ],
)
def test_refusals(A, B, options, says):
    with pytest.raises(hs.Refusal, match=says):
        hs.plan(Product(A, B), **({"eps": 1e-9} | options))


def test_wrong_shapes_and_values_outside_are_refused():
    net = hs.compile(Product(np.eye(2), np.eye(3)), eps=1e-12)
    with pytest.raises(hs.Refusal, match="features by tokens"):
        net(torch.zeros(3, 2, dtype=torch.float64))
    with pytest.raises(hs.Refusal, match="outside"):
        net(torch.full((2, 3), 1.5, dtype=torch.float64))
