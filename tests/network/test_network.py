import copy

import pytest
import torch

import headsmith.network as hn
from headsmith.network import (
    Affine,
    Attention,
    Dense,
    FeedForward,
    Network,
    Select,
    Sparse,
    TokenMix,
    rotation,
)
from headsmith.refusal import Refusal


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.fixture
def mixed() -> Network:
    """Every kind of layer, three input tokens, a stream of 5 features that is 4 wide for a while."""
    torch.manual_seed(3)
    maps = [Dense(rand(2, 2, 5)), Sparse([[[0, 1]]] * 2, rand(2, 1, 2), 5), Select.writing([[3], [3]], 5)]
    first = Attention(
        Select([[0, 1]] * 2, 5), maps[0], maps[1], maps[2], visible=["causal", "self"],
        memory=rand(2, 3, 5), memory_mask=[[1, 1, 1], [1, 0, 0]], residual=True, scale=0.7,
    )  # fmt: skip
    second = Attention(*[Dense(rand(1, 2, 4))] * 3, Dense(rand(1, 4, 2)), memory=rand(2, 4), weights="relu")
    return Network(
        {
            "lift": Affine(Select([0, 1, -1, -1, -1], 2), bias=[0.0, 0.0, 1.0, 0.0, 0.0]),
            "first": first,
            "mlp": FeedForward(Dense(rand(6, 5)), Dense(rand(5, 6)), rand(6), rand(5), "gelu", residual=True),
            "narrow": Affine(Dense(rand(4, 5)), rand(4, 4), source=[0, 2, -1, 1]),
            "second": second,
            "mix": TokenMix(Select([3, 0], 4)),
            "read": Affine(Select([0, 3], 4)),
        },
        tokens=["a", "b", "c"],
        features=["x", "w", "one", "y", "z"],
        variables={"y": ("first", "b", slice(3, 4))},
    )


PADDING = torch.tensor([[False, False, True], [True, False, False]])


def test_dense_twin_is_the_same_function(mixed, scalar):
    x = rand(2, 3, 2)
    twin = mixed.dense()
    assert torch.allclose(twin(x), mixed(x), rtol=0, atol=1e-12)
    assert torch.allclose(twin(x, PADDING), mixed(x, PADDING), rtol=0, atol=1e-12)
    assert all(isinstance(m, Dense) for m in twin.modules() if isinstance(m, hn.Map))
    assert all(layer.memory is None for layer in twin.layers.values() if isinstance(layer, Attention))
    at, token, where = twin.variables["y"]
    before = mixed.trace(x)["blocks.1.hook_resid_post"][..., 1, 3:4]
    assert torch.allclose(twin.trace(x)[f"blocks.{at}.hook_resid_post"][..., token, where], before)
    z = rand(50, 1, 1)
    assert torch.allclose(scalar.both().dense()(z), scalar.both()(z), rtol=0, atol=1e-12)


def test_rotated_twin_is_the_same_function_in_another_basis(mixed):
    x = rand(2, 3, 2)
    twin = mixed.rotated(7)
    assert torch.allclose(twin(x), mixed(x), rtol=0, atol=1e-10)
    plain, hidden = mixed.trace(x), twin.trace(x)
    for block, width in ((0, 5), (1, 5), (2, 5), (3, 4), (5, 4)):
        name = f"blocks.{block}.hook_resid_post"
        assert not torch.allclose(plain[name], hidden[name], atol=1e-2)
        assert torch.allclose(plain[name] @ rotation(7, width), hidden[name], atol=1e-10)
    assert twin.variables == {} and set(twin.features).isdisjoint(mixed.features)
    assert not torch.equal(mixed.rotated(8).tensors()["lift.bias"], twin.tensors()["lift.bias"])
    q = rotation(7, 6)
    assert torch.allclose(q @ q.T, torch.eye(6, dtype=torch.float64), atol=1e-14)


def test_rotation_needs_a_hidden_stream():
    with pytest.raises(Refusal, match="affine"):
        Network([Affine(Select([0], 1))]).rotated(0)


def test_trace_has_the_names_and_the_shapes(mixed):
    x = rand(2, 3, 2)
    record = mixed.trace(x)
    assert set(record) == set(mixed.hook_names())
    shape = {name.removeprefix("blocks.1."): tuple(v.shape) for name, v in record.items() if "blocks.1." in name}
    assert shape["attn.hook_q"] == (2, 3, 2, 2) and shape["attn.hook_z"] == (2, 3, 2, 1)
    assert shape["attn.hook_pattern"] == shape["attn.hook_attn_scores"] == (2, 2, 3, 6)
    assert shape["attn.hook_memory_k"] == (3, 2, 2) and shape["attn.hook_result"] == (2, 3, 2, 5)
    pattern = record["blocks.1.attn.hook_pattern"]
    assert torch.allclose(pattern.sum(-1), torch.ones(2, 2, 3, dtype=torch.float64))
    total = record["blocks.1.hook_resid_pre"] + record["blocks.1.attn.hook_result"].sum(-2)
    assert torch.allclose(total, record["blocks.1.hook_resid_post"])
    assert torch.equal(record["blocks.6.hook_resid_post"], mixed(x))


def test_hooks_replace_values_and_leave_no_trace(scalar):
    network, x = scalar.both(), rand(20, 1, 1)
    plain = network(x)

    def without_gate(z):
        return z * torch.tensor([[1.0], [0.0]], dtype=z.dtype)

    for name in ("attn.hook_z", "attn.hook_result"):
        with network.hooks({f"blocks.1.{name}": without_gate}):
            assert torch.allclose(network(x), torch.sigmoid(3 * x - 1), atol=1e-14)
            assert torch.equal(network.trace(x)["blocks.2.hook_resid_post"], network(x))
    with network.hooks({"blocks.1.attn.hook_pattern": lambda p: torch.zeros_like(p)}):
        assert (network(x) == 0).all()
    assert torch.equal(network(x), plain)
    with pytest.raises(Refusal, match="hook_s"), network.hooks({"blocks.1.attn.hook_s": without_gate}):
        pass


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_other_dtypes(mixed, scalar, dtype):
    x = rand(2, 3, 2)
    y = copy.deepcopy(mixed).to(dtype)(x.to(dtype))
    assert y.dtype == dtype
    error = (y.double() - mixed(x)).abs().max() / mixed(x).abs().max()
    assert 0 < error < 20 * torch.finfo(dtype).eps
    z = torch.linspace(-2, 2, 9, dtype=dtype).reshape(-1, 1, 1)
    assert torch.allclose(scalar.both().to(dtype)(z), scalar.both()(z.double()).to(dtype), atol=0.05)


def test_twins_keep_the_dtype(mixed):
    half = copy.deepcopy(mixed).to(torch.float32)
    x = torch.randn(2, 3, 2)
    assert torch.allclose(half.dense()(x), half(x), rtol=1e-4, atol=1e-3)
    assert torch.allclose(half.rotated(1)(x), half(x), rtol=1e-3, atol=1e-2)


@pytest.mark.slow
def test_export(mixed, scalar):
    for network, x in ((mixed, rand(2, 3, 2)), (scalar.both(), rand(8, 1, 1))):
        program = torch.export.export(network, (x,))
        assert torch.equal(program.module()(x), network(x))
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(scalar.both(), (rand(8, 1, 1),), dynamic_shapes=({0: batch},), strict=False)
    x = rand(31, 1, 1)
    assert torch.allclose(program.module()(x), scalar.both()(x), atol=1e-15)


def test_gradients_and_copies(mixed):
    assert torch.autograd.gradcheck(mixed, rand(1, 3, 2).requires_grad_())
    twin, x = copy.deepcopy(mixed), rand(2, 3, 2)
    with torch.no_grad():
        next(twin.parameters()).add_(1.0)
    assert not torch.equal(twin(x), mixed(x))


def test_stock(mixed, scalar):
    maps = [Dense(rand(2, 2, 3))] * 3
    layers = [
        Affine(Dense(rand(3, 1))),
        Attention(*maps, Dense(rand(2, 3, 2)), visible="causal", memory=rand(2, 3), residual=True),
        FeedForward(Dense(rand(4, 3)), Dense(rand(3, 4)), residual=True),
        Affine(Dense(rand(1, 3))),
    ]
    assert Network(layers).stock is True
    assert "mixes tokens" in mixed.stock and "relu attention" in mixed.stock and "single heads" in mixed.stock
    assert "neither all nor causal" in scalar.sigmoid().stock


def test_prints_as_a_short_table(mixed):
    lines = repr(mixed).splitlines()
    assert len(lines) == 8 and "2 heads of 2, softmax, sees mixed, 4 memory, residual" in lines[2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Network([]),
        lambda: Network([Affine(Select([0, 0], 1)), Affine(Select([0], 3))]),
        lambda: Network({"a.b": Affine(Select([0], 1))}),
        lambda: Network([Affine(Select([0], 1))])(rand(2, 1, 3)),
        lambda: Network([Affine(Select([0], 1))])(rand(2, 1, 1), torch.zeros(1, dtype=torch.bool)),
    ],
)
def test_malformed_networks_and_inputs_are_refused(make):
    with pytest.raises(Refusal):
        make()
