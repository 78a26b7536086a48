import copy
import json
import os

import pytest
import torch

from headsmith.network import (
    Affine,
    Attention,
    Dense,
    FeedForward,
    Network,
    Select,
    Sparse,
    TokenMix,
    digest,
    from_config,
    load_tensors,
    save_tensors,
)  # fmt: skip
from headsmith.refusal import Refusal


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.fixture
def network() -> Network:
    torch.manual_seed(5)
    attention = Attention(
        Select([[0, 1]] * 2, 3), Sparse([[[0, 1], [2, 2]]] * 2, rand(2, 2, 2), 3), Dense(rand(2, 1, 3)),
        Select.writing([[2], [1]], 3), visible=["none", "self"], memory=rand(2, 2, 3),
        memory_mask=[[1, 1], [1, 0]], scale=0.1, residual=True,
    )  # fmt: skip
    table = Attention(*[Dense(rand(1, 1, 3))] * 3, Dense(rand(1, 3, 1)), visible=torch.eye(2) > 0, weights="relu")
    mlp = FeedForward(Dense(rand(4, 3)), Dense(rand(3, 4)), rand(4), None, "silu", residual=True)
    layers = {"lift": Affine(Select([0, -1, -1], 1), [0.0, 1.0, 0.0]), "head": attention, "table": table}
    layers |= {"mlp": mlp, "mix": TokenMix(Sparse([[0, 1]], [[0.1, 0.9]], 2))}
    layers["read"] = Affine(Select([2], 3), source=[0, 0])
    return Network(layers, tokens=["a", "b"], features=["x", "one", "y"], variables={"y": ("head", "a", slice(2, 3))})


def test_round_trip_is_bit_equal(network, tmp_path):
    path = tmp_path / "net.safetensors"
    config = json.dumps(network.config())
    save_tensors(path, network.tensors(), {"network": config})
    tensors, metadata = load_tensors(path)
    again = from_config(json.loads(metadata["network"]), tensors)
    x = rand(4, 2, 1)
    assert torch.equal(again(x), network(x))
    assert json.dumps(again.config()) == config
    assert again.tensors().keys() == tensors.keys() == network.tensors().keys()
    assert all(torch.equal(t, tensors[name]) for name, t in again.tensors().items())
    assert again.tokens == network.tokens and again.variables == network.variables
    assert [p.name for p in tmp_path.iterdir()] == ["net.safetensors"]


def test_config_holds_no_floats(network):
    def leaves(value):
        if isinstance(value, dict | list):
            for v in value.values() if isinstance(value, dict) else value:
                yield from leaves(v)
        else:
            yield value

    assert not any(isinstance(leaf, float) for leaf in leaves(network.config()))
    assert network.config()["layers"][1]["scale"] == (0.1).hex()
    assert network.config()["layers"][1]["query"] == {
        "kind": "select",
        "features": 3,
        "index": [[0, 1], [0, 1]],
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda c, t: c.pop("format"),
        lambda c, t: c.update(format=2),
        lambda c, t: c["layers"].pop(0),
        lambda c, t: c["layers"][1].update(kind="conv"),
        lambda c, t: c["layers"][1].update(name="lift"),
        lambda c, t: c["layers"][1].update(scale="fast"),
        lambda c, t: c["layers"][1].update(scale="nan"),
        lambda c, t: c["layers"][1].update(residual=1),
        lambda c, t: c["layers"][1].update(visible=[]),
        lambda c, t: c["layers"][1].update(visible=3),
        lambda c, t: c["layers"][1].update(memory_mask=[[2, 1], [1, 1]]),
        lambda c, t: c["layers"][1]["query"].update(index=[[0, 3], [0, 1]]),
        lambda c, t: c["layers"][1]["query"].update(index=[[0, 0.5], [0, 1]]),
        lambda c, t: c["layers"][1]["query"].update(index=[[0], [0, 1]]),
        lambda c, t: c["layers"][1]["query"].update(features="3"),
        lambda c, t: c["layers"][1].pop("value"),
        lambda c, t: c["layers"][5].update(source=["a"]),
        lambda c, t: c.update(variables={"y": [0, 0, 1]}),
        lambda c, t: c.update(variables={"y": [9, 0, 0, 1]}),
        lambda c, t: c.update(tokens="ab"),
        lambda c, t: c.update(layers=None),
        lambda c, t: t.pop("head.memory"),
        lambda c, t: t.update(extra=rand(1)),
        lambda c, t: t.update({"head.memory": rand(2, 3, 3)}),
        lambda c, t: t.update({"head.memory": torch.zeros(2, 2, 3)}),
        lambda c, t: t.update({"mlp.up_bias": rand(3)}),
    ],
)
def test_malformed_files_are_refused(network, change):
    config, tensors = copy.deepcopy(network.config()), network.tensors()
    change(config, tensors)
    with pytest.raises(Refusal):
        from_config(config, tensors)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(Refusal, match="No such file"):
        load_tensors(tmp_path / "none")
    for data in (b"", b"not a file", (8).to_bytes(8, "little") + b"notjson!"):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(Refusal, match="not a safetensors"):
            load_tensors(tmp_path / "bad")


@pytest.mark.parametrize("start", [b"", (2).to_bytes(8, "little") + b"{}", (2**35).to_bytes(8, "little") + b"{"])
def test_a_file_that_no_memory_holds_is_not_read(tmp_path, start):
    """64 GB of nothing, which takes no space, but for what stands in front of it."""
    path = tmp_path / "vast.safetensors"
    path.write_bytes(start)
    os.truncate(path, 2**36)
    with pytest.raises(Refusal, match=r"its (header does not fit|size is not)"):
        load_tensors(path)


def test_a_failed_save_leaves_the_old_file(network, tmp_path):
    path = tmp_path / "net.safetensors"
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        save_tensors(path, network.tensors(), {"number": 3})
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_a_network_replaces_a_file_of_ours_and_nothing_else(network, tmp_path):
    path = tmp_path / "net.safetensors"
    save_tensors(path, network.tensors(), {})
    save_tensors(path, network.tensors(), {"again": "yes"})
    assert load_tensors(path)[1]["again"] == "yes"
    path.write_bytes(b"a thesis")
    with pytest.raises(Refusal, match="was not written by headsmith"):
        save_tensors(path, network.tensors(), {})
    assert path.read_bytes() == b"a thesis"


def test_a_lone_entry_of_a_table_is_hashed_as_itself():
    """torch calls it contiguous, whatever its stride is, and cannot view it as bytes."""
    column = torch.arange(12.0, dtype=torch.float64).reshape(2, 6)[:1, 5]
    assert column.stride() == (6,)
    assert digest({}, {"b": column}) == digest({}, {"b": torch.tensor([5.0], dtype=torch.float64)})
