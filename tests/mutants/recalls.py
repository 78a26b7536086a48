"""Memories: every term of an id's rounding, every condition of recall, what is told apart, and the table itself."""

from .mutant import Mutant

IDS, OWN = "src/headsmith/proof/context_ids.py", "tests/proof/test_context_ids.py"
DESIGN, PROVED = "src/headsmith/constructions/memory.py", "tests/constructions/test_memory.py"
SHARED, BOTH = "src/headsmith/constructions/rank_one.py", "tests/constructions/test_rank_one.py"
DRAWS, DRAWN = "src/headsmith/search/separation.py", "tests/search/test_separation.py"
KEYS, TOLD = "src/headsmith/search/context_keys.py", "tests/search/test_context_keys.py"
TABLE, LOOKED = "src/headsmith/network/lookup.py", "tests/network/test_lookup.py"
TARGET, ASKED = "src/headsmith/targets/recall.py", "tests/targets/test_recall.py"
RAGGED, ASKS = "src/headsmith/targets/ragged.py", "tests/targets/test_ragged.py"
NET, RUN = "src/headsmith/targets/memory.py", "tests/targets/test_memory.py"
SCORES = (
    "s = self.query * key + self.key * query + query * key + u * (self.query + query) * (self.key + key) + fmt.tiny"
)
MEAN = "return x * spread / (1 - x) + dv + rounds * size + 2 * self.seen * fmt.tiny"
STREAM = "stream = gain * dz + u * moved + u * (level + (1 + u) * moved) + 2"
READ = "return stream + rounds * (level + gain * z + stream) + 2 * terms * fmt.tiny"
RECALLED = "missed = ~(certain & (levels == target.levels).all(1))"

MUTANTS = [
    Mutant("keys that slip", IDS, SCORES, SCORES.replace("self.query * key + ", "", 1), OWN),
    Mutant("keys that slip, halved", IDS, SCORES, SCORES.replace("self.query * key", "self.query / 2 * key", 1), OWN),
    Mutant("queries that slip", IDS, SCORES, SCORES.replace("self.key * query", "0 * query"), OWN),
    Mutant("queries that cancel", IDS, SCORES, SCORES.replace("self.key * query", "self.key / 4 * query"), OWN),
    Mutant("the product of a score", IDS, SCORES, SCORES.replace("u * (self.query", "0 * (self.query"), OWN),
    Mutant("the product, halved", IDS, SCORES, SCORES.replace("u * (self.query", "u / 2 * (self.query"), OWN),
    Mutant("the difference of scores", IDS, "s + u * (across", "s + 0 * (across", OWN),
    Mutant("the difference of scores, halved", IDS, "s + u * (across", "s + u / 2 * (across", OWN),
    Mutant("the error of exp", IDS, " + EXP_ERROR * u\n", "\n", OWN),
    Mutant("the error of exp, halved", IDS, " + EXP_ERROR * u\n", " + EXP_ERROR / 2 * u\n", OWN),
    Mutant("scores too far apart", IDS, "if not across.max() <= WIDEST:", "if False:", OWN),
    Mutant("a format that loses the weights", IDS, "if not x.max() < 0.5:", "if False:", OWN),
    Mutant("sequences too long", IDS, "if lengths.max() > LONGEST:", "if False:", OWN),
    Mutant("weights that slip", IDS, MEAN, MEAN.replace("x * spread / (1 - x) + ", ""), OWN),
    Mutant("weights that slip, halved", IDS, MEAN, MEAN.replace("x * spread", "x / 2 * spread"), OWN),
    Mutant("values that slip", IDS, MEAN, MEAN.replace("dv + ", ""), OWN),
    Mutant("values that slip, halved", IDS, MEAN, MEAN.replace("dv + ", "dv / 2 + "), OWN),
    Mutant("both sums", IDS, MEAN, MEAN.replace("rounds * size + ", ""), OWN),
    Mutant("one of both sums", IDS, "terms = 2 * self.seen + 1", "terms = self.seen + 2", OWN),
    Mutant("the division", IDS, "terms = 2 * self.seen + 1", "terms = 2 * self.seen - 1", OWN),
    Mutant("products that underflow", IDS, MEAN, MEAN.replace(" + 2 * self.seen * fmt.tiny", ""), OWN),
    Mutant("the mean's own size", IDS, "size = (z + spread)", "size = spread", OWN),
    Mutant("the spread of the values", IDS, "size = (z + spread)", "size = z", OWN),
    Mutant("the mean in the stream", IDS, STREAM, STREAM.replace("gain * dz + ", ""), OWN),
    Mutant("the product with the output", IDS, STREAM, STREAM.replace("+ u * moved + ", "+ "), OWN),
    Mutant("the residual sum", IDS, STREAM, STREAM.replace("+ u * (level + ", "+ 0 * (level + "), OWN),
    Mutant("the residual sum, halved", IDS, STREAM, STREAM.replace("+ u * (level + ", "+ u / 2 * (level + "), OWN),
    Mutant("the read-out", IDS, READ, READ.replace("rounds * (level + gain * z + stream) + ", ""), OWN),
    Mutant("the read-out, halved", IDS, READ, READ.replace("rounds * (", "rounds / 2 * ("), OWN),
    Mutant("the reference", IDS, " + self._radius(output, read, REFERENCE)", "", OWN),
    Mutant("a direction taken for a copy", IDS, "len(used) == 1 and bool", "bool", OWN),
    Mutant("a coefficient taken for a power", IDS, "[0]) == 0.5)", "[0]) >= 0.5)", OWN),
    Mutant(
        "what other tokens slip",
        IDS,
        "return self._most(self.slip(self.directions[name], fmt))",
        "return self.slip(self.directions[name], fmt)",
        OWN,
    ),
    Mutant("a stream that is flushed", IDS, " + 2 * float(size.sum()) * fmt.tiny", "", OWN),
    Mutant(
        "a stream that is, halved", IDS, " + 2 * float(size.sum()) * fmt.tiny", " + float(size.sum()) * fmt.tiny", OWN
    ),
    Mutant("a read-out that is flushed", IDS, "+ stream) + 2 * terms * fmt.tiny", "+ stream)", OWN),
    Mutant("products that are flushed", IDS, "(2 * terms + float(size.sum()))", "float(size.sum())", OWN),
    Mutant("a mean out of range", IDS, " + np.abs(output) @ np.abs(read) * self.value", "", OWN),
    Mutant("what the head brings", DESIGN, " + np.abs(self.head.output[:written]) * z[:, None]", "", PROVED),
    Mutant("coordinates that are flushed", IDS, "(2 * terms + float(size.sum()))", "2 * terms", OWN),
    Mutant("ramps as wide as what is flushed", SHARED, "tiny <= 1).all())", "tiny <= np.inf).all())", BOTH),
    Mutant("the width of the table", DESIGN, "self.steps.levels.shape[1] != target.levels.shape[1]", "False", PROVED),
    Mutant("what a causal position sees", IDS, "triu(1).bool()", "triu(2).bool()", OWN),
    Mutant("labels of the table", DESIGN, RECALLED, "missed = ~certain", PROVED),
    Mutant("ids on a ramp", DESIGN, RECALLED, RECALLED.replace("certain & ", ""), PROVED),
    Mutant("a ramp between the ends", SHARED, "(first == last) & ((risen", "((risen", PROVED),
    Mutant("what the stream brings", DESIGN, "<= self.steps.skip).all():", "<= np.inf).all():", PROVED),
    Mutant("labels that round", DESIGN, "* (1 + 8 * fmt.unit) <= ROOM:", "* (1 + 8 * fmt.unit) <= np.inf:", PROVED),
    Mutant("labels that round, halved", DESIGN, "(3 * np.abs(self", "(1.5 * np.abs(self", PROVED),
    Mutant("a skip that rounds, halved", DESIGN, "+ 5 * self.steps.skip", "+ 2.5 * self.steps.skip", PROVED),
    Mutant("the tables of the target", DESIGN, "(self.places is not None) != target.positions or ", "", PROVED),
    Mutant("a row for each id", DESIGN, " or len(self.table) <= target.tokens.max()", "", PROVED),
    Mutant("the user's embeddings", DESIGN, "if target.embedding is not None and not", "if False and not", PROVED),
    Mutant("the width of vectors", DESIGN, "target.tokens.shape[1] != d:", "target.tokens.shape[1] < 0:", PROVED),
    Mutant("padding that overflows", DESIGN, "np.abs(self.head.value).sum() <= HIGHEST", "0 <= HIGHEST", PROVED),
    Mutant(
        "numbers that the dtype lacks",
        DESIGN,
        "np.array_equal(cast(part, request.dtype), part)",
        "np.isfinite(part).all()",
        PROVED,
    ),
    Mutant("sums out of range", IDS, "if not (self.sizes @ np.abs(part)).max() <= HIGHEST:", "if False:", OWN),
    Mutant("ids out of range", IDS, "* self.value).max() <= HIGHEST:", "* self.value).max() <= np.inf:", OWN),
    Mutant("places in the stream", DESIGN, "x + places.astype(dtype)[target.at]", "x + places[target.at]", PROVED),
    Mutant("gaps behind a wide enclosure", DRAWS, "np.maximum.accumulate(high)[at]", "high[at]", PROVED),
    Mutant(
        "gaps before a wide enclosure", DRAWS, "np.minimum.accumulate(low[::-1])[::-1][at + 1]", "low[at + 1]", DRAWN
    ),
    Mutant("the ends of an enclosure, above", SHARED, "np.where(down > high, ", "np.where(down > np.inf, ", BOTH),
    Mutant("the ends of an enclosure, below", SHARED, "np.where(up < low, ", "np.where(up < -np.inf, ", BOTH),
    Mutant("the scale of scores", DRAWS, "power_of_two(scale / queries)", "power_of_two(2 * scale / queries)", DRAWN),
    Mutant("a hopeless search", DRAWS, "draws < FIRST or self.lost <= LOST", "True", DRAWN),
    Mutant("unlucky first draws", DRAWS, "draws < FIRST or self", "self", DRAWN),
    Mutant("the best draw", DRAWS, "draft.merit > best.merit", "draft.merit < best.merit", DRAWN),
    Mutant("the gcd of multiplicities", KEYS, "counts // np.gcd.reduce(counts)]", "counts]", TOLD),
    Mutant(
        "the gcd of what is visible", KEYS, "    counts //= np.gcd.reduce(counts, axis=1, keepdims=True)\n", "", TOLD
    ),
    Mutant("the token of a key", KEYS, "else own.tolist()", "else [0] * len(own)", TOLD),
    Mutant(
        "every coordinate of a label", KEYS, ".reshape(len(labels), -1).any(1)", ".reshape(len(labels), -1)[:, 0]", TOLD
    ),
    Mutant("ramps that overlap", TABLE, "* self.slope[:-1] >= 1", "* self.slope[:-1] >= 0", LOOKED),
    Mutant(
        "the skip of the stream",
        TABLE,
        "(self.level(t) - torch.relu(old + self.skip)) + self.skip",
        "self.level(t)",
        LOOKED,
    ),
    Mutant("the ramp's second unit", TABLE, "torch.cat([jumps, -jumps,", "torch.cat([jumps, jumps,", LOOKED),
    Mutant(
        "the hash of labels", TARGET, "Listed(len(self.lengths), self.hash())", "Listed(len(self.lengths), '')", ASKED
    ),
    Mutant("contradictory labels", TARGET, "if found is not None:", "if False:", ASKED),
    Mutant(
        "tokens that the dtype lacks",
        TARGET,
        "if not np.array_equal(numbers.astype",
        "if False and (numbers.astype",
        ASKED,
    ),
    Mutant("whole numbers that wrap", RAGGED, "(array >= -MOST) & (array <= MOST)", "array == array", ASKS),
    Mutant("strangers", NET, "if None in starts:", "if False:", RUN),
    Mutant("beginnings without a causal mask", TARGET, "if self.causal else (start + n,):", "if True else ():", RUN),
]
