"""The independent checker: every term of its proofs, and every way in which it could believe a file."""

from tests.mutants.mutant import Mutant

HOME = "src/headsmith/proof/checker/"
TESTS = "tests/proof/checker/"
LANGUAGE = " ".join(f"{TESTS}test_{file}.py" for file in ("formulas", "ranges", "taylor"))
FILES = f"{TESTS}test_files.py"


def term(file: str, name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{HOME}{file}.py", old, new, f"{TESTS}test_{file}.py")


def language(file: str, name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{HOME}{file}.py", old, new, LANGUAGE)


def lie(file: str, name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{HOME}{file}.py", old, new, FILES)


MUTANTS = [
    term("heads", "no tail of Z", "tail_z += rest", "tail_z += 0"),
    term("heads", "half the tail of N", "tail_n += rest * (abs(v) + abs(tilt))", "tail_n += rest * (abs(v)) / 2"),
    term("heads", "no last term of a line", " + abs(last * tilt)", ""),
    term("heads", "skipped keys are free in Z", "tail_z += f.far * arb(-FAR).exp()", "tail_z += 0"),
    term("heads", "skipped keys are free in N", "tail_n += f.far * arb(-FAR).exp()", "tail_n += 0"),
    term("heads", "one skipped key pays for all", "tail_n += f.far * arb(-FAR)", "tail_n += arb(-FAR)"),
    term("heads", "keys are far in the middle", "below + drift < -FAR - 1", "below < -FAR - 1"),
    term("heads", "no excess of q", "(tail_n + tail_z * total(q) + left)", "(tail_n + tail_z * total(q))"),
    term("heads", "no tail times q", "(tail_n + tail_z * total(q) + left)", "(tail_n + left)"),
    term("heads", "Z falls nowhere", "/ Z[0] * (abs(Z[1]) / Z[0]).exp()", "/ Z[0]"),
    term("heads", "between nodes nothing happens", "math.cos(degree * math.pi / (2 * nodes))", "math.cos(0 * degree)"),
    term("heads", "dropped coefficients are free", "/ arb(math.cos", "/ 1.0 / arb(1.0 + 0 * math.cos"),
    term("heads", "remainders of the last head", "sum((r for _, r in series), arb(0))", "series[-1][1]"),
    term("heads", "a part has no bias", "phi[0] + bias - q[0]", "phi[0] - q[0]"),
    term("heads", "the best branch", "worst = max(found)", "worst = min(found)"),
    term("heads", "one branch is sure", "worst[1] if alone else 0.0", "worst[1]"),
    term("heads", "the best cell", "Proof(max(cell.upper for cell in done)", "Proof(min(cell.upper for cell in done)"),
    term("heads", "what is attained is true", "need(peak.lower <= most,", "need(True,"),
    term("rounding", "half a sum in any order", "min(n * u * whole +", "min(n * u * whole / 2 +"),
    term("rounding", "subtraction is exact", "(slip + u * (low + slip + most))", "slip"),
    term("rounding", "exp is twice as good", "EXP = 4", "EXP = 2"),
    term("rounding", "nothing is flushed", "n * tiny * math.exp(2 * most), max(s.sizes)", "0.0, max(s.sizes)"),
    term("rounding", "weights do not move the mean", "mean = (pulled + 2", "mean = (0 * pulled + 2"),
    term("rounding", "flushed weights do not", "mean = (pulled + 2 * flushed * widest)", "mean = (pulled)"),
    term("rounding", "division is exact", "normal = (lost + gamma(2, u))", "normal = (lost)"),
    term("rounding", "sums of weights are exact", "normal = (lost + gamma(2, u))", "normal = (gamma(2, u))"),
    term("rounding", "normalisation is free", "(mean + normal * (whole", "(mean + 0 * (whole"),
    term("rounding", "sums of values are exact", "added = any_order(parts, u) +", "added ="),
    term("rounding", "products are exact", "+ u * whole +", "+"),
    term("rounding", "products do not underflow", "2 * (n * tiny * max(1.0, widest) +", "2 * (0 +"),
    term("rounding", "values of the token are exact", "+ added + values)", "+ added)"),
    term("rounding", "scores have one term", "[gamma(2, fmt.u)", "[gamma(1, fmt.u)"),
    term("rounding", "scores do not underflow", " + 4 * fmt.tiny for k in head", " for k in head"),
    term("rounding", "weights of the middle", "up(e * d.exp() * lift)", "up(e / whole + 0 * d)"),
    term("rounding", "additions are exact", "(own + gamma(terms.adds, fmt.u) *", "(own + 0 *"),
    term("rounding", "the bias is not added", "(abs(terms.bias) + size + own)", "(size + own)"),
    term("programs", "approximation is not carried", "proof.bound + slope * source.approximation", "proof.bound"),
    term("programs", "half of it", "slope * source.approximation", "slope * source.approximation / 2"),
    term("programs", "rounding is not carried", "slips + slope * source.rounding", "slips"),
    term("programs", "the earlier part is forgotten", "before.approximation + own.approximation", "own.approximation"),
    term("programs", "its rounding, too", "before.rounding + own.rounding", "own.rounding"),
    term(
        "programs",
        "domains are not widened",
        "-up(error - source.values[0]), up(error +",
        "-up(-source.values[0]), up(0 * error +",
    ),
    term("programs", "any formula will do", "need(said == asked,", "need(True or said == asked,"),
    term("programs", "one addition for all", "max(adds, 0), size)", "min(adds, 0), size)"),
    term("grids", "half a spill", "4 * rho**-n / ((rho - 1)", "2e-3 * rho**-n / ((rho - 1)"),
    term("grids", "half a derivative", "up(top / 2**n)", "up(top / 2 ** (n + 1))"),
    term("grids", "points are boxes", "turn = sum(", "turn = 0 * sum("),
    term("grids", "half the turn", "strict=True)) * math.pi * (1", "strict=True)) * math.pi / 4 * (1"),
    term("grids", "what is left out is free", "left += out", "left += 0 * out"),
    term("grids", "products need not be exact", "need(same,", "need(True,"),
    term("grids", "scores of two terms", "gamma(len(box) + 1, fmt.u)", "gamma(len(box) - 1, fmt.u)"),
    term("grids", "what is attained is true", "need(low <= self.stated,", "need(True,"),
    language(
        "ranges",
        "roots of negative numbers",
        "if not u.lo >= 0:\n        raise Open\n    return increasing(lambda x: x.sqrt()",
        "if not u.hi >= 0:\n        raise Open\n    return increasing(lambda x: x.sqrt()",
    ),
    language("ranges", "logarithms of negative numbers", "if not t.lo >= 0:", "if not t.hi >= 0:"),
    language("ranges", "0^0 is 1", "if n <= 0 and not", "if n < 0 and not"),
    language("ranges", "0^0 is 1 in series", "if n <= 0 and not", "if n < 0 and not"),
    language(
        "ranges",
        "division by zero",
        "if not (b.lo > 0 or b.hi < 0):\n        raise Open\n    return over",
        "if b.lo == 0 and b.hi == 0:\n        raise Open\n    return over",
    ),
    language("ranges", "powers of negative numbers", "if not (u.lo >= 0 and v.lo > 0):", "if not (v.lo > 0):"),
    language("ranges", "a pole of tan", "if not between_poles(u):", "if False:"),
    language("ranges", "a sine at its ends", "if slope > 0 or slope < 0:\n", "if True:\n"),
    language(
        "ranges", "a product at two ends", "over(*(x * y for x in a for y in b))", "over(a.lo * b.lo, a.hi * b.hi)"
    ),
    language("ranges", "t log t without its bottom", "if not (t.lo > bottom or t.hi < bottom):", "if False:"),
    language("taylor", "no remainder", "wide[order + 1].abs_upper()", "arb(0)"),
    language("taylor", "0/0 where only the divisor is 0", "_sure(0 < m <= min(_zeros(u[2]), SPARE))", "_sure(0 < m)"),
    language("taylor", "one side of a kink", "for side in (True, False)]", "for side in (True,)]"),
    language("formulas", "exponents in floats", "exact = Fraction(text) if", "exact = Fraction(float(text)) if"),
    language("formulas", "any exponent", "need(abs(kids[1].exact) <= POWER", "need(True"),
    language("formulas", "any number of arguments", "need(ARITY.get(op) == len(rest)", "need(op in ARITY"),
    language("formulas", "numbers are what flint reads", "need(pattern.fullmatch(rest[0]) and", "need(True and"),
    language("formulas", "any depth", "need(depth <= DEPTH and", "need(True and"),
    lie("wiring", "a layer writes what was read", "need(not read & set(targets),", "need(True,"),
    lie("wiring", "any layer", "need(layer == usual, ODD)", ""),
    lie("wiring", "memory is only keys", "need(not any(any(row[: n - 3]) for row in rows)", "need(True"),
    lie("wiring", "one is anything", "and numbers[inputs] == 1, ODD)", ", ODD)"),
    lie("wiring", "the stream of keys begins anywhere", "need(not any(bias[n - 3 :]), ODD)", ""),
    lie("wiring", "spare tensors", " and used == set(tensors), ODD)", ", ODD)"),
    lie("wiring", "numbers that are not finite", "need(all(map(math.isfinite, numbers)),", "need(True,"),
    lie("programs", "a variable begins anywhere", "need(said == Fraction(start),", "need(True,"),
    lie("files", "no hash of the file", 'need(digest(bare, raw) == manifest["hash"],', "need(True,"),
    lie("files", "another dtype", 'need(manifest["request"]["dtype"] == fmt.name,', "need(True,"),
    lie("files", "other assumptions", 'need(said["assumptions"] == statements.ASSUMPTIONS,', "need(True,"),
    lie("files", "another sentence", 'need(file.manifest["certificate"]["statement"] == sentence,', "need(True,"),
    lie("files", "a bound below its parts", "need(parts <= Fraction(stated.bound),", "need(True,"),
    lie("files", "guesses", 'need(said["kind"] == "proved",', "need(True,"),
    lie("files", "more words", "need(set(manifest) == KEYS and set(said) == SAID,", "need(True,"),
    lie("files", "rounding is not compared", "need(slip <= stated.rounding,", "need(True,"),
    lie("verdict", "work is free", "need(self.left >= 0,", "need(True,"),
    lie("verdict", "time is free", "need(time.monotonic() < self.end,", "need(True,"),
]
