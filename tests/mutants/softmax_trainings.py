"""Training by softmax attention alone: every term of its bound, every number of its heads, every check of a run."""

from tests.mutants.mutant import Mutant

BOUND, HEADS = "src/headsmith/proof/perturbation.py", "src/headsmith/proof/products.py"
TERMS = "tests/proof/test_products.py"
FORM, FORMS = "src/headsmith/constructions/training/softmax_training.py", "tests/targets/training/test_softmax_form.py"
BLOCKS = "tests/constructions/training/test_softmax_training.py"
SHEET, SHEETS = (
    "src/headsmith/constructions/training/softmax_sheet.py",
    "tests/constructions/training/test_softmax_sheet.py",
)
PLACES = "src/headsmith/constructions/training/sheet.py"
TABLE, TABLES = (
    "src/headsmith/constructions/training/multiplying.py",
    "tests/constructions/training/test_multiplying.py",
)


def term(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, BOUND, old, new, TERMS)


def form(name: str, old: str, new: str, tests: str = FORMS) -> Mutant:
    return Mutant(name, FORM, old, new, tests)


MUTANTS = [
    term("z is a product", "e_z + law.multiplied, z.abs()", "e_z, z.abs()"),
    term("z is a product, halved", "e_z + law.multiplied, z.abs()", "e_z + law.multiplied / 2, z.abs()"),
    term("a sum of no products", "torch.where(e_z + size > 0, e_z + law.multiplied, z.abs())", "e_z + law.multiplied"),
    term("what a head makes of no products", "law.multiplied, z.abs())", "law.multiplied, 0 * z)"),
    term("q is a product", "if step.apart else 0.0) + law.multiplied", "if step.apart else 0.0)"),
    term(
        "q is a product, halved",
        "if step.apart else 0.0) + law.multiplied",
        "if step.apart else 0.0) + law.multiplied / 2",
    ),
    term("delta p is a product", "law.multiplied * step.present.unsqueeze(-1)", "0 * step.present.unsqueeze(-1)"),
    term("delta p is a product, halved", "law.multiplied * step.present.un", "law.multiplied / 2 * step.present.un"),
    term("who is absent has no products", "law.multiplied * step.present.unsqueeze(-1)", "law.multiplied"),
    term("loss' times a slope", "error = error + law.multiplied * here * isinst", "error = error + 0 * here * isinst"),
    term("only a slope that is a number", " * isinstance(law.at(last), Smoothness)", ""),
    term("a score rounds", "(gamma(adds, u) + told) * size", "gamma(adds, u) * size"),
    term("a score rounds, halved", "(gamma(adds, u) + told) * size", "(gamma(adds, u) + told / 2) * size"),
    term("a score rounds, of decay", "law.counts.decay, u) + told)", "law.counts.decay, u))"),
    term("w that tokens disagree on decays", "+ told) * rows.abs() + apart)", "+ told) * rows.abs())"),
    term("a product that is flushed", "(per + (law.products is not None))", "per"),
    term("scores are held to the reach", "torch.stack([largest, *tops])", "torch.stack([largest])"),
    term("scores are, as their factors are", "(score.abs() + e_z)", "(0 * score.abs() + e_z)"),
    term("scores are, with what they are off by", "(score.abs() + e_z)", "(score.abs() + 0 * e_z)"),
    term("what is off in exact arithmetic", "products and products.exact()", "None"),
    term("rounding is no approximation", "products and products.exact()", "products"),
    Mutant("what is held to", BOUND, "LOCK if self.products is None else self.products.reach", "LOCK", FORMS),
    Mutant("the table is off", HEADS, "self.slip.approximation + self.slip.fixed", "self.slip.approximation", TERMS),
    Mutant(
        "the table is, in exact arithmetic",
        HEADS,
        "self.slip.approximation + self.slip.fixed",
        "self.slip.fixed",
        TERMS,
    ),
    Mutant(
        "as many units as a score is large",
        HEADS,
        "return fmt.unit * torch.log",
        "return fmt.unit / 2 * torch.log",
        TERMS,
    ),
    form("a share rounds", "gradient=samples + 12", "gradient=samples + 6", TERMS),
    form("a share rounds, for each sample", "gradient=samples + 12", "gradient=13 - samples", TERMS),
    form("a share of decay rounds", "decay=2 * samples + 15", "decay=samples + 7", TERMS),
    form("what is absent is not held", "[here * delta for delta in step.deltas]", "step.deltas"),
    form("numbers of the answer", "if not largest <= self.limit:", "if False:"),
    form("what a product is off by, in a plan", "one = 2 * max(table.approximation, table.fixed)", "one = 0.0"),
    form("approximations are promised too", "one = 2 * max(", "one = max("),
    form("who is absent", "{one: -LOCK}", "{one: 0.0}", BLOCKS),
    form("where it attends", "{one: -LOCK}", "{one: -1.0}", BLOCKS),
    form("the rate", "value = [{a: -sheet.most,", "value = [{a: -1.0,"),
    form("decay", "{w: -sheet.most * decay}", "{w: -decay}"),
    form("biases alone make large numbers", "float(target.biases), ", "", BLOCKS),
    form("what no gate shuts out", "(2.0**-20, LOCK)", "(2.0**-20, 2.0**60)"),
    Mutant("columns of V", PLACES, "self.row(j + 1, m)[k]", "self.row(j + 1, m)[0]", BLOCKS),
    form("the range of products", "WIDER = 16", "WIDER = 4", BLOCKS),
    Mutant("the share of a batch", SHEET, "(arb(most) - arb(rate)) * arb(count)", "(arb(most) - arb(rate))", SHEETS),
    Mutant("what is left of attention", SHEET, "(arb(most) - arb(rate))", "arb(most)", SHEETS),
    Mutant("a rate that is all of it", SHEET, "<= rate < most", "<= rate", SHEETS),
    Mutant("a rate that is next to none", SHEET, "if not LEAST * most <= rate", "if not 0 < rate", SHEETS),
    Mutant("how far anchors reach", TABLE, "STEPS = 15", "STEPS = 11", TABLES),
    Mutant("how sharp a head is", TABLE, "-(r**2) / 4, r * reach / 2", "-(r**2) / 2, r * reach", TABLES),
    Mutant("slopes are steeper than 1", TABLE, "ROOM = 1.25", "ROOM = 1.0", TABLES),
    Mutant("what a product rounds", TABLE, "proved.rounding.bound)", "proved.rounding.bound / 64)", TABLES),
]
