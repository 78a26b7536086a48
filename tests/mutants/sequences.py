"""Sequence maps: bumps, anchors, gathering, and code that is asked twice."""

from tests.mutants.mutant import Mutant

BUMPS = "src/headsmith/constructions/bumps.py"
GATHER = "src/headsmith/constructions/gather.py"
ANCHORED = "src/headsmith/constructions/anchored.py"
ASKED = "src/headsmith/functions/asked.py"
EXPLICIT, ON_EXPLICIT = "src/headsmith/constructions/explicit_relu.py", "tests/constructions/test_explicit_relu.py"
CELLS = "tests/constructions/test_bumps.py"
SEQUENCES = "tests/targets/test_sequence.py"
UNITS = "tests/constructions/test_anchored.py"
TWICE = "tests/functions/test_asked.py"

TERMS = "(walls + self._off(target) + sharp)"
APART = "np.maximum(times * high - low, high - times * low)"

MUTANTS = [
    Mutant("cells of no width", EXPLICIT, "volume * wide**p + ", "", ON_EXPLICIT),
    Mutant(
        "shells of the printed volume",
        EXPLICIT,
        "self.half**count if printed else",
        "self.half**count if True else",
        ON_EXPLICIT,
    ),
    Mutant("no shells", EXPLICIT, " + share * shells * (2 * most) ** p)", ")", ON_EXPLICIT),
    Mutant(
        "cells of half their width", EXPLICIT, "* self.half / self.g\n", "* self.half / self.g / 2.5\n", ON_EXPLICIT
    ),
    Mutant("what a cell is wide", BUMPS, TERMS, "(self._off(target) + sharp)", CELLS),
    Mutant("half of what a cell is wide", BUMPS, TERMS, "(walls / 2 + self._off(target) + sharp)", CELLS),
    Mutant("values off the function", BUMPS, TERMS, "(walls + sharp)", CELLS),
    Mutant("half of the values off the function", BUMPS, TERMS, "(walls + self._off(target) / 2 + sharp)", CELLS),
    Mutant("the leak of other cells", BUMPS, TERMS, "(walls + self._off(target))", CELLS),
    Mutant("rounding of the second layer", BUMPS, "(4 * bumps.cells + 40) * fmt.unit * size", "0.0", CELLS),
    Mutant("rounding of the printed sum", BUMPS, "(4 * bumps.cells + 40) * fmt.unit * times * most", "0.0", CELLS),
    Mutant("sums of printed columns", BUMPS, "times = 1 if bumps.average else bumps.cells", "times = 1", CELLS),
    Mutant("f below the sums", BUMPS, APART, "(times * high - low)", CELLS),
    Mutant("f above the sums", BUMPS, APART, "(high - times * low)", CELLS),
    Mutant("f outside of the values", BUMPS, "return (apart + around)", "return (apart)", CELLS),
    Mutant(
        "slopes on the other side of a kink",
        "src/headsmith/functions/several.py",
        "u[1].union(other[1])",
        "u[1]",
        "tests/proof/test_steepness.py",
    ),
    Mutant("the error of Range in the sums", BUMPS, "e = 2 * n * (own + shift)", "e = 2 * n * shift", CELLS),
    Mutant("half of the error of the sums", BUMPS, "e = 2 * n * (own + shift)", "e = n * (own + shift)", CELLS),
    Mutant("sums that are off", BUMPS, "gap, weight = 0.5 - 2 * e,", "gap, weight = 0.5,", CELLS),
    Mutant("one of two sums that are off", BUMPS, "gap, weight = 0.5 - 2 * e,", "gap, weight = 0.5 - e,", CELLS),
    Mutant("the number of other cells", BUMPS, "rest = bumps.cells * math.exp", "rest = math.exp", CELLS),
    Mutant("queries that ask softly", BUMPS, "(n - e if bumps.reader", "(n + 1 if bumps.reader", CELLS),
    Mutant("the constant between centres", BUMPS, "        refuse_contradicted(", "        (lambda *a: None)(", CELLS),
    Mutant("the error of the identity", ANCHORED, "weight * (e2 + n * e1)", "weight * e2", UNITS),
    Mutant("one identity for all tokens", ANCHORED, "weight * (e2 + n * e1)", "weight * (e2 + e1)", UNITS),
    Mutant("the error of Range", ANCHORED, "weight * (e2 + n * e1)", "weight * (n * e1)", UNITS),
    Mutant(
        "the token of the largest weights",
        ANCHORED,
        "(np.abs(target.outer).sum(1).max())\n        goal",
        "(np.abs(target.outer).sum(1).min())\n        goal",
        UNITS,
    ),
    Mutant("the bias in a sum", ANCHORED, " + np.abs(target.bias)).max())", ").max())", UNITS),
    Mutant("the bias in a part", ANCHORED, " + np.abs(target.bias)[..., None] / len(target.inner)", "", UNITS),
    Mutant("the slip of the sums", ANCHORED, "weight * (r2 + n * slip + sums) + gamma", "0 * gamma", UNITS),
    Mutant("the kind of a proof about code", GATHER, 'kind="conditional"', 'kind="proved"', SEQUENCES),
    Mutant("the second answer", ASKED, "if not bool(((first - again)", "if not bool((0 * (first - again)", TWICE),
    Mutant("the second answer in reverse", ASKED, "_each(f, X.flip(0))", "_each(f, X.clone()).flip(0)", TWICE),
    Mutant("answers in another dtype", ASKED, " or y.dtype != X.dtype", "", TWICE),
    Mutant("answers that are not finite", ASKED, "if not bool(torch.isfinite(first).all()):", "if False:", TWICE),
]
