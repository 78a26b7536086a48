"""Training inside the forward pass: every term of the running error bound, every check of a run, every exact block."""

from tests.mutants.mutant import Mutant

BOUND, TERMS = "src/headsmith/proof/perturbation.py", "tests/proof/test_perturbation.py"
CURVES, GATES = "src/headsmith/proof/curves.py", "src/headsmith/constructions/training/kinked_units.py"
SMOOTH, UNITS = "src/headsmith/functions/smooth.py", "src/headsmith/constructions/training/smooth_units.py"
WRITTEN = "tests/constructions/training/test_smooth_units.py"
BLOCK, BLOCKS = "src/headsmith/constructions/training/compact.py", "tests/constructions/training/test_compact.py"
TARGET, ASKED = "src/headsmith/targets/training/target.py", "tests/targets/training/test_target.py"
RUN, RUNS = "src/headsmith/targets/training/network.py", "tests/targets/training/test_network.py"
TAPE, TAPES = "src/headsmith/constructions/training/tape.py", "tests/constructions/training/test_tape.py"
PRINTED, PRINTS = (
    "src/headsmith/constructions/training/printed_training.py",
    "tests/constructions/training/test_printed_training.py",
)
FORM, STREAM = "src/headsmith/constructions/training/form.py", "src/headsmith/constructions/training/stream.py"


def term(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, BOUND, old, new, TERMS)


def curve(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, CURVES, old, new, TERMS)


def smooth(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, CURVES, old, new, "tests/proof/test_curves.py")


def run(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, RUN, old, new, RUNS)


MUTANTS = [
    term("a row rounds", "_product(read[-1], p, rows.mT, adds, law)", "_product(read[-1], p, rows.mT, 0, law)"),
    term("a row rounds, halved", "p, rows.mT, adds, law)", "p, rows.mT, adds / 2, law)"),
    term("a row is long", "p, rows.mT, adds, law)", "p, rows.mT, 3, law)"),
    term("the attention divides", "row: int = 2", "row: int = 0"),
    term("what was off before a row", "_product(read[-1], p,", "_product(0 * read[-1], p,"),
    term("a sum over units rounds", "above, rows, rows.shape[-2] + law.counts.column, law)", "above, rows, 0, law)"),
    term("units are many", "above, rows, rows.shape[-2] + law", "above, rows, 1 + law"),
    term("heads of the way back", "column: int = 3", "column: int = 0"),
    term("what was off above", "_product(error, above,", "_product(0 * error, above,"),
    term(
        "a product is off by what its values are", "found = (error + gamma(count,", "found = (0 * error + gamma(count,"
    ),
    term("a pattern that is flushed", " + law.tokens * tiny * there) @", " + 0 * there) @"),
    term("a row that is flushed", "((values.abs() + error) / law.tokens + law.tokens", "(law.tokens"),
    term("products that are flushed", "/ law.tokens + law.tokens + 4) * there)", "/ law.tokens) * there)"),
    term("what is off where bounds underflow", "(values != 0) | (error > 0)", "values != 0"),
    term("values that are right are flushed", "(values != 0) | (error > 0)", "error > 0"),
    term("only products of what is there", "(rows != 0).to(found)", "torch.ones_like(rows)"),
    term("the rate times delta is flushed", " + law.tokens * law.fmt.tiny * per", ""),
    term("T/n p is flushed", "(e_p + law.samples / law.tokens * law.fmt.tiny)", "e_p"),
    term("products of samples are flushed", "(2 * adds * (per + (law", "(0 * (per + (law"),
    term("they are, before the rate", "(2 * adds * (per + (law", "(2 * adds * (1 + (law"),
    term("decay is flushed", " + (law.decay > 0) / law.tokens", ""),
    term("a residual is flushed", "u * (r.abs() + e_f) + flushed", "u * (r.abs() + e_f)"),
    term("a residual beyond the bend is flushed", "law.bend) + flushed", "law.bend)"),
    term("squares that are 0", "part / most", "part"),
    curve("a leak is flushed", "* z.abs() + fmt.tiny) * leaks", "* z.abs()) * leaks"),
    curve("what leaks back is flushed", " + fmt.tiny * (q != 0) if floor", " if floor"),
    term("deltas that are off", "carried = e_delta.mT @ (p.abs() + e_p) + ", "carried = "),
    term("deltas that are off, halved", "carried = e_delta.mT @ (p.abs() + e_p)", "carried = e_delta.mT @ p.abs() / 2"),
    term("activations that are off", "delta.abs().mT @ (e_p +", "delta.abs().mT @ (0 * e_p +"),
    term("activations that are off, halved", "delta.abs().mT @ (e_p +", "delta.abs().mT @ (e_p / 2 +"),
    term("the update rounds", "(gamma(adds, u) + told) * size", "told * size"),
    term("the update rounds, halved", "(gamma(adds, u) + told) * size", "(gamma(adds, u) / 2 + told) * size"),
    term("samples are many", "adds = law.samples + (", "adds = 1 + ("),
    term("the rate rounds thrice", "gradient: int = 9", "gradient: int = 6"),
    term("decay rounds", "((gamma(law.counts.decay, u) + told) * rows.abs() + apart)", "apart"),
    term("decay rounds, halved", "decay: int = 8", "decay: int = 4"),
    term("w' is rounded", "flushed = law.fmt.unit * after.abs()", "flushed = 0 * after.abs()"),
    term("w' is rounded, halved", "flushed = law.fmt.unit * after.abs()", "flushed = law.fmt.unit / 2 * after.abs()"),
    term("cutting off", "torch.where(near | law.worst, cut, found)", "found"),
    term("cutting off large moves", "(before.abs() + move.abs() + max(", "(before.abs() + max("),
    term("cutting off, halved", "CLIPPED = 4 ", "CLIPPED = 1 "),
    curve("hard tanh is flat", " + u * z.abs() * (z.abs() > 1)", ""),
    curve("hard tanh is flat, halved", "u * z.abs() * (z.abs() > 1)", "u / 2 * z.abs() * (z.abs() > 1)"),
    curve("hard tanh between its ends", "error * (~flat | self.worst)", "error * self.worst"),
    curve("a leak rounds", "(gamma(2, u) * floor * z.abs() + fmt.tiny)", "fmt.tiny"),
    curve("a leak hands on", "torch.where(shut, floor * error, error)", "torch.where(shut, 0 * error, error)"),
    curve("relu hands on", "torch.where(shut, floor * error, error)", "floor * error"),
    curve("a shut gate that leaks", "gamma(3, u) * (q.abs() + e_q)", "0 * q.abs()"),
    curve("what leaks was off", "shut = floor * e_q + ", "shut = 0 * e_q + "),
    curve("an open gate hands on", "torch.where(self.kinked.room(z) > 0, e_q, shut)", "shut"),
    term("the residual rounds", "return r, e_f + u * (r.abs() + e_f)", "return r, e_f"),
    term("f is off", "return r, e_f + u * (r.abs() + e_f)", "return r, u * (r.abs() + e_f)"),
    term("the ends of Huber round", "u * (r.abs() + e_f + law.bend)", "0 * r"),
    term("the ends of Huber round, halved", "u * (r.abs() + e_f + law.bend)", "u / 2 * (r.abs() + e_f + law.bend)"),
    term("a sigmoid rounds", "e_f / 4 + (SQUASHED + 1) * u", "e_f / 4 + 0 * u"),
    term("f is off in a sigmoid", "e_f / 4 + (SQUASHED + 1) * u", "0 * e_f + (SQUASHED + 1) * u"),
    term("who is absent", "(part * here for part in", "(part for part in"),
    curve("the gap", "(room >= self.kinked.gap) & ", ""),
    curve("z is not known", "& (room > error)) |", ") |"),
    curve("z is not known, below", "| (room + error <= 0)", "| (room <= 0)"),
    term("kinks of who hands nothing back", " & (q.abs() + error > 0)", ""),
    term("the largest q", "torch.maximum(largest, (q.abs() + error).amax((-1, -2)))", "largest"),
    curve("the worst gate", "torch.maximum(e_q, shut) if self.worst else ", ""),
    term("the worst end of Huber", " & ~torch.tensor(law.worst)", ""),
    curve("the worst activation", "(~flat | self.worst)", "~flat"),
    smooth("the bend of a value", " + self.smooth.bend * error / 2", ""),
    smooth("the bend of a value, halved", "self.smooth.bend * error / 2", "self.smooth.bend * error / 4"),
    smooth("the slope of a value", "steep = slope.abs() + ", "steep = "),
    smooth("a value that is off", " + self.value.of(z)", ""),
    smooth("the sum of a value", " + fmt.unit * self.highest(z.abs())", ""),
    smooth("the sum of a value, halved", "fmt.unit * self.highest", "fmt.unit / 2 * self.highest"),
    smooth("a value that is flushed", "self.highest(z.abs()) + fmt.tiny", "self.highest(z.abs())"),
    smooth("the bend of a slope", " + self.smooth.bend * e_z", ""),
    smooth("the bend of a slope, halved", "self.smooth.bend * e_z", "self.smooth.bend * e_z / 2"),
    smooth("a slope times what was off", "return (slope.abs() + off) * e_q + ", "return "),
    smooth("a slope that is off times what was off", "(slope.abs() + off) * e_q", "slope.abs() * e_q"),
    smooth("a slope that is off", " + off * q.abs()", ""),
    smooth("a slope that is off, halved", "off * q.abs()", "off * q.abs() / 2"),
    smooth("the product with a slope", " + gamma(2, fmt.unit) * (slope * q).abs()", ""),
    smooth("a product that is flushed", "(slope * q).abs() + fmt.tiny", "(slope * q).abs()"),
    smooth("a slope of its own", "return self.slope.of(z) + ", "return "),
    smooth("the sum of a slope", " + fmt.unit * slope.abs()", ""),
    smooth("a slope that is flushed", "fmt.unit * slope.abs() + fmt.tiny", "fmt.unit * slope.abs()"),
    smooth("three keys round, halved", "SOFT = 16", "SOFT = 8"),
    smooth("what a table is off by", "self.approximation + self.fixed", "self.fixed"),
    smooth("what a multiple of z is off by", " + self.each * z.abs()", ""),
    Mutant("how flat a table is", SMOOTH, "TAIL = 1e-17", "TAIL = 5e-18", "tests/functions/test_smooth.py"),
    Mutant("a table on its way", UNITS, "found.approximation.bound + 2 * TAIL", "0.0", WRITTEN),
    Mutant("a table that rounds", UNITS, "+ 2 * TAIL, found.rounding.bound)", "+ 2 * TAIL)", WRITTEN),
    Mutant("where tables end", RUN, "not highest <= most", "False", "tests/targets/training/test_smooth.py"),
    Mutant("what is enforced", FORM, "min(rounding, ENFORCED * request.eps)", "request.eps / 2", ASKED),
    Mutant("the lock of a gate", GATES, "{q: sign, c: -LOCK}", "{q: sign, c: -1.0}", BLOCKS),
    Mutant("the lock of a mask", BLOCK, "absent: -LOCK}", "absent: -1.0}", BLOCKS),
    Mutant(
        "the query is absent", STREAM, 'stream[..., self.samples, self.slices["absent"].start] = 1.0', "pass", TAPES
    ),
    Mutant("the share of a batch", TAPE, "share = self.samples / present.sum(-1)", "share = torch.ones(())", TAPES),
    Mutant("wiping", BLOCK, "yield Hidden({row: sign}, {row: -sign})", "yield Hidden({row: sign}, {row: 0.0})", BLOCKS),
    Mutant("the low end of a box", BLOCK, "bias=box[0])", "bias=box[0] - 9.0)", BLOCKS),
    Mutant("w on the way", FORM, 'f"after step {t}")', 'f"after step {t}") if t == 0 else None', RUNS),
    Mutant("the stationary point", TARGET, "bool((w == 0).all(-1).any())", "False", RUNS),
    Mutant("where the query lies", TARGET, 'domain.check("x", query)', "pass", RUNS),
    run("a step that is worse", "if not worst <= promised:", "if False:"),
    run("numbers that no gate shuts out", "if not largest <= self.law.widest:", "if False:"),
    run("a query that no mask shuts out", "torch.maximum(found.largest, query.abs().amax(-1))", "found.largest"),
    Mutant(
        "a worst step that no float holds",
        TARGET,
        ".nan_to_num(nan=math.inf)",
        "",
        "tests/targets/training/test_smooth.py",
    ),
    run("kinks that are counted", "self.kinks += int(found.kinks.sum())", "pass"),
    run("the exact rate", "rate = rate if run.scheduled else self.task.rate", "rate = 0.9 * rate"),
    run("all steps of the certificate", "float(run.bounds.amax()) - run", "float(run.bounds[0, 0]) - run"),
    Mutant(
        "slopes at infinity that are perhaps right",
        "src/headsmith/proof/relu_sums.py",
        "if not (slopes[0] == ends.left[0] and slopes[-1] == ends.right[0]):",
        "if slopes[0] != ends.left[0] or slopes[-1] != ends.right[0]:",
        "tests/proof/test_relu_sums.py",
    ),
    Mutant("one spelling of delta", TARGET, "if self.bend < math.inf:", "if False:", ASKED),
    Mutant("the method of a form", FORM, "request.method != self.asked", "False", PRINTS),
    Mutant("optimizers are not printed", PRINTED, 'target.optimizer != "gd"', "False", PRINTS),
    Mutant("decay is not printed", PRINTED, "target.decay > 0,", "False,", PRINTS),
    Mutant("logistic losses are not printed", PRINTED, "target.squashed}", "False}", PRINTS),
    Mutant("what a form has not", FORM, "if word := self.beyond(target):", "if word := None:", PRINTS),
    Mutant(
        "sums before a prompt", PRINTED, "        curve_of(target.activation, self.sums, request.dtype)\n", "", PRINTS
    ),
    Mutant("layers of a sigmoid", BLOCK, "yield 1, tape.widths[-1]", "yield 0, tape.widths[-1]", BLOCKS),
    Mutant("heads of a sigmoid", BLOCK, "yield 1, tape.widths[-1]", "yield 1, 1", BLOCKS),
    Mutant("layers of a decay", BLOCK, "        yield 1, 1\n", "        yield 0, 0\n", BLOCKS),
]
