"""What a program loses on its way to instructions, and what a module or a file could hide."""

from tests.mutants.mutant import Mutant

ROOM, TESTS = "src/headsmith/machines/tape", "tests/machines/tape"


def _lower(name: str, old: str, new: str, file: str = "lowering") -> Mutant:
    return Mutant(name, f"{ROOM}/{file}.py", old, new, f"{TESTS}/test_lowering.py")


def _descent(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{ROOM}/descending.py", old, new, f"{TESTS}/test_descending.py")


def _rule(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{ROOM}/rule_tokens.py", old, new, f"{TESTS}/test_rule_tokens.py")


def _host(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{ROOM}/host.py", old, new, f"{TESTS}/test_host.py {TESTS}/test_modules.py")


def _module(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{ROOM}/modules.py", old, new, f"{TESTS}/test_modules.py")


def _file(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{ROOM}/program_files.py", old, new, f"{TESTS}/test_program_files.py")


MUTANTS = [
    _lower("beta", "return weights, matrix @ self.bias", "return weights, 0 * matrix[:, 0]", "held"),
    _lower("gamma", "matrix if self.plain else matrix * self.scale", "matrix", "held"),
    _lower("where a head wrote", "wide[:, stretch.at :] =", "wide[:, : stretch.count] =", "held"),
    _lower("two stretches of a slot", "total[:, : one.shape[1]] += one", "pass", "held"),
    _lower("a residual sum keeps its slot", "self.kept.update(x.slots)", "pass"),
    _lower("a slot that is kept", "if i not in taken and not self.kept[i]", "if i not in taken"),
    _lower("a layer keeps what it still reads", "own if i == len(starts) - 1 else own | reads", "own"),
    _lower("heads keep what others read", "own if group + many == count else own | x.slots", "own"),
    _lower("wide heads keep what others read", "own if h == count - 1 else own | x.slots", "own"),
    _lower("x of a sum and its norm", "[(matrix, z), (None, x)], bias, f", "[(matrix, z)], bias, f"),
    _lower(
        "bias of a sum and its norm",
        "held) for m, held in terms], centring @ bias",
        "held) for m, held in terms], 0 * bias",
    ),
    _lower("a sum in place while others need x", "alone = x.plain and not any(", "alone = x.plain or any("),
    _lower("eps of a norm grows with its scale", "[s * s * program.eps]", "[program.eps]"),
    _lower("the scale of the bias", "s * shift)", "shift)"),
    _lower("centring", "(1.0 / d if program.centred else 0.0)", "0.0"),
    _lower("scale: the middle of the table", "/ math.sqrt(low * high)) / 2)", "/ math.sqrt(low)) / 2)"),
    _lower("the range of a norm", "if not least <= s * s * low <= s * s * high <= most:", "if False:"),
    _lower("slots that the block lacks", "if work.slots > S:", "if False:"),
    _lower("a vector is written out", "return x if x.plain else", "return x if True else"),
    _lower("causal heads", '"causal" if program.causal else "heads"', '"heads"'),
    _lower(
        "biases of a head",
        "matrix[i * size : i * size + rows], shift[i * size : i * size + rows] = weight[h], bias[h]",
        "matrix[i * size : i * size + rows] = weight[h]",
    ),
    _descent("constant of the logistic slope", "G @ (0.5 - p.y)", "G @ (-p.y)"),
    _descent("delta of the clipped slope", "G @ torch.full_like(p.y, -p.delta)", "0 * G[:, 0]"),
    _descent("ridge", "slots[0] = -p.rate * p.l2 * eye", "pass"),
    _descent("ridge of a threshold", "self.point((1 - p.rate * p.l2) * eye)", "self.point(eye)"),
    _descent("threshold", "constant = constant - p.rate * float(p.l1[0]) / self.unit", "pass"),
    _descent("penalties in units of w", "program.l1 / steps.unit", "program.l1"),
    _descent("momentum", "[(1 + theta) * signed, -theta * signed]", "[signed, 0 * signed]"),
    _descent("units of z", "weights = weights * (self.residual_unit / self.unit)", "weights = weights / self.unit"),
    _descent("size of w in units", "pull = (1 + program.rate * program.l2) * size", "pull = 0 * size"),
    _descent("slots", "if needed > S:", "if False:"),
    _rule(
        "code of a sample", "= Q[d + 1 :, 2 * d + 1 :] = self.strength", "= Q[d + 1 :, 2 * d + 1 :] = 0 * self.strength"
    ),
    _rule("spread of scores", "spread + SILENT + math.log", "SILENT + math.log"),
    _rule("unit of values", "-program.rate * keys.value_unit / keys.unit", "-program.rate / keys.unit"),
    _rule("gain of offsets", "torch.eye(d), self.gain", "torch.eye(d), 1.0"),
    _rule("sizes in the domain", "if size > domain / 2:", "if False:"),
    _host("running the module", "_run(given, program, x, causal)", "pass"),
    _host("the domain", "if needed > domain:", "if False:"),
    _host("the causal mask", "part(one, mask, is_causal=True) if masked else part(one)", "part(one)"),
    _host("samples of a state dict", "sample = embedded(given[0], tokens) if sample is None else sample", "pass"),
    _module("eps of RMSNorm", "torch.finfo(gamma.dtype).eps if part.eps is None", "1e-5 if part.eps is None"),
    _module("dropout", "parts(inner)  # refuses a dropout that is on", "pass"),
    _module("bias_k", "or part.bias_k is not None", ""),
    _module("activations that say so", "if function is part)", "if function == part)"),
    _module("eps of nothing", "if gamma is None and part.eps is None:", "if False:"),
    _module("pre-LN", "if layer.norm_first:", "if False:"),
    _module("the final norm", "[] if part.norm is None else [_norm(part.norm)]", "[]"),
    _module("a layer of another kind", "if type(layer) is not nn.TransformerEncoderLayer:", "if False:"),
    _module("hooks in the attention", "    check_plain(part)\n    if part.training", "    if part.training"),
    _file("instructions", "if ours != theirs:", "if False:"),
    _file("names of descents", "found if cls in SPOKEN else", "found if False else"),
    _file("names on one line", "and name.isprintable())", ")"),
    _file(
        "a block that nobody builds",
        "block = Tape.__new__(Tape)\n    block._size(",
        "block = Tape.__new__(Tape)\n    vars(block).update(",
    ),
    _file("tokens that nobody reads", "if type(count) is not int or not (", "if False and not ("),
    Mutant(
        "steps in the sentence",
        "src/headsmith/machines/prompts/descent.py",
        "{self.steps} times, slope",
        "slope",
        f"{TESTS}/test_proving.py",
    ),
    Mutant(
        "steps that nobody lives to see",
        "src/headsmith/machines/prompts/descent.py",
        "not 1 <= steps <= MOST",
        "steps < 1 or steps == MOST",
        f"{TESTS}/test_program_files.py",
    ),
    Mutant(
        "a copy of what was given",
        "src/headsmith/machines/prompts/heads.py",
        "torch.float64, copy=True)",
        "torch.float64)",
        "tests/machines/prompts/test_heads.py",
    ),
    _file(
        "scales", "if not all(0 < scale < math.inf and math.frexp(scale)[0] == 0.5 for scale in scales):", "if False:"
    ),
    _file("everything else", "if canonical(again) != canonical(", "if False and canonical(again) != canonical("),
]
