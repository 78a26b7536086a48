"""Ball arithmetic with the doors closed behind it.

A ball is midpoint plus or minus radius (Arb, through python-flint): an operation on balls encloses the
operation on every pair of their members, so a computation in balls is a proof. flint keeps its working
precision and the length of power series in one global context; `precision` sets both and puts them back,
whatever happens inside.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flint import arb, ctx


class Unresolved(ArithmeticError):
    """Balls this wide cannot decide (a divisor holds 0, say): bisect, or give up."""


@contextmanager
def precision(bits: int, terms: int | None = None) -> Iterator[None]:
    """`with precision(128, 14):` 128 bits and series of 14 terms inside, the old context after."""
    before = ctx.prec, ctx.cap
    ctx.prec = bits
    if terms is not None:
        ctx.cap = terms
    try:
        yield
    finally:
        ctx.prec, ctx.cap = before


def hull(lo: arb | float, hi: arb | float) -> arb:
    """The ball over [lo, hi]; the order of the ends does not matter."""
    return arb(lo).union(arb(hi))


def ceil_float(x: arb) -> float:
    """The upper end of x as a float, rounded up: `ceil_float(ball) >= every member`."""
    top = x.upper()
    near = float(top)
    return near if arb(near) >= top else math.nextafter(near, math.inf)


def floor_float(x: arb) -> float:
    """The lower end of x as a float, rounded down."""
    return -ceil_float(-x)


def increasing(function: Callable[[arb], arb], u: arb) -> arb:
    """f(u) for an increasing f: the hull of f at the two ends, however wide u is."""
    return function(u) if u.is_exact() else function(u.lower()).union(function(u.upper()))
