import pytest
import torch

from headsmith.network import Affine, Embedding, Network, Select, from_config, rotation
from headsmith.refusal import Refusal


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def test_it_adds_the_row_of_an_id_and_that_of_a_place():
    table, places = rand(5, 3), rand(4, 3)
    ids = torch.tensor([[4, 0], [1, 1]])
    given = ids.unsqueeze(-1).double()
    assert torch.equal(Embedding(table, places)(given), table[ids] + places[:2])
    assert torch.equal(Embedding(table)(given), table[ids])
    x = rand(2, 3)
    assert torch.equal(Embedding(None, places)(x), x + places[:2])


def test_another_basis():
    table, places, turn = rand(5, 3), rand(4, 3), rotation(1, 3)
    ids = torch.tensor([[4.0], [0.0]], dtype=torch.float64)
    layer = Embedding(table, places)
    assert torch.allclose(layer.rotated(None, turn)(ids), layer(ids) @ turn, atol=1e-14)
    network = Network([layer, Affine(Select([0], 3))], tokens=["a", "b"], features=["x", "y", "z"])
    assert torch.allclose(network.rotated(3)(ids), network(ids), atol=1e-14)
    assert torch.equal(network.dense()(ids), network(ids))


def test_files_costs_and_words():
    network = Network([Embedding(rand(5, 3), rand(4, 3))], tokens=["a"])
    again = from_config(network.config(), network.tensors())
    ids = torch.tensor([[4.0], [0.0]], dtype=torch.float64)
    assert again.config() == network.config() and torch.equal(again(ids), network(ids))
    layer = network.layers["embedding0"]
    assert layer.dense_parameters(1, 1) == 27 and layer.flops(2, 1) == 6 and layer.unusual() is None
    assert layer.summary() == "5 ids of 3, 4 places" and Embedding(None, rand(2, 3)).summary() == "2 places"
    assert (layer.width_in, Embedding(None, rand(2, 3)).width_in) == (1, 3)


@pytest.mark.parametrize("parts", [(None, None), (rand(2, 3), rand(2, 4)), (rand(3), None)])
def test_malformed_layers_are_refused(parts):
    with pytest.raises(Refusal):
        Embedding(*parts)


def test_a_place_that_it_lacks_is_refused():
    with pytest.raises(Refusal, match="knows 2 places, not 3"):
        Embedding(None, rand(2, 3))(rand(3, 3))
