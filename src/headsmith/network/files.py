"""A network on disk: JSON for its shape, tensors for its numbers.

`network.config()` holds no number of the construction except `scale`; `network.tensors()` holds all others.
An independent checker can therefore re-derive every head from two plain objects. The schema, by example:

    {"format": 1,
     "tokens": ["input"],  "features": ["x", "one", "y"],
     "variables": {"y": [1, 0, 2, 3]},        layer, token or [first, behind the last], start, stop
     "loops": 20,                             how often it is run, if that is more than once
     "layers": [
      {"name": "lift", "kind": "affine", "map": MAP, "bias": [3], "source": null},    bias: shape or null
      {"name": "head", "kind": "attention", "weights": "softmax", "scale": "0x1.0000000000000p+0",
       "visible": "self",            or one word per head, or a 0/1 table (heads or 1, queries, keys)
       "residual": true,
       "memory": [2, 11, 7],         shape (tokens, features) or (heads, tokens, features), or null
       "memory_mask": null,          or 0/1 rows (heads, tokens); 0 = that head lacks that token
       "query": MAP, "key": MAP, "value": MAP, "output": MAP},
      {"name": "rule", "kind": "copies", "grid": [1, 11], "residual": true,            heads, copies
       "query": MAP, "key": MAP, "value": MAP, "output": MAP},
      {"name": "mix", "kind": "tokens", "mix": MAP},
      {"name": "mlp", "kind": "feedforward", "activation": "relu", "residual": true, "up": MAP, "down": MAP,
       "up_bias": true, "down_bias": false},
      {"name": "embed", "kind": "embedding", "table": [9, 4], "places": null},         shapes (ids or places, features)
      {"name": "recall", "kind": "lookup", "knots": 12, "features": 4, "writes": [0]}]}

    MAP = {"kind": "select", "features": 7, "index": [[0, 1]]}     y[h][r] = x[index[h][r]], -1 gives 0
        | {"kind": "sparse", "features": 7, "index": [[[0, 4]]]}   y[h][r] = sum_i coefficient[h][r][i] x[...]
        | {"kind": "dense", "shape": [1, 2, 7]}                    y[h] = weight[h] x
    (without the outer list, one map for all tokens instead of one per head)

Tensor names are layer.part.tensor: "head.memory", "head.key.coefficient", "mlp.up.weight", "mlp.up_bias",
"lift.bias". Head h scores the keys [data tokens | memory tokens] (for "self" and "none" heads the data part
is the token itself, or hidden): score_j = scale * query_h(x) . key_h(y_j), and adds output_h(sum_j weight_j
value_h(y_j)) to the stream.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.network.affine import Affine
from headsmith.network.attention import Attention
from headsmith.network.copies import Copies
from headsmith.network.embedding import Embedding
from headsmith.network.feedforward import FeedForward
from headsmith.network.layer import Layer, Tap
from headsmith.network.lookup import Lookup
from headsmith.network.maps import Dense, Map, Select, Sparse
from headsmith.network.network import Network
from headsmith.network.tokens import TokenMix
from headsmith.records import write_output
from headsmith.records.authorship import MARK
from headsmith.refusal import Refusal

Config = Mapping[str, Any]
HEADER = 100_000_000  # bytes; safetensors refuses longer ones


class Shelf:
    """The tensors of a file, each handed out once, so that a missing or a spare one is noticed."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.left = dict(tensors)
        kinds = {tensor.dtype for tensor in self.left.values()}
        if len(kinds) > 1 or not all(kind.is_floating_point for kind in kinds):
            raise Refusal("the tensors of a network must all have one floating-point dtype.")

    def take(self, name: str, shape: list[int] | None = None) -> Tensor:
        """One tensor, of this shape, which nobody can take again."""
        tensor = self.left.pop(name, None)
        if tensor is None:
            raise Refusal(f"the network file lacks the tensor {name!r}.")
        if shape is not None and list(tensor.shape) != shape:
            raise Refusal(f"the tensor {name!r} has shape {list(tensor.shape)}, but the network needs {shape}.")
        return tensor


def from_config(config: Config, tensors: Mapping[str, Tensor]) -> Network:
    """The network that `config()` and `tensors()` came from, bit for bit; anything malformed is refused."""
    shelf = Shelf(tensors)
    try:
        if config["format"] != 1:
            raise Refusal(f"network format {config['format']!r} is not known here; this version reads format 1.")
        layers = {layer["name"]: LAYERS[layer["kind"]](layer, layer["name"], shelf) for layer in config["layers"]}
        if len(layers) != len(config["layers"]):
            raise Refusal("the network file names two layers alike.")
        variables = {
            name: (integer(at), _token(token), slice(integer(start), integer(stop)))
            for name, (at, token, start, stop) in config["variables"].items()
        }
        tokens, features = _names(config["tokens"]), _names(config["features"])
        loops = integer(config.get("loops", 1))
        network = Network(layers, tokens=tokens, features=features, variables=variables, loops=loops)
    except Refusal:
        raise
    except KeyError as error:
        raise Refusal(f"the network description lacks, or does not know, {error.args[0]!r}.") from None
    except (TypeError, ValueError, AttributeError, IndexError, RuntimeError, OverflowError) as error:
        raise Refusal(f"the network description is malformed ({error}).") from None
    if shelf.left:
        raise Refusal(f"the network file holds a tensor {min(shelf.left)!r} that no layer uses.")
    return network


def _map(config: Config, name: str, shelf: Shelf) -> Map:
    if config["kind"] == "dense":
        return Dense(shelf.take(f"{name}.weight", config["shape"]))
    index, features = _integers(config["index"]), integer(config["features"])
    if config["kind"] == "select":
        return Select(index, features)
    if config["kind"] == "sparse":
        return Sparse(index, shelf.take(f"{name}.coefficient", list(index.shape)), features)
    raise Refusal(f"no map is called {config['kind']!r}; there are select, sparse and dense.")


def _affine(config: Config, name: str, shelf: Shelf) -> Layer:
    bias = None if config["bias"] is None else shelf.take(f"{name}.bias", config["bias"])
    source = None if config["source"] is None else _integers(config["source"]).tolist()
    return Affine(_map(config["map"], f"{name}.map", shelf), bias, source)


def _attention(config: Config, name: str, shelf: Shelf) -> Layer:
    maps = [_map(config[part], f"{name}.{part}", shelf) for part in ("query", "key", "value", "output")]
    mask = None if config["memory_mask"] is None else _bits(config["memory_mask"])
    visible = config["visible"]
    if isinstance(visible, list) and isinstance(visible[0], list):
        visible = _bits(visible)
    return Attention(
        *maps,
        visible=visible,
        memory=None if config["memory"] is None else shelf.take(f"{name}.memory", config["memory"]),
        memory_mask=mask,
        weights=config["weights"],
        scale=float.fromhex(config["scale"]),
        residual=flag(config["residual"]),
    )


def _copies(config: Config, name: str, shelf: Shelf) -> Layer:
    query, key, value, output = (_map(config[m], f"{name}.{m}", shelf) for m in ("query", "key", "value", "output"))
    slopes, offsets, levels = (shelf.take(f"{name}.{t}", config["grid"]) for t in ("slopes", "offsets", "levels"))
    return Copies(query, key, value, output, slopes, offsets, levels, residual=flag(config["residual"]))


def _tokens(config: Config, name: str, shelf: Shelf) -> Layer:
    return TokenMix(_map(config["mix"], f"{name}.mix", shelf))


def _feedforward(config: Config, name: str, shelf: Shelf) -> Layer:
    up, down = (_map(config[part], f"{name}.{part}", shelf) for part in ("up", "down"))
    bias = {part: shelf.take(f"{name}.{part}") for part in ("up_bias", "down_bias") if flag(config[part])}
    return FeedForward(up, down, **bias, activation=config["activation"], residual=flag(config["residual"]))


def _embedding(config: Config, name: str, shelf: Shelf) -> Layer:
    parts = {part: config[part] for part in ("table", "places")}
    return Embedding(**{part: shape and shelf.take(f"{name}.{part}", shape) for part, shape in parts.items()})


def _lookup(config: Config, name: str, shelf: Shelf) -> Layer:
    writes, knots, features = config["writes"], integer(config["knots"]), integer(config["features"])
    written = [integer(w) for w in writes]
    shapes = {"direction": [features], "left": [knots], "slope": [knots], "levels": [knots + 1, len(written)]}
    tensors = {part: shelf.take(f"{name}.{part}", shape) for part, shape in shapes.items()}
    return Lookup(**tensors, skip=shelf.take(f"{name}.skip", [len(written)]), writes=written)


LAYERS: dict[str, Callable[[Config, str, Shelf], Layer]] = {  # other rooms add the kinds they define
    "affine": _affine,
    "attention": _attention,
    "copies": _copies,
    "tokens": _tokens,
    "feedforward": _feedforward,
    "embedding": _embedding,
    "lookup": _lookup,
}


def integer(value: Any) -> int:
    """An integer, and nothing that only equals one."""
    if type(value) is not int:
        raise Refusal(f"the network description has {value!r} where an integer belongs.")
    return value


def _integers(value: Any) -> Tensor:
    table = torch.tensor(value)
    if table.dtype != torch.int64:
        raise Refusal("the network description has an index that is not a table of integers.")
    return table


def _bits(value: Any) -> Tensor:
    table = _integers(value)
    if not bool(((table == 0) | (table == 1)).all()):
        raise Refusal("the network description has a mask with entries other than 0 and 1.")
    return table.bool()


def _token(value: Any) -> int | slice:
    if isinstance(value, list):
        start, stop = value
        return slice(integer(start), integer(stop))
    return integer(value)


def flag(value: Any) -> bool:
    """True or false, and nothing that only equals them."""
    if type(value) is not bool:
        raise Refusal(f"the network description has {value!r} where true or false belongs.")
    return value


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise Refusal("the token and feature names of a network must be lists of strings.")
    return value


def fingerprint(network: Network) -> str:
    """SHA-256 over the wiring and every tensor: name, dtype, shape and bytes."""
    return digest(network.config(), network.tensors())


def wiring(network: Network) -> str:
    """SHA-256 over what the layers run on and a file does not name: buffers, and every attribute of every layer.

    `fingerprint` speaks of what a network says of itself; a layer whose slices or reach were set by hand says the same.
    """
    own, tensors = vars(nn.Module()), dict(network.named_buffers())
    plain: dict[str, str] = {}
    for path, layer in network.named_modules():
        for name, value in vars(layer).items():
            if isinstance(value, Tensor):
                tensors[f"{path}.{name} "] = value
            elif name not in own and not isinstance(value, Tap):
                plain[f"{path}.{name}"] = repr(value)
    return digest(plain, tensors)


def digest(config: Any, tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over JSON and tensors.

    >>> digest({"a": 1}, {})[:12]
    '015abd7f5cc5'
    """
    found = hashlib.sha256(canonical(config).encode())
    for name, tensor in sorted(tensors.items()):
        data = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)  # strides of lone entries, too
        found.update(f"{name}|{str(data.dtype).removeprefix('torch.')}|{list(data.shape)}|".encode())
        found.update(data.reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def canonical(obj: Any) -> str:
    """JSON in one spelling: sorted keys, no white space, ASCII."""
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def save_tensors(path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Writes a safetensors file with our mark, whole or not at all; a file of somebody else's is kept."""
    from safetensors.torch import save

    own = {name: t.detach().cpu().clone(memory_format=torch.contiguous_format) for name, t in tensors.items()}
    write_output(path, save(own, {MARK: "tensors", **metadata}))


def load_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """(tensors, metadata) of a safetensors file; a file that is none is refused."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    if not isinstance(path, str | os.PathLike):
        raise Refusal(f"a file is named by a path, not by {path!r}.")
    if Path(path).exists() and not Path(path).is_file():
        raise Refusal(f"{path} cannot be read: it is not a regular file.")
    try:
        header, data = _whole(path)
        tensors = load(data)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}.") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise Refusal(f"{path} is not a safetensors file ({error}).") from None
    return tensors, header.get("__metadata__", {})


def _whole(path: str | os.PathLike[str]) -> tuple[dict[str, Any], bytes]:
    """(header, the file), which is not read before its size is known to be what the header says."""
    with open(path, "rb") as file:
        size, length = os.fstat(file.fileno()).st_size, int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, HEADER):
            raise ValueError("its header does not fit into it")
        header = json.loads(file.read(length))
        ends = [told["data_offsets"][1] for name, told in header.items() if name != "__metadata__"]
        if 8 + length + max(ends, default=0) != size:
            raise ValueError("its size is not what its header says")
        file.seek(0)
        return header, file.read()
