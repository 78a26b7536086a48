"""Smooth activations as softmax heads: their values and slopes are numbers that a table gives, exactly or nearly.

With s = sigmoid(k z), the softmax over the three scores (k z, log 2, -k z) has the weights s^2, 2 s (1 - s), (1 - s)^2:

    sigmoid   s = <1, 1/2, 0>      s' = s (1 - s) = <0, 1/2, 0>                       k = 1
    tanh      2 s - 1 = <1, 0, -1>       tanh' = 4 s (1 - s) = <0, 2, 0>              k = 2
    silu      s z                        silu' = s + s (1 - s) z                      k = 1
    softplus  relu(z) + softplus(-a)     softplus' = s                                a = min(|z|, CUT)
    gelu      relu(z) + gelu(-a)         gelu' = that of c                            c = z cut off at -CUT and CUT

< > being the mean of three stored values. What is left, softplus(-a), gelu(-a) and gelu'(c), are tables, searched and
proved on an interval; beyond FAR they are flat to 1e-17, so that no range of z has to be promised. CUT = FAR + 1, and a
table is proved up to FAR + 2: z - (z - CUT), rounded twice, is within 1 of CUT as long as |z| <= HIGHEST.
"""

from __future__ import annotations

from dataclasses import dataclass

from headsmith.functions.expression import Expression
from headsmith.functions.parser import parse

FAR = {"softplus": 40.0, "gelu": 9.0}
HIGHEST = 2.0**20
TAIL = 1e-17
"""softplus(-40) < 4.3e-18, |gelu(-9)| < 1.1e-18; gelu' is within 9.2e-18 of 0 at -9 and of 1 at 9"""
SIGMOID, BUMP = (1.0, 0.5, 0.0), (0.0, 0.5, 0.0)


@dataclass(frozen=True)
class Mean:
    """One head: a softmax of `reads`, times `times`; three stored `levels` over k z, or a `formula` to be proved.

    reads  "z", "fold" (a) or "cut" (c);  times "one" or "z"
    """

    reads: str
    times: str = "one"
    k: float = 0.0
    levels: tuple[float, float, float] = SIGMOID
    formula: str = ""

    @property
    def expression(self) -> Expression:
        """What a searched table stands for."""
        return parse(self.formula)


@dataclass(frozen=True)
class Smooth:
    """An activation r with |r'| <= steep, |r''| <= bend and |r(z)| <= min(|z| + lift, most).

    >>> Smooth.of("tanh").slope[0].levels
    (0.0, 2.0, 0.0)
    """

    name: str
    value: tuple[Mean, ...]
    slope: tuple[Mean, ...]
    steep: float
    bend: float
    lift: float = 0.0
    most: float = float("inf")

    @classmethod
    def of(cls, name: str) -> Smooth:
        """One of tanh, sigmoid, silu, softplus, gelu."""
        return SMOOTH[name]

    @property
    def searched(self) -> tuple[Mean, ...]:
        """The tables that are not exact."""
        return tuple(table for table in (*self.value, *self.slope) if table.formula)

    @property
    def cut(self) -> float:
        """Where what tables read is cut off; 0 where no table is searched."""
        return FAR[self.name] + 1 if self.name in FAR else 0.0

    def range(self, table: Mean) -> tuple[float, float]:
        """All that a searched table ever reads."""
        return (0.0 if table.reads == "fold" else -self.cut - 1, self.cut + 1)


_LOGISTIC = Mean("z", k=1.0)
_GELU_SLOPE = "(1 + erf(x/sqrt(2)))/2 + x*exp(-x^2/2)/sqrt(2*pi)"
_TANH = (1.0, 0.0, -1.0), (0.0, 2.0, 0.0)  # tanh and its slope over 2 z
SMOOTH = {
    found.name: found
    for found in (
        Smooth(
            "tanh", (Mean("z", k=2.0, levels=_TANH[0]),), (Mean("z", k=2.0, levels=_TANH[1]),), 1.0, 0.7699, most=1.0
        ),
        Smooth("sigmoid", (_LOGISTIC,), (Mean("z", k=1.0, levels=BUMP),), 0.25, 0.0963, 1.0, 1.0),
        Smooth("silu", (Mean("z", "z", 1.0),), (_LOGISTIC, Mean("z", "z", 1.0, BUMP)), 1.0999, 0.5),
        Smooth("softplus", (Mean("fold", formula="softplus(-x)"),), (_LOGISTIC,), 1.0, 0.25, 0.6932),
        Smooth("gelu", (Mean("fold", formula="gelu(-x)"),), (Mean("cut", formula=_GELU_SLOPE),), 1.1290, 0.7979),
    )
}
"""name -> activation; steep and bend are rounded up"""

_FALLING = (0.0, 0.0)
FORMULAS = {
    "tanh": (("tanh(x)", (0.0, -1.0), (0.0, 1.0)), ("1 - tanh(x)^2", _FALLING, _FALLING)),
    "sigmoid": (("sigmoid(x)", _FALLING, (0.0, 1.0)), ("sigmoid(x)*sigmoid(-x)", _FALLING, _FALLING)),
    "silu": (("silu(x)", _FALLING, (1.0, 0.0)), ("sigmoid(x)*(1 + x*sigmoid(-x))", _FALLING, (0.0, 1.0))),
    "softplus": (("softplus(x)", _FALLING, (1.0, 0.0)), ("sigmoid(x)", _FALLING, (0.0, 1.0))),
    "gelu": (("gelu(x)", _FALLING, (1.0, 0.0)), (_GELU_SLOPE, _FALLING, (0.0, 1.0))),
}
"""name -> of r and of r' a formula, and the (slope, level) of its asymptotes at -infinity and infinity"""
