"""The functions of one variable that our experiments measure, with the key counts of an earlier prototype.

Smooth ones, thin layers, kinks and end singularities. `prototype` is the number of keys that a search for *one*
head found at eps = 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, checked by samples only (None: not found).
"""

from __future__ import annotations

from typing import NamedTuple

EPS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)


class Case(NamedTuple):
    """A formula on its domain."""

    formula: str
    domain: tuple[float, float]
    prototype: tuple[int | None, ...]
    polynomial: bool = False


CASES = (
    Case("sin(3*x)", (-2, 2), (6, 7, 8, 10, 13)),
    Case("1/(1+25*x^2)", (-1, 1), (4, 6, 9, 14, 23)),
    Case("exp(-x^2)*cos(4*x)", (-3, 3), (8, 11, 14, 16, 22)),
    Case("x^2", (-2, 2), (3, 3, 3, 3, 4), polynomial=True),
    Case("softplus(x)", (-6, 6), (3, 5, 6, 8, 13)),
    Case("log(1+x)", (0, 5), (3, 4, 6, 7, 10)),
    Case("exp(x)", (-2, 2), (2, 3, 4, 3, 4)),
    Case("gelu(x)", (-5, 5), (3, 6, 7, 13, 18)),
    Case("silu(x)", (-8, 8), (3, 3, 3, 3, 17)),
    Case("sin(20*x)", (-1, 1), (15, 16, 18, 26, 30)),
    Case("1/x", (0.1, 10), (5, 8, 11, 15, 21)),
    Case("1/(1+1000*x^2)", (-1, 1), (5, 8, 13, 25, 32)),
    Case("erf(20*x)", (-1, 1), (3, 6, 13, 14, 40)),
    Case("tanh(50*(x-0.3))+0.5*sin(3*x)", (-1, 1), (6, 9, 20, 40, 50)),
    Case("sqrt(x^2+0.0001)", (-1, 1), (4, 8, 12, 17, 27)),
    Case("relu(x)", (-1, 1), (3, 3, 3, 3, 4)),
    Case("clip(x,-1,1)", (-2, 2), (4, 4, 4, 4, 5)),
    Case("abs(x-0.3)+sin(3*x)", (-1, 1), (6, 7, 11, None, None)),
    Case("abs(abs(abs(x)-1)-0.5)", (-2, 2), (16, 16, 16, None, None)),
    Case("x*clip(x+3,0,6)/6", (-5, 5), (6, 6, 9, None, None)),
    Case("sqrt(x)", (0, 1), (4, 10, 20, 45, None)),
    Case("x*log(x)", (0, 1), (3, 6, 12, 23, 43)),
    Case("x^(1/3)", (0, 1), (5, 14, 50, None, None)),
    Case("sqrt(1-x^2)", (-1, 1), (7, 20, 88, None, None)),
    Case("tanh(x)", (-4, 4), (2, 2, 2, 2, 2)),
)

BY_FORMULA = {case.formula: case for case in CASES}
FEW = ("sin(3*x)", "gelu(x)", "1/(1+25*x^2)", "x^2", "relu(x)", "sqrt(x)")
"""What the short presets run: smooth, an activation, a layer, a polynomial, a kink, a singularity."""
