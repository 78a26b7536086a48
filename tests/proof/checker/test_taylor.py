"""Every function of the language, as ranges and Taylor polynomials enclose it, against mpmath."""

import math
import random

import mpmath
import pytest
from flint import arb

from headsmith.proof.checker import formulas
from headsmith.proof.checker.ranges import Range, ranges
from headsmith.proof.checker.taylor import local
from headsmith.proof.checker.verdict import Budget

from .helpers import ONE, POSITIVE, tree_of


def holds(ball: arb, value) -> bool:
    """Whether a value, known to 36 digits, lies in a ball."""
    return bool((ball - arb(mpmath.nstr(value, 36)) + arb(0, 1e-30) * (1 + abs(ball))).contains(0))


def inside(found: Range, value) -> bool:
    room = mpmath.mpf(10) ** -30 * (1 + abs(value))
    lo, hi = (mpmath.mpf(end.mid().str(40, radius=False)) for end in found)
    return lo - room <= value <= hi + room


def cells(op, count=25):
    rng = random.Random(op)
    for _ in range(count):
        c, h = rng.uniform(-4, 4), 10 ** rng.uniform(-6, 0.3)
        if op in POSITIVE:
            c = abs(c) + h
        yield c - h, c + h


def samples(a, b, count=9):
    return [min(max(a + (b - a) * i / (count - 1), a), b) for i in range(count)]


@pytest.mark.parametrize("op", ONE)
def test_ranges_and_taylor_polynomials_enclose(op):
    f = formulas.read([op, ["var", "x"]])
    seen = 0
    for a, b in cells(op):
        points = [(x, ONE[op](mpmath.mpf(x))) for x in samples(a, b)]
        if op == "tan" and any(math.floor(x / math.pi + 0.5) != math.floor(a / math.pi + 0.5) for x in (a, b)):
            assert ranges(f, {"x": Range(arb(a), arb(b))})[-1] is None
            continue
        span = ranges(f, {"x": Range(arb(a), arb(b))})[-1]
        assert span is not None and all(inside(span, y) for _, y in points), (a, b)
        here = local(f, a, b, 12, Budget())
        assert all(inside(here.values, y) for _, y in points), (a, b)
        seen += taylor_encloses(here, points, a, b)
    assert seen > 3 or op in ("sign", "step", "floor")


def taylor_encloses(here, points, a, b):
    """Each point lies on a branch: its polynomial and remainder hold the value."""
    if not here.branches:
        return 0
    c = a + (b - a) / 2
    h = math.nextafter(max(b - c, c - a), math.inf)
    for x, y in points:
        t = (arb(x) - c) / h
        values = [
            sum((q * t**k for k, q in enumerate(p.coefficients)), arb(0)) + p.remainder * arb(0, 1)
            for p in here.branches
        ]
        assert any(holds(v, y) for v in values), (a, b, x)
    return 1


PAIRS = {
    "x + 1/3": lambda x: x + mpmath.mpf(1) / 3,
    "x*sin(x)": lambda x: x * mpmath.sin(x),
    "1/(x^2 + 0.1)": lambda x: 1 / (x**2 + mpmath.mpf("0.1")),
    "x^3": lambda x: x**3,
    "x^4": lambda x: x**4,
    "2^x": lambda x: mpmath.mpf(2) ** x,
    "(x^2 + 1)^-2": lambda x: (x**2 + 1) ** -2,
    "(x^2 + 1)^0.3": lambda x: (x**2 + 1) ** mpmath.mpf("0.3"),
    "(x^2 + 1)^pi": lambda x: (x**2 + 1) ** mpmath.pi,
    "(x^2 + 1)^x": lambda x: (x**2 + 1) ** x,
    "max(x, sin(3*x))": lambda x: max(x, mpmath.sin(3 * x)),
    "min(x, x^2, 1/2)": lambda x: min(x, x**2, mpmath.mpf(1) / 2),
    "clip(x, -1, e)": lambda x: min(max(x, mpmath.mpf(-1)), mpmath.e),
    "sin(x)/x": lambda x: mpmath.sin(x) / x if x else mpmath.mpf(1),
    "(1 - cos(x))/x^2": lambda x: (1 - mpmath.cos(x)) / x**2 if x else mpmath.mpf(1) / 2,
    "(x^2 - 1)/(x - 1)": lambda x: x + 1,
    "abs(x)*log(abs(x) + 1)": lambda x: abs(x) * mpmath.log(abs(x) + 1),
}


@pytest.mark.parametrize("text", PAIRS)
def test_formulas_enclose(text):
    f, seen = tree_of(text), 0
    for a, b in [*cells(text, 20), (-1.0, 1.0), (0.0, 0.5), (-0.25, 0.75)]:
        here = local(f, a, b, 12, Budget())
        points = [(x, PAIRS[text](mpmath.mpf(x))) for x in samples(a, b)]
        if here is not None:
            assert all(inside(here.values, y) for _, y in points), (a, b)
            seen += taylor_encloses(here, points, a, b)
    assert seen > 3
