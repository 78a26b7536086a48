"""The terms of truncated linear models, in the weights and in the prompt."""

from tests.mutants.mutant import Mutant

CLIP = "src/headsmith/constructions/clip.py"
PROMPT = "src/headsmith/constructions/prompt_keys.py"
ROUTED, ON_ROUTED = "src/headsmith/constructions/routed.py", "tests/constructions/test_routed.py"
ON_CLIP, ON_PROMPT = "tests/constructions/test_clip.py", "tests/constructions/test_prompt_keys.py"
BORDERS, EACH_ROW = "src/headsmith/targets/routed_clip.py", "for row in range(target.count):"
FLUSHED_X = 'target.stretch[1] * domain.size("x") + '
ROUNDED = "own.rounding.bound + z.rounding"
WHOLE = "whole = float((np.abs(W).sum(1) * size + np.abs(t)).max())"
SHIFT = "shift = float((np.abs(W - target.W).sum(1) * size + np.abs(t - target.t)).max())"
LOST = "lost = min(1.5 * domain.size"
MOVED = 'd * (target.stretch[1] * domain.size("x") + steepest * domain.size("w")) + steepest\n'
REACH = 'size = target.stretch[0] * domain.size("w") * domain.size("x") * INFLATE + domain.size("t")'

MUTANTS = [
    Mutant("rows that are right", ROUTED, "worst + z.approximation", "z.approximation", ON_ROUTED),
    Mutant("half the error of a row", ROUTED, "worst + z.approximation", "worst / 2 + z.approximation", ON_ROUTED),
    Mutant("weights of rows are exact", ROUTED, "worst + z.approximation", "worst", ON_ROUTED),
    Mutant("rounding of a row", ROUTED, "rounded + z.rounding", "z.rounding", ON_ROUTED),
    Mutant("only the row of an interval", ROUTED, EACH_ROW, "for row in [target.row((low + high) / 2)]:", ON_ROUTED),
    Mutant("only the first row", ROUTED, EACH_ROW, "for row in [0]:", ON_ROUTED),
    Mutant("a margin of rounding", ROUTED, "if not inner > 0:", "if False:", ON_ROUTED),
    Mutant("tokens at a border", BORDERS, "- slip < self.margin", "< 0", "tests/targets/test_routed_clip.py"),
    Mutant("gains are not rounded", PROMPT, "terms=d + 3 + own,", "terms=d + 3,", ON_PROMPT),
    Mutant(
        "the largest gain for a token's sum",
        "src/headsmith/targets/prompt_clip.py",
        "return float(sizes.sum(1).max()),",
        "return float(sizes.max()),",
        ON_PROMPT,
    ),
    Mutant("error of the heads", CLIP, "own.approximation.bound + z.app", "z.app", ON_CLIP),
    Mutant("half the error of the heads", CLIP, "own.approximation.bound +", "own.approximation.bound / 2 +", ON_CLIP),
    Mutant(
        "weights that were rounded",
        CLIP,
        "own.approximation.bound + z.approximation",
        "own.approximation.bound",
        ON_CLIP,
    ),
    Mutant("half of the weights' change", CLIP, SHIFT, SHIFT.replace("float(", "0.5 * float("), ON_CLIP),
    Mutant("change of W", CLIP, "np.abs(W - target.W).sum(1) * size + np.abs(t - t", "np.abs(t - t", ON_CLIP),
    Mutant("change of t", CLIP, " + np.abs(t - target.t)).max()", ").max()", ON_CLIP),
    Mutant("change of the worst token", CLIP, "np.abs(t - target.t)).max()", "np.abs(t - target.t)).mean()", ON_CLIP),
    Mutant("rounding of the heads", CLIP, ROUNDED, "z.rounding", ON_CLIP),
    Mutant("rounding of z", CLIP, ROUNDED, "own.rounding.bound", ON_CLIP),
    Mutant("half the rounding of z", CLIP, ROUNDED, "own.rounding.bound + z.rounding / 2", ON_CLIP),
    Mutant("length of the dot product", CLIP, "gamma(d + 2, fmt.unit)", "gamma(2, fmt.unit)", ON_CLIP),
    Mutant("size of the worst token", CLIP, WHOLE, WHOLE.replace(".max()", ".mean()"), ON_CLIP),
    Mutant("the domain's size in z", CLIP, "ends = np.stack([W * end for", "ends = np.stack([W * end / 2 for", ON_CLIP),
    Mutant("t in the reach of z", CLIP, "(ends.max(0).sum(1) + t)", "(ends.max(0).sum(1))", ON_CLIP),
    Mutant("rounding in the reach of z", CLIP, "* whole + rounding\n", "* whole\n", ON_CLIP),
    Mutant("where a telescoping head begins", CLIP, "piece.slopes * left, p", "0 * left, p", ON_CLIP),
    Mutant("low in the first telescoping head", CLIP, "piece.values + low)", "piece.values)", ON_CLIP),
    Mutant("error of the head", PROMPT, "proof.bound + lost", "lost", ON_PROMPT),
    Mutant("half the error of the head", PROMPT, "proof.bound + lost", "proof.bound / 2 + lost", ON_PROMPT),
    Mutant("length of a score", PROMPT, "terms=d + 3 + own, ", "", ON_PROMPT),
    Mutant("terms of a score that cancel", PROMPT, ", reach=size)", ")", ON_PROMPT),
    Mutant("rounding of the scores", PROMPT, "rounding + flushed", "flushed", ON_PROMPT),
    Mutant("what is flushed", PROMPT, "rounding + flushed", "rounding", ON_PROMPT),
    Mutant("half of what is flushed", PROMPT, "0.51 * moved", "0.255 * moved", ON_PROMPT),
    Mutant("a key that is flushed", PROMPT, MOVED, MOVED.replace(FLUSHED_X, ""), ON_PROMPT),
    Mutant("an x that is flushed", PROMPT, MOVED, MOVED.replace(' + steepest * domain.size("w")', ""), ON_PROMPT),
    Mutant("a t that is flushed", PROMPT, MOVED, MOVED.replace(" + steepest\n", "\n"), ON_PROMPT),
    Mutant("the printed half of t", PROMPT, "proof.bound + lost", "proof.bound", ON_PROMPT),
    Mutant("half of what the printed t costs", PROMPT, LOST, LOST.replace("1.5", "0.75"), ON_PROMPT),
    Mutant("features in the reach", PROMPT, REACH, REACH.replace("target.stretch[0] * ", ""), ON_PROMPT),
    Mutant("w in the reach", PROMPT, REACH, REACH.replace('domain.size("w") * ', ""), ON_PROMPT),
    Mutant("x in the reach", PROMPT, REACH, REACH.replace('domain.size("x") * ', ""), ON_PROMPT),
    Mutant("t in the reach", PROMPT, REACH, REACH.replace(' + domain.size("t")', ""), ON_PROMPT),
]
