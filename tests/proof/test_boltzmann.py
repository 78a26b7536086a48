"""The Boltzmann operator against mpmath and autograd, and each bound against its worst cases."""

import math
import random
from fractions import Fraction

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headsmith.proof.boltzmann import (
    boltz,
    boltz_gap,
    boltz_gap_bound,
    curvatures,
    lemma_6,
    proportional,
    slopes,
)
from headsmith.refusal import Refusal

SCORES = st.lists(st.integers(-24, 24).map(lambda k: Fraction(k, 4)), min_size=1, max_size=6)


def in_mpmath(a):
    """boltz(a) in 400 digits, written once more."""
    with mpmath.workdps(400):
        values = [mpmath.mpf(x.numerator) / x.denominator for x in map(Fraction, a)]
        weights = [mpmath.exp(x) for x in values]
        return sum(x * w for x, w in zip(values, weights, strict=True)) / sum(weights)


def ladder(rng, n, delta):
    """n different scores, in descending order, each a little more than delta below the last."""
    steps = [delta * Fraction(1000 + rng.randint(1, 300), 1000) for _ in range(n)]
    return [-sum(steps[: k + 1], Fraction(0)) for k in range(n)]


def ratio(a, b, version):
    """|boltz(a) - boltz(b)| over what the bound promises."""
    return float(abs(boltz_gap(a, b)) / boltz_gap_bound(a, b, version))


@given(SCORES)
def test_boltz_is_that_of_mpmath_and_lies_between(a):
    assert abs(float(boltz(a)) - float(in_mpmath(a))) < 1e-12
    assert float(min(a)) - 1e-12 <= float(boltz(a)) <= float(max(a)) + 1e-12


@given(SCORES)
def test_lemmas_4_and_5_are_the_derivatives(a):
    at = torch.tensor([float(x) for x in a], dtype=torch.float64, requires_grad=True)
    [grad] = torch.autograd.grad((at * at.softmax(0)).sum(), at, create_graph=True)
    bend = [torch.autograd.grad(g, at, retain_graph=True)[0][k] for k, g in enumerate(grad)]
    assert torch.allclose(torch.tensor([float(s) for s in slopes(a)]).double(), grad.detach(), atol=1e-10)
    assert torch.allclose(torch.tensor([float(c) for c in curvatures(a)]).double(), torch.stack(bend), atol=1e-9)


def test_the_signs_of_lemmas_4_and_5():
    n = 5
    low = -Fraction(math.ceil(1e6 * (math.log(n) + 1)), 10**6)
    lower = -Fraction(math.ceil(1e6 * (math.log(n) + 3)), 10**6)
    assert slopes([0, low, 0, 0, 0])[1] < 0
    assert curvatures([0, lower, 0, 0, 0])[1] < 0


@pytest.mark.parametrize("n", [2, 5, 16])
def test_lemma_6(n):
    rng = random.Random(n)
    for _ in range(40):
        a = ladder(rng, n, Fraction(math.ceil(100 * (math.log(n) + 3)), 100))
        drop = Fraction(rng.randint(1, 4000), 1000)
        gap = boltz_gap([*a[:-1], a[-1] - drop], a)
        bound = lemma_6(a, a[-1] - drop)
        assert 0 < bound < gap, (a, drop)


def test_lemma_6_is_refused_where_it_does_not_speak():
    for a, last in (([0, -1], -2), ([0, -9], -8), ([0], -1)):
        with pytest.raises(Refusal, match="log n"):
            lemma_6(a, last)


def two_ladders(rng, n, delta):
    """Contexts of n scores that agree in a few of the first, by which all scores are more than delta apart."""
    values = ladder(rng, 2 * n, delta)
    shared = rng.randrange(n)
    head, rest = values[:shared], values[shared:]
    rng.shuffle(rest)
    return [sorted([*head, *rest[k * (n - shared) : (k + 1) * (n - shared)]], reverse=True) for k in range(2)]


@pytest.mark.parametrize("n", [2, 3, 5, 8, 16])
def test_lemma_7(n):
    """The bound is loose: by 706 at least for n = 2 (dossier), and looser for more tokens."""
    rng = random.Random(n)
    delta = Fraction(math.ceil(1000 * (2 * math.log(n) + 3)), 1000)
    worst = min(ratio(*two_ladders(rng, n, delta), "printed") for _ in range(30))
    assert worst > 230 * n


@pytest.mark.parametrize("n", [2, 5, 12])
def test_the_sharp_bound_holds_for_all_lengths_and_is_tight(n):
    rng = random.Random(n)
    delta = Fraction(math.ceil(1000 * (2 * math.log(n) + 3)), 1000)
    found = []
    for _ in range(60):
        a, b = two_ladders(rng, n, delta)
        pair = a[: rng.randint(1, n)], b[: rng.randint(1, n)]
        if not proportional(*pair):
            found.append(ratio(*pair, "sharp"))
    assert 1 <= min(found) < 1.1


def test_the_sharp_bound_needs_no_length():
    """[ours] scores 2 apart, of 40 tokens, where Lemma 7 wants 10.4: one score against all that may come below it."""
    for delta in (2, 4):
        a, b = [0, -delta], [0, *(-delta * k for k in range(2, 40))]
        assert 1 < ratio(a, b, "sharp") < 1.05
        assert 1 < ratio([0], [-delta * k for k in range(1, 40)], "sharp") < 2.2


def test_the_sharp_bound_just_above_its_threshold():
    step = Fraction(1501, 1000)
    a = [-step * k for k in range(30)]
    for k in range(1, 29):
        assert ratio(a[: k + 1], a[:k] + a[k + 1 :], "sharp") > 1


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_the_bound_for_multisets(n):
    rng = random.Random(n)
    delta = Fraction(math.ceil(1000 * (3 * math.log(n) + 3)), 1000)
    values = ladder(rng, 3, delta * Fraction(1001, 1000))
    found = []
    for _ in range(120):
        a, b = ([rng.choice(values) for _ in range(rng.randint(1, n))] for _ in range(2))
        if not proportional(a, b):
            found.append(ratio(a, b, "multiset"))
    assert min(found) > 1
    assert min(found) < 6


@given(SCORES, SCORES)
def test_only_proportional_multisets_have_one_boltz(a, b):
    """[ours] Lindemann and Weierstrass: no distance is needed for boltz to differ, and 0 is exactly 0."""
    gap = boltz_gap(a, b)
    assert (gap == 0) == proportional(a, b)
    assert abs(float(gap) - float(in_mpmath(a) - in_mpmath(b))) < 1e-12


def test_proportional_multisets_are_told_from_all_others():
    assert proportional([1, 2, 2], [2, 2, 1, 1, 2, 2])
    assert not proportional([1, 2], [1, 2, 3])
    assert boltz_gap([5, 3], [3, 5, 5, 3]) == 0


@pytest.mark.parametrize(("n", "measured"), [(5, 2.40), (20, 1.002), (21, 0.980), (64, 0.654), (512, 0.398)])
def test_the_printed_bound_fails_under_masks_from_21_tokens_on(n, measured):
    """Appendix C: (a_1) against (a_1, a_1 - delta), over (log n)^2 exp(-delta)."""
    delta = Fraction(2 * math.log(n) + 3)
    gap = abs(boltz_gap([0], [0, -delta]))
    found = float(gap / (mpmath.log(n) ** 2 * mpmath.exp(-float(delta))))
    assert found == pytest.approx(measured, rel=2e-3)
    assert gap > boltz_gap_bound([0], [0, -delta], "sharp")


@pytest.mark.parametrize(("n", "gap"), [(4, 5e-7), (5, 4e-10), (6, 1.7e-13), (8, 9e-21)])
def test_equal_steps_leave_no_gap_to_floats(n, gap):
    """The dossier's grid: scores 2 log n + 3 apart, the last one a step lower."""
    delta = Fraction(2 * math.log(n) + 3)
    a = [-delta * k for k in range(n)]
    found = float(abs(boltz_gap(a, [*a[:-1], a[-1] - delta])))
    assert 0.3 < found / gap < 3


@pytest.mark.parametrize(
    ("a", "b", "version", "says"),
    [
        ([9, 0], [9], "printed", "contexts of one length, not of 2 and 1"),
        ([9, 0], [18], "printed", "contexts of one length, not of 2 and 1"),
        ([9, 0], [9, 1], "printed", "more than 4.39 apart, and these are 1: scale the scores by more than 4.39"),
        ([9, 9], [9, 0], "sharp", "do not repeat: ask for 'multiset'"),
        ([1, 0], [1], "sharp", "more than 1.5 apart"),
        ([5, 0], [5, 5, 0], "multiset", "more than 6.3 apart"),
        ([9], [], "sharp", "at least one token"),
        ([9], [0], "best", "the versions are printed, sharp, multiset"),
    ],
)
def test_a_bound_is_refused_where_it_does_not_speak(a, b, version, says):
    with pytest.raises(Refusal, match=says):
        boltz_gap_bound(a, b, version)


def test_what_no_head_tells_apart_has_the_bound_0():
    assert boltz_gap_bound([1, 0], [0, 1, 1, 0]) == 0
