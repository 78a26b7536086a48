"""Grid memories: each term of the L2 bound, what the cells must keep, and what is asked of code."""

from .mutant import Mutant

DESIGN, TARGET = "src/headsmith/constructions/grid_memory.py", "src/headsmith/targets/equivariant.py"
NAMES = "src/headsmith/targets/reading.py"
TESTS, ASKED = "tests/constructions/test_grid_memory.py", "tests/targets/test_equivariant.py"
FILES = "src/headsmith/compiler/files.py"
SLOPES = "if not kept or not (np.frexp(self.slope)[0] == 0.5).all()"
ORDER, MARKS = "if not (np.array([ends[0], *beyond])", "if not np.array_equal(marks[:-1]"

MUTANTS = [
    Mutant("what a function rounds", DESIGN, " + ULPS * 2.0**-52 * float(np.abs(values).max())", "", TESTS),
    Mutant("the side of what is stored", DESIGN, "n * d * side ** (n * d))", "n * d)", TESTS),
    Mutant("all features of what is stored", DESIGN, "gap * math.sqrt(n * d * side", "gap * math.sqrt(n * side", TESTS),
    Mutant("the ramps of all features", DESIGN, "ramp = sum(", "ramp = max(", TESTS),
    Mutant("the ranges of all columns", DESIGN, "axis=0) ** 2).sum())", "axis=0) ** 2).max())", TESTS),
    Mutant(
        "ramps that end between floats", DESIGN, "for part in (self.left, beyond))", "for part in (self.left,))", TESTS
    ),
    Mutant("the cells", DESIGN, "(near + far) * INFLATE", "far * INFLATE", TESTS),
    Mutant("the cells, halved", DESIGN, "(near + far) * INFLATE", "(near / 2 + far) * INFLATE", TESTS),
    Mutant("the ramps", DESIGN, "(near + far) * INFLATE", "near * INFLATE", TESTS),
    Mutant("the ramps, halved", DESIGN, "(near + far) * INFLATE", "(near + far / 2) * INFLATE", TESTS),
    Mutant("what is stored", DESIGN, "stored * INFLATE, kind", "0.0, kind", TESTS),
    Mutant("what is stored, halved", DESIGN, "stored * INFLATE, kind", "stored / 2 * INFLATE, kind", TESTS),
    Mutant("the tokens of a ramp", DESIGN, "across * ramp * n * ranges", "across * ramp * ranges", TESTS),
    Mutant("the tokens of a cell", DESIGN, "across = n * side", "across = side", TESTS),
    Mutant("the side of the box", DESIGN, "across = n * side ** (n * d - 1)", "across = n", TESTS),
    Mutant("the nearest float", DESIGN, "- centres + slip)", "- centres)", TESTS),
    Mutant("the nearest float, halved", DESIGN, "- centres + slip)", "- centres + slip / 2)", TESTS),
    Mutant("all features", DESIGN, "moments = sum(_moment", "moments = max(_moment", TESTS),
    Mutant("ids that rounding moves", DESIGN, "if not certain.all():", "if False:", TESTS),
    Mutant("ramps between floats", DESIGN, SLOPES, SLOPES.replace("not kept or ", ""), TESTS),
    Mutant("slopes that round", DESIGN, SLOPES, "if not kept", TESTS),
    Mutant("ramps in order", DESIGN, ORDER, ORDER.replace("if not", "if False and not"), TESTS),
    Mutant("marks that round", DESIGN, MARKS, MARKS.replace("if not", "if False and not"), TESTS),
    Mutant(
        "as many cells of each feature", DESIGN, "target.features, {self.count})", "target.features, shape[3])", TESTS
    ),
    Mutant(
        "as many values as features",
        DESIGN,
        "target.features, target.features, {",
        "target.features, shape[2], {",
        TESTS,
    ),
    Mutant("a sentence in a name", NAMES, "name.isascii() and ", "", ASKED),
    Mutant("the norm of a file", FILES, "replace(stated, norm=target.norm)", "stated", ASKED),
    Mutant("another order of tokens", TARGET, "if not np.abs(permuted", "if False and not np.abs(permuted", ASKED),
    Mutant("the norm of a file", FILES, "return replace(stated, norm=target.norm)", "return stated", ASKED),
    Mutant("another constant", TARGET, "if steepest > self.lipschitz:", "if False:", ASKED),
]
