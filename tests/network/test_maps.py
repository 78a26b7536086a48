import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headsmith.network import Dense, Select, Sparse
from headsmith.refusal import Refusal


def some_map(kind: str, heads: int | None, rows: int, features: int, seed: int):
    g = torch.Generator().manual_seed(seed)
    front = () if heads is None else (heads,)
    if kind == "dense":
        return Dense(torch.randn(*front, rows, features, dtype=torch.float64, generator=g))
    if kind == "select":
        return Select(torch.randint(-1, features, (*front, rows), generator=g), features)
    index = torch.randint(0, features, (*front, rows, 3), generator=g)
    return Sparse(index, torch.randn(index.shape, dtype=torch.float64, generator=g), features)


sizes = st.integers(1, 4)


@given(st.sampled_from(["select", "sparse", "dense"]), st.none() | sizes, sizes, sizes, st.integers(0, 99))
def test_every_use_is_the_textbook_matrix(kind, heads, rows, features, seed):
    m = some_map(kind, heads, rows, features, seed)
    x = torch.randn(2, 3, features, dtype=torch.float64)
    matrix = m.dense()
    if heads is None:
        assert torch.allclose(m(x), x @ matrix.mT, atol=1e-13)
        y, base = x, torch.randn(2, 3, rows, dtype=torch.float64)
        total = x @ matrix.mT
    else:
        assert torch.allclose(m(x), torch.stack([x @ w.T for w in matrix]), atol=1e-13)
        own = torch.randn(heads, 2, 3, features, dtype=torch.float64)
        assert torch.allclose(m.each(own), torch.stack([x @ w.T for x, w in zip(own, matrix, strict=True)]), atol=1e-13)
        y, base = own.movedim(0, -2).flatten(-2), torch.randn(2, 3, rows, dtype=torch.float64)
        total = sum(x @ w.T for x, w in zip(own, matrix, strict=True))
    assert torch.allclose(m.onto(base, y), base + total, atol=1e-13)
    assert torch.allclose(m.onto(None, y), total, atol=1e-13)


def test_select_copies_bits_and_ignores_its_neighbours():
    x = torch.tensor([[-0.0, float("inf"), float("nan"), 1e-320]], dtype=torch.float64)
    y = Select([3, -1, 0], 4)(x)
    assert torch.equal(y.view(torch.int64), x[:, [3, 1, 0]].view(torch.int64) * torch.tensor([1, 0, 1]))


def test_base_of_onto_is_left_alone():
    base, x = torch.zeros(5, 3), torch.ones(5, 1)
    assert Select([-1, 0, -1], 1).onto(base, x).sum() == 5
    assert base.sum() == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Select([0, 3], 3),
        lambda: Select([-2], 3),
        lambda: Select([[0], [1, 2]], 3),
        lambda: Select([0.5], 3),
        lambda: Select([], 3),
        lambda: Sparse([[-1]], [[1.0]], 3),
        lambda: Sparse([[0, 1]], [[1.0]], 3),
        lambda: Dense([1.0]),
        lambda: Select.writing([[0], [4]], rows=3),
    ],
)
def test_malformed_maps_are_refused(make):
    with pytest.raises(Refusal):
        make()


def test_weights_train_when_asked():
    m = Sparse([[0, 1]], [[2.0, 3.0]], 2)
    assert not m.coefficient.requires_grad
    m.requires_grad_(True)(torch.tensor([[5.0, 7.0]], dtype=torch.float64)).sum().backward()
    assert m.coefficient.grad.tolist() == [[5.0, 7.0]]
