"""What is said of data before anything is built: each hypothesis of the hardmax proof, each count of a ceiling."""

from .mutant import Mutant

PROOF, HULL = "src/headsmith/proof/hardmax.py", "src/headsmith/search/hull.py"
OWN, LP = "tests/proof/test_hardmax.py", "tests/search/test_hull.py"
DOOR, DOORS = "src/headsmith/doors/recall/hardmax.py", "tests/doors/recall/test_hardmax.py"
CEILINGS, FAILURE = "src/headsmith/doors/recall/ceilings.py", "src/headsmith/doors/recall/failure.py"
TAGGING = "src/headsmith/doors/tagging.py"

MUTANTS = [
    Mutant("equal means", PROOF, "or mean(self.first) != mean(self.second)", "", OWN),
    Mutant("positive weights", PROOF, "all(w > 0 for w in weights) and ", "", OWN),
    Mutant("weights that sum to 1", PROOF, "sum(weights) == 1 and ", "", OWN),
    Mutant("the mixture is the token", PROOF, " and mixed == token", "", OWN),
    Mutant("every other token", PROOF, "token in self.mixtures and self._inside(token)", "True", OWN),
    Mutant("one ratio", PROOF, "for x in self.shared}) == 1 or {", "for x in self.shared}) >= 1 or {", OWN),
    Mutant("shared by both", PROOF, "if not all(a[x] and b[x] for x in self.shared)", "if False", OWN),
    Mutant("one order for first ties", PROOF, " and orders[0] == orders[1]", "", OWN),
    Mutant("one beginning for first ties", PROOF, "self.first[0] == self.second[0] and ", "", OWN),
    Mutant("solutions made exact", PROOF, "found = start + A.transpose()", "found = start + 0 * A.transpose()", OWN),
    Mutant("rows without a solution", PROOF, "if any(not any(row[:width]) for row in table)", "if False", OWN),
    Mutant("exact positive weights", HULL, "if exact is not None and min(exact) > 0 else", "if exact else", LP),
    Mutant("ties of a face", HULL, "ties = [row for", "ties = [] and [row for", LP),
    Mutant("pairs with one mean", DOOR, "groups[mean(given[k])].append(k)", "groups[k].append(k)", DOORS),
    Mutant("heads that are run", DOOR, "weights=\"hardmax\"", "weights=\"softmax\"", DOORS),
    Mutant("directions in whole numbers", HULL, "return tuple(Fraction(c, gcd(*numbers)) for c in numbers)",
           "return direction", DOORS),
    Mutant("a factor of multiplicities", DOOR, "(x, count // common)", "(x, count)", DOORS),
    Mutant("the zero vector", DOOR, "if both and not any(map(any, both))", "if False", DOORS),
    Mutant("the most frequent label", CEILINGS, "np.maximum.at", "np.add.at", "tests/doors/recall/test_ceilings.py"),
    Mutant("a mask", CEILINGS, "seen = context_keys(data.tokens, data.lengths, causal=causal)",
           "seen = context_keys(data.tokens, data.lengths)", "tests/doors/recall/test_ceilings.py"),
    Mutant("wrong with positions", FAILURE, "context_keys(data.tokens, data.lengths, True, before)", "keys",
           "tests/doors/recall/test_failure.py"),
    Mutant("the majority", TAGGING, "(first, -counts, pairs[:, 0])", "(first, counts, pairs[:, 0])",
           "tests/doors/test_tagging.py"),
]  # fmt: skip
