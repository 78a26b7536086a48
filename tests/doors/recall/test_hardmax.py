"""hs.recall.hardmax_impossible: proofs, heads that are run, and data that decide nothing."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headsmith as hs
from headsmith.doors.recall.hardmax import hardmax_impossible
from headsmith.proof.hardmax import hard_mean, points
from headsmith.refusal import Refusal

EQUAL_SUMS = [[1, 2, 5, 6], [1, 3, 4, 6]]
CORNERS = [[0.0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]


def test_the_equal_sum_pair_is_impossible():
    found = hs.recall.hardmax_impossible(EQUAL_SUMS)
    assert found and found.impossible and found.pair == (0, 1) and found.first_ties
    assert found.proof.holds() and not found.heads


def test_the_printed_pair_is_not():
    found = hardmax_impossible([[1, 2, 4], [1, 3, 4]])
    assert not found and found.impossible is False
    [head] = found.heads
    assert head.direction == (0.0,) and head.difference == pytest.approx(1 / 3)


def test_a_tetrahedron():
    found = hardmax_impossible([[*CORNERS, [1, 2, 2], [3, 2, 2]], [*CORNERS, [2, 1, 1], [2, 3, 3]]])
    assert found.impossible and set(found.proof.shared) == {tuple(map(float, x)) for x in CORNERS}
    assert "(9, 0, 0)" in str(found)


def test_one_impossible_pair_among_others_is_found():
    others = [[1, 2], [7, 8, 9], [1, 7]]
    assert hardmax_impossible([*others, *EQUAL_SUMS]).pair == (3, 4)


def test_pairs_with_one_mean_get_a_head_each():
    """(0, 3, 6, 7) and (0, 2, 6, 8): averaging does not tell them apart, the largest token does."""
    found = hardmax_impossible([[0, 3, 6, 7], [0, 2, 6, 8], [6, 1]])
    assert found.impossible is False
    assert [any(h.direction) for h in found.heads] == [False, True]
    assert found.heads[1].difference == pytest.approx(1)


def test_a_face_of_a_solid_is_found():
    first = [[0.0, 0], [2, 0], [0, 2], [0.5, 0], [1, 0.5]]
    second = [[0.0, 0], [2, 0], [0, 2], [1, 0.25], [0.5, 0.25]]
    found = hardmax_impossible([first, second])
    assert found.impossible is False and found.heads[-1].difference > 0.01


def test_proportional_multisets_are_one():
    assert hardmax_impossible([[1, 2], [2, 1, 1, 2], [1, 3]]).impossible is False
    assert "nothing to tell apart" in str(hardmax_impossible([[1, 2], [2, 1, 1, 2]]))


def test_a_single_token_among_others_is_told_apart():
    [head] = hardmax_impossible([[2], [1, 2, 3]]).heads
    assert abs(head.direction[0]) == 1 and head.exact == head.difference == 1


def test_sequences_without_a_common_token_need_no_head():
    assert hardmax_impossible([[1, 4], [2, 3]]).impossible is False


def test_float_sums_that_only_look_equal_are_told_apart_in_exact_arithmetic():
    [head] = hardmax_impossible([[0.0, 0.1, 0.2, 1], [0.0, 0.3, 1e-30, 1]]).heads
    assert 0 < head.exact < 1e-16


def test_directions_are_whole_numbers_where_tokens_are():
    first = [[0.0, 0], [3, 1], [-1, 3], [0.75, 0.25], [1, 1.25]]
    second = [[0.0, 0], [3, 1], [-1, 3], [1.25, 0.75], [0.5, 0.75]]
    head = hardmax_impossible([first, second]).heads[-1]
    assert head.direction == (1.0, -3.0) and head.difference == pytest.approx(head.exact) and head.exact > 0.1


@pytest.mark.parametrize(
    ("sequences", "says"),
    [
        ([["a", "b"], ["a"]], "give numbers or rows of numbers"),
        ([[1, 2]], "two or more sequences"),
        ([[1, float("nan")], [1, 2]], "finite numbers"),
        ([[[1, 2]], [[1, 2, 3]]], "one width, and these have 2 and 3"),
        ([[0, 1, -1], [0, 2, -2]], "share the zero vector alone"),
        ([[], [1]], "at least one token"),
    ],
)
def test_what_is_no_data_is_refused(sequences, says):
    with pytest.raises(Refusal, match=says):
        hardmax_impossible(sequences)


@given(st.integers(0, 10**6))
def test_reports_agree_with_all_small_directions(seed):
    """Small whole tokens with one mean, in one or two dimensions: faces lie in directions of small whole numbers."""
    draw = np.random.default_rng(seed)
    d = int(draw.integers(1, 3))
    first = draw.integers(1, 6, (draw.integers(4, 7), d)).astype(float)
    second, step = first.copy(), draw.integers(-2, 3, d)
    second[:2] += [step, -step]
    a, b = points(first), points(second)
    found = hardmax_impossible([first, second])
    ways = [tuple(map(Fraction, way)) for way in product(range(-4, 5), repeat=d)]
    told = any(hard_mean(way, a) != hard_mean(way, b) for way in ways)
    assert not (found.impossible and told)
    assert not (told and found.impossible is None)
    assert not (found.impossible is False and found.heads and not told)
    assert all(head.difference == pytest.approx(head.exact) for head in found.heads)


def test_undecided_is_said(monkeypatch):
    from headsmith.doors.recall import hardmax

    monkeypatch.setattr(hardmax, "_proof", lambda *pair: None)
    found = hardmax_impossible(EQUAL_SUMS)
    assert found.impossible is None and not found and found.pair == (0, 1)
    assert str(found).startswith("undecided")


def test_negative_zero_is_zero():
    assert hardmax_impossible([np.array([-0.0, 1, 4, 5]), np.array([0.0, 2, 3, 5])]).impossible
