"""Thm I.2: the gap of the gates, and each term of their rounding."""

from .mutant import Mutant

DESIGN, GATES = "src/headsmith/constructions/native.py", "src/headsmith/proof/gates.py"
OWN, GATE = "tests/constructions/test_native.py", "tests/proof/test_gates.py"
GAP = "approximation = RELU_GAP / self.beta * float(np.abs(target.outer).sum(1).max())"

MUTANTS = [
    Mutant("the gap of the gates, halved", DESIGN, GAP, GAP.replace("RELU_GAP", "RELU_GAP / 2"), OWN),
    Mutant("the gap of one unit only", DESIGN, GAP, GAP.replace(".sum(1)", ".max(1)"), OWN),
    Mutant("the sharpness", DESIGN, GAP, GAP.replace(" / self.beta", ""), OWN),
    Mutant("the range of the sharpness", DESIGN, "if not 1 <= self.beta <= STEEPEST:", "if False:", OWN),
    Mutant("scores that overflow", DESIGN, "max(self.beta * S.max(), ", "max(0.0, ", OWN),
    Mutant("sums that overflow", DESIGN, ", V.sum(1).max())", ", 0.0)", OWN),
    Mutant("the radius", DESIGN, "[[1.0]]]), radius, fmt)", "[[1.0]]]), 1.0, fmt)", OWN),
    Mutant("the gates of other units", DESIGN, "own.sum(1) +", "own.max(1) +", OWN),
    Mutant("the gates, halved", DESIGN, "own.sum(1) +", "own.sum(1) / 2 +", OWN),
    Mutant("the sum over units", DESIGN, " + gamma(self.units - 1, fmt.unit) * (V + own).sum(1)", "", OWN),
    Mutant("the sum over units, halved", DESIGN, "gamma(self.units - 1,", "gamma(self.units / 2 - 0.5,", OWN),
    Mutant("the size of the units in their sum", DESIGN, "(V + own).sum(1)", "own.sum(1)", OWN),
    Mutant("kappa is too small", "src/headsmith/constructions/gate.py", "RELU_GAP = 0.278", "RELU_GAP = 0.139", OWN),
    Mutant("the slip of v", GATES, "return v_slip + outer", "return outer", GATE),
    Mutant("the slip of v, halved", GATES, "return v_slip + outer", "return v_slip / 2 + outer", GATE),
    Mutant("relu is Lipschitz", GATES, "(s_slip + shift)", "shift", GATE),
    Mutant("relu is Lipschitz, halved", GATES, "(s_slip + shift)", "(s_slip / 2 + shift)", GATE),
    Mutant("outer of the slip", GATES, "+ outer * (s_slip", "+ (s_slip", GATE),
    Mutant("the slip of the score", GATES, "(SCORE_SLIP + 2 *", "(2 *", GATE),
    Mutant("the slip of the score, halved", GATES, "= 0.4393,", "= 0.2197,", GATE),
    Mutant("the slips of the exps", GATES, " + 2 * EXP_ERROR * EXP_SLIP)", ")", GATE),
    Mutant("the slip of one exp only", GATES, " + 2 * EXP_ERROR * EXP_SLIP)", " + EXP_ERROR * EXP_SLIP)", GATE),
    Mutant("the slip of an exp, halved", GATES, ", 0.2239", ", 0.1120", GATE),
    Mutant("sum, division and product", GATES, " + gamma(4, u) * v", "", GATE),
    Mutant("sum, division and product, halved", GATES, "gamma(4, u)", "gamma(2, u)", GATE),
    Mutant("one of the four", GATES, "gamma(4, u)", "gamma(3, u)", GATE),
    Mutant("gates that underflow", GATES, " + (v + 1) * fmt.tiny", "", GATE),
    Mutant("weights that underflow", GATES, "(v + 1) * fmt.tiny", "fmt.tiny", GATE),
    Mutant("products that underflow", GATES, "(v + 1) * fmt.tiny", "v * fmt.tiny", GATE),
    Mutant("underflow, halved", GATES, "(v + 1) * fmt.tiny", "(v + 1) / 2 * fmt.tiny", GATE),
    Mutant("the rounding of a row", GATES, "stored + gamma(n + d, fmt.unit) * (sizes + stored)", "stored", GATE),
    Mutant("the rounding of a row, halved", GATES, "gamma(n + d, fmt.unit)", "gamma((n + d) / 2, fmt.unit)", GATE),
    Mutant("additions of heads", GATES, "gamma(n + d, fmt.unit)", "gamma(1 + d, fmt.unit)", GATE),
    Mutant("additions of features", GATES, "gamma(n + d, fmt.unit)", "gamma(n, fmt.unit)", GATE),
    Mutant(
        "the radius of a row", GATES, "sum((-1, -2)) * radius + np.abs(biases)", "sum((-1, -2)) + np.abs(biases)", GATE
    ),
    Mutant("the bias of a row", GATES, " * radius + np.abs(biases))", " * radius)", GATE),
    Mutant("stored numbers that round", GATES, "* radius + cast[1] + before", "* 0 + before", GATE),
    Mutant(
        "stored numbers, halved", GATES, "cast[0].sum((-1, -2)) * radius", "cast[0].sum((-1, -2)) * radius / 2", GATE
    ),
    Mutant("stored biases", GATES, " + cast[1] + before", " + before", GATE),
    Mutant("products in float64", GATES, " + cast[1] + before", " + cast[1]", GATE),
    Mutant("products in float64, halved", GATES, "products * exact.unit", "products * exact.unit / 2", GATE),
    Mutant("products in float64 that underflow", GATES, "(sizes + (n * d * radius + 1) * exact.tiny)", "sizes", GATE),
    Mutant("products of a row that underflow", GATES, " + n * (d + 1) * fmt.tiny", "", GATE),
    Mutant(
        "products of a row that underflow, halved",
        GATES,
        " + n * (d + 1) * fmt.tiny",
        " + n * (d + 1) / 2 * fmt.tiny",
        GATE,
    ),
]
