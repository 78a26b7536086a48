"""Taylor polynomials of a formula with proved remainders: the heart of every certificate.

On the cell [c-h, c+h] write z = c + h y. Three power series in y go through the formula side by side:

- the *wide* one starts from the ball [c-h, c+h]: its coefficient k encloses f^(k)(xi) h^k/k! for every xi
  of the cell, so coefficient n+1 is the Lagrange remainder of the degree-n polynomial, and coefficient 0
  the range of f;
- the *point* one starts from c and gives the polynomial itself;
- the *root* one starts from a removable point r of the cell, where there is one.

**Branches.** Where the sign of the argument of abs, relu, min, max or clip stays open over the cell, either
branch is followed, and the answer is a list: at every z the formula equals one of the branches, and each is
analytic on the whole cell.

**Removable points.** Let u and v vanish at r to order m, exactly. Then u/v = u_m/v_m where u_1(x) =
(u(x)-u(r))/(x-r) and so on, m times. Since u_1(x) is the mean of u' over [r, x], its k-th Taylor
coefficient at x is the mean of (k+1) s^k u_[k+1](r + s(x-r)) over s in [0, 1], a weighted mean of the
(k+1)-th Taylor coefficient of u between r and x. The wide coefficient k+1 encloses all of those, hence
their mean: shifting the wide series of u and v by m places gives wide series of u_m and v_m. (Where r is
near the cell but outside, the wide ball is widened to reach it.) The same shift is exact for the series at
r; elsewhere v is not 0 and one divides.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

from flint import arb, arb_series, ctx

from headsmith.functions import series
from headsmith.functions.balls import Unresolved, hull, precision
from headsmith.functions.expression import Expression
from headsmith.functions.series import Series

BRANCHES = 16
REACH = 8  # radii within which a removable point outside the cell is drawn into the wide series
SPARE = 5  # terms carried beyond those wanted, for removable points to use up
TRIED_ROOTS = [k / 2 for k in range(-8, 9)]

Lanes = list[Series]  # wide, point and, near a removable point, root
Choices = dict[tuple[Expression, ...], int]


class Jet(NamedTuple):
    """|g(c + h y) - sum_k coefficients[k] y^k| <= remainder for |y| <= 1, g an analytic branch of f.

    The true coefficients lie in the balls `coefficients`; `remainder` is an exact number.
    """

    coefficients: list[arb]
    remainder: arb


class Fork(Exception):
    """The cell is too wide to say which branch applies: try each of `options`."""

    def __init__(self, key: tuple[Expression, ...], options: list[int]) -> None:
        self.key, self.options = key, options


def jets(f: Expression, centre: float, radius: float, order: int, prec: int = 128) -> list[Jet]:
    """One `Jet` per branch of f on [centre - radius, centre + radius]; `Unresolved` says: bisect.

    >>> from headsmith.functions import parse
    >>> [len(parse("abs(x)").jets(c, 0.5, 12)) for c in (0.0, 1.0)]
    [2, 1]
    """
    if not (math.isfinite(centre) and math.isfinite(radius) and radius >= 0):
        raise Unresolved("the cell is not finite")
    if f.is_constant:
        return [Jet([constant(f, prec), *[arb(0)] * order], arb(0))]
    if radius == 0:
        return [Jet([f.at(centre, prec=prec), *[arb(0)] * order], arb(0))]
    inside = removable_in(f, centre - radius, centre + radius)
    near = removable_in(f, centre - REACH * radius, centre + REACH * radius)
    if inside is not None or near is None:
        return _jets(f, centre, radius, order, prec, inside)
    found = []
    for root in (None, near):
        with suppress(Unresolved):
            found.append(_jets(f, centre, radius, order, prec, root))
    if not found:
        raise Unresolved("the formula is not finite on the cell")
    return min(found, key=lambda some: (len(some), float(max(jet.remainder for jet in some))))


def _jets(f: Expression, centre: float, radius: float, order: int, prec: int, root: float | None) -> list[Jet]:
    """The jets with the wide series over the hull of the cell and the removable point `root`."""
    found = []
    with precision(prec, order + 2 + (0 if root is None else SPARE)):
        ball = arb(centre, radius) if root is None else arb(centre, radius).union(arb(root))
        for wide, point, *_ in branches(f, ball, centre, arb(radius), root):
            if min(wide.prec, point.prec + 1) < order + 2:
                raise Unresolved("a quotient is removable to too high an order")
            coefficients = [point[k] for k in range(order + 1)]
            remainder = wide[order + 1].abs_upper()
            if not (remainder.is_finite() and all(map(arb.is_finite, coefficients))):
                raise Unresolved("the formula is not finite on the cell")
            found.append(Jet(coefficients, remainder))
    return found


def branches(f: Expression, ball: arb, centre: float, scale: arb, root: float | None) -> list[list[arb_series]]:
    """The series of every branch over `ball`, in y with z = centre + scale y; the context is the caller's."""
    starts: Lanes = [arb_series([ball, scale]), arb_series([centre, scale])]
    if root is not None:
        starts.append(arb_series([root, scale]))
    found, waiting = [], [Choices()]
    while waiting:
        choices = waiting.pop()
        try:
            lanes = evaluate(f, starts, choices)
        except Fork as fork:
            waiting += [{**choices, fork.key: option} for option in reversed(fork.options)]
        else:
            found.append([lane if isinstance(lane, arb_series) else arb_series([lane]) for lane in lanes])
        if len(found) + len(waiting) > BRANCHES:
            raise Unresolved(f"more than {BRANCHES} branches meet in one cell")
    return found


def evaluate(f: Expression, starts: Lanes, choices: Choices) -> Lanes:
    """The lanes of f for given branch choices; raises `Fork` at the first open one."""
    count = len(starts)

    def visit(node: Expression, kids: list[Lanes]) -> Lanes:
        if node.is_constant:
            return [constant(node)] * count
        op = node.op
        if op == "var":
            return starts
        if op in PLAIN:
            return [PLAIN[op](lane) for lane in kids[0]]
        if op in PAIRS:
            return [PAIRS[op](a, b) for a, b in zip(*kids, strict=True)]
        if op == "/":
            return divide(*kids)
        if op == "^":
            return raise_to(node, *kids)
        return branch(node, kids, choices)

    def checked(node: Expression, kids: list[Lanes]) -> Lanes:
        lanes = visit(node, kids)
        if not (lanes[0] if node.is_constant else lanes[0][0]).is_finite():
            raise Unresolved("the formula is not finite on the cell")
        return lanes

    try:
        return f.fold(checked)
    except (ValueError, ZeroDivisionError) as error:
        raise Unresolved(str(error)) from error


PLAIN: dict[str, Callable[[Series], Series]] = {
    "neg": lambda u: -u,
    "exp": lambda u: u.exp(),
    "log": lambda u: series.positive(u).log(),
    "sqrt": lambda u: series.positive(u).sqrt(),
    "sin": lambda u: u.sin(),
    "cos": lambda u: u.cos(),
    "tan": lambda u: u.tan(),
    "erf": lambda u: u.erf(),
    **{name: getattr(series, name) for name in ("tanh", "sigmoid", "softplus", "gelu", "gelu_tanh", "silu")},
}
PAIRS: dict[str, Callable[[Series, Series], Series]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def raise_to(node: Expression, base: Lanes, exponent: Lanes) -> Lanes:
    """u^v: an integer power where v is an integer, else exp(v log u) for u > 0."""
    n = node.children[1].exact
    if n is not None and n.denominator == 1:
        return [series.power(u, int(n)) for u in base]
    return [(v * series.positive(u).log()).exp() for u, v in zip(base, exponent, strict=True)]


def divide(u: Lanes, v: Lanes) -> Lanes:
    """u/v, by shifted series where v vanishes at the removable point of the cell (proof above)."""
    wide = v[0]
    if isinstance(wide, arb) or not wide[0].contains(0) or len(v) < 3:
        return [a / series.nonzero(b) for a, b in zip(u, v, strict=True)]
    m = series.zeros(v[2])
    if m == 0 or series.zeros(u[2]) < m:
        raise Unresolved("a divisor may vanish here")
    quotients: Lanes = []
    for lane, (a, b) in enumerate(zip(u, v, strict=True)):
        at_root = lane != 1 or (b[0].is_zero() and series.zeros(b) == m <= series.zeros(a))
        a, b = (series.shift(a, m), series.shift(b, m)) if at_root else (a, b)
        quotients.append(a / series.nonzero(b))
    return quotients


def branch(node: Expression, kids: list[Lanes], choices: Choices) -> Lanes:
    """The side of a kink or jump that the wide series decides, or that `choices` picks."""

    def side(key: tuple[Expression, ...], gap: arb) -> bool:
        if gap >= 0 or gap <= 0:
            return bool(gap >= 0)
        if key not in choices:
            raise Fork(key, [1, 0])
        return choices[key] == 1

    def level(key: tuple[Expression, ...], options: list[int]) -> Lanes:
        if len(options) > 1 and key not in choices:
            raise Fork(key, options)
        return [arb_series([choices.get(key, options[0])])] * len(u)

    def over(lanes: Lanes) -> arb:
        return lanes[0] if isinstance(lanes[0], arb) else lanes[0][0]

    u, args = kids[0], node.children
    if node.op in ("abs", "relu"):
        if side((args[0],), over(u)):
            return u
        return [-lane for lane in u] if node.op == "abs" else [arb_series([])] * len(u)
    if node.op in ("min", "max"):
        first = side(args, over(u) - over(kids[1]))
        return series_of(u if first == (node.op == "max") else kids[1])
    if node.op == "clip":
        low = side((args[0], args[1]), over(u) - over(kids[1]))
        inner, name = (u, args[0]) if low else (kids[1], args[1])
        high = side((name, args[2]), over(inner) - over(kids[2]))
        return series_of(kids[2] if high else inner)
    gap = over(u)
    if node.op == "floor":
        if not gap.is_finite() or gap.rad() > BRANCHES:
            raise Unresolved("floor passes too many steps in one cell")
        ends = [end.floor().unique_fmpz() for end in (gap.lower(), gap.upper())]
        if ends[0] is None or ends[1] is None:
            raise Unresolved("floor of a number beyond the working precision")
        return level((node,), list(range(int(ends[0]), int(ends[1]) + 1)))
    signs = [sign for sign, open_ in ((1, gap.upper() > 0), (0, gap.contains(0)), (-1, gap.lower() < 0)) if open_]
    if node.op == "step":
        signs = sorted({int(sign >= 0) for sign in signs})
    return level((node,), signs)


def series_of(lanes: Lanes) -> Lanes:
    """Constants made series, so that functions of a chosen branch always meet a series."""
    return [arb_series([lane]) if isinstance(lane, arb) else lane for lane in lanes]


def constant(node: Expression, prec: int = 0) -> arb:
    """The ball of a constant expression, remembered for each precision."""
    bits = prec or ctx.prec
    return node.note(("ball", bits), lambda: node.at(prec=bits))


def removable_roots(f: Expression) -> tuple[float, ...]:
    """The floats where some quotient in f is exactly 0/0 and has a limit: 0 for sin(x)/x."""

    def find() -> tuple[float, ...]:
        quotients = [node for node in f.order if node.op == "/"] if len(f.variables) == 1 else []
        return tuple(sorted({r for quotient in quotients for r in roots_of(quotient)}))

    return f.note("removable", find)


def removable_in(f: Expression, lo: float, hi: float) -> float | None:
    """The removable point of [lo, hi] nearest to its middle, or None."""
    inside = [r for r in removable_roots(f) if lo <= r <= hi]
    return min(inside, key=lambda r: abs(r - (lo + hi) / 2), default=None)


def roots_of(quotient: Expression) -> tuple[float, ...]:
    """The removable points of one quotient, among simple numbers and zeros of affine parts of its divisor."""

    def find() -> tuple[float, ...]:
        tried = set(TRIED_ROOTS)
        for node in quotient.children[1].order:
            line = node.affine() if node.variables else None
            if line and isinstance(line[0], Fraction) and isinstance(line[1], Fraction) and line[0]:
                tried.add(float(-line[1] / line[0]))
        return tuple(sorted(r for r in tried if is_removable(quotient, r)))

    return quotient.note("roots", find) if quotient.children[1].variables else ()


def is_removable(quotient: Expression, r: float) -> bool:
    """Whether numerator and divisor both vanish exactly at the float r, the divisor not to higher order."""
    try:
        with precision(128, SPARE + 3):
            starts: Lanes = [
                arb_series([arb(r, 2.0**-40 * max(1, abs(r))), 1]),
                *[arb_series([arb(r), 1])] * 2,
            ]
            found = [series.zeros(evaluate(part, starts, Choices())[2]) for part in quotient.children]
        return 0 < found[1] <= min(found[0], SPARE)
    except (Unresolved, Fork):
        return False


def hull_of(values: list[arb]) -> arb:
    """The ball around all of `values`."""
    result = values[0]
    for value in values[1:]:
        result = hull(result, value)
    return result
