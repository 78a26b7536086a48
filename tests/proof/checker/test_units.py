"""Matrices and heads from a wiring: what was built is read, what is read is what runs, nothing else is read at all."""

import copy
import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from flint import arb
from tests.compiler.forgery import wirings

from headsmith.constructions.units import stack_network
from headsmith.network import from_config
from headsmith.proof.checker.programs import value
from headsmith.proof.checker.units import matrices_of, unit_heads, width
from headsmith.proof.checker.verdict import Rejected
from headsmith.proof.stack import Linear
from headsmith.proof.statement import Head

from .helpers import held, keys_of, matrix

SLOPE = Head(*(np.array(row) for row in ([2.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0])))
LINE = Head(*(np.array(row) for row in ([2.0, 0.0], [0.5, 0.0], [0.25, 0.0], [-1.5, 0.0])))
STEEP = Head(*(np.array(row) for row in ([3.0, 0.0], [-1.0, 0.0], [1.5, 0.0], [0.5, 0.0])))
TABLE = Head.table(np.array([-1.0, 0.0, 2.0]), np.array([0.5, 0.25, -1.0]), np.array([-1.0, 0.5, 2.0]))

STACKS = {
    "a gate": ((2, 3, 1), [(SLOPE,)]),
    "two gates": ((5, 6, 2), [(SLOPE, SLOPE)]),
    "gates with offsets": ((2, 2, 1), [(LINE, STEEP)]),
    "a table": ((3, 2, 5), [(TABLE,)]),
    "three layers": ((1, 2, 5, 1), [(LINE,), (TABLE,)]),
    "one matrix": ((4, 2), []),
}


def made(name, dtype=torch.float64):
    """(what a network says, its tensors, matrices, heads): random matrices and the heads of `STACKS`."""
    widths, heads = STACKS[name]
    draw = np.random.default_rng(len(widths))
    eighths = ((draw.integers(-20, 20, (b, a)) / 8, draw.integers(-20, 20, b) / 8) for a, b in pairwise(widths))
    linears = [Linear(*numbers) for numbers in eighths]
    network = stack_network(linears, heads, dtype)
    matrices = [matrix(linear.weight.tolist(), linear.bias.tolist()) for linear in linears]
    return network.config(), network.tensors(), matrices, heads


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", STACKS)
def test_heads_are_read_as_they_were_built(name, dtype):
    config, tensors, matrices, heads = made(name, dtype)
    assert unit_heads(config, held(tensors), matrices) == [tuple(map(keys_of, own)) for own in heads]


def by_hand(matrices, heads, x):
    """W sum of heads(.. W x + b ..) + b in balls."""
    for l, own in enumerate(matrices):
        x = [
            sum((arb(w) * y for w, y in zip(row, x, strict=True)), arb(b))
            for row, b in zip(own.rows, own.bias, strict=True)
        ]
        x = [value(heads[l], 0.0, z) for z in x] if l < len(heads) else x
    return [float(y) for y in x]


def runs_as_read(config, tensors, matrices, heads):
    """Whether the network computes what its matrices and these heads do."""
    x = np.random.default_rng(7).uniform(-1, 1, len(matrices[0].rows[0])).tolist()
    found = from_config(config, tensors)(torch.tensor([x], dtype=torch.float64))[0]
    return found.tolist() == pytest.approx(by_hand(matrices, heads, list(map(arb, x))), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", STACKS)
def test_what_is_read_is_what_runs(name):
    """For every forgery of every wire and number, too: it is rejected, or still the network that is read."""
    config, tensors, matrices, _ = made(name)
    assert runs_as_read(config, tensors, matrices, unit_heads(config, held(tensors), matrices))
    rejected = 0
    for what, manifest, changed in wirings({"network": config}, tensors):
        try:
            heads = unit_heads(manifest["network"], held(changed), matrices)
        except (Rejected, KeyError, TypeError, ValueError):
            rejected += 1
            continue
        assert runs_as_read(manifest["network"], changed, matrices, heads), what
    assert rejected > 100


# one thing changed


def layer(key, new, at=2):
    return lambda network, tensors: network["layers"][at].update({key: new(network["layers"][at][key])})


def entry(name, place, step):
    def change(network, tensors):
        tensors[name][place] += step

    return change


def shaped(name, shape):
    return lambda network, tensors: tensors.update({name: tensors[name].reshape(shape)})


def more(name):
    return lambda network, tensors: tensors.update({name: torch.cat([tensors[name], tensors[name][-1:]])})


def one_more_unit(network, tensors):
    """A unit that reads z_2 again, with the numbers of the others, and writes a column of its own."""
    own = network["layers"][2]
    for part in ("query", "key", "value"):
        own[part]["index"].insert(1, own[part]["index"][1])
    own["output"]["shape"][0] += 1
    for name in ("output.weight", "key.coefficient", "value.coefficient"):
        rows = tensors[f"units1.{name}"]
        tensors[f"units1.{name}"] = torch.cat([rows[:1], rows[1:2], rows[1:]])


NAMES = {
    "a feature of another name": lambda n, t: n["features"].__setitem__(0, "y"),
    "a feature more": lambda n, t: n["features"].append("y"),
    "a variable elsewhere": lambda n, t: n["variables"]["z1"].__setitem__(0, 2),
    "a variable more": lambda n, t: n["variables"].update(z9=[1, 0, 0, 1]),
    "two tokens": lambda n, t: n["tokens"].append("other"),
    "another format": lambda n, t: n.update(format=2),
    "a format that only equals one": lambda n, t: n.update(format=True),
    "one word more": lambda n, t: n.update(note="proved"),
    "one word more in a layer": lambda n, t: n["layers"][2].update(note="proved"),
    "a layer of another name": layer("name", lambda name: "units2"),
    "a flag that only equals false": layer("residual", lambda flag: 0),
    "an index that only equals one": layer("memory", lambda shape: [1.0, shape[1]]),
}

LAYERS = {
    "the lift reads x_2 first": lambda n, t: n["layers"][0]["map"]["index"].__setitem__(0, 1),
    "the lift has a source": layer("source", lambda source: [0], 0),
    "the lift is a bias": entry("lift.bias", 0, 0.5),
    "one is two": entry("lift.bias", -1, 1.0),
    "the outputs are others": lambda n, t: n["layers"][-1]["map"]["index"].__setitem__(0, 1),
    "the outputs are fewer": lambda n, t: n["layers"][3]["map"]["index"].append(0),
    "the first matrix": entry("linear1.value.weight", (0, 0, 0), 0.5),
    "the first bias": entry("linear1.value.weight", (0, 0, -1), 0.5),
    "the first one": entry("linear1.value.weight", (0, -1, -1), 0.5),
    "the first gap": entry("linear1.value.weight", (0, 0, 2), 0.5),
    "the first matrix sees others": layer("visible", lambda seen: "all", 1),
    "the first matrix as a residual": layer("residual", lambda flag: True, 1),
    "the next matrix": entry("units1.output.weight", (0, 0, 0), 0.5),
    "the next matrix, of the second head": entry("units1.output.weight", (2, 0, 0), 0.5),
    "the next bias": entry("units1.output.weight", (-1, 0, 0), 0.5),
    "the next one": entry("units1.output.weight", (-1, -1, 0), 0.5),
    "a unit that writes one": entry("units1.output.weight", (0, -1, 0), 0.5),
    "a unit that writes a gap": entry("units1.output.weight", (0, 2, 0), 0.5),
    "a key of the second unit alone": entry("units1.key.coefficient", (1, 0, 0), 0.5),
    "an offset of the second unit alone": entry("units1.key.coefficient", (1, 1, 0), 0.5),
    "a line of the second unit alone": entry("units1.value.coefficient", (1, 0, 0), 0.5),
    "a value of the second unit alone": entry("units1.value.coefficient", (1, 0, 1), 0.5),
    "a key of the last head": entry("units1.key.coefficient", (-1, 0, 0), 0.5),
    "an offset of the last head": entry("units1.key.coefficient", (-1, 1, 0), 0.5),
    "a value of the last head": entry("units1.value.coefficient", (-1, 0, 0), 0.5),
    "a second value of the last head": entry("units1.value.coefficient", (-1, 0, 1), 0.5),
    "the empty token": entry("units1.memory", (0, 1), 0.5),
    "a query": lambda n, t: n["layers"][2]["query"]["index"].__setitem__(1, [0, 4]),
    "a key": lambda n, t: n["layers"][2]["key"]["index"].__setitem__(1, [[0], [4]]),
    "a value": lambda n, t: n["layers"][2]["value"]["index"].__setitem__(1, [[0, 4]]),
    "a mask": layer("memory_mask", lambda mask: [[0]] * 5),
    "a scale": layer("scale", lambda text: (2.0).hex()),
    "relu weights": layer("weights", lambda word: "relu"),
    "nothing is seen": layer("visible", lambda word: "none"),
    "a residual": layer("residual", lambda flag: True),
    "a unit more": one_more_unit,
    "a layer twice": lambda n, t: n["layers"].insert(2, n["layers"][2]),
    "no layer": lambda n, t: n["layers"].pop(2),
}

SHAPES = {
    "a bias with an axis more": shaped("lift.bias", (1, 5)),
    "a flat matrix": shaped("linear1.value.weight", (-1,)),
    "a matrix turned round": shaped("units1.output.weight", (1, 5, 5)),
    "a memory with an axis more": shaped("units1.memory", (1, 1, 5)),
    "flat keys": shaped("units1.key.coefficient", (-1,)),
    "flat values": shaped("units1.value.coefficient", (-1,)),
    "a bias more": more("lift.bias"),
    "a matrix more": more("linear1.value.weight"),
    "a key more": more("units1.key.coefficient"),
    "a value more": more("units1.value.coefficient"),
    "a memory more": more("units1.memory"),
    "a spare tensor": lambda n, t: t.update(spare=t["lift.bias"]),
    "no keys": lambda n, t: t.update({"units1.key.coefficient": torch.zeros(0, 2, 1, dtype=torch.float64)}),
}


@pytest.mark.parametrize("lie", [*NAMES, *LAYERS, *SHAPES])
def test_any_other_gates_are_rejected(lie):
    config, tensors, matrices, _ = made("gates with offsets")
    network, numbers = copy.deepcopy(config), {name: t.clone() for name, t in tensors.items()}
    {**NAMES, **LAYERS, **SHAPES}[lie](network, numbers)
    assert json.dumps(network) != json.dumps(config) or held(numbers) != held(tensors), "this lie changes nothing"
    with pytest.raises(Rejected):
        unit_heads(network, held(numbers), matrices)


def written_twice(network, tensors):
    """Columns for two heads of each unit, but one head."""
    own = tensors["units1.output.weight"]
    tensors["units1.output.weight"] = torch.cat([own[:-1], own])
    network["layers"][2]["output"]["shape"][0] = len(own) * 2 - 1


TABLES = {
    "columns for two heads": written_twice,
    "a lead": entry("units1.memory", (0, 3), 1.0),
    "a second lead": entry("units1.memory", (1, 3), 1000.0),
    "a one": entry("units1.memory", (1, -1), 1.0),
    "a memory of each head": lambda n, t: (
        n["layers"][2].update(memory=[3, 3, 5]),
        t.update({"units1.memory": t["units1.memory"].expand(3, 3, 5).contiguous()}),
    ),
    "a query": lambda n, t: n["layers"][2]["query"]["index"].__setitem__(1, [0, 4]),
    "a key": lambda n, t: n["layers"][2]["key"]["index"].__setitem__(1, [0, 2]),
    "the key of the last head": lambda n, t: n["layers"][2]["key"]["index"].__setitem__(-1, [3, 1]),
    "a value": lambda n, t: n["layers"][2]["value"]["index"].__setitem__(1, [1]),
    "a token is seen": layer("visible", lambda word: "self"),
    "no keys": lambda n, t: (
        n["layers"][2].update(memory=[0, 5]),
        t.update({"units1.memory": t["units1.memory"][:0]}),
    ),
}


@pytest.mark.parametrize("lie", TABLES)
def test_any_other_table_is_rejected(lie):
    config, tensors, matrices, _ = made("a table")
    network, numbers = copy.deepcopy(config), {name: t.clone() for name, t in tensors.items()}
    TABLES[lie](network, numbers)
    with pytest.raises(Rejected):
        unit_heads(network, held(numbers), matrices)


def test_numbers_of_the_heads_are_free():
    """Keys that all units share, and a memory token more, are other heads: what they are worth is for the proof."""
    config, tensors, matrices, _ = made("a table")
    tensors["units1.memory"][1, :3] = torch.tensor([7.0, 8.0, 9.0])
    assert unit_heads(config, held(tensors), matrices)[0][0][1][:3] == (7.0, 8.0, 9.0)
    config, tensors, matrices, _ = made("a gate")
    tensors["units1.key.coefficient"][:-1] = 5.0
    assert unit_heads(config, held(tensors), matrices)[0][0][0].a == 5.0


def test_streams_have_four_places_at_least():
    assert [width(n) for n in (1, 4, 5, 9)] == [5, 5, 6, 10]


# the matrices of the target

TARGET = {
    "weights": [{"tensor": "weights.0"}, {"tensor": "weights.1"}],
    "biases": [{"tensor": "biases.0"}, {"tensor": "biases.1"}],
    "activations": [{"formula": ["var", "x"]}],
}
NUMBERS = {"weights.0": (3, 2), "biases.0": (3,), "weights.1": (1, 3), "biases.1": (1,)}


def numbered(shapes):
    return held({name: torch.arange(1.0, 1 + np.prod(shape)).double().reshape(shape) for name, shape in shapes.items()})


def test_matrices_are_read_row_by_row():
    first, second = matrices_of(TARGET, numbered(NUMBERS))
    assert first.rows == [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)] and first.bias == (1.0, 2.0, 3.0)
    assert second.columns == [(1.0,), (2.0,), (3.0,)] and second.bias == (1.0,)


ONE = {part: TARGET[part][:1] for part in ("weights", "biases")}
MALFORMED = {
    "names turned round": ({**TARGET, "weights": TARGET["weights"][::-1]}, NUMBERS),
    "one matrix twice": ({**TARGET, "weights": TARGET["weights"][:1] * 2}, NUMBERS),
    "a word more": ({**TARGET, "weights": [{**TARGET["weights"][0], "more": 1}, TARGET["weights"][1]]}, NUMBERS),
    "no list": ({**TARGET, "weights": "weights.0"}, NUMBERS),
    "no matrices": ({"weights": [], "biases": [], "activations": []}, {}),
    "fewer biases": ({**TARGET, "biases": TARGET["biases"][:1]}, {k: NUMBERS[k] for k in NUMBERS if k != "biases.1"}),
    "another activation": ({**TARGET, "activations": TARGET["activations"] * 2}, NUMBERS),
    "a tensor more": (TARGET, {**NUMBERS, "weights.2": (1, 1)}),
    "matrices that do not follow": (TARGET, {**NUMBERS, "weights.1": (1, 4)}),
    "a bias more": (TARGET, {**NUMBERS, "biases.0": (4,)}),
    "a bias with two axes": (TARGET, {**NUMBERS, "biases.0": (3, 1)}),
    "a matrix with three axes": (TARGET, {**NUMBERS, "weights.0": (3, 2, 1)}),
    "nothing comes in": ({**ONE, "activations": []}, {"weights.0": (3, 0), "biases.0": (3,)}),
    "nothing comes out": ({**ONE, "activations": []}, {"weights.0": (0, 3), "biases.0": (0,)}),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_targets_are_rejected(name):
    target, shapes = MALFORMED[name]
    with pytest.raises(Rejected):
        matrices_of(target, numbered(shapes))
