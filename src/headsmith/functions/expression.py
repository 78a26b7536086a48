"""A formula as a mathematical object: immutable, exact, compared by structure.

Numbers are decimals kept as text, so 0.1 is one tenth and not the float beside it. Equal expressions are
*the same object* (every node is built once and remembered while it lives), hence equality is identity,
hashing is free, and any computation that walks an expression meets a repeated sub-expression once. Nothing
here recurses: a walk is a loop over `order`, the nodes with arguments before their users.

>>> x = Expression.variable("x")
>>> 3 * x ** 2 - "0.5"
Expression('3*x^2 - 0.5')
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakValueDictionary

from headsmith.functions.decimals import canonical, negated, rational
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from flint import arb

    from headsmith.functions.jets import Jet
    from headsmith.functions.places import Places

CONSTANTS = ("pi", "e")
JUMPS = ("sign", "step", "floor")
FUNCTIONS = {
    **dict.fromkeys(("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "relu", "abs"), 1),
    **dict.fromkeys(("gelu", "gelu_tanh", "silu", "softplus"), 1),
    **dict.fromkeys(JUMPS, 1),
    **{"min": 2, "max": 2, "clip": 3},
}
ARITY = {**FUNCTIONS, **dict.fromkeys(CONSTANTS, 0), "neg": 1, "+": 2, "-": 2, "*": 2, "/": 2, "^": 2}

DEPTH = 300  # nested operations in one expression: what JSON and people can still read
LARGEST_POWER = 64
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?")
NAME = re.compile(r"[A-Za-z](_?[0-9]{1,3})?")

Value = TypeVar("Value")
_built: "WeakValueDictionary[tuple[Any, ...], Expression]" = WeakValueDictionary()


class Expression:
    """One node: an operation `op`, its arguments `children`, and the `text` of a number or variable.

    >>> from headsmith.functions import parse
    >>> parse("-x^2").tree()
    ['neg', ['^', ['var', 'x'], ['num', '2']]]
    """

    __slots__ = ("__weakref__", "_notes", "_order", "children", "depth", "exact", "op", "text", "variables")
    op: str
    text: str
    children: tuple["Expression", ...]
    variables: tuple[str, ...]
    exact: Fraction | None
    depth: int
    _order: "tuple[Expression, ...] | None"
    _notes: dict[Any, Any]

    def __new__(cls, op: str, *children: "Expression", text: str = "") -> Self:
        key = (op, text, *children)
        node = _built.get(key)
        if node is None:
            node = super().__new__(cls)
            depth = 1 + max((child.depth for child in children), default=0)
            if depth > DEPTH:
                raise Refusal(f"the formula nests more than {DEPTH} operations: write it in fewer")
            names = {name for child in children for name in child.variables} | ({text} if op == "var" else set())
            set_once = super(Expression, node).__setattr__
            set_once("op", op)
            set_once("text", text)
            set_once("children", children)
            set_once("depth", depth)
            set_once("variables", tuple(sorted(names)))
            set_once("exact", Fraction(text) if op == "num" else rational(op, [child.exact for child in children]))
            set_once("_order", None)
            set_once("_notes", {})
            _built[key] = node
        return node  # type: ignore[return-value]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an Expression does not change: build another one")

    def __copy__(self) -> "Expression":
        return self

    def __deepcopy__(self, memo: object) -> "Expression":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression.from_tree, (self.tree(),)

    # Building

    @staticmethod
    def number(text: str | int) -> "Expression":
        """The exact decimal: `number("0.10")` is `number("1e-1")` is one tenth."""
        if not NUMBER.fullmatch(str(text)):
            raise Refusal(f"{str(text)[:40]!r} is not a decimal number such as -0.25 or 1.5e-7")
        return Expression("num", text=canonical(str(text)))

    @staticmethod
    def variable(name: str) -> "Expression":
        """A letter with an optional index: x, t, x1, x_2."""
        if not NAME.fullmatch(name) or name in CONSTANTS:
            raise Refusal(f"{name[:40]!r} is not a variable: use a letter with an optional index, such as x or x1")
        return Expression("var", text=name)

    @staticmethod
    def of(op: str, *args: "Expression | int | str") -> "Expression":
        """The canonical `op(args)`: signs of numbers folded in, powers and divisors checked."""
        kids = tuple(_lift(arg) for arg in args)
        if ARITY.get(op) != len(kids):
            raise Refusal(f"{op[:40]!r} of {len(kids)} arguments is not an operation Headsmith knows")
        if op == "neg" and kids[0].op == "neg":
            return kids[0].children[0]
        if op == "neg" and kids[0].op == "num":
            return Expression.number(negated(kids[0].text))
        if op in "+-" and (kids[1].op == "neg" or kids[1].text.startswith("-")):
            return Expression.of("+" if op == "-" else "-", kids[0], Expression.of("neg", kids[1]))
        if op == "/" and kids[1].exact == 0:
            raise Refusal(f"{kids[0]}/{kids[1]} divides by zero: every quotient needs a divisor other than 0")
        if op == "^" and kids[1].exact is not None and abs(kids[1].exact) > LARGEST_POWER:
            raise Refusal(f"the power ^{kids[1]} is beyond {LARGEST_POWER}: the largest exponent is {LARGEST_POWER}")
        if op == "^" and kids[1].exact is None and not kids[1].variables and kids[1].depth > 1:
            _check_constant_power(kids[1])
        return Expression(op, *kids)

    def __neg__(self) -> "Expression":
        return Expression.of("neg", self)

    def __add__(self, other: "Expression | int | str") -> "Expression":
        return Expression.of("+", self, other)

    def __radd__(self, other: "Expression | int | str") -> "Expression":
        return Expression.of("+", other, self)

    def __sub__(self, other: "Expression | int | str") -> "Expression":
        return Expression.of("-", self, other)

    def __rsub__(self, other: "Expression | int | str") -> "Expression":
        return Expression.of("-", other, self)

    def __mul__(self, other: "Expression | int | str") -> "Expression":
        return Expression.of("*", self, other)

    def __rmul__(self, other: "Expression | int | str") -> "Expression":
        return Expression.of("*", other, self)

    def __truediv__(self, other: "Expression | int | str") -> "Expression":
        return Expression.of("/", self, other)

    def __rtruediv__(self, other: "Expression | int | str") -> "Expression":
        return Expression.of("/", other, self)

    def __pow__(self, other: "Expression | int | str") -> "Expression":
        return Expression.of("^", self, other)

    # Reading

    @property
    def order(self) -> "tuple[Expression, ...]":
        """Every distinct node once, arguments before their users; the last one is the expression itself."""
        if self._order is not None:
            return self._order
        seen: dict[Expression, None] = {}
        stack = [self]
        while stack:
            node = stack[-1]
            waiting = [child for child in node.children if child not in seen]
            if node in seen or not waiting:
                seen[stack.pop()] = None
            else:
                stack.extend(waiting)
        order = tuple(seen)
        object.__setattr__(self, "_order", order)
        return order

    def fold(self, visit: "Callable[[Expression, list[Value]], Value]") -> Value:
        """visit(node, values of its arguments), from the leaves up; returns the value of the whole."""
        values: dict[Expression, Value] = {}
        for node in self.order:
            values[node] = visit(node, [values[child] for child in node.children])
        return values[self]

    def fold_all(self, visit: "Callable[[Expression, dict[Expression, Value]], Value]") -> Value:
        """Like `fold`, for a visit that wants the values of every node below."""
        values: dict[Expression, Value] = {}
        for node in self.order:
            values[node] = visit(node, values)
        return values[self]

    def note(self, key: Any, make: Callable[[], Value]) -> Value:
        """make(), remembered on this node under `key`."""
        if key not in self._notes:
            self._notes[key] = make()
        return self._notes[key]

    @property
    def is_constant(self) -> bool:
        """Whether no variable occurs in it."""
        return not self.variables

    def tree(self) -> list[Any]:
        """Nested lists, ready for JSON: ["sin", ["*", ["num", "3"], ["var", "x"]]]."""
        return self.fold(lambda node, kids: [node.op, *([node.text] if node.text else kids)])

    @staticmethod
    def from_tree(tree: Any) -> "Expression":
        """The inverse of `tree()`; refuses whatever `tree()` could not have written."""
        from headsmith.functions.shape import read_tree

        return read_tree(tree)

    def __str__(self) -> str:
        from headsmith.functions.shape import write

        return write(self)

    def __repr__(self) -> str:
        return f"Expression({str(self)!r})"

    def terms(self) -> "list[Expression]":
        """The summands at the top, signs folded in: x - 2*y + 1 gives [x, -(2*y), 1]."""
        from headsmith.functions.shape import terms

        return terms(self)

    def substitute(self, name: str, value: "Expression | int | str") -> "Expression":
        """The expression with `value` in the place of the variable `name`."""
        from headsmith.functions.shape import substitute

        return substitute(self, name, _lift(value))

    def affine(self) -> "tuple[Fraction | arb, Fraction | arb] | None":
        """(slope, intercept) when the expression is written as an affine map of one variable, else None."""
        from headsmith.functions.shape import affine

        return self.note("affine", lambda: affine(self))

    # Evaluating

    def __call__(self, *point: Any, **variables: Any) -> Any:
        """f(x), or f(x=..., y=...) for several variables: tensors, float64 arrays or floats in kind."""
        from headsmith.functions.values import call

        return call(self, self.bind(point, variables))

    def at(self, *point: Any, prec: int = 128, **variables: Any) -> "arb":
        """A ball around f at exact floats or balls: `parse("sin(x)/x").at(0.0)` is 1."""
        from headsmith.functions.enclosures import at

        return at(self, self.bind(point, variables), prec)

    def range(self, lo: float, hi: float, prec: int = 128) -> "arb":
        """A ball around f([lo, hi]); raises `Unresolved` where f is unbounded or undefined."""
        from headsmith.functions.enclosures import over

        return over(self, lo, hi, prec)

    def jets(self, centre: float, radius: float, order: int, prec: int = 128) -> "list[Jet]":
        """Taylor polynomials with remainders over [centre - radius, centre + radius], one per branch."""
        from headsmith.functions.jets import jets

        return jets(self, centre, radius, order, prec)

    def places(self, lo: float, hi: float) -> "Places":
        """Kinks, jumps, poles, singularities, undefined stretches and removable points on [lo, hi]."""
        from headsmith.functions.places import places

        return places(self, lo, hi)

    def bound(self, lo: float, hi: float) -> float:
        """max |f| over [lo, hi], proved, rounded up, within a percent."""
        from headsmith.functions.bounds import bound

        return bound(self, lo, hi)

    def bind(self, point: tuple[Any, ...], variables: dict[str, Any]) -> dict[str, Any]:
        """The values of the variables by name, from f(x) or f(x=..., y=...)."""
        if len(point) == 1 and not variables and len(self.variables) <= 1:
            return {self.variables[0] if self.variables else "x": point[0]}
        if point or not set(self.variables) <= set(variables):
            raise TypeError(f"{self} needs the values of {', '.join(self.variables)} by name")
        return variables


def _lift(value: Expression | int | str) -> Expression:
    if isinstance(value, str):
        from headsmith.functions.parser import parse

        return parse(value)
    if isinstance(value, int):
        return Expression.number(value)
    if not isinstance(value, Expression):
        raise TypeError(f"an expression is built from expressions, integers and decimal text, not {type(value)}")
    return value


def _check_constant_power(exponent: Expression) -> None:
    from headsmith.functions.balls import Unresolved

    try:
        if exponent.at() <= LARGEST_POWER and exponent.at() >= -LARGEST_POWER:
            return
    except Unresolved:
        pass
    raise Refusal(f"the power ^({exponent}) is beyond {LARGEST_POWER}: the largest exponent is {LARGEST_POWER}")
