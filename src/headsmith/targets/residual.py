"""The table of a learning rule: f(z) at z = w . x - y, proved for the residual as floating point computes it.

A rule needs the *product* f(z) v of a function and a vector, and attention multiplies only by what its values hold. So
every key of the table carries level_j v (`network.Copies`), and f must be a table proper: constants at the keys.

    exact     f is a two-key softmax already: tanh, sigmoid, shifted and scaled      (dossier 2.5)
    table     fewest keys, searched and proved, for any continuous f
    smooth    a lattice, for linear f near the precision of the format: its values are small, which keeps the digits
    printed   the staircase of Thm 3.1: P = ceil(2 Lip (b - a) / eps) steps
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from headsmith.compiler.scalar import Short, Task, solve, total
from headsmith.functions import Expression, parse
from headsmith.heads.exact import exact_terms
from headsmith.heads.identity import identity
from headsmith.heads.printed import printed_part
from headsmith.network import Attention, Copies, Map, Sparse
from headsmith.proof.certificate import SLACK
from headsmith.proof.composition import Error, Proved, propagate, prove_part
from headsmith.proof.rounding import FORMATS, gamma
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal

NAMES = ("residual", "x", "w", "y")


@dataclass(frozen=True)
class Ranges:
    """|w . x_i - y_i| <= residual, and the largest sizes of the entries of x, w and y."""

    residual: float
    x: float
    w: float
    y: float

    def slip(self, features: int, unit: float) -> float:
        """How far the computed w . x - y can be from the true one."""
        return gamma(features + 1, unit) * (features * self.w * self.x + self.y)


def read_ranges(domain: Any) -> Ranges:
    """domain=5.0 or (-5, 5) bounds residuals and entries alike; domain={"residual": 5.0, "x": 3.0} tells them apart."""
    match domain:
        case (int() | float() as low, int() | float() as high) if low == -high:
            domain = high
    given = domain if isinstance(domain, Mapping) else {"residual": domain}
    unknown = sorted(set(given) - set(NAMES))
    try:
        sizes = {name: float(value) for name, value in given.items()}
    except (TypeError, ValueError):
        sizes = {}
    if unknown or "residual" not in sizes or not all(0 < size < math.inf for size in sizes.values()):
        raise Refusal(
            "the domain of a rule is a positive number that bounds residuals and entries, or a mapping such as "
            f"{{'residual': 5.0, 'x': 3.0, 'w': 1.0, 'y': 5.0}}, not {domain!r}"
        )
    return Ranges(**{name: sizes.get(name, sizes["residual"]) for name in NAMES})


@dataclass(frozen=True, eq=False)
class RuleTable:
    """sum of heads(computed z) is within approximation + rounding of f(z), and at most `size`."""

    f: Expression
    heads: tuple[Head, ...]
    approximation: float
    rounding: float
    size: float
    method: str
    proof: Proved

    @property
    def head(self) -> Head:
        return self.heads[0]

    @property
    def error(self) -> float:
        return self.approximation + self.rounding


def as_formula(f: Any) -> Expression:
    expression = parse(f) if isinstance(f, str) else f
    if not isinstance(expression, Expression) or len(expression.variables) > 1:
        raise Refusal(f"the rule f must be a formula of one variable, such as 'tanh(t)', not {f}")
    return expression


def tabulate(f: Expression, ranges: Ranges, features: int, eps: float, dtype: str, method: str = "auto") -> RuleTable:
    """One head for f on the residuals, within eps of f at the exact residual; raises Short."""
    task = _task(f, ranges, features, eps, dtype)
    if method == "printed":
        part = printed_part(f, task.domain, eps, dtype, task.input, task.output)
        proof = prove_part(part, dtype, 1e-2 * eps, task.places.kinks, task.start or _start(ranges, features, dtype))
        return _table(f, proof, ranges, features, dtype, "printed")
    exact = exact_terms(f)
    if not exact.rest and not exact.slope and len(exact.heads) == 1 and not exact.heads[0].lines.any():
        two = exact.heads[0]
        head = Head.table(two.slopes, two.offsets, two.values + exact.bias)
        return _table(f, task.prove([head], 0.0, 1e-17), ranges, features, dtype, "exact")
    unit = FORMATS[dtype].unit
    if not exact.rest and not exact.heads and eps < math.sqrt(unit) * ranges.residual * max(abs(exact.slope), 1e-30):
        line = identity(task.domain[1], 0.3 * eps / max(abs(exact.slope), 1e-30))
        proof = task.prove([replace(line, values=exact.slope * line.values + exact.bias)], 0.0, 1e-2 * eps)
        if total(proof, dtype) > eps:
            raise Short(f"the lattice gives {total(proof, dtype):.1e} in {dtype}", total(proof, dtype))
        return _table(f, proof, ranges, features, dtype, "smooth")
    proof, _ = solve(task, "table")
    return _table(f, proof, ranges, features, dtype, "table")


def prove_heads(f: Expression, heads: list[Head], ranges: Ranges, features: int, dtype: str, method: str) -> RuleTable:
    """The same statement for heads that were chosen elsewhere."""
    task = _task(f, ranges, features, 1.0, dtype)
    return _table(f, task.prove(heads, 0.0, 1e-16), ranges, features, dtype, method)


def _start(ranges: Ranges, features: int, dtype: str) -> Error:
    return Error(0.0, ranges.slip(features, FORMATS[dtype].unit), (-ranges.residual, ranges.residual))


def _task(f: Expression, ranges: Ranges, features: int, eps: float, dtype: str) -> Task:
    start = _start(ranges, features, dtype)
    variable = f.variables[0] if f.variables else "t"
    return Task(f, start.widened(), eps, dtype, input=variable, output=f"f({variable})", start=start)


def _table(f: Expression, proof: Proved, ranges: Ranges, features: int, dtype: str, method: str) -> RuleTable:
    error = propagate([proof], _start(ranges, features, dtype), dtype)[proof.part.output]
    size = max(map(abs, error.reach)) + error.total
    approximation, rounding = error.approximation * SLACK, error.rounding * SLACK
    return RuleTable(f, proof.part.heads, approximation, rounding, size, method, proof)


def rule_layer(head: Head, query: Map, key: Map, value: Map, output: Map, dtype: torch.dtype, residual: bool) -> Copies:
    """f(query . key) value, f the head's table."""
    slopes, offsets, levels = (
        torch.tensor(part, dtype=dtype)[None] for part in (head.slopes, head.offsets, head.values)
    )
    return Copies(query, key, value, output, slopes, offsets, levels, residual)


def stored_heads(rule: Copies | Attention) -> list[Head]:
    """The heads of a rule layer, from the numbers it holds: a table, or gates against a null key."""
    if isinstance(rule, Copies):
        grid = (rule.slopes, rule.offsets, rule.levels)
        return [Head.table(*(part[0].double().numpy() for part in grid))]
    assert isinstance(rule.key, Sparse) and isinstance(rule.value, Sparse)
    pairs = zip(rule.key.coefficient.double()[:, 0, 0], rule.value.coefficient.double()[:, 0, 0], strict=True)
    return [Head.table([float(slope), 0.0], [0.0, 0.0], [float(value), 0.0]) for slope, value in pairs]


def suppression(head: Head, residual: float, samples: int, leak: float) -> float:
    """C so that, in one softmax over all samples, at most `leak` of the weight leaves the block of the query.

    A key of another block outscores the best of the own one by at most max top - min top over |z| <= residual, with
    top(z) = max_j a_j z + b_j. (Thm 3.1 prints two values of C; the smaller fails.)
    """
    z = np.linspace(-residual, residual, 2001)
    top = (np.outer(z, head.slopes) + head.offsets).max(1)
    room = float(np.abs(head.slopes).max()) * (z[1] - z[0])  # top is Lipschitz: its minimum lies this little lower
    return float(top.max() - top.min()) + room + math.log(max(samples - 1, 1) * head.keys / leak)


__all__ = [
    "Ranges",
    "RuleTable",
    "Short",
    "as_formula",
    "prove_heads",
    "read_ranges",
    "rule_layer",
    "stored_heads",
    "suppression",
    "tabulate",
]
