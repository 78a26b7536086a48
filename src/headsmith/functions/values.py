"""Formulas on tensors: one pass of torch operations, in the dtype and on the device of the input.

Constants are rounded once, from their exact value. A quotient that is 0/0 at a removable point is replaced
near it by its Taylor polynomial, so sin(x)/x and (1 - cos(x))/x^2 are right at 0 *and* next to it, where
the digits of the written quotient cancel; a product with a logarithm is 0 where its other factor is (x log
x at 0).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.functions.balls import Unresolved
from headsmith.functions.expression import Expression
from headsmith.functions.jets import constant, roots_of
from headsmith.functions.shape import factors

PATCH_ORDER = 16


def call(f: Expression, values: dict[str, Any]) -> Any:
    """f on tensors, or on float64 arrays or Python numbers, each answered in kind."""
    kinds = {type(value) for value in values.values()}
    if any(issubclass(kind, Tensor) for kind in kinds):
        return evaluate(f, values)
    tensors = {name: torch.from_numpy(np.array(value, dtype=np.float64)) for name, value in values.items()}
    result = evaluate(f, tensors)
    return result.numpy() if np.ndarray in kinds else float(result)


def evaluate(f: Expression, values: dict[str, Any]) -> Tensor:
    """f on tensors that broadcast together; the answer has their common shape."""
    like = next(value for value in values.values() if isinstance(value, Tensor))
    inputs = {name: torch.as_tensor(value, dtype=like.dtype, device=like.device) for name, value in values.items()}

    def scalar(value: float) -> Tensor:
        return torch.tensor(value, dtype=like.dtype, device=like.device)

    def visit(node: Expression, known: dict[Expression, Tensor]) -> Tensor:
        if node.op == "var":
            return inputs[node.text]
        if node.is_constant:
            return scalar(nearest(node))
        if node.op == "*":
            return times(node, known)
        if node.op == "/":
            return over(node, known, inputs)
        if node.op == "^":
            return power(node, known)
        return OPERATIONS[node.op](*(known[child] for child in node.children))

    shape = np.broadcast_shapes(*(value.shape for value in inputs.values()))  # torch's own imports sympy, for a second
    return f.fold_all(visit).expand(shape)


def nearest(node: Expression) -> float:
    """The float nearest to a constant expression; NaN where it is undefined."""
    try:
        return float(constant(node, 128))
    except Unresolved:
        return math.nan


def power(node: Expression, known: dict[Expression, Tensor]) -> Tensor:
    """a^b, a rational b handed to torch as a number: x^2 is then a plain product."""
    base, exponent = (known[child] for child in node.children)
    n = node.children[1].exact
    if n is not None:
        return base ** (int(n) if n.denominator == 1 else float(n))
    return torch.pow(base, exponent)


def times(node: Expression, known: dict[Expression, Tensor]) -> Tensor:
    """a b, with 0 log 0 = 0."""
    parts = factors(node)
    log = next((part for part in parts if part.op == "log" and part.variables), None)
    if log is None:
        return known[node.children[0]] * known[node.children[1]]
    u = known[log.children[0]]
    parts.remove(log)
    return torch.xlogy(math.prod((known.get(part, -1) for part in parts), start=torch.ones_like(u)), u)


def over(node: Expression, known: dict[Expression, Tensor], inputs: dict[str, Tensor]) -> Tensor:
    """u/v, by the Taylor polynomial of the quotient near its removable points."""
    u, v = (known[child] for child in node.children)
    if len(node.variables) != 1:
        return u / v
    x = inputs[node.variables[0]]
    near = [((x - root).abs() <= radius, (x - root) / radius, taylor) for root, radius, taylor in patches(node)]
    for mask, _, _ in near:
        v = torch.where(mask, 1, v)
    result = u / v
    for mask, y, taylor in near:
        y = torch.where(mask, y, 0)
        polynomial = torch.full_like(y, taylor[-1])
        for coefficient in reversed(taylor[:-1]):
            polynomial = polynomial * y + coefficient
        result = torch.where(mask, polynomial, result)
    return result


def patches(node: Expression) -> list[tuple[float, float, list[float]]]:
    """(r, radius, Taylor coefficients in (x-r)/radius) of a quotient at each of its removable points."""

    def find() -> list[tuple[float, float, list[float]]]:
        found = []
        for root in roots_of(node):
            for halvings in range(1, 60):
                radius = 2.0**-halvings
                try:
                    jets = node.jets(root, radius, PATCH_ORDER)
                except Unresolved:
                    continue
                size = max(abs(float(c)) for c in jets[0].coefficients)
                if len(jets) == 1 and float(jets[0].remainder) <= 1e-18 * size:
                    found.append((root, radius, [float(c) for c in jets[0].coefficients]))
                    break
        return found

    return node.note("patches", find)


def gelu_tanh(u: Tensor) -> Tensor:
    """u (1 + tanh(sqrt(2/pi) (u + 0.044715 u^3)))/2."""
    return torch.nn.functional.gelu(u, approximate="tanh")


OPERATIONS: dict[str, Callable[..., Tensor]] = {
    "neg": torch.neg,
    "+": torch.add,
    "-": torch.sub,
    **{name: getattr(torch, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "sigmoid")},
    **{name: getattr(torch, name) for name in ("erf", "relu", "abs", "sign", "floor")},
    "step": lambda u: (u >= 0).to(u.dtype),
    "softplus": lambda u: torch.logaddexp(u, torch.zeros_like(u)),
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": gelu_tanh,
    "min": torch.minimum,
    "max": torch.maximum,
    "clip": lambda u, a, b: torch.minimum(torch.maximum(u, a), b),
}
