"""Terms of the bounds of learning rules and gradient descent."""

from tests.mutants.mutant import Mutant

RULE, STEP = "src/headsmith/constructions/rule.py", "src/headsmith/constructions/gradient_step.py"
OF_RULE, OF_STEP = "tests/constructions/test_rule.py", "tests/constructions/test_gradient_step.py"
PACE, OF_PACE = "src/headsmith/constructions/least_squares.py", "tests/constructions/test_least_squares.py"
CURVED, OF_CURVED = "src/headsmith/targets/least_squares.py", "tests/targets/test_least_squares.py"
RESIDUALS, OF_RESIDUALS = "src/headsmith/proof/residuals.py", "tests/proof/test_residuals.py"


def rule(name: str, old: str, new: str, tests: str = OF_RULE) -> Mutant:
    return Mutant(name, RULE, old, new, tests)


def residual(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, RESIDUALS, old, new, f"{OF_RESIDUALS} {OF_RULE}")


def step(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, STEP, old, new, OF_STEP)


def pace(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, PACE, old, new, f"{OF_PACE} {OF_CURVED}")


MUTANTS = [
    pace("nothing is left of the solution", "(pace.left(self.rate, self.steps) + kept", "(kept"),
    pace(
        "half is left of the solution",
        "pace.left(self.rate, self.steps) + kept",
        "pace.left(self.rate, self.steps) / 2 + kept",
    ),
    pace("the error of a step counts once", "kept = pace.kept(self.rate, self.steps)", "kept = 1"),
    pace("the error of a step is none", "+ kept * one.approximation) * INFLATE", ") * INFLATE"),
    pace("the drift is not looked at", "if not kept * one.total * INFLATE <= drift:", "if False:"),
    pace("any rate will do", "if not 0 < self.rate * pace.steepest <= 1:", "if False:"),
    pace("one feature in beta", "(self.features * self.inputs**2 + self.l2)", "(self.inputs**2 + self.l2)"),
    pace(
        "the solution is shorter",
        "self.labels / math.sqrt(self.curvature)",
        "0.9 * self.labels / math.sqrt(self.curvature)",
    ),
    pace(
        "it falls by mu/beta of the square",
        "math.exp(steps * math.log1p(-rate * self.curvature))",
        "math.exp(2 * steps * math.log1p(-rate * self.curvature))",
    ),
    pace("labels are not in the residual", "reach * self.longest + self.labels,", "reach * self.longest,"),
    pace("a residual below the root of n", "math.sqrt(self.samples) * self.labels)", "self.labels)"),
    pace("the drift is not in the residual", "+ reach * drift", ""),
    pace("the drift is not in w", "(self.longest + drift) * INFLATE", "self.longest * INFLATE"),
    Mutant("data of any curvature", CURVED, "if not found * (1 - 1e-15) >= self.curvature:", "if False:", OF_CURVED),
    residual(
        "half the slip of the residual", "slip = gamma(features + 1 + spare", "slip = 0.5 * gamma(features + 1 + spare"
    ),
    residual("the slip does not grow with the features", "gamma(features + 1 + spare,", "gamma(2 + spare,"),
    residual("w and x do not enter the slip", "return features * self.w * self.x + self.y", "return self.y"),
    residual(
        "y does not enter the slip", "return features * self.w * self.x + self.y", "return features * self.w * self.x"
    ),
    residual(
        "the error of a rule is not multiplied by x",
        "Bound(table.approximation * size * INFLATE",
        "Bound(table.approximation",
    ),
    residual("half the error of a rule", "Bound(table.approximation * size", "Bound(0.5 * table.approximation * size"),
    residual(
        "rounding of the table is not multiplied by x",
        "(table.rounding * size + product)",
        "(table.rounding + product)",
    ),
    residual("the product with x is not rounded", "fmt.unit * largest(table) * size + fmt.tiny", "fmt.tiny"),
    residual(
        "half the rounding of the product", "fmt.unit * largest(table) * size", "0.5 * fmt.unit * largest(table) * size"
    ),
    residual(
        "the error is not in what is rounded", "max(map(abs, table.reach)) + table.total", "max(map(abs, table.reach))"
    ),
    rule("half of what leaks", "2 * leak * most", "leak * most"),
    rule("nothing leaks", "+ 2 * leak * most", ""),
    rule(
        "keys of other samples are counted once",
        "math.log(max(samples - 1, 1) * head.keys / leak)",
        "math.log(max(samples - 1, 1) / leak)",
    ),
    rule(
        "other samples are counted as one",
        "math.log(max(samples - 1, 1) * head.keys / leak)",
        "math.log(head.keys / leak)",
    ),
    rule("the own block may be at its lowest", "return most - float(best.min())", "return most - float(best.max())"),
    rule("the lowest score between two points", "(z[1] - z[0]) / 2", "0"),
    rule("half of it", "(z[1] - z[0]) / 2", "(z[1] - z[0]) / 4"),
    rule(
        "another sample's x meets this sample's w",
        "suppression(head, ranges.residual, ranges.products(features)",
        "suppression(head, ranges.residual, ranges.residual",
    ),
    rule("keys of other samples at their best", "np.abs(head.slopes) * other + head.offsets", "head.offsets"),
    rule("C is not in the score", "np.abs(head.offsets)).max()) + strength", "np.abs(head.offsets)).max())"),
    rule(
        "half the slip of the scores",
        "return (gamma(features + 4, fmt.unit) + 2 * fmt.unit)",
        "return 0.5 * (gamma(features + 4, fmt.unit) + 2 * fmt.unit)",
    ),
    rule("half the sums over all keys", "gamma(2 * keys + 2", "gamma(keys + 2"),
    rule("scores slip once", "math.expm1(2 * slip)", "math.expm1(slip)"),
    Mutant(
        "residuals are compared as they are rounded",
        RESIDUALS,
        "(size + slip > limit)",
        "(size > limit)",
        OF_RESIDUALS,
    ),
    step(
        "gates are rounded where they cancel",
        "for head in self.table) if self.gates else largest(table)",
        "for head in ()) if self.gates else largest(table)",
    ),
    step("a gate's key is not rounded", "1 if self.gates else 0", "0"),
    step("the product with x is not rounded", "product = u * rate * values * reach", "product = 0.0"),
    step("half of the products of the mean", "(gamma(4, u)", "(gamma(2, u)"),
    step("the weights are not summed", "+ 2 * summed(n, u))", "+ summed(n, u))"),
    Mutant(
        "half of every sum",
        "src/headsmith/proof/rounding.py",
        "u * ((n + 1) / 2 - 1 / n)",
        "u * ((n + 1) / 4 - 1 / n)",
        "tests/proof/test_rounding.py",
    ),
    step("the table's rounding", "rounding = rate * table.rounding * reach + product", "rounding = product"),
    step("the l2 term", "+ gamma(3, u) * shrunk", ""),
    step("half of the l2 term", "gamma(3, u) * shrunk", "gamma(1, u) * shrunk"),
    step("w is not rounded", "u * (kept + moved + shrunk)", "u * (moved + shrunk)"),
    step("half the rounding of w", "u * (kept + moved + shrunk)", "u * (kept / 2 + moved + shrunk)"),
    step("one addition only", "added = u * (moved + shrunk) + u", "added = u"),
    step("the rate", "Bound(rate * table.approximation", "Bound(table.approximation"),
    step("half of a step", "Bound(rate * table.approximation", "Bound(0.5 * rate * table.approximation"),
    step("the 2-norm of the samples", "u, reach = fmt.unit, math.sqrt(d) * ranges.x", "u, reach = fmt.unit, ranges.x"),
    step("errors do not add up", "(self.steps * one.approximation", "(one.approximation"),
    step("rounding does not add up", "self.steps * one.rounding", "one.rounding"),
    step("what the printed step lacks", "lost if self.printed else 0.0", "0.0"),
    step("the second order", "rate * largest(table) * reach", "rate * max(map(abs, table.reach)) * reach"),
]
