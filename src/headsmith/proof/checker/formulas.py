"""Formulas as a file stores them: nested lists, read strictly, printed, taken apart and put together.

    ["sin", ["*", ["num", "3"], ["var", "x"]]]        is sin(3*x)

A formula becomes a list of steps, arguments before their users, equal sub-formulas once; whoever works with it walks
that list, so no depth of nesting can exhaust anything. Numbers are decimals and are kept as exact fractions, and so
is every constant that is rational, so that it is known of an exponent whether it is a whole number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any, TypeVar

from .verdict import need

ARITY = {
    **dict.fromkeys(("pi", "e"), 0),
    **dict.fromkeys(("neg", "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "sigmoid", "erf"), 1),
    **dict.fromkeys(("relu", "abs", "gelu", "gelu_tanh", "silu", "softplus", "sign", "step", "floor"), 1),
    **dict.fromkeys(("+", "-", "*", "/", "^", "min", "max"), 2),
    "clip": 3,
}
SIGNS = ("neg", "+", "-", "*", "/", "^")
NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?(e-?[0-9]{1,3})?")
NAME = re.compile(r"[A-Za-z](_?[0-9]{1,3})?")
DEPTH, NODES, POWER, BITS = 300, 10_000, 64, 4096

Value = TypeVar("Value")


@dataclass(frozen=True)
class Step:
    """One operation: its arguments by number, the text of a number or variable, its value where it is rational."""

    op: str
    args: tuple[int, ...]
    text: str
    exact: Fraction | None
    constant: bool


@dataclass(frozen=True, eq=False)
class Formula:
    """Steps, arguments first; the last one is the formula.

    >>> print(read(["^", ["var", "x"], ["num", "2"]]))
    x^2
    """

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return written(self)

    @property
    def variables(self) -> set[str]:
        """The names in it."""
        return {step.text for step in self.steps if step.op == "var"}

    def walk(self, visit: Callable[[Step, list[Value]], Value]) -> Value:
        """visit(step, values of its arguments) for every step; the value of the last."""
        values: list[Value] = []
        for step in self.steps:
            values.append(visit(step, [values[i] for i in step.args]))
        return values[-1]


class _Builder:
    """Steps so far; an operation that is there already is not repeated."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.known: dict[Any, int] = {}

    def add(self, op: str, args: tuple[int, ...] = (), text: str = "") -> int:
        key = (op, args, text)
        if key not in self.known:
            kids = [self.steps[i] for i in args]
            exact = Fraction(text) if op == "num" else _rational(op, [kid.exact for kid in kids])
            constant = op != "var" and all(kid.constant for kid in kids)
            if op == "^" and kids[1].exact is not None:
                need(abs(kids[1].exact) <= POWER, f"the formula has an exponent beyond {POWER}")
            self.known[key] = len(self.steps)
            self.steps.append(Step(op, args, text, exact, constant))
        return self.known[key]

    def formula(self) -> Formula:
        return Formula(tuple(self.steps))


def _rational(op: str, values: Sequence[Fraction | None]) -> Fraction | None:
    """The value of an operation on fractions, while it stays small; None where it has none."""
    known = [value for value in values if value is not None]
    if op not in SIGNS or len(known) < len(values):
        return None
    a, b = known[0], known[-1]
    if op == "^":
        size = max(a.numerator.bit_length(), a.denominator.bit_length())
        if b.denominator > 1 or (a == 0 and b <= 0) or size * abs(b) > BITS:
            return None
        return a ** int(b)
    if op == "/" and b == 0:
        return None
    table: dict[str, Callable[[], Fraction]] = {
        "neg": lambda: -a,
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
    }
    value = table[op]()
    return value if max(value.numerator.bit_length(), value.denominator.bit_length()) <= BITS else None


def read(tree: Any) -> Formula:
    """The formula of nested lists; anything that is not one is rejected, however deep or large it is."""
    builder, count = _Builder(), 0

    def visit(node: Any, depth: int) -> int:
        nonlocal count
        count += 1
        need(depth <= DEPTH and count <= NODES, f"the formula nests more than {DEPTH} or has over {NODES} operations")
        need(isinstance(node, list) and node and isinstance(node[0], str), "the formula is malformed")
        op, *rest = node
        if op in ("num", "var"):
            pattern = NUMBER if op == "num" else NAME
            need(len(rest) == 1 and isinstance(rest[0], str), "the formula is malformed")
            need(pattern.fullmatch(rest[0]) and rest[0] not in ARITY, f"{rest[0][:40]!r} is no number or variable")
            return builder.add(op, text=rest[0])
        need(ARITY.get(op) == len(rest), f"the formula has {op[:40]!r} of {len(rest)} arguments")
        return builder.add(op, tuple(visit(child, depth + 1) for child in rest))

    visit(tree, 0)
    return builder.formula()


# printing

TIGHTNESS = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 4, "^": 5}
SIDES = {"+": (1, 2), "-": (1, 2), "*": (2, 3), "/": (2, 3), "^": (6, 4)}  # needed of the left and right argument


def written(formula: Formula) -> str:
    """The text of a formula, with as few brackets as its reader needs."""

    def visit(step: Step, parts: list[tuple[str, int]]) -> tuple[str, int]:
        def held(part: tuple[str, int], least: int) -> str:
            return part[0] if part[1] >= least else f"({part[0]})"

        if step.text:
            return step.text, 4 if step.text.startswith("-") else 6
        if step.op == "neg":
            return "-" + held(parts[0], 5), 4
        if step.op in SIDES:
            left, right = SIDES[step.op]
            sign = f" {step.op} " if step.op in "+-" else step.op
            return held(parts[0], left) + sign + held(parts[1], right), TIGHTNESS[step.op]
        return (f"{step.op}({', '.join(text for text, _ in parts)})" if parts else step.op), 6

    return formula.walk(visit)[0]


# putting together


def composed(outer: Formula, inner: Formula) -> Formula:
    """outer(inner): every variable of the outer one replaced.

    >>> print(composed(read(["abs", ["var", "x"]]), read(["sin", ["var", "x"]])))
    abs(sin(x))
    """
    builder = _Builder()
    below = inner.walk(lambda step, kids: builder.add(step.op, tuple(kids), step.text))
    outer.walk(lambda step, kids: below if step.op == "var" else builder.add(step.op, tuple(kids), step.text))
    need(len(builder.steps) <= 2 * NODES, "the formula is too large")
    return _pruned(builder.formula(), outer)


def _pruned(formula: Formula, outer: Formula) -> Formula:
    """A constant outer formula does not use the inner one, which then must not come last."""
    return outer if outer.steps[-1].constant else formula


def added(left: Formula, right: Formula) -> Formula:
    """left + right."""
    builder = _Builder()
    ends = [f.walk(lambda step, kids: builder.add(step.op, tuple(kids), step.text)) for f in (left, right)]
    builder.add("+", (ends[0], ends[1]))
    return builder.formula()


def summands(formula: Formula) -> list[str]:
    """The terms of the sum at the top with their signs, in order of their text: equal lists are equal sums.

    >>> summands(read(["-", ["var", "x"], ["num", "3"]])) == summands(read(["+", ["num", "-3"], ["var", "x"]]))
    True
    """
    steps, waiting = formula.steps, [(len(formula.steps) - 1, 1)]
    found: list[str] = []
    texts = _texts(formula)
    while waiting:
        need(len(found) + len(waiting) <= NODES, "the formula is too large")
        place, sign = waiting.pop()
        step = steps[place]
        if step.op in ("+", "-"):
            waiting += [(step.args[0], sign), (step.args[1], sign if step.op == "+" else -sign)]
        elif step.op == "neg":
            waiting.append((step.args[0], -sign))
        else:
            minus = step.op == "num" and step.text.startswith("-")
            found.append(("+" if (sign > 0) != minus else "-") + texts[place].removeprefix("-" if minus else ""))
    return sorted(found)


def _texts(formula: Formula) -> list[str]:
    """Each step by a name that equal sub-formulas share, in this formula or another."""
    names: list[str] = []
    for step in formula.steps:
        whole = "|".join([step.op, step.text, *(names[i] for i in step.args)])
        names.append(step.text if step.op == "num" else sha256(whole.encode()).hexdigest())
    return names
