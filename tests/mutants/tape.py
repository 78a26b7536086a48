"""What keeps a tape true: the cost of each step of a pass, the ranges that are checked, the gates, the counter."""

from tests.mutants.mutant import Mutant

ROOM, TESTS = "src/headsmith/machines/tape", "tests/machines/tape"


def _mutant(name: str, file: str, old: str, new: str, tests: str = "") -> Mutant:
    return Mutant(name, f"{ROOM}/{file}.py", old, new, f"{TESTS}/test_{tests or file}.py")


MUTANTS = [
    # what a pass costs
    _mutant("approximation of a row", "errors", "return self.worth.entry.approximation\n", "return 0.0\n"),
    _mutant("table of a row", "errors", "return self.worth.entry.total + gamma", "return gamma"),
    _mutant("rounding of a row", "errors", "FLOAT.unit) * size * INFLATE", "FLOAT.unit) * size * 0.5"),
    _mutant("terms of a row", "errors", "gamma(self.sizes.slots * self.sizes.slot + 5,", "gamma(self.sizes.slots * 4,"),
    _mutant("slope of an activation", "errors", "(slope * entry + approximation", "(entry + approximation"),
    _mutant("table of an activation", "errors", "(slope * entry + approximation", "(slope * entry"),
    _mutant("rounding of an activation", "errors", "+ rounding * rounds) * INFLATE", ") * INFLATE"),
    _mutant("end of the activations", "errors", "entry > ROOM * self.ranges.domain / 2", "entry > 1e9"),
    _mutant("length of a norm", "errors", "(2 * v * c.abs()", "(v * c.abs()"),
    _mutant("length of nothing", "errors", "+ d * v * v + entry + sums)", "+ entry + sums)"),
    _mutant("half the length of nothing", "errors", "+ d * v * v + entry + sums)", "+ d * v * v / 2 + entry + sums)"),
    _mutant("eps of a norm", "errors", "+ d * v * v + entry + sums)", "+ d * v * v + sums)"),
    _mutant("half an eps of a norm", "errors", "+ d * v * v + entry + sums)", "+ d * v * v + entry / 2 + sums)"),
    _mutant("rounding of a square", "errors", "+ d * v * v + entry + sums)", "+ d * v * v + entry)"),
    _mutant(
        "half the rounding of a square", "errors", "+ d * v * v + entry + sums)", "+ d * v * v + entry + sums / 2)"
    ),
    _mutant("short end of a norm", "errors", "low, most = s - moved - 2 * sums, c", "low, most = s, c"),
    _mutant("no norm at all", "errors", "torch.where(known, error, math.inf)", "error.nan_to_num(0.0)"),
    _mutant("table of a norm", "errors", "error = most * table + v", "error = most * table / 2 + v"),
    _mutant(
        "rounding of the table of a norm",
        "errors",
        "        table = self.worth.root.approximation + self.worth.root.rounding * rounds\n        rounded",
        "        table = self.worth.root.approximation\n        rounded",
    ),
    _mutant("own entry of a norm", "errors", "+ v / low.sqrt() + most", "+ v / low.sqrt() / 2 + most"),
    _mutant("moved length of a norm", "errors", "most * moved / (2 * low", "most * moved / (4 * low"),
    _mutant("end of the table of a norm", "errors", "torch.where(known, error", "torch.where(low > 0, error"),
    _mutant("product of a norm", "errors", "(2 * low * low.sqrt()) + rounded", "(2 * low * low.sqrt())"),
    _mutant(
        "keys of a view",
        "errors",
        'parts = instruction.view == "causal", (entries["K"],',
        'parts = instruction.view == "causal", (0.0,',
    ),
    _mutant("queries of a view", "errors", '(entries["K"], entries["Q"], error)', '(entries["K"], 0.0, error)'),
    _mutant("values of a view", "errors", 'entries["Q"], error)', 'entries["Q"], 0.0)'),
    _mutant(
        "rounding of a view", "errors", "error = float((moved + rounding * rounds).max())", "error = float(moved.max())"
    ),
    _mutant("causal keys", "errors", '"float64", causal=causal)', '"float64", causal=False)'),
    _mutant("sum of slots", "errors", "return (error + u * max(", "return (error + 0 * max("),
    _mutant("half a sum of slots", "errors", "return (error + u * max(", "return (error + u / 2 * max("),
    _mutant("rows of a part", "errors", "return max((float(sizes_of", "return min((float(sizes_of"),
    # what every pass costs
    _mutant("promise of a row", "errors", 'found = {"self": v, "unit": unit}', 'found = {"self": v / 2, "unit": unit}'),
    _mutant(
        "promise of a norm", "errors", 'found = {"self": v, "unit": unit}', 'found = {"self": v, "unit": unit / 2}'
    ),
    _mutant("promise of a sum of slots", "errors", "{name: (error + added) * INFLATE", "{name: error * INFLATE"),
    _mutant("promise of a table", "errors", "return table * (1 + ROOM)", "return table / 2"),
    _mutant("promise of entries", "errors", "(3 + math.sqrt(d)) / 2 * v", "(1 + math.sqrt(d)) / 2 * v"),
    _mutant("promise of an eps", "errors", "(d * v * v + entry) / (2 * low)", "(d * v * v) / (2 * low)"),
    _mutant("promise of rounding", "errors", "+ 2 * slip + 1.01", "+ 1.01"),
    _mutant("promise beyond the table", "errors", "if not moved <= ROOM * lo:", "if False:"),
    _mutant("promise of a norm in a view", "errors", "((v, most), (unit, 1.0 + ROOM))", "((v, most),)"),
    _mutant("promise of a row in a view", "errors", "((v, most), (unit, 1.0 + ROOM))", "((unit, 1.0 + ROOM),)"),
    # what is checked
    _mutant(
        "sums beyond the domain",
        "ranges",
        "                raise self._beyond(at, instruction, rows, bound)",
        "                pass",
    ),
    _mutant(
        "cheap bound", "ranges", "bound = bound + length * torch.linalg", "bound = bound + 0.5 * length * torch.linalg"
    ),
    _mutant(
        "cheap bias",
        "ranges",
        "bound = rows.bias.to(state).abs()",
        "bound = 0 * rows.bias.to(state).abs()",
    ),
    _mutant(
        "signs in a sum",
        "ranges",
        "weight.shape[1]].abs() @ weight.to(state).abs().mT",
        "weight.shape[1]] @ weight.to(state).mT",
    ),
    _mutant("slots that are added to", "ranges", "if not float(held.max()) <= self.domain:", "if False:"),
    _mutant("short norms", "ranges", "if not (bool((s >= lo).all()) and", "if not ("),
    _mutant("long norms", "ranges", "and bool((s <= hi).all())):", "):"),
    _mutant("negative eps", "ranges", 'if "g" in done.sums and not', "if False and not"),
    _mutant("undecided", "ranges", "if not bool((near >= UNDECIDED).all()):", "if False:"),
    _mutant("rows named twice", "ranges", "if any(part == other and first < last", "if any(False and first < last"),
    _mutant("norms of a run", "running", "        self.ranges.check_norm(at, done)\n", "", "ranges"),
    _mutant("sums of a run", "running", "        self.ranges.check(at, instruction, state)\n", "", "ranges"),
    # what a file must hold
    _mutant("a coarser root", "tape", "if not worth.root.total <= self.root:", "if False:"),
    _mutant("another activation", "tape", "not approximation <= tables.FINE * max(self.domain, NARROW)", "False"),
    _mutant("keys that nobody proves", "tape", "if max(self.keys.values()) > MOST_KEYS:", "if False:"),
    _mutant(
        "a run that was another", "tape", "if not torch.equal(program.leave(last), value):", "if False:", "tape_result"
    ),
    # the block
    _mutant("the height of gates", "frozen", "CLOSED = 2.0**60", "CLOSED = 2.0**2"),
    _mutant("the gate that a one shuts", "frozen", "2 * CLOSED, -CLOSED], dtype", "2 * CLOSED, CLOSED], dtype"),
    _mutant("the distance of addresses", "fetch", "FAR = 4096.0", "FAR = 40.0"),
    _mutant("the end of a loop", "looping", "0.5 + (program.times - 1.5) * step", "0.5 + (program.times - 0.5) * step"),
    _mutant(
        "the middle between two counts",
        "looping",
        "0.5 + (program.times - 1.5) * step",
        "0.5 + (program.times - 2.0) * step",
    ),
    _mutant("loops that a counter counts", "looping", "LOOPS = 2**15", "LOOPS = 2**25"),
    _mutant(
        "a slot that is entered",
        "looping",
        "for place in (*program.inputs, *program.outputs)}",
        "for place in program.outputs}",
    ),
    _mutant("a slot that is used", "looping", "used |= {*line.reads, *line.put}", "used |= {*line.put}"),
    _mutant("a slot with data", "looping", "if program.start is not None:", "if False:"),
    _mutant("a target between two lines", "running", "if abs(place - at) > NEAR:", "if False:", "looping"),
    _mutant("how far a line is fetched from", "fetch", "NEAR = 0.25", "NEAR = 0.49", "looping"),
    _mutant("jumps of an outer run", "running", "if looping.jumps(instruction):", "if False:", "looping"),
    # the tables
    _mutant("how far the root is proved", "tables", "return lo * (1 - ROOM), hi * (1 + ROOM)", "return lo * 2, hi / 2"),
    _mutant("how far rows are proved", "tables", "reach = domain * (1 + ROOM)", "reach = domain / 2"),
    _mutant(
        "rounding of the root",
        "tables",
        "return Lattice(found, prove_rounding(",
        "return Lattice(found, 0 * prove_rounding(",
    ),
]
