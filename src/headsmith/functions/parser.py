"""Text to expression, by hand and by whitelist.

The reader knows numbers, pi, e, letters, a dozen operators and two dozen functions, and nothing else;
nothing is ever handed to Python to evaluate. Operators bind as in mathematics: -x^2 is -(x^2), 2^-x is
2^(-x), 2^3^2 is 2^9. What it cannot read it refuses in one sentence that points at the place.
"""

import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from headsmith.functions.expression import CONSTANTS, FUNCTIONS, NAME, Expression
from headsmith.refusal import Refusal

LONGEST = 10_000
NESTING = 100
TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<mark>\*\*|[-+*/^(),])|(?P<space>[ \t\r\n]+)"
)
BINDING = {
    "+": (1, 2),
    "-": (1, 2),
    "*": (2, 3),
    "/": (2, 3),
    "^": (5, 3),
}  # (of the left side, asked of the right)
UNARY = 4
HINTS = {
    "ln": "log",
    "arctan": "a formula in tanh",
    "pow": "x^n",
    "sgn": "sign",
    "heaviside": "step",
    "π": "pi",
}
HINTS |= {"×": "*", "·": "*", "−": "-", "÷": "/", "²": "^2", "³": "^3", "√": "sqrt(...)", "[": "(", "]": ")"}


class Token(NamedTuple):
    """A number, name or sign of a formula, and the place in the text where it starts."""

    kind: str
    text: str
    place: int


def parse(text: str) -> Expression:
    """The expression a formula stands for, or a `Refusal`.

    >>> parse("2^-x + sin(3*x)/x")
    Expression('2^-x + sin(3*x)/x')
    """
    if not isinstance(text, str):
        raise Refusal(f"a formula is text such as 'sin(3*x)', not {type(text).__name__}")
    if len(text) > LONGEST:
        raise Refusal(f"the formula has {len(text)} characters: Headsmith reads formulas of up to {LONGEST}")
    return _Reader(text).formula()


class _Reader:
    """Precedence climbing: `expression(n)` reads everything that binds at least as tightly as n."""

    def __init__(self, text: str) -> None:
        self.text, self.depth, self.at = text, 0, 0
        self.tokens = list(self.split())

    def split(self) -> Iterator[Token]:
        place = 0
        while place < len(self.text):
            found = TOKEN.match(self.text, place)
            if not found:
                char = self.text[place]
                shown = char if char.isprintable() and char.isascii() else f"{char!a}"[1:-1]
                hint = f"write {HINTS[char]}" if char in HINTS else "formulas are numbers, letters and + - * / ^ ( ) ,"
                self.refuse(f"the character {shown} has no meaning here ({hint})", place)
            kind = found.lastgroup or ""
            if kind != "space":
                yield Token(kind, found[0].replace("**", "^"), place)
            place = found.end()
        yield Token("end", "", len(self.text))

    def refuse(self, why: str, place: int) -> NoReturn:
        near = self.text[max(0, place - 12) : place + 12]
        shown = "".join(char if char.isprintable() else " " for char in near).strip()
        where = f"at column {place + 1}, near '{shown}'" if shown else f"at column {place + 1}"
        raise Refusal(f"cannot read the formula {where}: {why}")

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, mark: str, why: str) -> None:
        if self.next.text != mark:
            self.no_juxtaposition()
            self.refuse(why, self.next.place)
        self.at += 1

    def no_juxtaposition(self) -> None:
        """After a complete operand: two operands side by side are not a product."""
        before, here = self.tokens[self.at - 1], self.next
        if here.kind in ("number", "name") or here.text == "(":
            product = "* between them" if "(" in here.text or before.text == ")" else f"{before.text}*{here.text}"
            self.refuse(f"two quantities stand side by side, write {product} for a product", here.place)

    def formula(self) -> Expression:
        if self.next.kind == "end":
            raise Refusal("the formula is empty: write one such as sin(3*x)")
        found = self.expression(0)
        self.no_juxtaposition()
        if self.next.kind != "end":
            self.refuse(f"'{self.next.text}' does not belong here", self.next.place)
        return found

    def build(self, token: Token, op: str, *args: Expression) -> Expression:
        try:
            return Expression.of(op, *args)
        except Refusal as refusal:
            self.refuse(str(refusal), token.place)

    def expression(self, least: int) -> Expression:
        self.depth += 1
        if self.depth > NESTING:
            self.refuse(f"more than {NESTING} levels of brackets, signs and powers", self.next.place)
        left = self.operand()
        while self.next.text in BINDING and BINDING[self.next.text][0] >= least:
            token = self.take()
            right = self.expression(BINDING[token.text][1])
            left = self.build(token, token.text, left, right)
        self.depth -= 1
        return left

    def operand(self) -> Expression:
        token = self.take()
        if token.kind == "number":
            digits = token.text.lower().replace("+", "")
            whole, point, rest = digits.partition(".")
            if point:
                fraction, exponent = [*rest.split("e"), ""][:2]
                digits = f"{whole or 0}.{fraction or 0}" + (f"e{exponent}" if exponent else "")
            try:
                return Expression.number(digits)
            except Refusal as refusal:
                self.refuse(str(refusal), token.place)
        if token.kind == "name":
            return self.name(token)
        if token.text == "(":
            inside = self.expression(0)
            self.expect(")", f"the bracket opened at column {token.place + 1} is not closed")
            return inside
        if token.text in ("-", "+"):
            inside = self.expression(UNARY)
            return -inside if token.text == "-" else inside
        if token.kind == "end":
            self.refuse("it ends where a number, a letter or a bracket should follow", token.place)
        self.refuse(f"a number, a letter or a bracket should stand before '{token.text}'", token.place)

    def name(self, token: Token) -> Expression:
        name, called = token.text, self.next.text == "("
        if name in FUNCTIONS:
            if not called:
                what = self.next.text if self.next.kind in ("name", "number") else "x"
                self.refuse(f"the function {name} needs brackets, write {name}({what})", token.place)
            return self.call(token)
        if name in CONSTANTS or NAME.fullmatch(name):
            if called:
                self.refuse(f"{name} is not a function, write {name}*(...) for a product", token.place)
            return Expression(name) if name in CONSTANTS else Expression.variable(name)
        close = HINTS.get(name) or next(iter(difflib.get_close_matches(name[:40], FUNCTIONS, 1, 0.7)), "")
        hint = f"did you mean {close}?" if close else "variables are a letter with an optional index, such as x or x1"
        shown = name if len(name) <= 20 else name[:20] + "..."
        self.refuse(f"the name '{shown}' is unknown ({hint})", token.place)

    def call(self, token: Token) -> Expression:
        self.expect("(", "")
        args = [self.expression(0)]
        while self.next.text == ",":
            self.at += 1
            args.append(self.expression(0))
        self.expect(")", f"the bracket after {token.text} is not closed")
        wanted = FUNCTIONS[token.text]
        several = token.text in ("min", "max") and len(args) >= 2
        if len(args) != wanted and not several:
            plural = "argument" if wanted == 1 else "arguments"
            self.refuse(f"{token.text} takes {wanted} {plural}, {len(args)} given", token.place)
        found = args[0]
        if several:
            for other in args[1:]:
                found = self.build(token, token.text, found, other)
            return found
        return self.build(token, token.text, *args)
