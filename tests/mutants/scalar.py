"""The proof of scalar heads: cells, rounding, composition, and the bounds of polynomials and slopes."""

from tests.mutants.mutant import Mutant

CELLS, CELLS_TESTS = "src/headsmith/proof/cells.py", "tests/proof/test_cells.py"
PROOF, PROOF_TESTS = "src/headsmith/proof/approximation.py", "tests/proof/test_approximation.py"
ROUNDING, ROUNDING_TESTS = "src/headsmith/proof/rounding.py", "tests/proof/test_rounding.py"
PARTS, PARTS_TESTS = "src/headsmith/proof/composition.py", "tests/proof/test_composition.py"
NODES, NODES_TESTS = "src/headsmith/proof/chebyshev.py", "tests/proof/test_chebyshev.py"
SLOPES, SLOPES_TESTS = "src/headsmith/proof/steepness.py", "tests/proof/test_steepness.py"


def cells(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, CELLS, old, new, CELLS_TESTS)


def rounding(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, ROUNDING, old, new, ROUNDING_TESTS)


def parts(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, PARTS, old, new, PARTS_TESTS)


MUTANTS = [
    cells("no tail of Z", "tail_z += tail\n", "tail_z += 0 * tail\n"),
    cells("half the tail of Z", "tail_z += tail\n", "tail_z += tail / 2\n"),
    cells("no tail of N", "tail_n += tail * abs(v)", "tail_n += 0 * tail * abs(v)"),
    cells("half the tail of N", "tail_n += tail * abs(v)", "tail_n += tail * abs(v) / 2"),
    cells("no tail of a line", "abs(tilt) * (tail + abs(last))", "0 * tail"),
    cells("no last term of a line", "abs(tilt) * (tail + abs(last))", "abs(tilt) * tail"),
    cells("skipped keys are free in Z", "tail_z += f.skipped * arb(NEGLIGIBLE)", "tail_z += 0"),
    cells(
        "half the skipped keys in Z",
        "tail_z += f.skipped * arb(NEGLIGIBLE)",
        "tail_z += f.skipped * arb(NEGLIGIBLE) / 2",
    ),
    cells("skipped keys are free in N", "tail_n += f.skipped * arb(NEGLIGIBLE) * arb(widest) * 1.0001", "tail_n += 0"),
    cells(
        "skipped values without lines", " + np.abs(head.lines).max() * (abs(c) + h)) + abs(f.value)", ") + abs(f.value)"
    ),
    cells("one skipped key pays for all", "tail_n += f.skipped * arb(NEGLIGIBLE)", "tail_n += arb(NEGLIGIBLE)"),
    cells("keys are skipped too early", "FAR = -80.0", "FAR = -20.0"),
    cells("Z falls nowhere", "least = Z[0] * (-abs(Z[1]) / Z[0]).exp()", "least = Z[0]"),
    cells("no excess of q", "tail_z * absolute + sum((abs(x) for x in excess), arb(0))", "tail_z * absolute"),
    cells("no tail times q", "(tail_n + tail_z * absolute +", "(tail_n +"),
    cells(
        "between the nodes nothing happens",
        "cosine = math.cos(degree * math.pi / (2 * NODES))",
        "cosine = 1.0 + 0 * degree",
    ),
    cells("balls do not count", "radius = math.fsum(up(x.rad()) for x in p)", "radius = 0.0"),
    cells("dropped coefficients are free", "/ cosine + dropped + noise)", "/ cosine + noise)"),
    cells("remainders of one head only", "remainder += rest\n", "remainder = rest\n"),
    cells("the target has no remainder", "own = up(remainder + rest)", "own = up(remainder)"),
    cells("the heads have no remainder", "own = up(remainder + rest)", "own = up(rest)"),
    cells("the remainder is not added", "upper, worst = max(upper, top + own)", "upper, worst = max(upper, top)"),
    cells(
        "half the remainder is added",
        "upper, worst = max(upper, top + own)",
        "upper, worst = max(upper, top + own / 2)",
    ),
    cells("a part has no bias", "[arb(part.bias)] + [arb(0)] * ORDER", "[arb(0)] + [arb(0)] * ORDER"),
    cells("the last branch only", "upper, worst = max(upper, top + own)", "upper, worst = (top + own)"),
    cells(
        "values do not spread",
        "low, high = down(coefficients[0] - spread), up(coefficients[0] + spread)",
        "low = high = up(coefficients[0])",
    ),
    cells("branches at no distance", "own + up(apart)", "own"),
    Mutant(
        "cells are rounded inwards",
        PROOF,
        "math.nextafter(max(right - c, c - left), math.inf)",
        "max(right - c, c - left) * (1 - 1e-15)",
        PROOF_TESTS,
    ),
    Mutant(
        "the best cell is the bound",
        PROOF,
        "bound=max(b.upper for *_, b in done)",
        "bound=min(b.upper for *_, b in done)",
        PROOF_TESTS,
    ),
    Mutant(
        "nothing is bisected", PROOF, "bound.remainder <= 0.01 * low or neighbours", "True or neighbours", PROOF_TESTS
    ),
    rounding("scores are exact", "slips = gamma(terms, u) *", "slips = 0 * gamma(terms, u) *"),
    rounding("scores have one term", "slips = gamma(terms, u) *", "slips = gamma(1, u) *"),
    rounding("scores do not underflow", "+ 2 * terms * tiny\n", "\n"),
    rounding("subtraction is exact", "etas = (slips + u * (gaps + slips + slips.max()))", "etas = (slips + 0 * gaps)"),
    rounding("exp is exact", "np.expm1(etas) * (1 + EXP_ERROR * u) + EXP_ERROR * u", "np.expm1(etas)"),
    rounding("exp is twice as good", "EXP_ERROR = 4", "EXP_ERROR = 2"),
    rounding("nothing is flushed", "flushed = head.keys * tiny * math.exp(2 * slips.max())", "flushed = 0.0"),
    rounding("half is flushed", "flushed = head.keys * tiny", "flushed = 0.5 * head.keys * tiny"),
    rounding("weights do not move the mean", "weight_error = (weights @ (alpha * gap) +", "weight_error = (0 +"),
    rounding(
        "flushed weights do not move the mean",
        "(far * far_alpha + flushed) * 2 * widest",
        "(far * far_alpha) * 2 * widest",
    ),
    rounding("far weights do not move the mean", "(far * far_alpha + flushed) * 2 * widest", "flushed * 2 * widest"),
    rounding("the mean is not divided", "+ flushed) * 2 * widest) / (1 - moved)", "+ flushed) * 2 * widest)"),
    rounding("division is exact", "normal = (t + gamma(2, u)) / (1 - t)", "normal = t / (1 - t)"),
    rounding("the sum of weights is exact", "normal = (t + gamma(2, u)) / (1 - t)", "normal = gamma(2, u)"),
    rounding("normalisation costs nothing", "weight_error + normal * (whole.sum() + rest)", "weight_error"),
    rounding("the sum of values is exact", "sum_error = tree(whole, u, head.keys) +", "sum_error ="),
    rounding("products are exact", "+ u * float(whole.sum()) + 2 * rest", "+ 2 * rest"),
    rounding("products do not underflow", "+ 2 * head.keys * tiny * max(1.0, widest)", ""),
    rounding("values of the token are exact", "+ sum_error + value_error)", "+ sum_error)"),
    rounding("constants of a line are free", ".astype(float) + (values != 0)", ".astype(float)"),
    rounding(
        "lines are free",
        "(np.frexp(np.abs(lines))[0] != 0.5).astype(float) + (values != 0)",
        "(values != 0).astype(float)",
    ),
    rounding("heads are added exactly", "return (own + gamma(max(0, len(added) - 1), fmt.unit) *", "return (own + 0 *"),
    rounding("one addition less", "len(added) - 1", "len(added) - 2"),
    rounding("the bias is not added", "sizes = [abs(part.bias), *(", "sizes = [*("),
    rounding("one head only", "own = sum(head_rounding(", "own = max(head_rounding("),
    rounding("weights are those of the middle", "up(t * e / least) for", "up(t / z0) for"),
    rounding(
        "half of a tree",
        "best = (np.arange(len(ordered)) * u * tails[0] + tails[1:]).min()",
        "best = (np.arange(len(ordered)) * u * tails[0] / 2 + tails[1:]).min()",
    ),
    rounding("the middle cell is the bound", "return Rounding(-heap[0][0],", "return Rounding(-heap[-1][0],"),
    parts(
        "approximation is not carried",
        "_up(proof.approximation.bound + proof.slope * source.approximation)",
        "_up(proof.approximation.bound)",
    ),
    parts("half of it is carried", "proof.slope * source.approximation)", "proof.slope * source.approximation / 2)"),
    parts(
        "rounding is not carried",
        "_up(proof.rounding.bound + proof.slope * source.rounding)",
        "_up(proof.rounding.bound)",
    ),
    parts(
        "the earlier part is forgotten",
        "fsum(e.approximation for e in errors)",
        "fsum(e.approximation for e in errors[1:])",
    ),
    parts("its rounding is forgotten", "fsum(e.rounding for e in errors)", "fsum(e.rounding for e in errors[1:])"),
    parts("additions are exact", "rounding + gamma(max(0, count - 1), unit) * size", "rounding"),
    parts("half the additions", "gamma(max(0, count - 1), unit) * size", "gamma(count // 2, unit) * size"),
    parts("one addition only", "gamma(max(0, count - 1), unit)", "gamma(1, unit)"),
    parts("terms that cancel are small", "max(map(math.fsum, cells))", "0.0"),
    parts("what stood there is small", "sum(most for _, most in terms)", "sum(most for _, most in terms[1:])"),
    parts("the last part is small", "sum(most for _, most in terms)", "sum(most for _, most in terms[:-1])"),
    parts("values do not add up", "math.fsum(e.reach[1] for e in errors)", "errors[-1].reach[1]"),
    parts("domains are not widened", "room = 1.01 * self.total", "room = 0.0 * self.total"),
    parts("half of the widening", "room = 1.01 * self.total", "room = 0.5 * self.total"),
    parts("rounding does not widen", "return self.approximation + self.rounding", "return self.approximation"),
    parts(
        "slopes are nothing",
        "slope = 1.01 * lipschitz(part.target, *part.domain) if input_error.total else 0.0",
        "slope = 0.0",
    ),
    parts("half the slope", "slope = 1.01 * lipschitz(", "slope = 0.5 * lipschitz("),
    Mutant(
        "between nodes nothing happens",
        NODES,
        "shrink *= math.cos(n * math.pi / (2 * nodes)) * (1 - 1e-14)",
        "shrink *= 1.0",
        NODES_TESTS,
    ),
    Mutant(
        "half of the factor between nodes",
        NODES,
        "shrink *= math.cos(n * math.pi / (2 * nodes))",
        "shrink *= math.cos(n * math.pi / (4 * nodes))",
        NODES_TESTS,
    ),
    Mutant("dropped coefficients are free", NODES, "/ shrink + dropped + noise", "/ shrink + noise", NODES_TESTS),
    Mutant(
        "half the Lebesgue constant",
        NODES,
        "(1 + 2 / math.pi * math.log(degree + 1))",
        "(1 + 1 / math.pi * math.log(degree + 1))",
        NODES_TESTS,
    ),
    Mutant(
        "the last variable only",
        SLOPES,
        "total += up(abs(slope).upper())",
        "total = up(abs(slope).upper())",
        SLOPES_TESTS,
    ),
    Mutant(
        "the last component only",
        SLOPES,
        "return max(_steepest(f, names, box) for f in expressions)",
        "return _steepest(expressions[-1], names, box)",
        SLOPES_TESTS,
    ),
    Mutant(
        "slopes in the middle of cells",
        SLOPES,
        "arb_series([arb(c, h), 1]) if i == k else arb(c, h)",
        "arb_series([arb(c), 1]) if i == k else arb(c)",
        SLOPES_TESTS,
    ),
    Mutant(
        "no slope is no slope",
        SLOPES,
        "except Unresolved:\n            return math.inf",
        "except Unresolved:\n            continue",
        SLOPES_TESTS,
    ),
]
