"""The printed scale: hand values, the constants of data, and the printed weights carried out."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from headsmith.proof.printed_scale import PrintedScale, log10, power
from headsmith.refusal import Refusal

TINY = PrintedScale(n=2, types=3, features=1, r_min=0.4995, r_max=2.002, eps=0.999)


def test_hand_values():
    """The dossier's first test: tokens 1, -0.5 and 2, by Eq 29, Eq 7 and Eq 8 in mpmath."""
    delta = 2 * mpmath.log(2) + 3
    size = 256 * mpmath.pi * delta
    assert float(TINY.scale) == pytest.approx(float(size / 8 / (0.999 * 0.4995)))
    assert float(TINY.radius) == pytest.approx(2.002 + 0.999 / 4)
    gap = 2 * mpmath.log(2) ** 2 * 0.999**2 * 0.4995 / (2.002**2 * size)
    gap *= mpmath.exp(-size * mpmath.mpf(2.002) ** 2 / (4 * 0.999 * 0.4995))
    assert TINY.log10_gap == pytest.approx(float(mpmath.log10(gap)), abs=1e-9)
    assert round(TINY.log10_gap) == -3081


def test_the_gap_is_that_of_lemma_7():
    """Eq 8 is |o| (log n)^2 exp(-2 r)/(U r_max), with r = U r_max^2 and |o| = eps/(4 r_max)."""
    U, eps, r_max = TINY.scale, arb(TINY.eps), arb(TINY.r_max)
    derived = eps / (4 * r_max) * arb(2).log() ** 2 * (-2 * U * r_max**2).exp() / (U * r_max)
    assert (derived / TINY.gap).overlaps(arb(1)) and (derived / TINY.gap).rad() < 1e-6


def test_the_printed_weights_carried_out():
    """The dossier's 7.1: promised 1e-3081, found 1e-768; a set and its double are one."""
    sets = [[1.0, -0.5], [1.0, 2.0], [-0.5, 2.0]]
    found = TINY.executed(sets)
    assert log10(found) == pytest.approx(-768.5, abs=0.1)
    assert found > TINY.gap
    assert TINY.executed([[1.0, 2.0], [1.0, 2.0, 2.0, 1.0]]) == 0


def test_the_constants_of_data():
    tokens = np.array([[3.0, 4.0], [0.0, 1.0], [0.0, 2.0]])
    found = PrintedScale.of([tokens[:2], tokens[[0, 2]], tokens])
    assert (found.n, found.types, found.features) == (3, 3, 2)
    assert [found.r_min, found.r_max, found.eps] == [Fraction(999, 1000), 5 / Fraction(999, 1000), Fraction(999, 1000)]


def test_a_large_table_has_a_figure_too():
    """The dossier's 7.2: 1000 sequences of 64 out of 500 tokens in 64 dimensions are promised about 1e-(3.9e13)."""
    found = PrintedScale(n=64, types=500, features=64, r_min=6.0, r_max=10.5, eps=7.5).log10_gap
    assert -1e15 < found < -1e12


def test_a_corpus_has_a_figure_too():
    assert PrintedScale(n=113, types=23_623, features=23_623, r_min=0.999, r_max=1.001, eps=1.414).log10_gap < -1e20


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 1}, "Eq 8 is 0 for sequences of one token"),
        ({"types": 1}, "need at least as many vectors"),
        ({"r_min": 0.0}, "no token may be the zero vector"),
        ({"eps": 0.0}, "eps > 0"),
    ],
)
def test_what_theorem_2_does_not_cover_is_refused(change, says):
    given = {"n": 2, "types": 3, "features": 1, "r_min": 0.5, "r_max": 2.0, "eps": 1.0} | change
    with pytest.raises(Refusal, match=says):
        PrintedScale(**given)


def test_only_a_line_of_tokens_that_meet_is_carried_out():
    with pytest.raises(Refusal, match="tokens on a line, none of them 0"):
        TINY.executed([[0.0, 1.0], [1.0, 2.0]])
    with pytest.raises(Refusal, match="no two of these sequences share a token"):
        TINY.executed([[1.0], [2.0]])


def test_powers_are_short():
    assert [power(x) for x in (2.946, -88_040.2, -1.05e6)] == ["10^2.9", "10^-88040", "10^-1e+06"]
