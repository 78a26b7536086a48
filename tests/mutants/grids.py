"""Heads on a tensor grid: interpolation, the Lebesgue factor, rounding, samples of code, and what files must hold."""

from tests.mutants.mutant import Mutant

TENSOR = "src/headsmith/proof/tensor.py"
CHEBYSHEV = "src/headsmith/proof/chebyshev.py"
ROUNDING = "src/headsmith/proof/tensor_rounding.py"
SAMPLES = "src/headsmith/proof/tensor_samples.py"
PROOF = "tests/proof/test_tensor.py"
SLIPS = "tests/proof/test_tensor_rounding.py"
SAMPLED = "tests/proof/test_tensor_samples.py"

SPILL = "found.append((own + rest) * self.lebesgue**k * (1 + 1e-13))"
WHOLE = "(top + slack * self.lebesgue ** (samples.ndim - 1) + rest)"
BOTH = "return (float(np.abs(coefficients).max()) + noise) / shrink + dropped + noise"
SUMS = "tree(whole, u, count) + u * float(whole.sum())"
BETWEEN = "between = steep * step / 2 + 2 * rest + NOISE * size"

MUTANTS = [
    Mutant("the head's own spill", TENSOR, SPILL, SPILL.replace("own + rest", "rest"), PROOF),
    Mutant("half of the spill", TENSOR, "return best * (1 + 1e-6)", "return best / 2", PROOF),
    Mutant("the target's remainder", TENSOR, SPILL, SPILL.replace("own + rest", "own"), PROOF),
    Mutant("half of the target's remainder", TENSOR, SPILL, SPILL.replace("+ rest", "+ rest / 2"), PROOF),
    Mutant("the Lebesgue factor", TENSOR, SPILL, SPILL.replace(" * self.lebesgue**k", ""), PROOF),
    Mutant("half of the Lebesgue factor", TENSOR, SPILL, SPILL.replace("lebesgue**k", "lebesgue**k / 2**k"), PROOF),
    Mutant("the Lebesgue factor of the nodes", TENSOR, WHOLE, "(top + slack + rest)", PROOF),
    Mutant("half of the nodes' errors", TENSOR, WHOLE, WHOLE.replace("slack *", "slack / 2 *"), PROOF),
    Mutant("the whole interpolation remainder", TENSOR, WHOLE, WHOLE.replace(" + rest", ""), PROOF),
    Mutant("half of the interpolation remainder", TENSOR, WHOLE, WHOLE.replace("+ rest", "+ rest / 2"), PROOF),
    Mutant("the balls at the nodes", TENSOR, "max(slack, up(widest) +", "max(slack, 0 * up(widest) +", PROOF),
    Mutant("variance between its places", TENSOR, "np.exp(apart * t * 1.0001)", "1.0", PROOF),
    Mutant("half of the half range", TENSOR, "flat.min(0)).max()) / 2", "flat.min(0)).max()) / 4", PROOF),
    Mutant(
        "the outputs but the last", ROUNDING, "worst = max(worst, weight_error", "worst = max(0.0, weight_error", SLIPS
    ),
    Mutant("what is not a number", TENSOR, "return whole if whole < math.inf else math.inf", "return whole", PROOF),
    Mutant("finite numbers", TENSOR, "if not all(np.isfinite(x).all() for x in numbers) or", "if", PROOF),
    Mutant("an empty box", TENSOR, "if not all(lo < hi for lo, hi in box):", "if False:", PROOF),
    Mutant("a formula for each output", TENSOR, "if len(targets) != head.components:", "if False:", PROOF),
    Mutant("between the points of a polynomial", CHEBYSHEV, BOTH, BOTH.replace(" / shrink", ""), PROOF),
    Mutant("coefficients that are left out", CHEBYSHEV, BOTH, BOTH.replace(" + dropped", ""), PROOF),
    Mutant("the score slip", ROUNDING, "slips = gamma(dims + 1, u) * magnitude", "slips = 0 * magnitude", SLIPS),
    Mutant(
        "half of the score slip",
        ROUNDING,
        "gamma(dims + 1, u) * magnitude",
        "gamma(dims + 1, u) / 2 * magnitude",
        SLIPS,
    ),
    Mutant("a term of the score", ROUNDING, "gamma(dims + 1, u) * magnitude", "gamma(dims, u) * magnitude", SLIPS),
    Mutant("the error of exp", ROUNDING, "(1 + EXP_ERROR * u) + EXP_ERROR * u", "(1 + u)", SLIPS),
    Mutant("the sum of the exponentials", ROUNDING, "normal = (t + gamma(2, u))", "normal = gamma(2, u)", SLIPS),
    Mutant("the quotients", ROUNDING, "normal = (t + gamma(2, u))", "normal = t", SLIPS),
    Mutant("the weighted sum", ROUNDING, SUMS, "u * float(whole.sum())", SLIPS),
    Mutant("half of the weighted sum", ROUNDING, SUMS, SUMS.replace("tree(whole", "0.5 * tree(whole"), SLIPS),
    Mutant(
        "what the cell moves", ROUNDING, "np.minimum(p * np.exp(drift) * INFLATE, 1.0), p, drift", "p, p, drift", SLIPS
    ),
    Mutant("errors that are lost", ROUNDING, "if not np.abs(head.values).max() < LARGEST_VALUE:", "if False:", SLIPS),
    Mutant(
        "the head's own slope between samples",
        SAMPLES,
        "_slope(head, edges, proof.degree) + lipschitz",
        "lipschitz",
        SAMPLED,
    ),
    Mutant(
        "half of the head's slope",
        SAMPLES,
        "_slope(head, edges, proof.degree) +",
        "_slope(head, edges, proof.degree) / 2 +",
        SAMPLED,
    ),
    Mutant("the steepest variable alone", SAMPLES, "total = total + np.abs", "total = 0 * total + np.abs", SAMPLED),
    Mutant("the constant between samples", SAMPLES, " + lipschitz\n", " + 0.0\n", SAMPLED),
    Mutant("half of what happens between samples", SAMPLES, BETWEEN, BETWEEN.replace("step / 2", "step / 4"), SAMPLED),
    Mutant("the remainder between samples", SAMPLES, BETWEEN, BETWEEN.replace("2 * rest", "rest"), SAMPLED),
    Mutant("rounding of the sampled head", SAMPLES, "return (worst + rounding)", "return (worst)", SAMPLED),
    Mutant("all cells but the last", SAMPLES, "worst = max(worst, float(", "worst = max(0.0, float(", SAMPLED),
    Mutant("the check of the constant", SAMPLES, "if rise > lipschitz * step + noise:", "if False:", SAMPLED),
]
