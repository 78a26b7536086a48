"""One place for a variable, and a name of it for each pass."""

import pytest
import torch

from headsmith.network import Affine, Network, Select, from_config
from headsmith.network.variables import Variables, read_variable
from headsmith.refusal import Refusal


def looped(**options):
    names = {"pair": (0, slice(1, 3), slice(0, 1)), "one": (0, "b", slice(1, 2))}
    copy = Affine(Select([0, 1], features=2), bias=[1.0, 0.0])
    options = {"variables": names, "loops": 4, **options}
    return Network({"copy": copy}, tokens=["a", "b", "c"], features=["x", "y"], **options)


def test_a_pass_has_names_of_its_own():
    places = looped().variables
    assert places["step 4 / pair"] == places["pair"] == (0, slice(1, 3), slice(0, 1))
    assert places["step 1 / one"] == (0, 1, slice(1, 2)) and "step 4 / one" in places


@pytest.mark.parametrize("name", ["step 0 / pair", "step 5 / pair", "step x / pair", "step 2 / other", "pass 2 / pair"])
def test_other_names_are_unknown(name):
    assert name not in looped().variables
    with pytest.raises(KeyError):
        looped().variables[name]


def test_one_pass_has_no_steps():
    assert "step 1 / a" not in Variables({"a": (0, 0, slice(0, 1))})


def test_the_place_is_where_the_variable_is():
    network, x = looped(), torch.arange(6.0, dtype=torch.float64).reshape(3, 2)
    behind = list(network.states(x))
    assert read_variable(behind[0], network.variables["step 3 / pair"]).tolist() == [[3.0], [5.0]]
    assert read_variable(behind[0], network.variables["one"]).tolist() == [3.0]


def test_states_are_what_each_layer_leaves():
    network = looped()
    twice = Network({"a": network.layers["copy"], "b": network.layers["copy"]}, tokens=["t"])
    x = torch.zeros(1, 2, dtype=torch.float64)
    assert [float(state[0, 0]) for state in twice.states(x)] == [1.0, 2.0]
    assert torch.equal([*twice.states(x)][-1], twice(x))


def test_files_hold_places_and_passes():
    network = looped()
    again = from_config(network.config(), network.tensors())
    assert again.variables == network.variables and again.variables.loops == 4
    assert again.config() == network.config() and "loops" not in looped(loops=1).config()


def test_what_a_rotated_network_does_it_does_as_often():
    layers = [Affine(Select([0, 1], features=2), bias=[1.0, 0.0])] * 2
    network = Network(layers, tokens=["a"], features=["x", "y"], loops=3)
    assert network.dense().variables.loops == network.rotated(0).variables.loops == 3


def test_tokens_that_are_not_there_are_refused():
    with pytest.raises(Refusal, match="placed at number 3"):
        looped(variables={"pair": (0, slice(1, 4), slice(0, 1))})
    config = looped().config()
    config["variables"]["pair"][1] = [0, True]
    with pytest.raises(Refusal, match="integer"):
        from_config(config, looped().tensors())
