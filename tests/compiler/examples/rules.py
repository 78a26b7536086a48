"""Learning rules and gradient descent: every method, both dtypes."""

import headsmith as hs

ROOM = {"residual": 2.0, "x": 1.5, "w": 1.0, "y": 2.0}


def rule(f, eps=1e-3, **options):
    return hs.compile(hs.target.ResidualRule(f, features=2, samples=3), domain=ROOM, eps=eps, **options)


def descent(loss, eps=1e-3, steps=2, rate=0.5, l2=0.0, **options):
    target = hs.target.Descent(loss, features=2, samples=3, steps=steps, rate=rate, l2=l2)
    return hs.compile(target, domain=ROOM, eps=eps, **options)


def least_squares(eps=1e-3, l2=0.0, **options):
    target = hs.target.LeastSquares(features=2, samples=3, curvature=0.5, l2=l2)
    return hs.compile(target, domain={"x": 1.5, "y": 2.0}, eps=eps, **options)


EXAMPLES = {
    "rule, exact": lambda: rule("tanh(t)"),
    "rule, float32": lambda: rule("t^2", 1e-2, dtype="float32"),
    "rule, dense": lambda: rule("t", method="dense"),
    "rule, dense, float32": lambda: rule("tanh(t)", 1e-2, method="dense", dtype="float32"),
    "rule, printed": lambda: rule("tanh(t)", 1.0, method="printed"),
    "squared": lambda: descent("squared"),
    "squared, float32": lambda: descent("squared", 1e-2, l2=0.25, dtype="float32"),
    "logistic": lambda: descent("logistic", 1e-9, steps=3),
    "huber": lambda: descent("huber", 0.2),
    "gates": lambda: descent("squared", method="gate"),
    "gate, float32": lambda: descent("logistic", method="gate", dtype="float32"),
    "printed step": lambda: descent("squared", 1.0, steps=1, method="printed"),
    "least squares": least_squares,
    "ridge, float32": lambda: least_squares(0.05, 0.25, dtype="float32"),
    "one layer": lambda: least_squares(0.1, method="printed"),
}
