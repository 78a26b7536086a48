"""X -> A X B by softmax: exact up to rounding, for B of any sign and shape."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headsmith as hs

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


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("method", ["auto", "printed"])
def test_positive_and_negative_matrices_need_one_head(sign, method):
    A, B = np.eye(2), sign * np.array([[1.0, 2.0], [3.0, 0.5]])
    net = hs.compile(Product(A, B), eps=1e-12, method=method)
    assert net.plan.heads == 1 and worst(net, A, B) <= net.certificate.bound


def test_the_printed_size_needs_positive_entries():
    with pytest.raises(hs.Refusal, match="floor"):
        hs.plan(Product(np.eye(2), [[0.0, 1.0], [1.0, 1.0]]), eps=1e-9, method="printed")


def test_without_a_domain_entries_lie_between_minus_one_and_one():
    plan = hs.plan(Product([[1.0]], [[2.0, -1.0], [0.5, 0.0]]), eps=1e-9)
    assert plan.domain == (-1.0, 1.0)
    assert hs.plan(plan.target, eps=1e-9, domain=(-1000, 10)).bound == pytest.approx(1000 * plan.bound, rel=1e-6)


def test_its_balls_hold_the_product():
    net = hs.compile(Product([[1.0, -2.0]], [[0.5, -1.0], [0.0, 2.0]]), eps=1e-12)
    X = torch.tensor([[0.1, -0.2], [0.7, 0.4]], dtype=torch.float64)
    assert net(X).shape == net.certify(X).shape == (1, 2)
    assert 0 <= float(net.certify(X).max()) <= net.certificate.bound


def test_the_sentence_says_the_domain():
    statement = hs.compile(Product([[1.0]], [[1.0]]), domain=(-3, 2), eps=1e-9).certificate.statement
    assert statement.startswith("|network(X) - A X B| <= bound for every float64 X in [-3, 2], in every entry of A X B")
    assert "with A 1 x 1 and B 1 x 1 of SHA-256 " in statement


def test_other_matrices_have_another_sentence():
    one, other = (hs.compile(Product([[a]], [[1.0]]), eps=1e-9) for a in (1.0, -1.0))
    assert one.certificate.statement != other.certificate.statement
    assert one.certificate.statement == hs.compile(Product([[1.0]], [[1.0]]), eps=1e-9).certificate.statement


@pytest.mark.parametrize(
    ("A", "B", "options", "says"),
    [
        ([[1.0]], [[1.0]], {"dtype": "float32", "eps": 1e-12}, "can be had"),
        ([1.0], [[1.0]], {}, "A must be a finite array with 2 axes"),
        ([[1.0]], [["b"]], {}, "B must be an array of real numbers"),
        ([[float("nan")]], [[1.0]], {}, "finite"),
        ([[1.0]], [[5e-324]], {}, "range of float64"),
        (np.ones((40, 40)), np.ones((40, 40)), {}, "blocks"),
    ],
)
def test_refusals(A, B, options, says):
    with pytest.raises(hs.Refusal, match=says):
        hs.plan(Product(A, B), **({"eps": 1e-9} | options))


def test_what_a_refusal_offers_can_be_had():
    P = Product(np.eye(3), np.ones((3, 3)))
    with pytest.raises(hs.Refusal) as refused:
        hs.plan(P, eps=1e-20)
    eps = float(str(refused.value).split("eps = ")[-1].split(" ")[0])
    assert hs.plan(P, eps=eps).bound <= eps < 1e-12


def test_wrong_shapes_and_values_outside_are_refused():
    net = hs.compile(Product(np.eye(2), np.eye(3)), eps=1e-12)
    with pytest.raises(hs.Refusal, match=r"X must have shape \(..., 2, 3\)"):
        net(torch.zeros(3, 2, dtype=torch.float64))
    with pytest.raises(hs.Refusal, match="outside"):
        net(torch.full((2, 3), 1.5, dtype=torch.float64))
