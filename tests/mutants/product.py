"""Lemma I.1: the approximation from stored logarithms, and each term of its rounding."""

from .mutant import Mutant

DESIGN, MIXING = "src/headsmith/constructions/product.py", "src/headsmith/proof/mixing.py"
OWN, MIX = "tests/constructions/test_product.py", "tests/proof/test_mixing.py"
SLIP = "return (mean + normal + tree(whole, u, len(scores)) + u * total) * INFLATE, total * INFLATE"

MUTANTS = [
    Mutant(
        "the second head of the coefficients",
        DESIGN,
        "for head in weights] + [",
        "for head in weights[:1] * len(weights)] + [",
        OWN,
    ),
    Mutant("the radius of the approximation", DESIGN, "arb(0)) * radius)", "arb(0)))", OWN),
    Mutant("the radius, halved", DESIGN, "arb(0)) * radius)", "arb(0)) * radius / 2)", OWN),
    Mutant("the radius of the rounding", DESIGN, ".sum(2).T * radius * INFLATE", ".sum(2).T * INFLATE", OWN),
    Mutant("a coefficient that hides behind another", DESIGN, "abs(c) for line", "c for line", OWN),
    Mutant("numbers out of range", DESIGN, "np.isfinite(self.logs).all() and", "True and", OWN),
    Mutant("sums that overflow", DESIGN, "np.finfo(fmt.name).max / 2", "np.inf", OWN),
    Mutant("the shapes of A", DESIGN, "self.values.shape[1:] != A.shape or ", "", OWN),
    Mutant("the shapes of B", DESIGN, "or self.logs.shape[1:] != (len(B) + 1, B.shape[1])", "", OWN),
    Mutant("the dot products of the values", DESIGN, "+ g) + lost", ") + lost", OWN),
    Mutant("the dot products, halved", DESIGN, "+ g) + lost", "+ g / 2) + lost", OWN),
    Mutant("products that underflow", DESIGN, "+ g) + lost", "+ g)", OWN),
    Mutant("underflow of the values, halved", DESIGN, "(d * whole + ", "(d * whole / 2 + ", OWN),
    Mutant(
        "underflow of the mixture, halved",
        DESIGN,
        "+ self.logs.shape[1]).sum()",
        "+ self.logs.shape[1] / 2).sum()",
        OWN,
    ),
    Mutant("the mixture", DESIGN, "((1 + g) * slips + g)", "(0 * slips + g)", OWN),
    Mutant("the addition of two heads", DESIGN, "float((own + addition).max())", "float(own.max())", OWN),
    Mutant("the addition, halved", DESIGN, "(own + addition)", "(own + addition / 2)", OWN),
    Mutant("the mean that moves", MIXING, "(mean + normal", "(normal", MIX),
    Mutant("the mean that moves, halved", MIXING, "(mean + normal", "(mean / 2 + normal", MIX),
    Mutant("exps that underflow", MIXING, " + 2 * flushed) / (1 - moved)", ") / (1 - moved)", MIX),
    Mutant("exps that underflow, halved", MIXING, " + 2 * flushed) / (1 - moved)", " + flushed) / (1 - moved)", MIX),
    Mutant("the normalisation", MIXING, "(mean + normal", "(mean", MIX),
    Mutant("the sum of the exps", MIXING, "normal = (t + gamma(2, u))", "normal = gamma(2, u)", MIX),
    Mutant("the sum of the exps, halved", MIXING, "normal = (t + gamma(2, u))", "normal = (t / 2 + gamma(2, u))", MIX),
    Mutant("the division", MIXING, "normal = (t + gamma(2, u))", "normal = t", MIX),
    Mutant("the division, halved", MIXING, "gamma(2, u)", "gamma(1, u)", MIX),
    Mutant("the weighted sum", MIXING, SLIP, SLIP.replace(" + tree(whole, u, len(scores))", ""), MIX),
    Mutant("the weighted sum, halved", MIXING, SLIP, SLIP.replace("+ tree(", "+ 0.5 * tree("), MIX),
    Mutant("its products", MIXING, SLIP, SLIP.replace(" + u * total", ""), MIX),
    Mutant("its products, halved", MIXING, SLIP, SLIP.replace("+ u * total", "+ u / 2 * total"), MIX),
    Mutant("a format that loses the weights", MIXING, "(moved < 0.5 and t < 0.5)", "(moved < 1e9)", MIX),
    Mutant("the difference of scores", MIXING, "(scores.max() - scores) * INFLATE", "0 * scores", MIX),
    Mutant("the difference of scores, halved", MIXING, "gaps = fmt.unit *", "gaps = fmt.unit / 2 *", MIX),
    Mutant("the error of exp", MIXING, " + EXP_ERROR * fmt.unit\n", "\n", MIX),
    Mutant("the error of exp, halved", MIXING, " + EXP_ERROR * fmt.unit\n", " + EXP_ERROR / 2 * fmt.unit\n", MIX),
    Mutant("the lemma where slips are alike", MIXING, "widest * (1 + q) ** 2 / 4", "widest * (1 + q) ** 2 / 8", MIX),
    Mutant("the lemma where a faint key slips", MIXING, "2 * a * (1 - q)", "a * (1 - q)", MIX),
]
