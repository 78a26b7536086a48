import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith.network import Attention, Dense, Network, Select
from headsmith.refusal import Refusal

PATTERNS = ("all", "causal", "strict", "self", "none")
SEES = {
    "all": lambda i, j: True,
    "causal": lambda i, j: j <= i,
    "strict": lambda i, j: j < i,
    "self": lambda i, j: i == j,
    "none": lambda i, j: False,
}


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def naive(X, W_Q, W_K, W_V, W_out, sees, weights, memory, keep, scale):
    """Def 2.1 with loops. Tokens are columns: X (d, n); sees(h, i, j); memory (H, d, M)."""
    n = X.shape[1]
    out = torch.zeros(W_out.shape[1], n, dtype=torch.float64)
    for h in range(len(W_Q)):
        for i in range(n):
            columns = [X[:, j] for j in range(n) if sees(h, i, j)]
            columns += [memory[h][:, j] for j in range(memory.shape[2]) if keep[h][j]]
            if not columns:
                continue
            score = [scale * float((W_K[h] @ c) @ (W_Q[h] @ X[:, i])) for c in columns]
            if weights == "softmax":
                raw = [math.exp(s - max(score)) for s in score]
                p = [r / sum(raw) for r in raw]
            elif weights == "relu":
                p = [max(s, 0) / len(score) for s in score]
            else:
                p = [(s == max(score)) / score.count(max(score)) for s in score]
            out[:, i] += W_out[h] @ sum(w * (W_V[h] @ c) for w, c in zip(p, columns, strict=True))
    return out


@settings(max_examples=8)
@given(
    heads=st.integers(1, 3),
    n=st.integers(1, 4),
    d=st.integers(1, 4),
    d_h=st.integers(1, 3),
    d_v=st.integers(1, 2),
    M=st.integers(0, 3),
    per_head=st.booleans(),
    weights=st.sampled_from(["softmax", "relu", "hardmax"]),
    seed=st.integers(0, 999),
    data=st.data(),
)
def test_equals_the_definition(heads, n, d, d_h, d_v, M, per_head, weights, seed, data):
    torch.manual_seed(seed)
    Q, K, V, out = rand(heads, d_h, d), rand(heads, d_h, d), rand(heads, d_v, d), rand(heads, d, d_v)
    allowed = PATTERNS if M else PATTERNS[:-1]
    visible = data.draw(st.lists(st.sampled_from(allowed), min_size=heads, max_size=heads))
    memory = rand(heads, M, d) if per_head else rand(M, d)
    keep = torch.rand(heads, M) < 0.7
    layer = Attention(
        *map(Dense, (Q, K, V, out)),
        visible=visible,
        memory=memory if M else None,
        memory_mask=keep if M else None,
        weights=weights,
        scale=0.5,
        residual=True,
    )
    x = rand(2, n, d)
    padding = torch.rand(2, n) < 0.3
    full = memory.expand(heads, M, d).mT
    for b in range(2):

        def sees(h, i, j, b=b):
            return SEES[visible[h]](i, j) and not padding[b, j]

        want = x[b].T + naive(x[b].T, Q, K, V, out, sees, weights, full, keep, 0.5)
        assert torch.allclose(layer(x, padding)[b], want.T, atol=1e-12)
        alone = Network({"a": layer}, tokens=["t"] * n)(x[b], padding[b])
        assert torch.allclose(alone, want.T, atol=1e-12)


@pytest.mark.parametrize("visible", PATTERNS[:-1])
@pytest.mark.parametrize("memory", [None, "shared", "own"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_batch_shapes_and_tables(visible, memory, batch):
    torch.manual_seed(0)
    maps = [Dense(rand(2, *s)) for s in [(3, 4), (3, 4), (1, 4), (4, 1)]]
    stored = {None: None, "shared": rand(3, 4), "own": rand(2, 3, 4)}[memory]
    x = rand(*batch, 5, 4)
    y = Attention(*maps, visible=visible, memory=stored)(x)
    table = torch.tensor([[SEES[visible](i, j) for j in range(5)] for i in range(5)])
    assert y.shape == x.shape
    assert torch.allclose(y, Attention(*maps, visible=table, memory=stored)(x), atol=1e-13)
    assert torch.allclose(
        y.reshape(-1, 5, 4)[0], Attention(*maps, visible=visible, memory=stored)(x.reshape(-1, 5, 4)[0])
    )


def test_blind_queries_give_zero_and_finite_gradients():
    layer = Attention(*[Dense(rand(1, 1, 1)) for _ in range(4)], visible="strict")
    x = rand(2, 3, 1).requires_grad_()
    y = layer(x)
    assert (y[:, 0] == 0).all() and (y[:, 1:] != 0).all()
    y.sum().backward()
    assert x.grad.isfinite().all()


def test_self_is_the_diagonal_without_a_table():
    """10^5 tokens would need a table of 10^10 scores."""
    x = rand(100_000, 2)
    layer = Attention(*[Select([[0]], 2)] * 3, Select.writing([[1]], 2), visible="self")
    assert torch.equal(layer(x)[:, 1], x[:, 0])


@pytest.mark.parametrize("weights", ["softmax", "relu"])
def test_gradients(weights):
    torch.manual_seed(1)
    maps = [Dense(rand(2, *s)) for s in [(2, 3), (2, 3), (2, 3), (3, 2)]]
    layer = Attention(*maps, visible=["causal", "self"], memory=rand(2, 2, 3), weights=weights, residual=True)
    assert torch.autograd.gradcheck(layer, rand(2, 3, 3).requires_grad_())
    layer.requires_grad_(True)(rand(2, 3, 3)).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())


def one(**change):
    arguments = dict(query=Dense(rand(2, 1, 3)), key=Dense(rand(2, 1, 3)), value=Dense(rand(2, 1, 3)))
    arguments |= dict(output=Dense(rand(2, 3, 1))) | change
    return Attention(**arguments)


@pytest.mark.parametrize(
    "change",
    [
        {"query": Dense(rand(1, 3))},
        {"key": Dense(rand(2, 2, 3))},
        {"value": Dense(rand(2, 2, 3))},
        {"key": Dense(rand(2, 1, 4))},
        {"output": Dense(rand(2, 4, 1)), "residual": True},
        {"weights": "sparsemax"},
        {"visible": "everyone"},
        {"visible": ["all"] * 3},
        {"visible": torch.ones(2, 3)},
        {"visible": "none"},
        {"memory": rand(4, 2)},
        {"memory": rand(3, 4, 3)},
        {"memory": rand(4, 3), "memory_mask": [[1, 1, 1]]},
    ],
)
def test_malformed_layers_are_refused(change):
    with pytest.raises(Refusal):
        one(**change)


def test_an_attention_behind_a_token_wise_map_is_an_attention():
    """Lemma D.3: W_K A, W_Q A, W_V A; a memory or a residual stream is read before A."""
    one, g = Select([[0, 1], [2, 1]], 4), torch.Generator().manual_seed(0)
    A, x = (torch.randn(*shape, dtype=torch.float64, generator=g) for shape in ((4, 7), (3, 5, 7)))
    layer = Attention(
        one, one, Select([[2], [3]], 4), Select.writing([[0], [1]], 2), visible=["all", "causal"], scale=0.5
    )
    assert torch.allclose(layer.after(A)(x), layer(x @ A.mT), atol=1e-13)
    grows = Attention(one, one, Select([[2], [3]], 4), Select.writing([[0], [1]], 4), residual=True)
    with pytest.raises(Refusal, match="before A"):
        grows.after(torch.eye(4, dtype=torch.float64))
