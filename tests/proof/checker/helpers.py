"""What the tests of the checker share: small heads, formulas from text, functions in mpmath."""

import mpmath

from headsmith.functions import parse
from headsmith.proof.checker import formulas
from headsmith.proof.checker.heads import Key
from headsmith.proof.checker.rounding import FORMATS
from headsmith.proof.statement import Head

mpmath.mp.dps = 40
DOUBLE = FORMATS["F64"]


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
