"""The scale that Theorem 2 prescribes, and what it leaves of a gap (low-rank-memorization, Eq 7, Eq 8 and Eq 29).

    U     = (|V| + 1)^4 (pi d/8) delta/(eps r_min),    delta = 2 log n + 3                              Eq 29
    gap   = 2 (log n)^2 eps^2 r_min/(r_max^2 (|V| + 1)^4 delta pi d)
            * exp(-(|V| + 1)^4 delta pi d r_max^2/(4 eps r_min))                                        Eq 8

for |V| tokens in R^d whose norms lie in (r_min, r_max) and whose distances exceed eps, n of them in a sequence. The
network is right and no float can run it: two-token sequences over three tokens are promised a gap of 1e-3081. Balls
have exponents as long as they like, so here it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from flint import arb

from headsmith.functions.balls import floor_float
from headsmith.proof.boltzmann import Number, ball, boltz_gap
from headsmith.records.shown import Shown
from headsmith.refusal import Refusal

STRICT = Fraction(999, 1000)  # r_min, r_max and eps of data are taken this far off, since every inequality is strict


@dataclass(frozen=True, repr=False)
class PrintedScale(Shown):
    """What Theorem 2 prescribes for n tokens of `types` vectors in R^`features`, and the gap it then promises.

    >>> print(PrintedScale(n=2, types=3, features=1, r_min=0.4995, r_max=2.002, eps=0.999))
    Theorem 2 as printed
      scale U (Eq 29)      10^2.9
      r (Eq 7)             2.25
      promised gap (Eq 8)  10^-3081
    """

    n: int
    types: int
    features: int
    r_min: Number
    r_max: Number
    eps: Number

    def __post_init__(self) -> None:
        if self.n < 2:
            raise Refusal(
                "Eq 8 is 0 for sequences of one token: n = 1 needs no attention, a lookup of the token is all"
            )
        if self.types < self.n or self.features < 1:
            raise Refusal(
                f"sequences of {self.n} different tokens need at least as many vectors, in one dimension or more"
            )
        if not (0 < self.r_min < self.r_max and self.eps > 0):
            raise Refusal("Theorem 2 needs 0 < r_min < r_max and eps > 0: no token may be the zero vector")

    @classmethod
    def of(cls, sequences: Sequence[np.ndarray]) -> PrintedScale:
        """The constants of data: sequences of (n, d) token vectors, the longest of which counts.

        >>> PrintedScale.of([np.array([[1.0], [-0.5]]), np.array([[1.0], [2.0]])]).types
        3
        """
        rows = np.unique(np.concatenate(sequences), axis=0)
        norms = np.linalg.norm(rows, axis=1)
        apart = min((np.linalg.norm(rows[k + 1 :] - row, axis=1).min() for k, row in enumerate(rows[:-1])), default=1.0)
        longest = max(map(len, sequences))
        r_min, r_max, eps = (Fraction(float(x)) for x in (norms.min(), norms.max(), apart))
        return cls(longest, len(rows), rows.shape[1], r_min * STRICT, r_max / STRICT, eps * STRICT)

    @property
    def delta(self) -> arb:
        """2 log n + 3: how far apart Lemma 7 wants the scores."""
        return 2 * arb(self.n).log() + 3

    @property
    def scale(self) -> arb:
        """U of Eq 29, the product of the lengths of key and query direction."""
        eps, r_min, _ = self._constants
        return self._types * arb.pi() * self.features / 8 * self.delta / (eps * r_min)

    @property
    def radius(self) -> arb:
        """r of Eq 7: outputs are no longer than r_max + eps/4."""
        return self._constants[2] + self._constants[0] / 4

    @property
    def gap(self) -> arb:
        """Eq 8: what two outputs are at least apart, for different sets or different tokens."""
        return self._log_gap.exp()

    @property
    def _log_gap(self) -> arb:
        """log of Eq 8, whose exp no ball resolves once it has more than some 10^15 digits."""
        eps, r_min, r_max = self._constants
        size = self._types * self.delta * arb.pi() * self.features
        factor = 2 * arb(self.n).log() ** 2 * eps**2 * r_min / (r_max**2 * size)
        return factor.log() - size * r_max**2 / (4 * eps * r_min)

    @property
    def log10_gap(self) -> float:
        """log10 of Eq 8, rounded down."""
        return floor_float(self._log_gap / arb(10).log())

    def executed(self, sequences: Sequence[Sequence[Number]]) -> arb:
        """The smallest distance of two outputs that the printed weights make of tokens on a line, in exact arithmetic.

        Of each pair of sequences and each token x that both hold: eps/(4 r_max) |boltz(U x X) - boltz(U x X')|/(U x),
        in as many digits as it takes. U is rounded to a fraction first: no more than its size counts.

        >>> tiny = [[1.0, -0.5], [1.0, 2.0], [-0.5, 2.0]]
        >>> round(log10(PrintedScale(2, 3, 1, 0.4995, 2.002, 0.999).executed(tiny)))
        -768
        """
        if self.features != 1 or any(0 in sequence for sequence in sequences):
            raise Refusal("the printed weights are carried out for tokens on a line, none of them 0")
        eps, _, r_max = self._constants
        U, gaps = _fraction(self.scale), []
        for one, other in combinations(sequences, 2):
            for x in sorted({*one} & {*other}):
                scores = ([U * Fraction(x) * Fraction(y) for y in side] for side in (one, other))
                gaps.append(abs(boltz_gap(*scores) / ball(U * Fraction(x))))
        if not gaps:
            raise Refusal("no two of these sequences share a token, so there is no gap to be had")
        return eps / (4 * r_max) * min(gaps, key=lambda gap: gap.lower())

    @property
    def _constants(self) -> tuple[arb, arb, arb]:
        return ball(self.eps), ball(self.r_min), ball(self.r_max)

    @property
    def _types(self) -> arb:
        return arb(self.types + 1) ** 4

    def title(self) -> str:
        return "Theorem 2 as printed"

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("scale U (Eq 29)", power(log10(self.scale))),
            ("r (Eq 7)", f"{float(self.radius):.3g}"),
            ("promised gap (Eq 8)", power(self.log10_gap)),
        ]


def _fraction(x: arb) -> Fraction:
    """The middle of a ball, as the fraction it is."""
    man, exp = x.mid().man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def log10(x: arb) -> float:
    """log10 of a positive ball, rounded down; its exponent may be as large as it likes.

    >>> round(log10(arb(10) ** -5000), 9)
    -5000.0
    """
    return floor_float(x.log() / arb(10).log())


def power(exponent: float) -> str:
    """10^x as it is shown: with a few digits of x.

    >>> power(-3080.6), power(2.94), power(-2.9e8)
    ('10^-3081', '10^2.9', '10^-2.9e+08')
    """
    return f"10^{exponent:.2g}" if abs(exponent) < 10 or abs(exponent) >= 1e6 else f"10^{exponent:.0f}"
