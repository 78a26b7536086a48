"""Formulas: one head, gates, compositions, printed staircases, vectors, grids."""

import headsmith as hs

EXAMPLES = {
    "analytic": lambda: hs.compile("sin(3*x)", domain=(-2, 2), eps=1e-3),
    "analytic, float32": lambda: hs.compile("gelu(x)", domain=(-2, 2), eps=1e-3, dtype="float32"),
    "gates": lambda: hs.compile("abs(x)", domain=(-1, 1), eps=1e-3),
    "exact": lambda: hs.compile("tanh(x) + 1", domain=(-2, 2), eps=1e-5),
    "kinked table": lambda: hs.compile("abs(x) + sin(x)", domain=(-1, 1), eps=0.1),
    "composition": lambda: hs.compile("abs(sin(3*x)) + x^2", domain=(-1, 1), eps=1e-2),
    "printed": lambda: hs.compile("x", domain=(0, 1), eps=0.1, method="printed"),
    "side by side": lambda: hs.compile(["abs(x)", "relu(x-0.3)"], domain=(-1, 1), eps=1e-3),
    "shared keys": lambda: hs.compile(["sin(x)", "cos(x)"], domain=(-1, 1), eps=1e-3),
    "grid": lambda: hs.compile("x*y", domain=(-1, 1), eps=1e-3),
    "grid, vector, float32": lambda: hs.compile(["x*y", "x + y"], domain=(-1, 1), eps=1e-2, dtype="float32"),
    "an end moved inwards": lambda: hs.compile("sqrt(x - 0.3)", domain=(0.3, 1), eps=0.1),
}
