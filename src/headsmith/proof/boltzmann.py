"""The Boltzmann operator: what one softmax head knows of the scores it sees (low-rank-memorization, Lemmas 4 to 7).

    boltz(a) = sum_i a_i p_i,   p = softmax(a)

An id of a context is boltz of its scores, so that two contexts are told apart if boltz differs, and by how much decides
which float can see it. All numbers here are balls around exact input (int, float, Fraction), and every bound is one.

[ours] For rational scores boltz(a) = boltz(b) exactly if a and b have the same values with proportional multiplicities.
For boltz(a) - boltz(b) is sum (a_i - b_j) e^(a_i + b_j) over a positive number; exponentials of different algebraic
numbers are linearly independent over algebraic ones (Lindemann, Weierstrass), so it is 0 only if the coefficient of
each e^s is. Those are the coefficients of f' g - f g', with f = sum X^(a_i), g = sum X^(b_j) and (X^s)' = s X^s; it is
0 where f/g is a constant. No two values need be far apart: any nonzero rational scale will do, in exact arithmetic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import gcd
from typing import Literal

from flint import arb, fmpq

from headsmith.functions.balls import precision
from headsmith.refusal import Refusal

Number = int | float | Fraction
Version = Literal["printed", "sharp", "multiset"]
LEADING_BITS = 64  # of a gap, once its cancellation is paid for


def ball(x: Number) -> arb:
    """The number itself, in the present precision.

    >>> ball(Fraction(1, 4))
    0.250000000000000
    """
    return arb(fmpq(*Fraction(x).as_integer_ratio()))


def boltz(a: Sequence[Number]) -> arb:
    """sum_i a_i p_i, p = softmax(a): between the smallest and the largest of a, and nearer to the largest.

    >>> boltz([0, 0, 3])
    [2.72832899553823 +/- ...]
    """
    values, p = _softmax(a)
    return sum((x * w for x, w in zip(values, p, strict=True)), arb(0))


def slopes(a: Sequence[Number]) -> list[arb]:
    """Lemma 4: d boltz / d a_i = p_i (1 + log p_i + S), S the entropy of p; negative where a_i < max a - log n - 1.

    >>> [float(s) > 0 for s in slopes([0, 3])]
    [False, True]
    """
    _, p = _softmax(a)
    return [w * e for w, e in zip(p, _excess(p), strict=True)]


def curvatures(a: Sequence[Number]) -> list[arb]:
    """Lemma 5: d2 boltz / d a_i^2 = p_i ((1 - 2 p_i)(1 + log p_i + S) + 1); negative where a_i < max a - log n - 3.

    >>> [float(c) > 0 for c in curvatures([0, 9])]
    [False, False]
    """
    _, p = _softmax(a)
    return [w * ((1 - 2 * w) * e + 1) for w, e in zip(p, _excess(p), strict=True)]


def boltz_gap(a: Sequence[Number], b: Sequence[Number]) -> arb:
    """boltz(a) - boltz(b) to LEADING_BITS digits, however many cancel: exactly 0 where no head tells a from b.

    >>> boltz_gap([1, 0], [1, 0, 1, 0])
    0
    >>> boltz_gap([1000, 0], [1000, -1])
    [-3.20675063398711e-432 +/- ...]
    """
    if proportional(a, b):
        return arb(0)
    bits = 2 * LEADING_BITS
    while True:
        with precision(bits):
            gap = boltz(a) - boltz(b)
            if gap.rel_accuracy_bits() >= LEADING_BITS:
                return gap
        bits *= 2  # ends: the gap is not 0, as the head of this file shows


def proportional(a: Sequence[Number], b: Sequence[Number]) -> bool:
    """The same values, with multiplicities that are multiples of one another.

    >>> proportional([1, 2], [2, 2, 1, 1]), proportional([1, 2], [1, 1, 2])
    (True, False)
    """
    return _reduced(a) == _reduced(b)


def lemma_6(a: Sequence[Number], last: Number) -> arb:
    """Lemma 6: b is a, its last entry lowered to `last`; boltz(b) - boltz(a) is more than this.

        (a_n - b_n)(delta + a_n - b_n - log n - 1) softmax(b)_n,   delta = max_{i<n} a_i - a_n

    >>> float(lemma_6([9, 0], -1)) < float(boltz_gap([9, -1], [9, 0]))
    True
    """
    n = len(a)
    delta = ball(max(a[:-1], default=a[-1])) - ball(a[-1])
    if n < 2 or not delta > arb(n).log() + 3 or not last < a[-1]:
        raise Refusal("Lemma 6 lowers a last entry that is more than log n + 3 below the largest one")
    drop = ball(a[-1]) - ball(last)
    _, p = _softmax([*a[:-1], last])
    return drop * (delta + drop - arb(n).log() - 1) * p[-1]


def boltz_gap_bound(a: Sequence[Number], b: Sequence[Number], version: Version = "sharp") -> arb:
    """A number that |boltz(a) - boltz(b)| is never below, from the distances between scores alone.

    With delta the smallest distance of two different scores, a_1 the largest one, and x the largest that a and b do not
    share (not equally often, in proportion):

        printed    Lemma 7: (log n)^2 exp(-(a_1 - y)), y the smaller of the two entries at the first difference; for
                   equal lengths n, no repeated score, delta > 2 log n + 3
        sharp      [ours] kappa delta exp(-(a_1 - x)), kappa = 1 - q - q (2 - q)/(1 - q)^2, q = exp(-delta); for any
                   lengths, no repeated score, delta > 1.5, where kappa > 0.1; delta > 2 log n + 3 makes it 0.96
        multiset   [ours] 0.75 delta/n^2 exp(-(a_1 - x)); for up to n scores each, repeated or not, delta > 3 log n + 3

    >>> a, b = [14, 7, 0], [14, 7, -7]
    >>> [float(abs(boltz_gap(a, b)) / boltz_gap_bound(a, b, v)) > 1 for v in ("printed", "sharp", "multiset")]
    [True, True, True]
    """
    if version not in _VERSIONS:
        raise Refusal(f"the versions are {', '.join(_VERSIONS)}; not {version!r}")
    if not a or not b:
        raise Refusal("boltz of no scores is undefined: a query must see at least one token")
    return arb(0) if proportional(a, b) else _VERSIONS[version](a, b)


def _printed(a: Sequence[Number], b: Sequence[Number]) -> arb:
    n, (top, _, low) = len(a), _first_difference(a, b)
    if len(b) != n or low is None:
        raise Refusal(f"Lemma 7 compares contexts of one length, not of {n} and {len(b)} tokens: ask for 'sharp'")
    _apart("Lemma 7", a, b, 2 * arb(n).log() + 3, once=True)
    return arb(n).log() ** 2 * (ball(low) - ball(top)).exp()


def _sharp(a: Sequence[Number], b: Sequence[Number]) -> arb:
    """k >= 1 scores in common, c their mean, r = a_{k+1}, X = c - r > delta, in units of exp(-(a_1 - r)):

    a falls from c by at least (1 - q) X: what it is divided by is at most exp(a_1)/(1 - q), and further scores, all
    below the mean, lower it more. b falls by at most sum_{m>=1} (X + m delta) q^m <= X q (2 - q)/(1 - q)^2. With k = 0,
    boltz(a) is above a_1 - delta q/(1 - q)^2, and boltz(b) at most a_1 - delta.
    """
    top, high, _ = _first_difference(a, b)
    delta = _apart("this bound", a, b, arb(1.5), once=True)
    q = (-delta).exp()
    kappa = 1 - q - q * (2 - q) / (1 - q) ** 2
    return kappa * delta * (ball(high) - ball(top)).exp()


def _multiset(a: Sequence[Number], b: Sequence[Number]) -> arb:
    """Lemma M of the dossier: shares of the top score differ by at least 1/n^2, the rest is geometric as above."""
    n = arb(max(len(a), len(b)))
    delta = _apart("this bound", a, b, 3 * n.log() + 3)
    ratios = [{x: Fraction(count, c[max(c)]) for x, count in c.items()} for c in (Counter(a), Counter(b))]
    high = max(x for x in {*a, *b} if ratios[0].get(x) != ratios[1].get(x))
    return arb(3) / 4 * delta / n**2 * (ball(high) - ball(max(*a, *b))).exp()


_VERSIONS: dict[str, Callable[[Sequence[Number], Sequence[Number]], arb]] = {
    "printed": _printed,
    "sharp": _sharp,
    "multiset": _multiset,
}


def _apart(name: str, a: Sequence[Number], b: Sequence[Number], least: arb, once: bool = False) -> arb:
    """The smallest distance between different scores, if it is more than `least`."""
    if once and (len(set(a)) < len(a) or len(set(b)) < len(b)):
        raise Refusal(f"{name} is about scores that do not repeat: ask for 'multiset'")
    values = sorted({*a, *b})
    delta = min((Fraction(high) - Fraction(low) for low, high in pairwise(values)), default=None)
    if delta is None or not ball(delta) > least:
        factor = "" if not delta else f": scale the scores by more than {float(least / ball(delta)):.3g}"
        raise Refusal(f"{name} needs scores more than {float(least):.3g} apart, and these are {delta or 0}{factor}")
    return ball(delta)


def _first_difference(a: Sequence[Number], b: Sequence[Number]) -> tuple[Number, Number, Number | None]:
    """(the largest score, the larger and the smaller entry where a and b first differ in descending order)."""
    down = [sorted(x, reverse=True) for x in (a, b)]
    shared = next((k for k, (x, y) in enumerate(zip(*down, strict=False)) if x != y), min(map(len, down)))
    here = sorted((x[shared] for x in down if len(x) > shared), reverse=True)
    return max(down[0][0], down[1][0]), here[0], here[1] if len(here) > 1 else None


def _reduced(a: Sequence[Number]) -> dict[Fraction, int]:
    counts = Counter(Fraction(x) for x in a)
    common = gcd(*counts.values())
    return {x: count // common for x, count in counts.items()}


def _softmax(a: Sequence[Number]) -> tuple[list[arb], list[arb]]:
    """The scores, and their shares: exponentials of what they are below the largest."""
    values, top = [ball(x) for x in a], ball(max(a))
    weights = [(x - top).exp() for x in values]
    total = sum(weights, arb(0))
    return values, [w / total for w in weights]


def _excess(p: Sequence[arb]) -> list[arb]:
    """1 + log p_i + S."""
    logs = [w.log() for w in p]
    entropy = -sum((w * log for w, log in zip(p, logs, strict=True)), arb(0))
    return [1 + log + entropy for log in logs]
