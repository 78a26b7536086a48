"""A formula on a cell as Taylor polynomials with remainders, and their error bounds.

On [c-h, c+h] write z = c + h y. Each operation is done on power series in y: the *wide* one starts from the ball
[c-h, c+h], so its coefficient k holds f^(k)(xi) h^k/k! for every xi in the cell, and coefficient K+1 is the Lagrange
remainder; the *point* one starts from c and gives the polynomial. An operation is refused (`Open`) unless the wide
constant term lies surely inside its domain, as in `ranges`, whose exact ends decide signs and carry on alone where
no derivative exists.

Branches. Where the sign of the argument of abs, relu, min, max, clip is open over the cell, each side is followed:
at every z the formula equals one of the branches, and each is analytic on the whole cell.

0/0. In the language of formulas a quotient whose two sides vanish together at a point r has there its limit. If u and
v vanish at r to order m, u/v = u_m/v_m with u_1(x) = (u(x) - u(r))/(x - r), the mean of u' between r and x, and so on;
coefficient k of u_1 is a weighted mean of coefficients k+1 of u between r and x. So over a cell widened to hold r, the
series shifted by m places hold those of u_m and v_m. That u and v vanish is seen on the series at r (the *root* one),
whose coefficients are exactly 0; r is looked for among halves and zeros of affine parts of the divisor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from flint import arb, arb_series, ctx

from .formulas import Formula, Step
from .ranges import Range, between_poles, exactly, hull, number, over, ranges
from .verdict import Budget, Open

BRANCHES = 16
SPARE = 6  # terms that 0/0 may use up
REACH = 8  # radii within which a removable point is drawn into a cell
Series = Any  # arb_series; flint's types do not mix in annotations
Lanes = list[Series]  # wide, point and, near a removable point, root
Choices = dict[tuple[int, int], bool]


class Branch(NamedTuple):
    """f = sum coefficients[k] y^k up to `remainder` on the cell; `slope` holds f' h over it, `middle` at its centre."""

    coefficients: list[arb]
    remainder: arb
    slope: arb
    middle: arb


class Local(NamedTuple):
    """What is known of a formula on a cell: its values, and its branches if it has series there."""

    values: Range
    branches: list[Branch]


class Fork(Exception):
    """A sign is open: follow both sides."""


def middle(a: float, b: float) -> tuple[float, float]:
    """Centre and half-width of a cell that covers [a, b], rounded outwards."""
    c = a + (b - a) / 2
    return c, math.nextafter(max(b - c, c - a), math.inf)


def local(formula: Formula, a: float, b: float, order: int, budget: Budget) -> Local | None:
    """The formula on [a, b]; None where it may be undefined (then bisect)."""
    budget.spend(4 * len(formula.steps))
    name = next(iter(formula.variables), "x")
    cell = Range(arb(a), arb(b))
    spans = ranges(formula, {name: cell})
    branches = _branches(formula, spans, a, b, order, budget)
    values = spans[-1]
    if branches:
        taylor = [_spread(branch) for branch in branches]
        reach = taylor[0]
        for other in taylor[1:]:
            reach = hull(reach, other)
        values = reach if values is None else _meet(values, reach)
    return None if values is None else Local(values, branches)


def _meet(a: Range, b: Range) -> Range:
    lo, hi = (b.lo if b.lo > a.lo else a.lo), (b.hi if b.hi < a.hi else a.hi)
    return Range(lo, hi)


def _spread(branch: Branch) -> Range:
    room = sum((abs(c) for c in branch.coefficients[1:]), branch.remainder)
    return over(branch.coefficients[0] - room, branch.coefficients[0] + room)


def _branches(
    formula: Formula, spans: Sequence[Range | None], a: float, b: float, order: int, budget: Budget
) -> list[Branch]:
    """The branches on [a, b] by the series with the smallest remainder; none where there is no series."""
    c, h = middle(a, b)
    starts: list[list[arb]] = [[arb(c, h), arb(c)]]
    starts += [[arb(c, h).union(arb(r)), arb(c), arb(r)] for r in removable(formula) if abs(r - c) <= REACH * h]
    best: list[Branch] = []
    for balls in starts:
        outside = len(balls) > 2 and not a <= balls[2] <= b
        try:
            found = _follow(formula, [None] * len(spans) if outside else spans, balls, h, order, budget)
        except Open:
            continue
        if not best or _size(found) < _size(best):
            best = found
    return best


def _size(branches: list[Branch]) -> tuple[int, arb]:
    worst = branches[0].remainder
    for branch in branches:
        worst = worst.max(branch.remainder)
    return len(branches), worst.upper()


def _follow(
    formula: Formula, spans: Sequence[Range | None], balls: list[arb], h: float, order: int, budget: Budget
) -> list[Branch]:
    """Every branch over these starts."""
    before, ctx.cap = ctx.cap, order + 2 + (SPARE if len(balls) > 2 else 0)
    found: list[Branch] = []
    waiting: list[Choices] = [{}]
    try:
        name = next(iter(formula.variables), "x")
        starts = {name: [arb_series([ball, h]) for ball in balls]}
        while waiting:
            choices = waiting.pop()
            budget.spend(len(formula.steps))
            try:
                found.append(_branch(evaluate(formula, spans, starts, choices), order))
            except Fork as fork:
                waiting += [{**choices, fork.args[0]: side} for side in (True, False)]
            if len(found) + len(waiting) > BRANCHES:
                raise Open
        return found
    finally:
        ctx.cap = before


def _branch(lanes: Lanes, order: int) -> Branch:
    wide, point = lanes[0], lanes[1]
    if wide.prec < order + 2 or point.prec < order + 1:
        raise Open
    coefficients, rest = [point[k] for k in range(order + 1)], wide[order + 1].abs_upper()
    if not (rest.is_finite() and wide[1].is_finite() and all(x.is_finite() for x in coefficients)):
        raise Open
    return Branch(coefficients, rest, wide[1], point[1])


# series, operation by operation


def evaluate(
    formula: Formula, spans: Sequence[Range | None], starts: dict[str, Lanes], choices: Choices | None
) -> Lanes:
    """The lanes of a formula for given choices of branches; `Open` where one may be undefined.

    At an open sign it raises `Fork`, or `Open` where no choices are to be made (None).
    """
    found: list[Lanes] = []
    count = len(next(iter(starts.values())))
    for place, step in enumerate(formula.steps):
        kids = [found[i] for i in step.args]
        if step.op == "var":
            lanes = starts[step.text]
        elif step.constant:
            lanes = [arb_series([_constant(formula, place)])] * count
        elif step.op in SIDES:
            lanes = SIDES[step.op](step, kids, _Sides(spans, choices, place))
        elif step.op == "/":
            lanes = _quotient(kids[0], kids[1])
        elif step.op == "^":
            lanes = [_power(u, v, formula.steps[step.args[1]].exact) for u, v in zip(*kids, strict=True)]
        elif step.op in ("sign", "step", "floor"):
            lanes = [_level(spans[place])] * count
        else:
            lanes = [RULES[step.op](*lane) for lane in zip(*kids, strict=True)]
        if not all(lane[0].is_finite() for lane in lanes):
            raise Open
        found.append(lanes)
    return found[-1]


@lru_cache(maxsize=1024)
def _constant(formula: Formula, place: int) -> arb:
    """A constant sub-formula, where it is defined; all proofs are made in one precision."""
    step = formula.steps[place]
    if step.exact is not None or not step.args:
        return number(step)
    span = ranges(Formula(formula.steps[: place + 1]), {})[-1]
    if span is None:
        raise Open
    return span.ball


def _level(span: Range | None) -> arb_series:
    """A step function where it does not step."""
    if span is None or not span.lo == span.hi:
        raise Open
    return arb_series([span.lo])


class _Sides:
    """Decides the sign of differences, by exact ends where they do, else by choice."""

    def __init__(self, spans: Sequence[Range | None], choices: Choices | None, place: int) -> None:
        self.spans, self.choices, self.place = spans, choices, place

    def above(self, u: int, v: int | None, a: Lanes, b: Lanes | None, which: int = 0) -> bool:
        """Whether u >= v all over the cell (v = None: 0); `a` and `b` are their lanes."""
        left, right = self.spans[u], Range(arb(0), arb(0)) if v is None else self.spans[v]
        gap = a[0][0] if b is None else a[0][0] - b[0][0]
        if left is not None and right is not None:
            if left.lo >= right.hi:
                return True
            if left.hi <= right.lo:
                return False
        if gap >= 0 or gap <= 0:
            return bool(gap >= 0)
        key = (self.place, which)
        if self.choices is None:
            raise Open
        if key not in self.choices:
            raise Fork(key)
        return self.choices[key]


def _absolute(step: Step, kids: list[Lanes], sides: _Sides) -> Lanes:
    if sides.above(step.args[0], None, kids[0], None):
        return kids[0]
    return [-lane if step.op == "abs" else arb_series([0]) for lane in kids[0]]


def _extreme(step: Step, kids: list[Lanes], sides: _Sides) -> Lanes:
    first = sides.above(step.args[0], step.args[1], kids[0], kids[1])
    return kids[0] if first == (step.op == "max") else kids[1]


def _clip(step: Step, kids: list[Lanes], sides: _Sides) -> Lanes:
    low = sides.above(step.args[0], step.args[1], kids[0], kids[1])
    inner, place = (kids[0], step.args[0]) if low else (kids[1], step.args[1])
    return kids[2] if sides.above(place, step.args[2], inner, kids[2], 1 + low) else inner


SIDES = {"abs": _absolute, "relu": _absolute, "max": _extreme, "min": _extreme, "clip": _clip}


def _sure(condition: Any) -> None:
    if not condition:
        raise Open


def _exp(u: Series) -> Series:
    """e^u with the hull of both ends as constant term, which stays positive however wide u is."""
    constant = u[0]
    ends = constant.exp() if constant.is_exact() else constant.lower().exp().union(constant.upper().exp())
    return ends * arb_series([0, *list(u)[1:]], u.prec).exp()


def _log(u: Series) -> Series:
    _sure(u[0] > 0)
    return u.log()


def _sqrt(u: Series) -> Series:
    _sure(u[0] > 0)
    return u.sqrt()


def _tan(u: Series) -> Series:
    _sure(u[0].is_finite() and between_poles(Range(u[0].lower(), u[0].upper())))
    return u.tan()


def _over(u: Series, v: Series) -> Series:
    _sure(v[0] > 0 or v[0] < 0)
    return u / v


def _sigmoid(u: Series) -> Series:
    return _over(arb_series([1]), 1 + _exp(-u))


def _power(u: Series, v: Series, exact: Fraction | None) -> Series:
    """u^n by squaring; u^v = e^(v log u) for u > 0."""
    if exact is None or exact.denominator > 1:
        return _exp((v if exact is None else arb_series([exactly(exact)])) * _log(u))
    n = int(exact)
    if n <= 0:
        _sure(u[0] > 0 or u[0] < 0)
    result = arb_series([1])
    for bit in bin(abs(n))[2:]:
        result = result * result * u if bit == "1" else result * result
    return result if n >= 0 else _over(arb_series([1]), result)


def _gelu_tanh(u: Series) -> Series:
    scale, small = (8 / arb.pi()).sqrt(), exactly(Fraction(44715, 1_000_000))
    return u * _sigmoid(scale * (u + small * u * u * u))


RULES: dict[str, Callable[..., Series]] = {
    "neg": lambda u: -u,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "sin": lambda u: u.sin(),
    "cos": lambda u: u.cos(),
    "tan": _tan,
    "erf": lambda u: u.erf(),
    "sigmoid": _sigmoid,
    "tanh": lambda u: 1 - 2 * _sigmoid(-2 * u),
    "softplus": lambda u: _log(1 + _exp(u)),
    "silu": lambda u: u * _sigmoid(u),
    "gelu": lambda u: u * (1 + (u / arb(2).sqrt()).erf()) / 2,
    "gelu_tanh": _gelu_tanh,
}


def _zeros(u: Series) -> int:
    """How many leading coefficients are exactly 0."""
    return next((k for k in range(u.prec) if not u[k].is_zero()), u.prec)


def _shifted(u: Series, m: int) -> Series:
    _sure(u.prec > m)
    return arb_series(list(u)[m:], u.prec - m)


def _quotient(u: Lanes, v: Lanes) -> Lanes:
    """u/v; by shifted series where both vanish at the removable point of the cell."""
    if v[0][0] > 0 or v[0][0] < 0 or len(v) < 3:
        return [_over(a, b) for a, b in zip(u, v, strict=True)]
    m = _zeros(v[2])
    _sure(0 < m <= min(_zeros(u[2]), SPARE))
    at_root = v[1][0].is_zero()
    _sure(not at_root or _zeros(v[1]) == m <= _zeros(u[1]))
    shift = [m, m if at_root else 0, m]
    return [_over(_shifted(a, k), _shifted(b, k)) for a, b, k in zip(u, v, shift, strict=True)]


@lru_cache(maxsize=64)
def removable(formula: Formula) -> tuple[float, ...]:
    """Floats at which a quotient may be 0/0: halves, and zeros of affine parts of divisors."""
    tried: set[float] = set()
    for step in formula.steps:
        if step.op == "/" and not formula.steps[step.args[1]].constant:
            tried |= {k / 2 for k in range(-8, 9)}
            part = Formula(formula.steps[: step.args[1] + 1])
            tried |= {float(-b / a) for a, b in affine_parts(part) if a and abs(b / a) < 1e9}
    return tuple(sorted(tried))


def affine_parts(formula: Formula) -> list[tuple[Fraction, Fraction]]:
    """(a, b) of every step that is written as a x + b with rational numbers."""
    found: list[tuple[Fraction, Fraction] | None] = []
    for step in formula.steps:
        kids = [kid for kid in (found[i] for i in step.args) if kid is not None]
        line: tuple[Fraction, Fraction] | None = None
        if step.exact is not None:
            line = Fraction(0), step.exact
        elif step.op == "var":
            line = Fraction(1), Fraction(0)
        elif len(kids) == len(step.args) and kids:
            line = _line(step.op, *kids[0], *kids[-1])
        found.append(line)
    return [line for line in found if line is not None]


def _line(op: str, a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> tuple[Fraction, Fraction] | None:
    """(a x + b) op (c x + d), where that is affine."""
    if op == "neg":
        return -a, -b
    if op in ("+", "-"):
        sign = 1 if op == "+" else -1
        return a + sign * c, b + sign * d
    if op == "*" and not (a and c):
        return a * d + c * b, b * d
    if op == "/" and not c and d:
        return a / d, b / d
    return None
