import pytest
import torch

from headsmith.network import Affine, Lookup, Network, Select, from_config, rotation
from headsmith.refusal import Refusal

KNOTS = {"left": [0.0, 1.0, 2.5], "slope": [2.0, 4.0, 2.0], "skip": [16.0, 16.0], "writes": [2, 0]}
LEVELS = [[1.0, 5.0], [2.0, 5.0], [-3.0, 6.0], [7.0, 0.0]]


def lookup(**changes):
    return Lookup(**{"direction": [0.0, 1.0, 0.5], "levels": LEVELS, **KNOTS, **changes})


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def test_a_level_stands_behind_each_ramp_and_halfway_up_between():
    t = torch.tensor([-9.0, 0.0, 0.25, 0.5, 0.99, 1.25, 2.0, 2.75, 99.0], dtype=torch.float64)
    halves = [[1.5, 5.0], [4.5 - 2.5, 3.0]]
    wanted = [LEVELS[0], LEVELS[0], halves[0], LEVELS[1], LEVELS[1], LEVELS[2], LEVELS[2], halves[1], LEVELS[3]]
    assert lookup().level(t).tolist() == wanted


def test_it_replaces_what_it_writes_and_leaves_the_rest():
    x = rand(2, 5, 3)
    out, layer = lookup()(x), lookup()
    assert torch.equal(out[..., 1], x[..., 1])
    assert torch.allclose(out[..., [2, 0]], layer.level(x @ layer.direction), atol=1e-13)


def test_the_dense_form_and_another_basis_compute_the_same():
    x, turn = 3 * rand(4, 5, 3), rotation(2, 3)
    layer = lookup()
    [dense] = layer.dense(5)
    assert torch.allclose(dense(x), layer(x), atol=1e-12)
    assert dense.up.rows == layer.units == 8 and dense.activation == "relu" and dense.residual
    assert torch.allclose(layer.rotated(turn, turn)(x @ turn), layer(x) @ turn, atol=1e-12)
    rank = torch.linalg.matrix_rank(dense.up.weight[:6])
    assert int(rank) == 1
    layers = {"lift": Affine(Select([0, 1, 2], 3)), "recall": layer, "read": Affine(Select([2], 3))}
    network = Network(layers, tokens=["a"] * 5, features=["a", "b", "c"])
    assert torch.allclose(network.rotated(1)(x), network(x), atol=1e-12)


def test_files_costs_and_words():
    network = Network({"recall": lookup()}, tokens=["a"])
    again = from_config(network.config(), network.tensors())
    x = rand(4, 3)
    assert again.config() == network.config() and torch.equal(again(x), network(x))
    layer = network.layers["recall"]
    assert layer.dense_parameters(1, 3) == 8 * 7 + 3 and layer.flops(2, 3) == 2 * (6 + 2 + 14)
    assert layer.summary() == "3 -> 8 relu -> 3 as a table, residual" and layer.unusual() is None


def test_what_it_reads_and_writes_can_be_seen_and_patched():
    network, x = Network({"recall": lookup()}, tokens=["a"]), rand(4, 3)
    trace = network.trace(x)
    assert torch.equal(trace["blocks.0.mlp.hook_read"], x @ network.layers["recall"].direction)
    with network.hooks({"blocks.0.mlp.hook_read": torch.zeros_like}):
        assert torch.allclose(network(x)[:, [2, 0]], torch.tensor(LEVELS[0], dtype=torch.float64))


@pytest.mark.parametrize(
    "changes",
    [
        {"left": [0.0, 1.0, 1.125]},
        {"left": [1.0, 0.0, 2.5]},
        {"slope": [2.0, 4.0, -2.0]},
        {"slope": [2.0, 4.0]},
        {"levels": LEVELS[:3]},
        {"writes": [0, 0]},
        {"writes": [0, 3]},
        {"skip": [1.0]},
        {"left": [], "slope": [], "levels": LEVELS[:1]},
    ],
)
def test_malformed_layers_are_refused(changes):
    with pytest.raises(Refusal):
        lookup(**changes)
