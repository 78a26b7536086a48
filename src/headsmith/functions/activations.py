"""Activations of neural networks, by name or as torch modules: formulas of x, exact to the digit.

A module is what its exact type says, with the options it holds; a subclass may compute anything, and QuickGELU, which
torch lacks, is known by the very code of its forward.
"""

from __future__ import annotations

import math
from decimal import Decimal
from types import FunctionType
from typing import Any

import torch
from torch import nn

from headsmith.functions.expression import Expression
from headsmith.functions.parser import parse
from headsmith.refusal import Refusal

FORMULAS = {
    "ReLU": "relu(x)",
    "SiLU": "silu(x)",
    "QuickGELU": "x*sigmoid(1.702*x)",
    "Tanh": "tanh(x)",
    "Sigmoid": "sigmoid(x)",
    "GELU": "gelu(x)",
    "GELUTanh": "gelu_tanh(x)",
    "Softplus": "softplus(x)",
    "Identity": "x",
}
OPTIONS = {"LeakyReLU": (0.01,), "Hardtanh": (-1.0, 1.0), "ReLU6": (0.0, 6.0)}
NAMES = (*FORMULAS, *OPTIONS)
BARE = {"forward", "__init__", "__module__", "__doc__", "__annotations__", "__static_attributes__", "__firstlineno__"}
THRESHOLD = 20.0  # beyond which torch's Softplus returns its input


def named(text: str) -> Expression:
    """The activation that a file calls by this name, however it is capitalised.

    >>> named("leaky_relu(0.5)")
    Expression('relu(x) - 0.5*relu(-x)')
    """
    word, *given = text.lower().replace("_", "").rstrip(")").replace("(", ",").split(",")
    name = {known.lower(): known for known in NAMES}.get(word, "")
    if name in FORMULAS and not given:
        return parse(FORMULAS[name])
    try:
        options = tuple(map(float, given)) or OPTIONS[name]
        return clipped(*options) if name != "LeakyReLU" else leaky(*options)
    except (KeyError, TypeError, ValueError):
        raise Refusal(f"no activation is called {text!r}; there are {', '.join(NAMES)}") from None


def leaky(slope: float) -> Expression:
    """x above 0, slope x below."""
    return parse(f"relu(x) - {_decimal(slope)}*relu(-x)")


def clipped(low: float, high: float) -> Expression:
    """x between low and high."""
    return parse(f"clip(x, {_decimal(low)}, {_decimal(high)})")


def _decimal(x: float) -> str:
    """The float digit for digit."""
    if not isinstance(x, int | float) or not math.isfinite(x):
        raise Refusal(f"an activation with the option {x} is no function of numbers")
    return f"{Decimal(x):f}" if x >= 0 else f"(-{Decimal(-x):f})"


def spelled(formula: Expression) -> str:
    """The name by which `named` finds it again; refused where it is none of those that are compiled.

    >>> spelled(parse("clip(x, -2, 2)"))
    'Hardtanh(-2.0, 2.0)'
    """
    for name, text in FORMULAS.items():
        if parse(text) is formula:
            return name
    numbers = [float(node.exact or 0) for node in formula.order if node.op == "num"]
    if len(numbers) == 1 and leaky(*numbers) is formula:
        return f"LeakyReLU({numbers[0]!r})"
    ends = [float(node.exact or 0) for node in formula.children[1:]]
    if len(ends) == 2 and ends[0] <= ends[1] and clipped(*ends) is formula:
        return f"Hardtanh({ends[0]!r}, {ends[1]!r})"
    raise Refusal(f"{formula} is not an activation that is compiled ({', '.join(NAMES)})")


def of_module(module: Any) -> Expression:
    """The activation that a torch module computes, by its exact type and options."""
    kind = type(module)
    if kind in (nn.ReLU, nn.SiLU, nn.Tanh, nn.Sigmoid):
        return named(kind.__name__)
    if kind is nn.LeakyReLU:
        return leaky(module.negative_slope)
    if kind in (nn.Hardtanh, nn.ReLU6):
        return clipped(module.min_val, module.max_val)
    if kind is nn.GELU and module.approximate in ("none", "tanh"):
        return named("GELU" if module.approximate == "none" else "GELUTanh")
    if kind is nn.Softplus:
        if module.beta == 1 and module.threshold >= THRESHOLD:
            return named("Softplus")
        raise Refusal(
            "Softplus is compiled with beta = 1 and threshold = 20 (or more); scale the layers around it instead"
        )
    if kind.__name__.startswith("QuickGELU"):
        if _is_quick_gelu(kind):
            return named("QuickGELU")
        raise Refusal(f"the class {kind.__name__} is not torch's, and its forward is not x * torch.sigmoid(1.702 * x)")
    for base in (nn.Sequential, nn.Linear, nn.ReLU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.Dropout):
        if isinstance(module, base):
            raise Refusal(f"{kind.__name__} is a subclass of {base.__name__}, which may compute anything")
    raise Refusal(
        f"{kind.__name__} is neither Linear nor an activation that is compiled ({', '.join(NAMES)}); "
        "replace it, or compile the part of the network without it"
    )


def _is_quick_gelu(kind: type) -> bool:
    """Whether a class is a bare nn.Module with this very code, on the same torch."""

    def quick_gelu(self: Any, x: Any) -> Any:
        return x * torch.sigmoid(1.702 * x)

    forward, ours = vars(kind).get("forward"), quick_gelu.__code__
    bare = type(kind) is type and kind.__bases__ == (nn.Module,) and vars(kind).keys() <= BARE
    if not bare or not isinstance(forward, FunctionType):
        return False
    theirs = forward.__code__
    same = (theirs.co_code, theirs.co_names) == (ours.co_code, ours.co_names)
    numbers = [value for value in theirs.co_consts if not isinstance(value, str | None)]
    return same and numbers == [1.702] and forward.__globals__.get("torch") is torch
