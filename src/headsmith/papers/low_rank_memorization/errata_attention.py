"""What fails as printed of attention of rank 1 (low-rank-memorization, Thm 1, Thm 2, Cor 2, App C), and its repair."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np

from headsmith.doors.recall.hardmax import hardmax_impossible
from headsmith.doors.recall.pooling import mean_pooling
from headsmith.papers.errata import Evidence, erratum
from headsmith.proof.boltzmann import boltz_gap, boltz_gap_bound
from headsmith.proof.printed_scale import PrintedScale, log10, power
from headsmith.refusal import Refusal

PAPER = "low-rank-memorization"
PRINTED_PAIR, EQUAL_SUMS = ([1.0, 2, 4], [1.0, 3, 4]), ([1.0, 2, 5, 6], [1.0, 3, 4, 6])
TOKENS = (1.0, -0.5, 2.0)
SHRUNK = Fraction(1, 10**2400)  # what Eq 47 promises does not shrink with the tokens, and gaps do


def hard_layers(pair: tuple[list[float], list[float]], draws: int = 500) -> float:
    """The largest difference that random hardmax layers, of 1 to 8 heads, make at the first token of both.

    A head in three has W_K = 0; where several tokens attain the maximum a head gives their mean.
    """
    draw, found = np.random.default_rng(0), 0.0
    for _ in range(draws):
        outputs = np.zeros(2)
        for _ in range(draw.integers(1, 9)):
            weight, value = draw.normal() * (draw.random() > 0.3), draw.normal()
            for k, tokens in enumerate(map(np.array, pair)):
                scores = weight * tokens[0] * tokens
                outputs[k] += value * tokens[scores == scores.max()].mean()
        found = max(found, abs(outputs[0] - outputs[1]))
    return found


@erratum(
    PAPER,
    "Thm 1, its pair",
    printed="no hardmax layer tells (a1, a2, a4) from (a1, a3, a4) on a line",
    repair="(1, 2, 5, 6) and (1, 3, 4, 6): the means agree, and what differs lies between what is shared",
    where="proof/hardmax.py",
)
def hardmax_pair() -> Evidence:
    """A head whose scores are 0 averages: the printed pair has two means, the repaired one has one."""
    before, after, proof = hard_layers(PRINTED_PAIR), hard_layers(EQUAL_SUMS), hardmax_impossible(EQUAL_SUMS)
    return (
        f"500 random layers: up to {before:.2g} apart; a head that averages does it",
        f"up to {after:.0e}; proved in fractions, for any number of heads: {'yes' if proof else 'no'}",
        before > 0.1 and hardmax_impossible(PRINTED_PAIR).impossible is False,
        after < 1e-12 and bool(proof),
    )


@erratum(
    PAPER,
    "Thm 1, its reading",
    printed="one layer of hardmax attention has no capacity to memorise",
    repair="there are data that it cannot memorise: sets with one mean; averaging tells all others apart",
    where="doors/recall/pooling.py",
)
def hardmax_reading() -> Evidence:
    """All 252 sets of five out of ten random tokens: zero scores give each its own mean."""
    table = np.random.default_rng(0).normal(size=(10, 8))
    generic = mean_pooling([table[list(chosen)] for chosen in combinations(range(10), 5)])
    special = mean_pooling(EQUAL_SUMS)
    return (
        f"{generic.means} means of {generic.contexts} sets of random tokens",
        f"{special.means} mean of {special.contexts} sets with one sum",
        generic.means == generic.contexts == 252,
        special.softmax_matters,
    )


def float_ids(scale: float, mix: float) -> np.ndarray:
    """t = x + mix z in float64, z = boltz of scores as large as `scale`, for each token of each pair of TOKENS."""
    ids, unit = [], scale / max(abs(x) for x in TOKENS) ** 2
    for pair in combinations(TOKENS, 2):
        for x in pair:
            scores = np.array([unit * x * y for y in pair])
            weights = np.exp(scores - scores.max())
            ids.append(x + mix * float(weights @ np.array(pair) / weights.sum()))
    return np.sort(ids)


@erratum(
    PAPER,
    "Thm 2, its scale",
    printed="|u| |u'| = (|V|+1)^4 (pi d/8)(2 log n + 3)/(eps r_min)",
    repair="scores of size 1: chosen and checked on the data",
    where="proof/printed_scale.py",
)
def unusable_scale() -> Evidence:
    """Pairs out of 1, -0.5, 2: promised and carried out exactly, beside scores of size 2 in float64."""
    promised = PrintedScale(2, 3, 1, 0.4995, 2.002, 0.999)
    executed = log10(promised.executed(list(combinations(TOKENS, 2))))
    ids = float_ids(2.0, 0.2)
    share = float(np.diff(ids).min() / (ids[-1] - ids[0]))
    return (
        f"gap {power(executed)}, promised {power(promised.log10_gap)}; floats end at 10^-308",
        f"gap {share:.2g} of the range of ids, in float64",
        executed < -308,
        share > 1e-3,
    )


@erratum(
    PAPER,
    "Eq 8, n = 1",
    printed="the gap is above 2 (log n)^2 eps^2 r_min ... for all n",
    repair="for n >= 2; a sequence of one token is told by its token alone",
    where="proof/printed_scale.py",
)
def one_token() -> Evidence:
    """(log 1)^2 = 0, though attention gives a single token itself: x + o x, as far apart as the tokens are."""
    factor = math.log(1) ** 2
    given = [x + 0.1 * x for x in TOKENS]
    apart = min(abs(a - b) for a, b in combinations(given, 2))
    try:
        PrintedScale(1, 3, 1, 0.4995, 2.002, 0.999)
        refused = False
    except Refusal:
        refused = True
    return f"promises {factor:g}", f"{apart:.3g} apart, with scores of any size", factor == 0, refused and apart > 0.999


def eq_47(scale: PrintedScale) -> float:
    """log10 of Eq 47: eps log n where Eq 8 has 2 (eps log n)^2."""
    eps = float(log10(boltz_gap([scale.eps], [0])))
    return scale.log10_gap - math.log10(2 * math.log(scale.n)) - eps


@erratum(
    PAPER,
    "Eq 47",
    printed="the gap has a factor eps log n",
    repair="2 (eps log n)^2, as in Eq 8: a gap shrinks with the tokens",
    where="proof/printed_scale.py",
)
def unscaled_gap() -> Evidence:
    """The same pairs, all tokens times 1e-2400: norms and distances shrink, and the gap as they do."""
    tokens = [SHRUNK * Fraction(x) for x in TOKENS]
    bounds = (SHRUNK * Fraction(x) for x in (0.4995, 2.002, 0.999))
    scale = PrintedScale(2, 3, 1, *bounds)
    executed, printed = log10(scale.executed(list(combinations(tokens, 2)))), eq_47(scale)
    return (
        f"promised {power(printed)}, found {power(executed)}",
        f"promised {power(scale.log10_gap)}",
        executed < printed,
        executed >= scale.log10_gap,
    )


@erratum(
    PAPER,
    "App C, masks",
    printed="Lemma 1 carries over: gaps of at least (log n)^2 exp(-2 r) for what each query sees",
    repair="kappa delta exp(-(a_1 - x)), for any lengths",
    where="proof/boltzmann.py",
)
def masked_bound() -> Evidence:
    """(a_1) against (a_1, a_1 - delta), all |a| <= r = delta/2: from 21 tokens on the gap is below the bound."""
    ratios, sharp = {}, {}
    for n in (20, 21, 512):
        delta = Fraction(2 * math.log(n) + 3) * Fraction(10**9 + 1, 10**9)
        a, b = [delta / 2], [delta / 2, -delta / 2]
        gap = abs(boltz_gap(a, b))
        ratios[n] = float(gap) / (math.log(n) ** 2 * math.exp(-delta))
        sharp[n] = float(gap / boltz_gap_bound(a, b, "sharp"))
    return (
        "gap/bound " + ", ".join(f"{ratio:.3f} at n = {n}" for n, ratio in ratios.items()),
        "gap/bound " + ", ".join(f"{ratio:.3f} at n = {n}" for n, ratio in sharp.items()),
        ratios[20] > 1 > ratios[21] > ratios[512],
        all(1 <= ratio < 1.1 for ratio in sharp.values()),
    )


def placed(d: int, n: int, places: np.ndarray, near: float = 0.01) -> tuple[float, float]:
    """(smallest distance, largest norm) of tokens of norm below 1 at n places, two tokens almost opposite.

    Along every direction of a place the tokens +(1 - near) and -(1 - near), and so along each axis.
    """
    ways = [np.ones(d) / math.sqrt(d), *np.eye(d)]
    tokens = np.array([sign * (1 - near) * way for way in ways for sign in (1, -1)])
    every = [tokens + places[:, k] for k in range(n)]
    apart = min(float(np.linalg.norm(a[:, None] - b[None], axis=2).min()) for a, b in pairwise(every))
    return apart, float(max(np.linalg.norm(rows, axis=1).max() for rows in every))


@erratum(
    PAPER,
    "Cor 2, positions",
    printed="E = 2 k r_max in every row: norms below (2 n + 1) r_max, distances as of the tokens",
    repair="4 k r_max w with |w| = 1: norms below (4 n + 1) r_max",
    where="papers/low_rank_memorization/errata_attention.py",
)
def printed_positions() -> Evidence:
    """r_max = 1, n = 6: on a line two tokens 1.98 apart nearly meet at neighbouring places."""
    n, k = 6, np.arange(1, 7)
    near, _ = placed(1, n, np.outer(np.ones(1), 2 * k))
    _, far = placed(4, n, np.outer(np.ones(4), 2 * k))
    repaired = [placed(d, n, np.outer(np.ones(d) / math.sqrt(d), 4 * k)) for d in (1, 2, 4)]
    return (
        f"{near:.2g} apart (d = 1, tokens 1.98 apart); norm {far:.3g} > {2 * n + 1} (d = 4)",
        f"at least {min(apart for apart, _ in repaired):.3g} apart, norms below {4 * n + 1}",
        near < 0.05 and far > 2 * n + 1,
        all(apart >= 1.98 and norm < 4 * n + 1 for apart, norm in repaired),
    )
