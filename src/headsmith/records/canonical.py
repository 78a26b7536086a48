"""JSON in one canonical spelling, with floats that come back bit for bit.

Two equal records must have equal bytes, or hashing them means nothing: keys are sorted, there is no white
space, and every float is written in hexadecimal under a tag, ``{"~float": "0x1.8p+1"}``, which also gives nan
and the infinities a spelling that strict JSON readers accept. Arrays keep their dtype and shape. A user's own
key that starts with ``~`` gets a second one, so that no record can be mistaken for a tag. Tuples are written
as lists: a configuration means the same with either.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from headsmith.records.files import sha256


def to_json(obj: Any) -> str:
    """The canonical JSON of numbers, strings, lists, tuples, dicts, numpy and torch arrays and scalars.

    >>> to_json({"b": 3.0, "a": (1, None)})
    '{"a":[1,null],"b":{"~float":"0x1.8000000000000p+1"}}'
    """
    return json.dumps(_encode(obj), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def from_json(text: str | bytes) -> Any:
    """The object that ``to_json`` wrote; arrays and tensors return with their dtype and shape.

    >>> from_json(to_json([0.1, float("inf")]))
    [0.1, inf]
    """
    return _decode(json.loads(text))


def content_hash(obj: Any) -> str:
    """SHA-256 of ``to_json(obj)``: equal for equal content, whatever the order of its keys.

    >>> content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    True
    """
    return sha256(to_json(obj).encode())


def _encode(obj: Any) -> Any:
    if obj is None or isinstance(obj, bool | str):
        return obj
    if isinstance(obj, int):
        return int(obj)
    if isinstance(obj, float):
        return {"~float": float.hex(obj)}
    if isinstance(obj, np.bool_ | np.integer | np.float16 | np.float32):
        return _encode(obj.item())
    if isinstance(obj, Mapping):
        return {_escape(key): _encode(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return [_encode(value) for value in obj]
    if isinstance(obj, torch.Tensor):
        exact = obj.detach().cpu()
        exact = exact.to(torch.float64) if exact.is_floating_point() else exact
        return _tagged("~tensor", str(obj.dtype).removeprefix("torch."), exact.numpy())
    if isinstance(obj, np.ndarray):
        return _tagged("~array", obj.dtype.name, obj)
    raise TypeError(f"a record holds real numbers, strings, lists, dicts and arrays, not {type(obj).__name__}")


def _tagged(tag: str, dtype: str, array: np.ndarray) -> Any:
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"a record holds arrays of booleans, integers and floats up to 64 bits, not {dtype}")
    values = array.ravel().tolist()
    if array.dtype.kind == "f":
        values = [value.hex() for value in values]
    return {tag: {"dtype": dtype, "shape": list(array.shape), "values": values}}


def _decode(node: Any) -> Any:
    if isinstance(node, list):
        return [_decode(value) for value in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        [(tag, body)] = node.items()
        if tag == "~float":
            return float.fromhex(body)
        if tag in ("~array", "~tensor"):
            values = [float.fromhex(v) if isinstance(v, str) else v for v in body["values"]]
            if tag == "~array":
                return np.array(values, dtype=body["dtype"]).reshape(body["shape"])
            return torch.tensor(values, dtype=getattr(torch, body["dtype"])).reshape(body["shape"])
    return {key[1:] if key.startswith("~") else key: _decode(value) for key, value in node.items()}


def _escape(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the keys of a record are strings, not {type(key).__name__}: {key!r}")
    return "~" + key if key.startswith("~") else key
