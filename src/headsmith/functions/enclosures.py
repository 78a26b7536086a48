"""Balls around the values of a formula: at a point, and over an interval.

Two enclosures are intersected. The *natural* one replaces each operation by its image of balls; increasing
functions are taken at both ends, roots and powers at the clipped end, and a product t^p log t by its shape
(it falls to -1/(p e) at e^(-1/p) and starts from 0), so that sqrt(x) and x log x are tight at 0, where no
derivative exists. The *Taylor* one is the value at the middle plus a remainder: narrow where the formula is
smooth and the interval short.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from headsmith.functions import series
from headsmith.functions.balls import Unresolved, hull, increasing, precision
from headsmith.functions.expression import Expression
from headsmith.functions.jets import SPARE, branches, hull_of, jets, removable_in
from headsmith.functions.shape import factors

MINUS = arb(-1)
UNKNOWN = arb("nan")  # unbounded or undefined; whatever is computed from it is unknown too


def at(f: Expression, values: dict[str, Any], prec: int = 128) -> arb:
    """A ball around f at floats (taken exactly) or balls."""
    with precision(prec, SPARE + 3):
        return _finite(natural(f, {name: arb(value) for name, value in values.items()}))


def over(f: Expression, lo: float, hi: float, prec: int = 128) -> arb:
    """A ball around f([lo, hi])."""
    name = f.variables[0] if f.variables else "x"
    with precision(prec, SPARE + 3):
        centre = lo + (hi - lo) / 2
        radius = math.nextafter(max(hi - centre, centre - lo), math.inf) if hi > lo else 0.0
        wide = natural(f, {name: hull(lo, hi)})
        try:
            found = jets(f, centre, radius, 2, prec)
        except Unresolved:
            return _finite(wide)
        taylor = hull_of([_spread(jet.coefficients, jet.remainder) for jet in found])
        return _finite(wide.intersection(taylor) if wide.is_finite() else taylor)


def _spread(coefficients: list[arb], remainder: arb) -> arb:
    return coefficients[0] + sum((abs(c) for c in coefficients[1:]), remainder) * arb(0, 1)


def _finite(value: arb) -> arb:
    if not value.is_finite():
        raise Unresolved("the formula is not finite here")
    return value


def natural(f: Expression, values: dict[str, arb]) -> arb:
    """f on balls, operation by operation, in the caller's precision; may be unknown."""

    def visit(node: Expression, known: dict[Expression, arb]) -> arb:
        kids = [known[child] for child in node.children]
        op = node.op
        if op == "var":
            return values[node.text]
        if op in ("num", "pi", "e"):
            return leaf(node)
        if op == "*":
            return product(node, known)
        if not all(map(arb.is_finite, kids)):
            return UNKNOWN
        if op == "/":
            return quotient(node, kids[0], kids[1], values)
        if op == "^":
            return raised(node, kids[0], kids[1])
        return OPERATIONS[op](*kids)

    return f.fold_all(visit)


def leaf(node: Expression) -> arb:
    """A ball around a number, pi or e, in the present precision."""
    text = node.text
    make: dict[str, Callable[[], arb]] = {"num": lambda: arb(text), "pi": arb.pi, "e": arb.const_e}
    return node.note(("ball", ctx.prec), make[node.op])


def product(node: Expression, known: dict[Expression, arb]) -> arb:
    """a b; where a factor is log(u) and u touches 0, u^p log(u) is bounded as one function."""
    a, b = (known[child] for child in node.children)
    if a.is_finite() and b.is_finite():
        return a * b
    parts = factors(node)
    for part in parts:
        for other in parts:
            if part.op == "log" and (p := _exponent(other, part.children[0])) > 0:
                rest = [known.get(x, MINUS) for x in parts if x is not part and x is not other]
                return math.prod(rest, start=_power_log(known[part.children[0]], p))
    return UNKNOWN


def _exponent(factor: Expression, base: Expression) -> Fraction:
    if factor is base:
        return Fraction(1)
    if factor.op == "sqrt" and factor.children[0] is base:
        return Fraction(1, 2)
    if factor.op == "^" and factor.children[0] is base:
        return factor.children[1].exact or Fraction(0)
    return Fraction(0)


def _power_log(t: arb, p: Fraction) -> arb:
    """t^p log t over t >= 0, with its limit 0 at 0."""
    if not t.is_finite() or t.upper() < 0:
        return UNKNOWN
    exponent = arb(p.numerator) / p.denominator
    low, high = t.lower(), t.upper()

    def value(s: arb) -> arb:
        return s**exponent * s.log() if s > 0 else arb(0)

    result = value(low).union(value(high))
    bottom = (-1 / exponent).exp()
    if not (low > bottom or high < bottom):
        result = result.union(-(arb(-1).exp()) / exponent)
    return result


def quotient(node: Expression, u: arb, v: arb, values: dict[str, arb]) -> arb:
    """u/v; at a removable point of a formula in one variable, from the shifted series of the quotient."""
    if not v.contains(0):
        return u / v
    if len(node.variables) == 1:
        ball = values[node.variables[0]]
        lo, hi = float(ball.lower()), float(ball.upper())
        root = removable_in(node, lo, hi)
        if root is not None:
            reach = ball if ball.contains(root) else ball.union(arb(root))
            with suppress(Unresolved):
                return hull_of([lanes[0][0] for lanes in branches(node, reach, root, arb(1), root)])
    return UNKNOWN


def raised(node: Expression, u: arb, v: arb) -> arb:
    """u^v over the part of the ball u where it is real."""
    n = node.children[1].exact
    if n is not None and n.denominator == 1:
        if u.contains(0) and n < 0:
            return UNKNOWN
        if n % 2 == 0 and n > 0:
            return increasing(lambda t: series.power(t, int(n)), _abs(u))
        return increasing(lambda t: series.power(t, int(n)), u) if n > 0 else series.power(u, int(n))
    if u > 0:
        return (v * increasing(arb.log, u)).exp() if not v.is_exact() else increasing(lambda t: t**v, u)
    if u.upper() < 0 or not v > 0:
        return UNKNOWN
    top = u.upper()
    return hull_of([arb(0), top ** v.lower(), top ** v.upper()]) if top > 0 else arb(0)


def _sqrt(u: arb) -> arb:
    if u.upper() < 0:
        return UNKNOWN
    return increasing(lambda t: t.sqrt() if t > 0 else arb(0), u)


def _log(u: arb) -> arb:
    if u > 0:
        return increasing(arb.log, u)
    return UNKNOWN


def _humped(function: Callable[[arb], arb], bottom: str, least: str) -> Callable[[arb], arb]:
    """silu and gelu fall to one minimum near -1, then rise: the ends, and the minimum where inside."""
    place, value = arb(bottom), arb(least)

    def enclose(u: arb) -> arb:
        if u.is_exact():
            return function(u)
        ends = function(u.lower()).union(function(u.upper()))
        return ends if u.lower() > place or u.upper() < place else ends.union(value)

    return enclose


def _abs(u: arb) -> arb:
    return abs(u) if not u.contains(0) else arb(0).union(u.abs_upper())


def _tan(u: arb) -> arb:
    return increasing(arb.tan, u) if not u.cos().contains(0) and u.rad() < 2 else UNKNOWN


def _sign(u: arb) -> arb:
    return hull(-1 if u.lower() < 0 else (1 if u > 0 else 0), 1 if u.upper() > 0 else (-1 if u < 0 else 0))


OPERATIONS: dict[str, Callable[..., arb]] = {
    "neg": lambda u: -u,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "exp": lambda u: increasing(arb.exp, u),
    "log": _log,
    "sqrt": _sqrt,
    "sin": arb.sin,
    "cos": arb.cos,
    "tan": _tan,
    "erf": lambda u: increasing(arb.erf, u),
    "tanh": series.tanh,
    "sigmoid": series.sigmoid,
    "softplus": series.softplus,
    "relu": lambda u: u.max(arb(0)),
    "abs": _abs,
    "max": arb.max,
    "min": arb.min,
    "clip": lambda u, a, b: u.max(a).min(b),
    "sign": _sign,
    "step": lambda u: hull(0 if u.lower() < 0 else 1, 1 if u.upper() >= 0 else 0),
    "floor": lambda u: u.lower().floor().union(u.upper().floor()),
    "silu": _humped(series.silu, "[-1.2784645 +/- 1e-6]", "[-0.2784645 +/- 1e-6]"),
    "gelu": _humped(series.gelu, "[-0.7517915 +/- 1e-6]", "[-0.1699712 +/- 1e-6]"),
    "gelu_tanh": _humped(series.gelu_tanh, "[-0.752461 +/- 1e-5]", "[-0.170041 +/- 1e-5]"),
}
