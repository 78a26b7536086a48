"""Functions given as code: each term of the conditional proof, and what is asked of the function."""

from tests.mutants.mutant import Mutant

PROOF, TESTS = "src/headsmith/proof/conditional.py", "tests/proof/test_conditional.py"
CODE, ASKED = "src/headsmith/targets/callables.py", "tests/targets/test_callables.py"
HEAD, HEADS = "src/headsmith/constructions/sampled.py", "tests/constructions/test_sampled.py"


def proof(name, old, new):
    return Mutant(name, PROOF, old, new, TESTS)


def code(name, old, new):
    return Mutant(name, CODE, old, new, ASKED)


def asked(name, old, new):
    return Mutant(name, PROOF, old, new, ASKED)


MUTANTS = [
    proof("the head's own slope between samples", "(p[0] + slope) * step / 2", "slope * step / 2"),
    proof("half of the head's own slope", "(p[0] + slope) * step / 2", "(p[0] / 2 + slope) * step / 2"),
    proof("the function's slope between samples", "(p[0] + slope) * step / 2", "p[0] * step / 2"),
    proof("half of the function's slope", "(p[0] + slope) * step / 2", "(p[0] + slope / 2) * step / 2"),
    proof("the head's own curvature", "(p[1] + curvature) * step * step / 8", "curvature * step * step / 8"),
    proof(
        "half of the head's own curvature",
        "(p[1] + curvature) * step * step / 8",
        "(p[1] / 2 + curvature) * step * step / 8",
    ),
    proof("the function's curvature", "(p[1] + curvature) * step * step / 8", "p[1] * step * step / 8"),
    proof(
        "half of the function's curvature",
        "(p[1] + curvature) * step * step / 8",
        "(p[1] + curvature / 2) * step * step / 8",
    ),
    proof("what the polynomial leaves out", " + 2 * rest + noise", " + noise"),
    proof("half of what the polynomial leaves out", " + 2 * rest + noise", " + rest + noise"),
    proof("the ulps of the function", " + 2 * rest + noise", " + 2 * rest"),
    proof("half of the ulps of the function", "noise = CALLABLE_ULPS *", "noise = CALLABLE_ULPS / 2 *"),
    proof("the error at the samples", "float(np.abs(part(z) - values).max()) + between", "between"),
    proof(
        "half of the error at the samples",
        "float(np.abs(part(z) - values).max()) + between",
        "float(np.abs(part(z) - values).max()) / 2 + between",
    ),
    proof("the rounding of the head at the samples", "(worst + rounding) * (1 + 1e-9)", "worst * (1 + 1e-9)"),
    proof(
        "half of the rounding at the samples", "(worst + rounding) * (1 + 1e-9)", "(worst + rounding / 2) * (1 + 1e-9)"
    ),
    proof("the uneven steps of a grid", "float(np.diff(z).max())", "float(np.diff(z).min())"),
    proof("a slope that samples contradict", "if steepest[0] > slope:", "if False:"),
    proof("a curvature that samples contradict", "if curvature is not None and sharpest[0] > curvature:", "if False:"),
    proof("the first derivative of the polynomial", "first += sum((k * abs(x)", "first += sum((0 * abs(x)"),
    proof(
        "the second derivative of the polynomial", "second += sum((k * (k - 1) * abs(x)", "second += sum((0 * abs(x)"
    ),
    Mutant(
        "the rounding of the network",
        HEAD,
        "Bound(approximation, rounding, kind",
        "Bound(approximation, 0.0, kind",
        HEADS,
    ),
    Mutant("the sampled error", HEAD, "Bound(approximation, rounding, kind", "Bound(0.0, rounding, kind", HEADS),
    Mutant("that it is conditional", HEAD, ', kind="conditional")', ")", HEADS),
    asked("asking twice", "for piece in pieces])[::-1]", "for piece in [z]])"),
    asked("comparing the answers", "if not (np.abs(again - first) <=", "if False and not (np.abs(again - first) <="),
    asked("a tensor that is changed", "if not np.array_equal(x.numpy(), z):", "if False:"),
    asked("another dtype", "or y.dtype != x.dtype", ""),
    asked("another shape", "or y.shape != x.shape", ""),
    asked("what is not finite", "if not np.isfinite(values).all():", "if False:"),
    code("the ulps in a ball", "arb(value, CALLABLE_ULPS * 2.0**-52 * abs(value))", "arb(value)"),
    code("the condition in the sentence", ', if {self.condition} there"', '"'),
    asked("a buffer that is used again", "y.detach().cpu().numpy().copy()", "y.detach().cpu().numpy()"),
]
