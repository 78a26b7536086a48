"""Activations of neural networks, by the names that torch gives them: formulas of x, exact to the digit."""

from __future__ import annotations

import math
from decimal import Decimal

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
