"""Bounds of gaps between ids: each factor and each hypothesis."""

from .mutant import Mutant

FILE, OWN = "src/headsmith/proof/boltzmann.py", "tests/proof/test_boltzmann.py"
SCALE, PRINTED = "src/headsmith/proof/printed_scale.py", "tests/proof/test_printed_scale.py"
KAPPA = "kappa = 1 - q - q * (2 - q) / (1 - q) ** 2"

MUTANTS = [
    Mutant("what further scores take from a", FILE, KAPPA, KAPPA.replace("1 - q - q", "1 - q"), OWN),
    Mutant("what b falls by", FILE, KAPPA, "kappa = 1 - q", OWN),
    Mutant("what b falls by, halved", FILE, KAPPA, KAPPA.replace("- q * (2", "- q / 2 * (2"), OWN),
    Mutant("the distance of the sharp bound", FILE, "arb(1.5), once=True)", "arb(1.5), once=True) * 2", OWN),
    Mutant(
        "the first difference, sharp", FILE, "delta * (ball(high) - ball(top))", "delta * (ball(top) - ball(top))", OWN
    ),
    Mutant("scores that repeat", FILE, "if once and (len(set(a)) < len(a)", "if once and (False", OWN),
    Mutant("scores too near", FILE, "or not ball(delta) > least", "", OWN),
    Mutant("the hypothesis of Lemma 7", FILE, "2 * arb(n).log() + 3, once", "arb(n).log() / 2, once", OWN),
    Mutant("the hypothesis for multisets", FILE, "3 * n.log() + 3)", "n.log())", OWN),
    Mutant("the lengths of Lemma 7", FILE, "if len(b) != n or low is None", "if low is None", OWN),
    Mutant("the bound for multisets", FILE, "arb(3) / 4 * delta", "arb(8) * delta", OWN),
    Mutant("shares of the top", FILE, "Fraction(count, c[max(c)])", "Fraction(count, 1)", OWN),
    Mutant("a common factor", FILE, "common = gcd(*counts.values())", "common = 1", OWN),
    Mutant("digits that cancel", FILE, "gap.rel_accuracy_bits() >= LEADING_BITS", "True", OWN),
    Mutant("Lemma 4, the entropy", FILE, "[1 + log + entropy for", "[1 + log for", OWN),
    Mutant("Lemma 5, its last term", FILE, "* e + 1) for", "* e) for", OWN),
    Mutant("Lemma 6, its hypothesis", FILE, "delta > arb(n).log() + 3 or", "delta > 0 or", OWN),
    Mutant("Lemma 6, log n + 1", FILE, "- arb(n).log() - 1) * p[-1]", "+ 9) * p[-1]", OWN),
    Mutant("Eq 29, the power", SCALE, "arb(self.types + 1) ** 4", "arb(self.types) ** 4", PRINTED),
    Mutant("Eq 8, its factor", SCALE, "factor = 2 * arb", "factor = arb", PRINTED),
    Mutant("Eq 8, log n", SCALE, "arb(self.n).log() ** 2 * eps", "arb(self.n).log() * eps", PRINTED),
    Mutant("Eq 7", SCALE, "self._constants[0] / 4", "self._constants[0] / 2", PRINTED),
    Mutant("the margin of strict inequalities", SCALE, "r_min * STRICT", "r_min", PRINTED),
]
