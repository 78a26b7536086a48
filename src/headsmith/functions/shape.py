"""What can be said of an expression by looking at it: its text, its tree, its summands, its slope.

`write` uses the fewest brackets that read back as the same expression: parse(str(e)) is e.
"""

from fractions import Fraction
from typing import Any

from flint import arb

from headsmith.functions.expression import ARITY, CONSTANTS, DEPTH, FUNCTIONS, Expression
from headsmith.refusal import Refusal

TIGHTNESS = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 4, "^": 5}
SIDES = {
    "+": (1, 2),
    "-": (1, 2),
    "*": (2, 3),
    "/": (2, 3),
    "^": (6, 4),
}  # needed of the left and right argument
SIGNS = {"+": " + ", "-": " - "}


def write(expression: Expression) -> str:
    """The canonical text: spaces around + and -, no others, minimal brackets."""

    def visit(node: Expression, parts: list[tuple[str, int]]) -> tuple[str, int]:
        def held(part: tuple[str, int], least: int) -> str:
            return part[0] if part[1] >= least else f"({part[0]})"

        if node.text:
            return node.text, 4 if node.text.startswith("-") else 6
        if node.op in CONSTANTS:
            return node.op, 6
        if node.op in FUNCTIONS:
            return f"{node.op}({', '.join(text for text, _ in parts)})", 6
        if node.op == "neg":
            return "-" + held(parts[0], 5), 4
        left, right = SIDES[node.op]
        sign = SIGNS.get(node.op, node.op)
        return held(parts[0], left) + sign + held(parts[1], right), TIGHTNESS[node.op]

    return expression.fold(visit)[0]


def read_tree(tree: Any, depth: int = 0) -> Expression:
    """The expression of nested lists from an untrusted file."""
    if depth > DEPTH:
        raise Refusal(f"the stored formula nests more than {DEPTH} operations")
    if not isinstance(tree, list | tuple) or not tree or not isinstance(tree[0], str):
        raise Refusal(f"the stored formula holds {str(tree)[:40]!r} where [operation, arguments...] should stand")
    op, *rest = tree
    if op in ("num", "var"):
        if len(rest) != 1 or not isinstance(rest[0], str):
            raise Refusal(f"the stored formula holds {str(tree)[:40]!r}, not ['{op}', text]")
        return Expression.number(rest[0]) if op == "num" else Expression.variable(rest[0])
    if len(rest) > 3 or ARITY.get(op) != len(rest):
        raise Refusal(f"the stored formula holds {op[:40]!r} of {len(rest)} arguments, which is no known operation")
    return Expression.of(op, *(read_tree(child, depth + 1) for child in rest))


def terms(expression: Expression) -> list[Expression]:
    """The summands at the top, in order, with their signs."""
    found, waiting = [], [(expression, False)]
    while waiting:
        node, minus = waiting.pop()
        if node.op in ("+", "-"):
            waiting += [(node.children[1], minus ^ (node.op == "-")), (node.children[0], minus)]
        elif node.op == "neg":
            waiting.append((node.children[0], not minus))
        else:
            found.append(-node if minus else node)
    return found


def factors(expression: Expression) -> list[Expression]:
    """The factors at the top; a minus sign counts as the factor -1."""
    found, waiting = [], [expression]
    while waiting:
        node = waiting.pop()
        if node.op == "*":
            waiting += reversed(node.children)
        elif node.op == "neg":
            waiting += [node.children[0], Expression.number(-1)]
        else:
            found.append(node)
    return found


def substitute(expression: Expression, name: str, value: Expression) -> Expression:
    """Every variable `name` replaced by `value`."""

    def visit(node: Expression, kids: list[Expression]) -> Expression:
        if node.op == "var" and node.text == name:
            return value
        return Expression.of(node.op, *kids) if kids else node

    return expression.fold(visit)


def affine(expression: Expression) -> tuple[Fraction | arb, Fraction | arb] | None:
    """(a, b) with f = a x + b, fractions where rational, 128-bit balls where not; None if not written so.

    >>> from headsmith.functions import parse
    >>> parse("2*(x - 1)/4 + pi").affine()
    (Fraction(1, 2), [2.6415926535897... +/- ...])
    """
    if len(expression.variables) > 1:
        return None
    zero = Expression.number(0)
    Line = tuple[Expression, Expression] | None

    def visit(node: Expression, kids: list[Line]) -> Line:
        if node.is_constant:
            return zero, node
        if node.op == "var":
            return Expression.number(1), zero
        if None in kids or node.op not in ("neg", "+", "-", "*", "/"):
            return None
        (a, b), (c, d) = kids[0], kids[-1]  # type: ignore[misc]
        if node.op == "neg":
            return -a, -b
        if node.op in "+-":
            return Expression.of(node.op, a, c), Expression.of(node.op, b, d)
        left, right = node.children
        if right.is_constant:
            return Expression.of(node.op, a, right), Expression.of(node.op, b, right)
        if left.is_constant and node.op == "*":
            return left * c, left * d
        return None

    line = expression.fold(visit)
    if line is None:
        return None
    slope, intercept = (part.at() if part.exact is None else part.exact for part in line)
    return slope, intercept
