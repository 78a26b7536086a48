"""Where the values of a formula lie over a cell, by exact ends: the only place that says where a function is defined.

    Range(lo, hi): exact numbers.  Every operation returns a range that holds its value at every argument in the cell,
    and raises `Open` unless every argument is surely one at which the operation is defined.

Balls (midpoint and radius) blur an end: [0, 1] as a ball begins a little below 0, where sqrt has no value. Ends do
not, so sqrt(x), sqrt(1 - x^2) and sqrt(sin(x)) are enclosed up to the very point where they begin.

    log, sqrt          an argument > 0, >= 0                  /          a divisor without 0
    tan                no pole: a cosine without 0            floor etc. everywhere
    u^n                n > 0: every u;  n < 0: u without 0;  n = 0: u without 0, since 0^0 has no value
    u^q, q a fraction  u >= 0, and u > 0 where q < 0;  u^v, v not rational: u > 0, or u >= 0 and v > 0

One convention of the language is a limit: t^p log(t) is 0 at t = 0. (The other, 0/0, needs series: `taylor`.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import arb, fmpq

from .formulas import Formula, Step
from .verdict import Open


class Range(NamedTuple):
    """Every number from lo to hi, both exact."""

    lo: arb
    hi: arb

    @property
    def ball(self) -> arb:
        """A ball that holds it."""
        return self.lo if self.lo == self.hi else self.lo.union(self.hi)


def over(*balls: arb) -> Range:
    """The range of a few balls; `Open` unless they are finite."""
    if not all(ball.is_finite() for ball in balls):
        raise Open
    return Range(_least([b.lower() for b in balls]), _most([b.upper() for b in balls]))


def _least(points: Sequence[arb]) -> arb:
    low = points[0]
    for point in points[1:]:
        low = point if point < low else low
    return low


def _most(points: Sequence[arb]) -> arb:
    return -_least([-point for point in points])


def exactly(value: Fraction) -> arb:
    """A ball around a fraction."""
    return arb(fmpq(value.numerator, value.denominator))


def increasing(function: Callable[[arb], arb], u: Range) -> Range:
    """The image under an increasing function: at the two ends."""
    return over(function(u.lo), function(u.hi))


def hull(a: Range, b: Range) -> Range:
    """The least range that holds both."""
    return Range(_least([a.lo, b.lo]), _most([a.hi, b.hi]))


def product(a: Range, b: Range) -> Range:
    """Between the least and the greatest product of ends."""
    return over(*(x * y for x in a for y in b))


def quotient(a: Range, b: Range) -> Range:
    """a/b for a divisor without 0."""
    if not (b.lo > 0 or b.hi < 0):
        raise Open
    return over(*(x / y for x in a for y in b))


def magnitude(u: Range) -> Range:
    """|u|."""
    if u.lo >= 0:
        return u
    return Range(-u.hi, -u.lo) if u.hi <= 0 else Range(arb(0), _most([-u.lo, u.hi]))


def whole_power(u: Range, n: int) -> Range:
    """u^n; not at 0 unless n > 0."""
    if n <= 0 and not (u.lo > 0 or u.hi < 0):
        raise Open
    if n < 0:
        return quotient(Range(arb(1), arb(1)), whole_power(u, -n))
    return increasing(lambda x: x**n, u if n % 2 else magnitude(u))


def power(u: Range, v: Range, exact: Fraction | None) -> Range:
    """u^v; by whole powers where the exponent is known to be whole, else for u > 0, or u >= 0 and v > 0."""
    if exact is not None and exact.denominator == 1:
        return whole_power(u, int(exact))
    if u.lo > 0:
        return increasing(arb.exp, product(v, increasing(arb.log, u)))
    if not (u.lo >= 0 and v.lo > 0):
        raise Open
    if not u.hi > 0:
        return Range(arb(0), arb(0))
    top = increasing(arb.exp, product(v, over(u.hi.log())))
    return Range(arb(0), top.hi)


def root(u: Range) -> Range:
    """sqrt(u) for u >= 0."""
    if not u.lo >= 0:
        raise Open
    return increasing(lambda x: x.sqrt() if x > 0 else arb(0), u)


def logarithm(u: Range) -> Range:
    """log(u) for u > 0."""
    if not u.lo > 0:
        raise Open
    return increasing(arb.log, u)


def power_log(t: Range, p: Fraction) -> Range:
    """t^p log(t) for t >= 0, p > 0, with its limit 0 at 0: it falls to -1/(e p) at e^(-1/p), then rises."""
    if not t.lo >= 0:
        raise Open
    ends = [exactly(p) * x.log() for x in t if x > 0]
    values = [y.exp() * y / exactly(p) for y in ends] + [arb(0)] * (2 - len(ends))
    bottom = (-1 / exactly(p)).exp()
    if not (t.lo > bottom or t.hi < bottom):
        values.append(-arb(-1).exp() / exactly(p))
    return over(*values)


def sine(u: Range) -> Range:
    """sin(u), at its ends where the cosine keeps its sign."""
    slope = u.ball.cos()
    if slope > 0 or slope < 0:
        return over(u.lo.sin(), u.hi.sin())
    return over(u.ball.sin())


def cosine(u: Range) -> Range:
    """cos(u), at its ends where the sine keeps its sign, even if it is 0 at one of them."""
    slope = sine(u)
    if slope.lo >= 0 or slope.hi <= 0:
        return over(u.lo.cos(), u.hi.cos())
    return over(u.ball.cos())


def tangent(u: Range) -> Range:
    """tan(u) between two poles."""
    if not between_poles(u):
        raise Open
    return increasing(arb.tan, u)


def between_poles(u: Range) -> bool:
    """Whether u lies between (k - 1/2) pi and (k + 1/2) pi for a whole number k."""
    middle = (u.lo + u.hi) / (2 * arb.pi())
    k = (middle.mid() + arb(0.5)).mid().floor()
    return bool(u.lo > (k - 0.5) * arb.pi() and u.hi < (k + 0.5) * arb.pi())


def sigmoid_at(x: arb) -> arb:
    """1/(1 + e^-x) without overflow."""
    return (1 + (x / 2).tanh()) / 2


def softplus_at(x: arb) -> arb:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)."""
    return x.max(arb(0)) + (-abs(x)).exp().log1p()


def cubic(u: Range) -> Range:
    """2 sqrt(2/pi) (u + 0.044715 u^3): gelu_tanh(u) is u sigmoid of it."""
    scale, small = (8 / arb.pi()).sqrt(), exactly(Fraction(44715, 1_000_000))
    return increasing(lambda x: scale * (x + small * x**3), u)


def gated(u: Range, gate: Range) -> Range:
    """u gate for an increasing gate >= 0: increasing where u >= 0."""
    if u.lo >= 0:
        return over(u.lo * gate.lo, u.hi * gate.hi)
    return product(u, gate)


def _normal(x: arb) -> arb:
    return (1 + (x / arb(2).sqrt()).erf()) / 2


ONE: dict[str, Callable[[Range], Range]] = {
    "neg": lambda u: Range(-u.hi, -u.lo),
    "exp": lambda u: increasing(arb.exp, u),
    "log": logarithm,
    "sqrt": root,
    "sin": sine,
    "cos": cosine,
    "tan": tangent,
    "tanh": lambda u: increasing(arb.tanh, u),
    "sigmoid": lambda u: increasing(sigmoid_at, u),
    "softplus": lambda u: increasing(softplus_at, u),
    "erf": lambda u: increasing(arb.erf, u),
    "relu": lambda u: increasing(lambda x: x.max(arb(0)), u),
    "abs": magnitude,
    "silu": lambda u: gated(u, increasing(sigmoid_at, u)),
    "gelu": lambda u: gated(u, increasing(_normal, u)),
    "gelu_tanh": lambda u: gated(u, increasing(sigmoid_at, cubic(u))),
    "sign": lambda u: increasing(lambda x: arb(1 if x > 0 else -1 if x < 0 else 0), u),
    "step": lambda u: increasing(lambda x: arb(1 if x >= 0 else 0), u),
    "floor": lambda u: increasing(arb.floor, u),
}
TWO: dict[str, Callable[[Range, Range], Range]] = {
    "+": lambda a, b: over(a.lo + b.lo, a.hi + b.hi),
    "-": lambda a, b: over(a.lo - b.hi, a.hi - b.lo),
    "*": product,
    "/": quotient,
    "max": lambda a, b: Range(_most([a.lo, b.lo]), _most([a.hi, b.hi])),
    "min": lambda a, b: Range(_least([a.lo, b.lo]), _least([a.hi, b.hi])),
}


def number(step: Step) -> arb:
    """A ball around a number, pi or e."""
    if step.exact is not None:
        return exactly(step.exact)
    return arb.pi() if step.op == "pi" else arb.const_e()


def operate(step: Step, kids: Sequence[Range], exponent: Fraction | None) -> Range:
    """One operation on ranges; `exponent` is that of a power, where it is rational."""
    if not kids:
        return over(number(step))
    if step.op == "^":
        return power(kids[0], kids[1], exponent)
    if step.op == "clip":
        return TWO["min"](TWO["max"](kids[0], kids[1]), kids[2])
    return ONE[step.op](kids[0]) if len(kids) == 1 else TWO[step.op](kids[0], kids[1])


def ranges(formula: Formula, box: dict[str, Range]) -> list[Range | None]:
    """The range of every step over a box; None where it may be undefined."""
    found: list[Range | None] = []
    for place, step in enumerate(formula.steps):
        try:
            found.append(box.get(step.text) if step.op == "var" else _value(formula, place, found))
        except (Open, ZeroDivisionError, ValueError):
            found.append(None)
    return found


def _value(formula: Formula, place: int, found: Sequence[Range | None]) -> Range:
    step = formula.steps[place]
    kids = [kid for kid in (found[i] for i in step.args) if kid is not None]
    if len(kids) < len(step.args):
        if step.op == "*":
            return _limit(formula, place, found)
        raise Open
    return operate(step, kids, formula.steps[step.args[1]].exact if step.op == "^" else None)


def _limit(formula: Formula, place: int, found: Sequence[Range | None]) -> Range:
    """A product in which log(t) meets t^p."""
    parts = factors(formula, place)
    for i, log in enumerate(parts):
        if log < 0 or formula.steps[log].op != "log":
            continue
        inside = formula.steps[log].args[0]
        for j, other in enumerate(parts):
            p, t = _exponent(formula, other, inside), found[inside]
            if i != j and p > 0 and t is not None:
                value = power_log(t, p)
                for k, rest in enumerate(parts):
                    value = value if k in (i, j) else product(value, _known(found[rest] if rest >= 0 else MINUS))
                return value
    raise Open


MINUS = Range(arb(-1), arb(-1))


def _known(value: Range | None) -> Range:
    if value is None:
        raise Open
    return value


def _exponent(formula: Formula, place: int, base: int) -> Fraction:
    """p where a step is base^p, else 0."""
    if place == base:
        return Fraction(1)
    step = formula.steps[place]
    if place < 0 or not step.args or step.args[0] != base:
        return Fraction(0)
    if step.op == "sqrt":
        return Fraction(1, 2)
    return (formula.steps[step.args[1]].exact or Fraction(0)) if step.op == "^" else Fraction(0)


def factors(formula: Formula, place: int) -> list[int]:
    """The factors of a product, as steps; -1 stands for a minus sign."""
    waiting = [place]
    found: list[int] = []
    while waiting and len(found) < 100:
        here = waiting.pop()
        step = formula.steps[here] if here >= 0 else None
        if step is not None and step.op == "*":
            waiting += reversed(step.args)
        elif step is not None and step.op == "neg":
            waiting += [step.args[0], -1]
        else:
            found.append(here)
    if waiting:
        raise Open
    return found
