"""A formula as parts that feed parts: abs(sin(3*x)) + x is x, then sin(3*x) into a variable, then abs of that variable.

Which parts a formula has is a function of the formula alone, so whoever reads a network of parts knows what each of
its heads is meant to compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from headsmith.functions.expression import Expression

Step = tuple[str, str, Expression]


def single(f: Expression) -> list[Step]:
    """One part: (input, output, f)."""
    return [(variable(f), "out", f)]


def decomposed(f: Expression) -> list[Step]:
    """(input, output, target) of each part: a sum of plain terms, then (inner, outer) of each nested one.

    A constant goes with the plain terms, or where there are none with the first outer function, whose bias is free.

    >>> from headsmith.functions import parse
    >>> [(i, o, str(g)) for i, o, g in decomposed(parse("abs(sin(3*x)) + 1"))]
    [('x', 'mid1', 'sin(3*x)'), ('mid1', 'out', 'abs(x) + 1')]
    """
    source = variable(f)
    splits = [(term, split(term)) for term in f.terms()]
    nested = [found for _, found in splits if found is not None]
    plain = [term for term, found in splits if found is None and not term.is_constant]
    constants = [term for term, _ in splits if term.is_constant]
    if constants and not plain and nested:
        nested[0] = (_sum([nested[0][0], *constants]), nested[0][1])
    else:
        plain += constants
    steps = [(source, "out", _sum(plain))] if plain else []
    for i, (outer, inner) in enumerate(nested, 1):
        steps += [(source, f"mid{i}", inner), (f"mid{i}", "out", outer)]
    return steps


def split(term: Expression) -> tuple[Expression, Expression] | None:
    """(outer, inner) with term = outer(inner), inner curved: 2*abs(sin(3*x)) gives 2*abs(x) and sin(3*x)."""
    moving = [i for i, child in enumerate(term.children) if not child.is_constant]
    if len(moving) != 1:
        return None
    child = term.children[moving[0]]
    found = split(child) if term.op in ("neg", "*", "/") else None
    if found is None and child.affine() is not None:
        return None
    if found is None and term.op in ("neg", "*", "/"):
        return None
    outer, inner = found if found is not None else (Expression.variable(term.variables[0]), child)
    children = [outer if i == moving[0] else c for i, c in enumerate(term.children)]
    return Expression.of(term.op, *children), inner


def variable(f: Expression) -> str:
    """The variable of a formula of one."""
    return f.variables[0] if f.variables else "x"


def _sum(terms: Sequence[Expression]) -> Expression:
    return reduce(lambda a, b: a + b, terms)
