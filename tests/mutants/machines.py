"""What the proofs of machines need, and what keeps a machine from lying."""

from tests.mutants.mutant import Mutant

ROOM, TESTS = "src/headsmith/machines", "tests/machines"


def _mutant(name: str, file: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{ROOM}/{file}.py", old, new, f"{TESTS}/test_{file}.py")


def _grid(name: str, old: str, new: str) -> Mutant:
    return _mutant(f"grid of tokens: {name}", "token_grid", old, new)


def _spectrum(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, "src/headsmith/proof/spectrum.py", old, new, "tests/proof/test_spectrum.py")


MUTANTS = [
    _mutant("push, before", "bounds", "2 * size_v * math.tanh(d_ij / 2)", "size_v * math.tanh(d_ij / 2)"),
    _mutant("second order, before", "bounds", "(2 * head_dim * size + head_dim * e)", "(2 * head_dim * size)"),
    _mutant(
        "half the second order",
        "bounds",
        "(2 * head_dim * size + head_dim * e)",
        "(2 * head_dim * size + head_dim * e / 2)",
    ),
    _mutant("error of the value, before", "bounds", "moved = e_v + 2 * size_v", "moved = e_v / 2 + 2 * size_v"),
    _mutant("error of keys", "bounds", "(e_k * (q.abs()", "(0 * (q.abs()"),
    _mutant("second order", "bounds", "keepdim=True) + head_dim * e_q)", "keepdim=True))"),
    _mutant("error of queries", "bounds", "+ e_q * apart)", "+ e_q * apart / 2)"),
    _mutant("push of keys", "bounds", "push = p * torch.expm1(shift)", "push = p * torch.expm1(shift) / 2"),
    _mutant("error of values", "bounds", "moved = e_v + torch.where", "moved = e_v / 2 + torch.where"),
    _mutant("slip of scores", "bounds", "slip = gamma(head_dim, u) * size", "slip = gamma(head_dim, u) * size / 2"),
    _mutant(
        "slip of scores, before", "bounds", "slip = gamma(head_dim, u) * score", "slip = gamma(head_dim, u) * score / 2"
    ),
    _mutant("gap of scores", "bounds", "eta = slip + u * (scores", "eta = slip + 0 * (scores"),
    _mutant("exp", "bounds", "torch.expm1(eta) * (1 + EXP_ERROR * u) + EXP_ERROR * u", "torch.expm1(eta)"),
    _mutant("exp, before", "bounds", "math.expm1(eta) * (1 + EXP_ERROR * u) + EXP_ERROR * u if", "math.expm1(eta) if"),
    _mutant("sums", "bounds", "gamma(2 * tokens, u) * mass", "gamma(tokens, u) * mass"),
    _mutant("sums, before", "bounds", "gamma(2 * tokens, u) * most", "gamma(tokens, u) * most"),
    _mutant("weights, before", "bounds", "(alpha / 2 + flushed)", "(alpha / 4 + flushed)"),
    _mutant("error of what is read", "attention", "[(self._entry.approximation, ", "[(self._entry.approximation / 2, "),
    _mutant("slip of a dot product", "attention", "self._entry.rounding + slip * size)", "self._entry.rounding)"),
    _mutant("errors of earlier layers", "attention", "(slope * (before + read)", "(slope * (before / 2 + read)"),
    _mutant("slope of an activation", "attention", "(slope * (before + read)", "(1.0 * (before + read)"),
    _mutant(
        "error of an activation",
        "attention",
        "torch.tensor([approximation, rounding]",
        "torch.tensor([approximation / 2, rounding]",
    ),
    _mutant("end of an activation's proof", "attention", "entry > MARGIN * self.domain", "entry > math.inf"),
    _mutant("end of the table", "attention", " and float(executed) <= reach)", ")"),
    _mutant("scores that no null key silences", "bending", "<= SWITCH / 2:", "<= math.inf:"),
    _mutant(
        "scores that are no numbers",
        "bending",
        "if not np.abs(head.slopes).max() * radius + np.abs(head.offsets).max() <= SWITCH / 2:",
        "if np.abs(head.slopes).max() * radius + np.abs(head.offsets).max() > SWITCH / 2:",
    ),
    _mutant("a switch that is too small", "bending", "SWITCH = 2.0**100", "SWITCH = 2.0**60"),
    _mutant("an identity that is none", "bending", " and head.lines[0] == 1.0", ""),
    _grid("entries that are exact", "prove(part, 32 * resolution(part, ())).bound", "0.0"),
    _grid("half the error of entries", "prove(part, 32 * resolution(part, ())).bound", "prove(part).bound / 2"),
    _grid("no rounding", "return (total + gamma(self.heads + 1, UNIT) * most) * INFLATE", "return 0.0"),
    _grid("sums behind the entries", "self._rounding(size)) for size", "self._rounding(0.0)) for size"),
    _grid("one head for all", "heads = tuple(self.tables.values())", "heads = tuple(self.tables.values())[:1]"),
    _mutant("leak", "hopfield", "(self.error + 2 * self.leak * self.most)", "self.error"),
    _mutant("error of the table", "hopfield", "(self.error + 2 * self.leak", "(self.error / 2 + 2 * self.leak"),
    _mutant(
        "error of neurons", "hopfield", "return Bound(self.error, rounding)", "return Bound(self.error / 2, rounding)"
    ),
    _mutant(
        "residuals with other samples",
        "hopfield",
        "reach = r.abs() + slack\n",
        "reach = (r.abs() + slack).diagonal().diag()\n",
    ),
    _mutant("sums of neurons", "hopfield", "terms=self.features + 3, reach=size)", "terms=self.features + 3)"),
    _mutant(
        "rounding of the gradient",
        "evidence",
        "(gamma(n + 4, UNIT) * (np.abs(X).T @ np.abs(slope)) + np.abs(X).T @ slip) / n\n    error =",
        "(np.abs(X).T @ slip) / n\n    error =",
    ),
    _mutant(
        "rounding of residuals",
        "evidence",
        "np.abs(slope)) + np.abs(X).T @ slip) / n\n    error =",
        "np.abs(slope))) / n\n    error =",
    ),
    _mutant(
        "strong convexity", "evidence", "plain / mu * INFLATE, whole / mu * INFLATE", "plain * INFLATE, whole * INFLATE"
    ),
    _mutant(
        "half the radius",
        "evidence",
        "plain / mu * INFLATE, whole / mu * INFLATE",
        "plain / mu * INFLATE, whole / mu / 2",
    ),
    _mutant("self-concordance", "evidence", "(-math.log1p(-widest * rho) / widest * INFLATE for rho", "(rho for rho"),
    _mutant("inliers that leave", "evidence", " + _norms(self.X) * rho", ""),
    _mutant(
        "penalty that does not hold",
        "evidence",
        "off = np.maximum(np.abs(gradient) + error - threshold * (1 - gamma(4, UNIT)), 0.0)",
        "off = 0 * gradient",
    ),
    _mutant("couplings", "evidence", " + curvature.couplings() * whole", ""),
    _mutant("duality gap", "evidence", "math.sqrt(2 * gap / n)", "math.sqrt(gap / 2 / n)"),
    _mutant("units of the columns", "evidence", "Distance(whole / least * INFLATE", "Distance(whole * INFLATE"),
    _mutant("stale machines run", "machine", "if not self.valid:", "if False:"),
    _mutant(
        "tables outside of the digest",
        "machine",
        "for name, head in self.tables.items()\n            for",
        "for name, head in ()\n            for",
    ),
    _mutant("numbers outside of the digest", "machine", "_written(plain), ", ""),
    _mutant("classes that were exchanged", "machine", "classes(self.network) != self._classes or ", ""),
    _mutant("methods that were set", "machine", " or overridden(self)", ""),
    Mutant(
        "a value that was edited",
        "src/headsmith/proof/handed.py",
        'return self._digest() == vars(self)["_given"]',
        "return True",
        f"{TESTS}/test_result.py",
    ),
    _mutant("attributes outside of the digest", "machine", ", wiring(self.network)]", "]"),
    _mutant("parameters that can be set", "machine", 'if "_frozen" in self.__dict__:', "if False:"),
    _mutant(
        "the quotient of weights that move",
        "bounds",
        "least = ((1 - doubt) * (p * torch.exp(-shift)).sum(-1, keepdim=True)).clamp(min=0)",
        "least = torch.ones_like(doubt)",
    ),
    _mutant("half of the leak", "hopfield", "2 * self.leak * self.most", "self.leak * self.most"),
    _mutant("one key of other samples", "hopfield", "(self.samples - 1) * self.head.keys", "self.samples - 1"),
    _mutant("the constant in the scores", "hopfield", ".max()) + self.constant\n", ".max())\n"),
    _mutant("rounding of residuals", "hopfield", "slack = gamma(self.features + 2, UNIT) *", "slack = 0 *"),
    _mutant("rounding of neurons", "hopfield", " + gamma(self.features + 1, UNIT) * size\n", "\n"),
    _mutant(
        "half the rounding of a sum",
        "evidence",
        "slip = gamma(len(w) + 1, UNIT) *",
        "slip = gamma(len(w) + 1, UNIT) / 2 *",
    ),
    _mutant("rounding of a label", "evidence", "slip + 2 * UNIT * np.abs(r)", "slip"),
    _mutant("half the slope of a sigmoid", "evidence", "slip / 4 + 4 * UNIT", "slip / 8 + 4 * UNIT"),
    _mutant("rounding of a sigmoid", "evidence", "slip / 4 + 4 * UNIT", "slip / 4"),
    _mutant("rounding of inliers", "evidence", "np.abs(r) + self.slip + _norms", "np.abs(r) + _norms"),
    _spectrum("rounding of V'HV", "gamma(3 * d + 6, UNIT)", "0.0"),
    _spectrum("what the entries may be off", "rounded + size.T @ (error @ size)", "rounded"),
    _spectrum("half of what they may be off", "size.T @ (error @ size)", "size.T @ (error @ size) / 2"),
    _spectrum("the radius of a disc", "(row - np.abs(middle))", "0 * row"),
    _spectrum("half of the radius", "(row - np.abs(middle))", "(row - np.abs(middle)) / 2"),
    _spectrum("how V stretches", "low / (float(stretch.max()) * INFLATE)", "low"),
    _spectrum("rounding of a Gram matrix", "gamma(n + 4, UNIT) * share * (size.T", "0 * share * (size.T"),
    _spectrum("what the top may be off", " + float(error.sum(1).max()))", ")"),
    Mutant(
        "an activation that is another function",
        f"{ROOM}/attention.py",
        "if not self._bend(name)[0] <=",
        "if False and not self._bend(name)[0] <=",
        f"{TESTS}/test_machine.py",
    ),
    Mutant(
        "runs of which nothing is known",
        "src/headsmith/machines/machine.py",
        'if bound.kind == "proved" and not math.isfinite(bound.total):',
        "if False:",
        "tests/machines/test_machine.py",
    ),
]
