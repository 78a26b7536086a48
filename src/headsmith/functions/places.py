"""Where a formula is not smooth, found from its own parts and proved complete by bisection.

A formula loses smoothness only where the argument of one of its operations meets a special value: the
argument of abs or relu is 0, the two arguments of max are equal, a divisor vanishes, a root or logarithm
reaches 0, a floor reaches an integer. Each such *guard* is a formula itself, and its zeros are isolated by
interval bisection: a cell is dropped when a ball shows that the guard has no zero there, and closed when a
ball shows that its slope keeps one sign, so that there is at most one zero, which the signs at the ends
find. What stays open at a ten-billionth of the interval (a double zero, such as that of x^2) is reported as
a zero unless it is a mere touch of a kink.
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from headsmith.functions.balls import Unresolved, ceil_float, floor_float
from headsmith.functions.bounds import slopes
from headsmith.functions.enclosures import over
from headsmith.functions.expression import Expression
from headsmith.functions.jets import hull_of, is_removable, removable_roots
from headsmith.refusal import Refusal

SMALLEST = 1e-10  # of the interval: below, a cell that is still open counts as a zero
MOST_CELLS = 6000
MOST_STEPS = 1000


@dataclass(frozen=True)
class Places:
    """Where a formula on [lo, hi] is not analytic, and how.

    kinks: the slope may jump; jumps: (place, size); poles: unbounded; singularities: continuous, not analytic
    (sqrt(x), x log x at 0); undefined: stretches (a, b) without a value; removable: 0/0 with a limit.
    """

    kinks: tuple[float, ...] = ()
    jumps: tuple[tuple[float, float], ...] = ()
    poles: tuple[float, ...] = ()
    singularities: tuple[float, ...] = ()
    undefined: tuple[tuple[float, float], ...] = ()
    removable: tuple[float, ...] = ()


def places(f: Expression, lo: float, hi: float) -> Places:
    """Every place of f on [lo, hi].

    >>> from headsmith.functions import parse
    >>> places(parse("abs(x - 0.5) + sqrt(x)"), 0, 1)
    Places(kinks=(0.5,), jumps=(), poles=(), singularities=(0.0,), undefined=(), removable=())
    """
    lo, hi = float(lo), float(hi)
    if len(f.variables) > 1:
        raise Refusal(f"{f} has the variables {', '.join(f.variables)}: places are found for formulas in one variable")
    kinks: set[float] = set()
    steps: set[float] = set()
    poles: set[float] = set()
    branch_points: set[float] = set()
    undefined: set[tuple[float, float]] = set()
    for kind, node, guard in guards(f, lo, hi):
        found = zeros(guard, lo, hi)
        if kind == "kink":
            kinks |= {place for place, crosses in found if crosses and lo < place < hi}
        elif kind == "jump":
            steps |= {place for place, _ in found}
        elif kind == "pole":
            poles |= {place for place, _ in found if not (place in removable_roots(f) and is_removable(node, place))}
        else:
            branch_points |= {place for place, _ in found}
            undefined |= set(_negative(guard, [place for place, _ in found], lo, hi))
    poles |= {place for place in branch_points if not _bounded_near(f, place, lo, hi)}
    jumps = [(place, _jump(f, place, lo, hi)) for place in sorted(steps)]
    kinks |= {place for place, size in jumps if size == 0 and lo < place < hi}
    return Places(
        kinks=tuple(sorted(kinks)),
        jumps=tuple((place, size) for place, size in jumps if size > 0),
        poles=tuple(sorted(poles)),
        singularities=tuple(sorted(branch_points - poles)),
        undefined=_merged(undefined),
        removable=tuple(r for r in removable_roots(f) if lo <= r <= hi),
    )


def guards(f: Expression, lo: float, hi: float) -> Iterator[tuple[str, Expression, Expression]]:
    """(kind, node, guard): the node can misbehave only where its guard is 0."""
    for node in f.order:
        if not node.children:
            continue
        op, u, last = node.op, node.children[0], node.children[-1]
        if op in ("abs", "relu"):
            yield "kink", node, u
        elif op in ("min", "max", "clip"):
            yield from (("kink", node, u - other) for other in node.children[1:] if other is not u)
        elif op in ("sign", "step"):
            yield "jump", node, u
        elif op == "floor":
            yield from (("jump", node, u - k) for k in _integers(u, lo, hi))
        elif op == "/":
            yield "pole", node, last
        elif op == "tan":
            yield "pole", node, Expression.of("cos", u)
        elif op in ("sqrt", "log") or (op == "^" and (last.exact is None or last.exact.denominator > 1)):
            yield "branch", node, u
        elif op == "^" and last.exact is not None and last.exact < 0:
            yield "pole", node, u


def _integers(u: Expression, lo: float, hi: float) -> range:
    try:
        ball = over(u, lo, hi)
    except Unresolved:
        return range(0)
    first, last = math.ceil(floor_float(ball)), math.floor(ceil_float(ball))
    if last - first > MOST_STEPS:
        raise Refusal(f"floor({u}) has more than {MOST_STEPS} jumps on [{lo}, {hi}]")
    return range(first, last + 1)


def zeros(g: Expression, lo: float, hi: float) -> list[tuple[float, bool]]:
    """(place, whether g changes its sign there) for every zero of g on [lo, hi], in order."""
    if g.is_constant:
        return []
    found: dict[float, bool] = {}
    left: list[tuple[float, float]] = []
    cells, work = deque([(lo, hi)]), 0
    while cells:
        a, b = cells.popleft()
        work += 1
        try:
            value = over(g, a, b)
            if not value.contains(0) or value.is_zero():
                continue
            slope = hull_of([wide for wide, _ in slopes(g, a, b)])
            if not slope.contains(0):
                place = _crossing(g, a, b)
                found |= {} if place is None else {place: True}
                continue
        except Unresolved:
            pass
        if b - a <= SMALLEST * (hi - lo) or work > MOST_CELLS:
            left.append((a, b))
        else:
            middle = a + (b - a) / 2
            cells += [(a, middle), (middle, b)]
    for a, b in _merged(set(left)):
        exact = [x for x in (0.0, *(end for cell in left for end in cell)) if a <= x <= b and _sign(g, x) == 0]
        place = exact[0] if exact else a + (b - a) / 2
        margin = SMALLEST * (hi - lo)
        crosses = (_sign(g, max(lo, a - margin)) or 0) * (_sign(g, min(hi, b + margin)) or 0) < 0
        if exact or _defined(g, a, b):
            found.setdefault(place, crosses)
    return sorted(found.items())


def _sign(g: Expression, x: float) -> int | None:
    """The proved sign of g(x); 0 where 128 bits cannot tell it from 0; None where g has no value."""
    try:
        value = g.at(x)
    except Unresolved:
        return None
    return 1 if value > 0 else -1 if value < 0 else 0


def _defined(g: Expression, a: float, b: float) -> bool:
    return _sign(g, a) is not None or _sign(g, b) is not None


def _crossing(g: Expression, a: float, b: float) -> float | None:
    """The float nearest to the zero of a monotone g on [a, b], or None where it has none."""
    first, last = _sign(g, a), _sign(g, b)
    if first == 0 or last == 0:
        return a if first == 0 else b
    if first is None or last is None or first == last:
        return None
    while True:
        middle = a + (b - a) / 2
        if not a < middle < b:
            return a if abs(g.at(a)) < abs(g.at(b)) else b
        sign = _sign(g, middle)
        if sign == 0:
            return middle
        a, b = (middle, b) if sign == first else (a, middle)


def _negative(g: Expression, found: list[float], lo: float, hi: float) -> list[tuple[float, float]]:
    """The stretches between zeros on which g is negative."""
    ends = sorted({lo, *found, hi})
    return [(a, b) for a, b in pairwise(ends) if _sign(g, a + (b - a) / 2) == -1]


def _bounded_near(f: Expression, place: float, lo: float, hi: float) -> bool:
    """Whether f stays bounded beside `place`, on each side where it has values at all."""
    reach = 1e-6 * (hi - lo)
    for a, b in ((max(lo, place - reach), place), (place, min(hi, place + reach))):
        if a < b and _sign(f, a + (b - a) / 2) is not None:
            try:
                over(f, a, b)
            except Unresolved:
                return False
    return True


def _jump(f: Expression, place: float, lo: float, hi: float) -> float:
    """The largest difference between f beside and at `place`; 0 where the steps cancel."""
    step = 2 * math.ulp(place) + 1e-300
    values = []
    for x in (place - step, place, place + step):
        if lo <= x <= hi:
            try:
                values.append(float(f.at(x)))
            except Unresolved:
                return math.inf
    size = max(values) - min(values)
    return size if size > 1e-12 * max(1.0, *map(abs, values)) else 0.0


def _merged(cells: set[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Touching intervals joined."""
    joined: list[tuple[float, float]] = []
    for a, b in sorted(cells):
        if joined and a <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(b, joined[-1][1])
        else:
            joined.append((a, b))
    return tuple(joined)
