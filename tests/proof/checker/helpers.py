"""What the tests of the checker share: small heads, formulas from text, functions in mpmath, forged files."""

import copy

import mpmath
import torch

from headsmith.compiler.files import read, seal, write
from headsmith.functions import parse
from headsmith.proof.checker import check, formulas
from headsmith.proof.checker.heads import Key
from headsmith.proof.checker.rounding import FORMATS
from headsmith.proof.checker.units import Matrix
from headsmith.proof.checker.wiring import tensor
from headsmith.proof.statement import Head

mpmath.mp.dps = 40
DOUBLE, SINGLE = FORMATS["F64"], FORMATS["F32"]


IDENTITY = (Key(0.0, 0.0, 0.0, 1.0),)


ONE = {
    "neg": lambda u: -u,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sqrt": mpmath.sqrt,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
    "sigmoid": lambda u: 1 / (1 + mpmath.exp(-u)),
    "erf": mpmath.erf,
    "relu": lambda u: max(u, mpmath.mpf(0)),
    "abs": abs,
    "silu": lambda u: u / (1 + mpmath.exp(-u)),
    "softplus": lambda u: mpmath.log(1 + mpmath.exp(u)),
    "gelu": lambda u: u * (1 + mpmath.erf(u / mpmath.sqrt(2))) / 2,
    "gelu_tanh": lambda u: u * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (u + mpmath.mpf("0.044715") * u**3))) / 2,
    "sign": lambda u: mpmath.mpf((u > 0) - (u < 0)),
    "step": lambda u: mpmath.mpf(u >= 0),
    "floor": mpmath.floor,
}


POSITIVE = {"log": 0.0, "sqrt": 0.0}  # least argument


def keys_of(head: Head):
    columns = (getattr(head, name).tolist() for name in ("slopes", "offsets", "values", "lines"))
    return tuple(Key(*row) for row in zip(*columns, strict=True))


def constant(level):
    return (Key(0.0, 0.0, level, 0.0),)


def tree_of(text):
    return formulas.read(parse(text).tree())


def held(tensors):
    """Tensors of torch as the checker reads them from a file."""
    names = {torch.float64: "F64", torch.float32: "F32"}
    raw = {name: ({"shape": list(t.shape), "data": t.numpy().tobytes()}, names[t.dtype]) for name, t in tensors.items()}
    return {name: tensor(own, FORMATS[kind]) for name, (own, kind) in raw.items()}


def matrix(rows, bias=None):
    """z = rows x + bias."""
    rows = [tuple(map(float, row)) for row in rows]
    return Matrix(rows, tuple(map(float, [0.0] * len(rows) if bias is None else bias)))


def forged(path, tmp_path, change, **budget):
    """The verdict on a file in which `change(manifest, tensors)` was made and every hash put right afterwards."""
    manifest, tensors = copy.deepcopy(read(path))
    change(manifest, tensors)
    return check(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors), **budget)


def scaled(text, factor):
    return (float.fromhex(text) * factor).hex()


def say(key, value):
    return lambda manifest, tensors: manifest["certificate"].update({key: value(manifest["certificate"][key])})


def leaves(node, path=()):
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from leaves(value, (*path, key))


RUBBISH = [None, True, -1, 10**30, 1.5, "", "x", "0x1p5000", [], {}, [[]], [None], {"x": 1}, "\u0000", [-1] * 9]
