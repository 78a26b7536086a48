"""The sentence of a certificate, derived from target, domain and dtype as Headsmith documents it."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from . import formulas
from .formulas import Formula
from .heads import Interval
from .programs import finite
from .units import Matrix
from .verdict import need
from .wiring import listed

ASSUMPTIONS = [
    "IEEE round to nearest, no TF32, no autocast",
    "explicit matmul, softmax, matmul (no fused attention kernel)",
    "exp inside softmax within 2 ulp; results below the normal range may be flushed to zero",
]


def exactly(x: float) -> str:
    """The shortest decimal that is this float."""
    return repr(float(x)).removesuffix(".0")


def interval(ends: Interval) -> str:
    """[lo, hi]."""
    return f"[{exactly(ends[0])}, {exactly(ends[1])}]"


def domain_of(request: Any, names: Sequence[str]) -> dict[str, Interval]:
    """The interval of every variable, in order."""
    said = request["domain"]
    need(isinstance(said, dict) and sorted(said) == sorted(names), "the domain has other variables than the target")
    found = {}
    for name in names:
        lo, hi = (finite(end) for end in listed(said[name], 2))
        need(lo < hi and math.isfinite(hi - lo), "the domain is empty or too large")
        found[name] = lo, hi
    return found


def listed_formulas(said: Any) -> list[Formula]:
    """The formulas of a list."""
    need(all(isinstance(f, dict) and set(f) == {"formula"} for f in listed(said)), "the target is malformed")
    return [formulas.read(f["formula"]) for f in said]


def formulas_of(target: Any) -> tuple[list[Formula], list[str], bool]:
    """(formulas, variables, whether it is a vector) of a target."""
    need(isinstance(target, dict) and set(target) == {"formulas", "variables", "vector"}, "the target is malformed")
    found = listed_formulas(target["formulas"])
    names, vector = listed(target["variables"]), target["vector"]
    need(all(isinstance(n, str) and formulas.NAME.fullmatch(n) for n in names), "a variable has no proper name")
    need(names and list(names) == sorted(set(names)), "the variables are not in order")
    need(found and type(vector) is bool and (vector or len(found) == 1), "the target is malformed")
    need(all(f.variables <= set(names) for f in found), "the formulas have other variables than the target")
    return found, names, vector


def of_formulas(found: Sequence[Formula], names: Sequence[str], vector: bool, domain: Any, dtype: str) -> str:
    """|network(x) - (sin(3*x))| <= bound for every float64 x in [-2, 2]."""
    texts = ", ".join(map(str, found))
    claim = f"[{texts}]" if vector else f"({texts})"
    sets = ", ".join(f"{name} in {interval(domain[name])}" for name in names)
    sentence = f"|network({', '.join(names)}) - {claim}| <= bound for every {dtype} {sets}"
    return sentence + (", in every component" if vector else "")


def of_perceptron(matrices: Sequence[Matrix], sigmas: Sequence[Formula], ends: Interval, dtype: str) -> str:
    """|network(x) - mlp(x)| <= bound for every float64 x in [-1, 1]^2, ..., and the SHA-256 of formulas and weights."""
    texts = list(map(str, sigmas))
    found = sha256(repr(texts).encode())
    for matrix in matrices:
        rows, columns = len(matrix.rows), len(matrix.rows[0])
        numbers = [x for row in matrix.rows for x in row] + list(matrix.bias)
        found.update(repr((rows, columns)).encode() + struct.pack(f"<{len(numbers)}d", *numbers))
    widths = [len(matrices[0].rows[0]), *(len(matrix.rows) for matrix in matrices)]
    name = f"MLP {'-'.join(map(str, widths))} with {', '.join(sorted(set(texts))) or 'no activation'}"
    return (
        f"|network(x) - mlp(x)| <= bound for every {dtype} x in {interval(ends)}^{widths[0]}, in each of {widths[-1]} "
        f"output{'s' * (widths[-1] != 1)}, where mlp is the {name} of SHA-256 {found.hexdigest()}, in exact arithmetic"
    )
