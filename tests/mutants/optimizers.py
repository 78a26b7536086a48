"""Momentum and Adam in the forward pass: every term of their error bounds, every coefficient of their blocks."""

from tests.mutants.mutant import Mutant

BOUND, TERMS = "src/headsmith/proof/moments.py", "tests/proof/test_moments.py"
SUMMED, RUNS = "src/headsmith/proof/perturbation.py", "tests/targets/training/test_optimizers.py"
BLOCK, BLOCKS = "src/headsmith/constructions/training/optimizing.py", "tests/constructions/training/test_optimizing.py"
FORMULA, FORMULAS = "src/headsmith/reference/optimizers.py", "tests/reference/test_optimizers.py"
COMPACT = "src/headsmith/constructions/training/compact.py"
TAPE = "src/headsmith/constructions/training/tape.py"
FORM = "src/headsmith/constructions/training/form.py"
RUN, FIELDS = "src/headsmith/targets/training/network.py", "src/headsmith/targets/training/fields.py"


def term(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, BOUND, old, new, TERMS)


def block(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, BLOCK, old, new, BLOCKS)


MUTANTS = [
    term("momentum: g was off", "off = error + _averaged(", "off = _averaged("),
    term("momentum: what stays rounds", "(3, 1), fmt)", "(1, 1), fmt)"),
    term("momentum: what comes rounds", "(3, 1), fmt)", "(3, 0), fmt)"),
    term("momentum: v is replaced", '    off = off + _replaced(kept, "v", fmt)\n', ""),
    term("momentum: the rate rounds", "off + gamma(2, u) * v,", "off,"),
    term("momentum: the rate rounds, halved", "off + gamma(2, u) * v,", "off + gamma(1, u) * v,"),
    term("m: g was off", "off_m = (1 - b1) * error + ", "off_m = "),
    term("m: g was off, halved", "off_m = (1 - b1) * error", "off_m = (1 - b1) * error / 2"),
    term("m: what stays rounds", "(1 - b1) * g, (3, 4), fmt)", "(1 - b1) * g, (2, 4), fmt)"),
    term("m: what comes rounds", "(1 - b1) * g, (3, 4), fmt)", "(1 - b1) * g, (3, 3), fmt)"),
    term("m is replaced", ' + _replaced(kept, "m", fmt)', ""),
    term("v: g was off", "off_v = (1 - b2) * (2 * g + error) * error", "off_v = 0 * g"),
    term("v: g was off, halved", "off_v = (1 - b2) * (2 * g + error)", "off_v = (1 - b2) * (g + error)"),
    term("v: the square of what is off", "(2 * g + error) * error", "2 * g * error"),
    term("v: what stays rounds", "g.square(), (3, 5), fmt)", "g.square(), (2, 5), fmt)"),
    term("v: what comes rounds", "g.square(), (3, 5), fmt)", "g.square(), (3, 4), fmt)"),
    term("v is replaced", "(3, 5), fmt) + _replaced(kept, \"v\", fmt)", "(3, 5), fmt)"),
    term("a replaced moment: what is added", "((after - before).abs() + after.abs())", "after.abs()"),
    term("a replaced moment: the sum", "((after - before).abs() + after.abs())", "(after - before).abs()"),
    term("a replaced moment: its sign", "((after - before).abs() +", "((after.abs() - before.abs()).abs() +"),
    term("what is flushed", " + 4 * fmt.tiny", ""),
    term("rate v' is flushed", "(1 + steep) * fmt.tiny", "steep * fmt.tiny"),
    term("rate a1 m' is flushed", "(1 + steep) * fmt.tiny", "1.0 * fmt.tiny"),
    Mutant("a move that is flushed", SUMMED, "lost_behind(law.optimizer, law.fmt)\n", "0.0\n", TERMS),
    term("v^: v was off", "kept.lift * (off_v + gamma(3, u) * v_new)", "kept.lift * gamma(3, u) * v_new"),
    term("v^ rounds", "kept.lift * (off_v + gamma(3, u) * v_new)", "kept.lift * off_v"),
    term("v^ is corrected", "off_z = kept.lift * (off_v", "off_z = 1.0 * (off_v"),
    term("m^: m was off", "kept.lead * off_m + gamma(5, u) * mu", "gamma(5, u) * mu"),
    term("m^ rounds", "kept.lead * off_m + gamma(5, u) * mu", "kept.lead * off_m"),
    term("m^ is corrected", "mu = kept.lead * m_new", "mu = m_new"),
    term("v^ may be smaller", "(kept.lift * v_new - off_z).clamp(min=0.0)", "kept.lift * v_new"),
    term("v^ is no less than 0", "(kept.lift * v_new - off_z).clamp(min=0.0)", "(kept.lift * v_new - off_z)"),
    term("the worst v^", "torch.zeros_like(v_new) if worst else ", ""),
    term("the table rounds", "(table.rounding + u * steep)", "(u * steep)"),
    term("the product with the table", "(table.rounding + u * steep)", "(table.rounding + 0 * steep)"),
    term("m^ off, times the root", "move = steep * off_mu + ", "move = "),
    term("the slope of the root", " + mu * off_z * steep / (2 * low)", ""),
    term("the slope of the root, halved", "steep / (2 * low)", "steep / (4 * low)"),
    term("the table's own error", "move + approximation, approximation,", "move, approximation,"),
    term("the largest momentum", "g * grow / (1 - optimizer.beta)", "g * grow"),
    term("the largest change", '{"v": -most["v"]}', '{"v": most["v"]}'),
    term("the largest corrections", "one / (1 - b1), one / (1 - b2)", "one, one"),
    term("the largest move", "g * steep * (1 + 2e4 * fmt.unit)", "g"),
    Mutant("decay rounds", SUMMED, "gamma(2, u) * law.decay * rows.abs() + u *", "0 * rows + u *", TERMS),
    block("own coefficient of momentum", 'own("g"), optimizer.beta, 1.0)', 'own("g"), 1.0, 1.0)'),
    block("the mean of squares", 'own("square"), b2, 1 - b2)', 'own("g"), b2, 1 - b2)'),
    block("moments are replaced", "yield Hidden({m: sign}, {m: -sign})", "pass"),
    block("the gradient is used up", "yield Hidden({g: sign}, {g: -sign})", "pass"),
    block("the sign of a step", 'scaled(tape.rows("m"), -1.0)', 'scaled(tape.rows("m"), 1.0)'),
    block("the root that is proved", "{Decimal(optimizer.root)}", "{Decimal(optimizer.root + 0.01)}"),
    block("the range that is proved", "exact((0.0, size))", "exact((0.0, 1.0))"),
    Mutant("the first correction", FORMULA, "w - rate * (m / (1 - b1**t))", "w - rate * m", FORMULAS),
    Mutant("the second correction", FORMULA, "(v / (1 - b2**t) +", "(v +", FORMULAS),
    Mutant("corrections in the dtype", TAPE, "stream.new_tensor(corrections[1])", "torch.tensor(corrections[1])", RUNS),
    Mutant("corrections of each step", FORM, "target.optimized.corrections(t + 1)", "(1.0, 1.0)", RUNS),
    Mutant("the range of v^", FORM, '_checked(domain, "v", moving', '_checked(domain, "w", moving', RUNS),
    Mutant("where v^ starts", FIELDS, "if low != 0:", "if False:", RUNS),
    Mutant("whose beta it is", FIELDS, "if word not in DEFAULTS[name]:", "if False:", RUNS),
    Mutant("beta below 1", FIELDS, "and 0 <= given < 1:", "and 0 <= given <= 1:", RUNS),
    Mutant("the approximation of a run", RUN, "float(found.approximation.amax()))", "0.0)", RUNS),
    Mutant("the exact step", RUN, "rate, present, t + 1)", "rate, present, 1)", RUNS),
    Mutant("the moments in the distance", RUN, "[arb(1)] * (len(after[0]) - 1)", "[]", RUNS),
    Mutant("a table that no prompt could keep", COMPACT, "off > found else (found", "off < 0 else (found", BLOCKS),
    Mutant("how much of it is kept", COMPACT, "off = 2 * table *", "off = 0 * table *", BLOCKS),
    Mutant("who pays for the table", FORM, "half = ENFORCED * request.eps / 2", "half = request.eps", RUNS),
]  # fmt: skip
