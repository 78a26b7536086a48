"""What the enclosures of programs need, and what keeps a theorem about one X from being false, or empty."""

from tests.mutants.mutant import Mutant

BALLS, PROVING = "src/headsmith/proof/ball_matrix.py", "src/headsmith/machines/tape/proving.py"
TAPE, PROMPTS = "src/headsmith/machines/tape", "src/headsmith/machines/prompts"


def _ball(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, BALLS, old, new, "tests/proof/test_ball_matrix.py")


def _proving(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, PROVING, old, new, "tests/machines/tape/test_proving.py")


def _loop(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{TAPE}/contraction.py", old, new, "tests/machines/tape/test_contraction.py")


def _prompt(name: str, file: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{PROMPTS}/{file}.py", old, new, "tests/machines/prompts/test_layers.py")


def _descent(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{PROMPTS}/descent.py", old, new, "tests/machines/prompts/test_descent.py")


MUTANTS = [
    _ball("radius of a product", "product = times(self.rows,", "product = times(self.rows.mid(),"),
    _ball("a bias", "product if bias is None else product + _repeated(bias, product.nrows())", "product"),
    _ball("radius of an activation", "[function(x) for x", "[function(x.mid()) for x"),
    _ball("radius of what an activation makes", "[function(x) for x", "[function(x).mid() for x"),
    _ball("radius of a sum", "self._with(self.rows + other.rows)", "self._with(self.rows + other.rows.mid())"),
    _ball(
        "radius of the other summand", "self._with(self.rows + other.rows)", "self._with(self.rows.mid() + other.rows)"
    ),
    _ball(
        "radius of what is scaled", "self._with(self.rows * arb(factor))", "self._with(self.rows.mid() * arb(factor))"
    ),
    _ball("radius of a factor", "self._with(self.rows * arb(factor))", "self._with(self.rows * arb(factor).mid())"),
    _ball(
        "radius of the middle of a row", "middle = _sum(row) / len(row) if", "middle = (_sum(row) / len(row)).mid() if"
    ),
    _ball("radius of what is centred", "c = [x - middle for x in row]", "c = [x.mid() - middle.mid() for x in row]"),
    _ball(
        "radius of the variance",
        "steep = _steepness(_sum([x * x for x in c])",
        "steep = _steepness(_sum([x * x for x in c]).mid()",
    ),
    _ball("eps", "/ len(c) + root)", "/ len(c))"),
    _ball("beta", "[g * (x * steep) + b for", "[g * (x * steep) for"),
    _ball("radius of a norm", "[g * (x * steep) + b for", "[g * (x * steep).mid() + b for"),
    _ball(
        "radius of the length",
        "steep = _steepness(_sum([x * x for x in row]))",
        "steep = _steepness(_sum([x * x for x in row]).mid())",
    ),
    _ball("radius of a unit vector", "found += [x * steep for x in row]", "found += [x.mid() * steep for x in row]"),
    _ball("radius of a mean", "_sum(column) / len(rows) for", "(_sum(column) / len(rows)).mid() for"),
    _ball(
        "radius of scores",
        "(arb_mat(q) * arb_mat(k).transpose()).tolist()",
        "(arb_mat(q) * arb_mat(k).transpose()).mid().tolist()",
    ),
    _ball("radius of queries", "(arb_mat(q) * arb_mat(k)", "(arb_mat(q).mid() * arb_mat(k)"),
    _ball("radius of keys", "* arb_mat(k).transpose()", "* arb_mat(k).mid().transpose()"),
    _ball("radius of values", "arb_mat([[*row, arb(1)] for row in v])", "arb_mat([[*row, arb(1)] for row in v]).mid()"),
    _ball("radius of weights", "(arb_mat(shares) *", "(arb_mat(shares).mid() *"),
    _ball("radius of exp", "[(s - most).exp() for s in scores]", "[(s - most).mid().exp() for s in scores]"),
    _ball("radius of a total", "[[x / row[-1] for", "[[x / row[-1].mid() for"),
    _ball("radius of a numerator", "[[x / row[-1] for", "[[x.mid() / row[-1] for"),
    _ball("totals that may be 0", "if not all(row[-1] > 0 for row in mixed):", "if False:"),
    _ball("a token that does not see itself", "row[: i + 1] if causal", "row[: max(i, 1)] if causal"),
    _ball("a token that sees the next", "row[: i + 1] if causal", "row[: i + 2] if causal"),
    _ball("each score less another number", "- most).exp() for s in scores]", "- s.mid()).exp() for s in scores]"),
    _ball("norms that may be 0", "if not square > 0:", "if False:"),
    _ball("radius of the square", "return square.rsqrt()", "return square.mid().rsqrt()"),
    _ball("the ball around the entry", "ceil_float(abs(x - v)) if", "float(abs(x - v).mid()) if"),
    _ball("what is no number", "ceil_float(x.rad()) if x.is_finite() else math.inf", "ceil_float(x.rad())"),
    _ball(
        "distance from what is no number",
        "ceil_float(abs(x - v)) if x.is_finite() else math.inf",
        "ceil_float(abs(x - v))",
    ),
    _ball(
        "rows of zeros that stay",
        "(filled * b).entries()[: short * b.ncols()]",
        "(filled * b).entries()[-short * b.ncols() :]",
    ),
    _proving("balls without a value", "return not math.isfinite(self.radius) or self.radius >", "return self.radius >"),
    _proving("balls wider than the error", "self.radius > max(self.error / 2, self.least)", "False"),
    _proving("the second attempt", "return first, 2 * first", "return (first,)"),
    _proving(
        "the first attempt is fine in any case",
        "return math.isfinite(self.radius) and self.radius <=",
        "return self.radius >= 0 or self.radius <=",
    ),
    _proving("values of other runs", "if found.rows.nrows() * found.width != value.numel() or", "if"),
    _proving("values of another shape", " or value.shape[-1:] != (found.width,):", ":"),
    _proving("numbers outside of the hash", "        tensors[name] = part\n", ""),
    _proving("fields outside of the hash", '{"kind": type(part).__name__, **held}', '{"kind": type(part).__name__}'),
    _loop(
        "the least eigenvalue",
        "slow = 1 - arb(rate) * (arb(flat) * arb(least)",
        "slow = 1 - arb(rate) * (arb(flat) * arb(most)",
    ),
    _loop("steps that are too long", "slow.max(fast).max(arb(0))", "slow.max(arb(0))"),
    _loop("flat losses", '"logistic": (0.0, 0.25)', '"logistic": (0.25, 0.25)'),
    _loop("inliers that leave", '"huber": (0.0, 1.0)', '"huber": (1.0, 1.0)'),
    _loop("steep losses", '"logistic": (0.0, 0.25)', '"logistic": (0.0, 0.125)'),
    _loop("the penalty of long steps", "arb(steep) * arb(most) + arb(l2)) - 1", "arb(steep) * arb(most)) - 1"),
    _loop("errors of earlier steps", "(1 - left) / (1 - q)", "(1 - left)"),
    _loop(
        "the length of an error",
        "(abs(x).upper() ** 2 for x in row), arb(0)).sqrt())",
        "(abs(x).upper() ** 2 for x in row), arb(0)) / 2)",
    ),
    _loop(
        "errors of one entry",
        "lengths += [ceil_float(sum((abs(x).upper() ** 2 for x in row), arb(0))",
        "lengths += [ceil_float((abs(row[0]).upper() ** 2)",
    ),
    _loop("errors of other penalties", "for row in off]", "for row in off[:1]]"),
    _loop("errors of early steps", "return max(lengths)", "return lengths[-1]"),
    _loop("iterates that are not finite", "if not all(bool(w.isfinite().all()) for w in iterates):", "if False:"),
    _loop("another beginning", "if bool(iterates[0].any()):", "if False:"),
    _loop("steps that are summed", "drift(factor, error, steps), 0.0)", "drift(factor, error, 1), 0.0)"),
    Mutant(
        "turns of a loop in a prompt",
        f"{TAPE}/tape.py",
        'len(program.loop) + (way == "looped")',
        "len(program.loop)",
        "tests/machines/tape/test_contraction.py",
    ),
    Mutant(
        "iterates of another run",
        f"{TAPE}/tape.py",
        "if not torch.equal(found[-1], value):",
        "if False:",
        "tests/machines/tape/test_contraction.py",
    ),
    _loop("loops that do not contract", "return math.inf if error else 0.0", "return error"),
    _prompt("the scale that folding rounds", "heads", "given[1] = self.queries or given[1]", "given[1] = given[1]"),
    _prompt("a scale that is rounded", "heads", "return constant(parse(scale)) if", "return _scale(scale) if"),
    _prompt(
        "an activation behind the heads", "heads", "attention(q, k, v.bent(self.activation),", "attention(q, k, v,"
    ),
    _prompt("who sees whom", "heads", "ball_of(self.scale), self.causal)", "ball_of(self.scale))"),
    _prompt("an activation", "heads", "self.bias).bent(self.activation)", "self.bias)"),
    _prompt("the unit vector's gamma", "layers", "return x.unit()", "return x.norm(self.gamma, self.beta, 0.0, False)"),
    _prompt(
        "the summand of a residual",
        "layers",
        "return x + _enclosed(self.stages, x)",
        "return _enclosed(self.stages, x)",
    ),
    _descent("radius of the iterate", "step(w + (w - old)", "step(w.mid() + (w - old)"),
    _descent("radius of momentum", "(w - old) * arb(self.momentum)", "(w - old).mid() * arb(self.momentum).mid()"),
    _descent(
        "radius of a residual", "self._slope(v * X.transpose(), y)", "self._slope((v * X.transpose()).mid(), y).mid()"
    ),
    _descent("radius of a step", "_soft(u, thresholds) if", "_soft(u.mid(), thresholds) if"),
    _descent("radius of what is above", "[(x - t).max(arb(0))", "[(x.mid() - t).max(arb(0))"),
    _descent("radius of what is below", "(-x - t).max(arb(0)) for", "(-x.mid() - t).max(arb(0)) for"),
    _descent(
        "the penalty", "keep = arb(self.rate), 1 - arb(self.rate) * arb(self.l2)", "keep = arb(self.rate), arb(1)"
    ),
    _descent("a threshold that is rounded", "[rate * arb(penalty) for", "[arb(self.rate * penalty) for"),
    Mutant(
        "radius of a rule",
        f"{PROMPTS}/rule.py",
        "dict.fromkeys(names, z)",
        "dict.fromkeys(names, z.mid())",
        "tests/machines/prompts/test_rule.py",
    ),
]
