"""Formulas of several variables in balls: at a point, on a product grid, and as a power series in one of the variables.

Nothing here needs multivariate Taylor series. Interpolation one axis at a time asks only for *pure* derivatives,
and these are ordinary power series in one variable while the others are balls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import arb, arb_series

from headsmith.functions import series
from headsmith.functions.balls import Unresolved
from headsmith.functions.enclosures import OPERATIONS, leaf, quotient, raised
from headsmith.functions.expression import Expression
from headsmith.functions.jets import PAIRS, PLAIN, branches, removable_in


def at_point(f: Expression, names: Sequence[str], point: Sequence[float]) -> arb:
    """A ball around f at a point given in the order of `names`."""
    values: dict[str, Any] = {name: x for name, x in zip(names, point, strict=True) if name in f.variables}
    return f.at(**values) if values else f.at()


def evaluator(expressions: Sequence[Expression], names: Sequence[str]) -> Any:
    """(components, ...) in float64."""

    def f(*points: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(*(p.shape for p in points))
        by_name = dict(zip(names, points, strict=True))
        with np.errstate(all="ignore"):
            values = [
                np.broadcast_to(g(**{n: by_name[n] for n in g.variables}) if g.variables else float(g.at()), shape)
                for g in expressions
            ]
        return np.stack(values)

    return f


def on_grid(f: Expression, points: dict[str, list[arb]]) -> list[arb]:
    """f in balls at every point of a product grid, row-major; a sub-formula is computed once for each of its own
    points.
    """
    names = list(points)
    lifted = {
        name: np.array(list(x), dtype=object).reshape([-1 if i == k else 1 for i in range(len(names))])
        for k, (name, x) in enumerate(points.items())
    }

    def visit(node: Expression, kids: list[Any]) -> Any:
        if node.op == "var":
            return lifted[node.text]
        if node.op in ("num", "pi", "e"):
            return np.array(leaf(node), dtype=object).reshape([1] * len(names))
        if node.op == "/" and len(node.variables) == 1:
            name = node.variables[0]
            over = np.frompyfunc(lambda u, v, x: quotient(node, u, v, {name: x}), 3, 1)
            return np.asarray(over(*kids, lifted[name]), dtype=object)
        if node.op == "/":
            return kids[0] / kids[1]
        operation = (lambda u, v: raised(node, u, v)) if node.op == "^" else OPERATIONS[node.op]
        return np.asarray(np.frompyfunc(operation, len(kids), 1)(*kids), dtype=object)

    shape = tuple(len(x) for x in points.values())
    return list(np.broadcast_to(f.fold(visit), shape).reshape(-1))


def pure_series(f: Expression, starts: dict[str, Any]) -> Any:
    """f with one variable a power series and the others balls; kinks that the balls decide are taken."""
    return _folded(f, starts, _decided)


def pure_slopes(f: Expression, starts: dict[str, Any]) -> Any:
    """The same to first order: where a cell meets a kink, the slope is a ball around those of both sides.

    A formula is absolutely continuous along a segment, and almost everywhere its slope there is that of a side, or 0
    times a slope: the ball bounds how steep it is, as Clarke's gradient does.

    >>> from headsmith.functions import parse, precision
    >>> with precision(53, 2):
    ...     pure_slopes(parse("abs(2*x)"), {"x": arb_series([arb(0, 1), 1])})[1].contains(arb(-2))
    True
    """
    return _folded(f, starts, _either)


def _folded(f: Expression, starts: dict[str, Any], bend: Callable[[str, list[arb_series]], arb_series]) -> Any:

    def visit(node: Expression, kids: list[Any]) -> Any:
        op = node.op
        if op == "var":
            return starts[node.text]
        if op in ("num", "pi", "e"):
            return leaf(node)
        plain = not any(isinstance(kid, arb_series) for kid in kids)
        if op == "/":
            return _over(node, kids[0], kids[1], starts)
        if op == "^":
            return _raised(node, *kids)
        if op in PAIRS:
            return PAIRS[op](*kids)
        if plain:
            return OPERATIONS[op](*kids)
        if op in PLAIN:
            return PLAIN[op](kids[0])
        return bend(op, [kid if isinstance(kid, arb_series) else arb_series([kid]) for kid in kids])

    def checked(node: Expression, kids: list[Any]) -> Any:
        value = visit(node, kids)
        if not (value[0] if isinstance(value, arb_series) else value).is_finite():
            raise Unresolved("the formula is not finite on the cell")
        return value

    try:
        return f.fold(checked)
    except (ValueError, ZeroDivisionError) as error:
        raise Unresolved(str(error)) from error


def _over(node: Expression, u: Any, v: Any, starts: dict[str, Any]) -> Any:
    """u/v; where v may vanish and the quotient has one variable, through its removable point."""
    if not (v[0] if isinstance(v, arb_series) else v).contains(0):
        return u / v
    if len(node.variables) == 1:
        start = starts[node.variables[0]]
        if not isinstance(start, arb_series):
            return quotient(node, u, v, {node.variables[0]: start})
        ball = start[0]
        root = removable_in(node, float(ball.lower()), float(ball.upper()))
        if root is not None:
            found = branches(node, ball.union(arb(root)), float(ball.mid()), start[1], root)
            if len(found) == 1:
                return found[0][0]
    raise Unresolved("a divisor may vanish here")


def _raised(node: Expression, u: Any, v: Any) -> Any:
    n = node.children[1].exact
    if not isinstance(u, arb_series) and not isinstance(v, arb_series):
        return raised(node, u, v)
    if n is not None and n.denominator == 1:
        return series.power(u, int(n))
    base = u if isinstance(u, arb_series) else arb_series([u])
    return (v * series.positive(base).log()).exp()


def _decided(op: str, kids: list[arb_series]) -> arb_series:
    """The branch of a kinked function, where the whole cell lies on one side of the kink."""
    u = kids[0]
    if op in ("abs", "relu"):
        if u[0] >= 0:
            return u
        if u[0] <= 0:
            return -u if op == "abs" else 0 * u
    if op in ("min", "max"):
        gap = u[0] - kids[1][0]
        if gap >= 0 or gap <= 0:
            return u if bool(gap >= 0) == (op == "max") else kids[1]
    if op == "clip":
        return _decided("min", [_decided("max", [u, kids[1]]), kids[2]])
    raise Unresolved(f"the cell meets a kink of {op}")


def _either(op: str, kids: list[arb_series]) -> arb_series:
    """The branch that the cell decides, or the hull of both, value and slope."""
    try:
        return _decided(op, kids)
    except Unresolved:
        if op == "clip":
            return _either("min", [_either("max", kids[:2]), kids[2]])
        if op not in ("abs", "relu", "min", "max"):
            raise
    u = kids[0]
    other = -u if op == "abs" else 0 * u if op == "relu" else kids[1]
    value = OPERATIONS[op](*(kid[0] for kid in kids))
    return arb_series([value, u[1].union(other[1])], 2)
