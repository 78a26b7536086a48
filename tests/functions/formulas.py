"""Formulas at random, and their values by mpmath at 60 digits, for the property tests of this folder."""

import mpmath
from hypothesis import strategies as st

from headsmith.functions import Expression

mpmath.mp.dps = 60
BINARY = ("+", "-", "*", "/", "max", "min", "^")
SMOOTH = ("sin", "cos", "exp", "tanh", "sigmoid", "erf", "gelu", "gelu_tanh", "silu", "softplus", "neg")
KINKED = ("abs", "relu")
GUARDED = ("log", "sqrt", "tan")

numbers = st.one_of(
    st.integers(-9, 9).map(Expression.number),
    st.sampled_from(["0.1", "-0.25", "1.5e-3", "2.75"]).map(Expression.number),
    st.sampled_from(["pi", "e"]).map(Expression),
)


def build(op, *args):
    if op == "^":
        args = (args[0], Expression.number(args[1].depth))
    if op == "/" and args[1].exact == 0:
        args = (args[0], args[1] + 1)
    return Expression.of(op, *args)


def formulas(unary=SMOOTH + KINKED + GUARDED, binary=BINARY, leaves=8):
    grow = lambda inner: st.one_of(  # noqa: E731
        st.builds(build, st.sampled_from(unary), inner),
        st.builds(build, st.sampled_from(binary), inner, inner),
    )
    return st.recursive(st.one_of(st.just(Expression.variable("x")), numbers), grow, max_leaves=leaves)


def reference(f, x):
    """f(x) by mpmath; raises ZeroDivisionError where f or a part of it has no real value of tame size."""
    mp = mpmath
    known = {
        "num": lambda text: mp.mpf(text),
        "neg": lambda u: -u,
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "^": lambda a, b: a**b,
        "pi": lambda: +mp.pi,
        "e": lambda: +mp.e,
        "sigmoid": lambda u: 1 / (1 + mp.exp(-u)),
        "softplus": lambda u: mp.log(1 + mp.exp(u)),
        "silu": lambda u: u / (1 + mp.exp(-u)),
        "gelu": lambda u: u * (1 + mp.erf(u / mp.sqrt(2))) / 2,
        "gelu_tanh": lambda u: u * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (u + mp.mpf("0.044715") * u**3))) / 2,
        "relu": lambda u: max(u, mp.mpf(0)),
        "abs": abs,
        "min": min,
        "max": max,
        "clip": lambda u, a, b: min(max(u, a), b),
        **{name: getattr(mp, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "erf")},
    }

    def visit(node, kids):
        if node.op == "var":
            return mp.mpf(x)
        value = known[node.op](*([node.text] if node.text else kids))
        if not isinstance(value, mp.mpf) or not abs(value) < 1e60:
            raise ZeroDivisionError(f"{node} has no real value at {x}")
        return value

    return f.fold(visit)
