"""Draws: the best is kept, hopeless ones are given up early, and what a draft says of its ids is so."""

from itertools import pairwise

import numpy as np
import pytest

from headsmith.proof.approximation import Unprovable
from headsmith.proof.context_ids import enclosed
from headsmith.proof.rounding import FORMATS
from headsmith.search import separation
from headsmith.search.separation import Occurrences, attention, axes_of, free, power_of_two, separated

EQUAL_SUMS = np.array([[1.0], [2.0], [5.0], [6.0], [1.0], [3.0], [4.0], [6.0]])


def data(positions=60, seed=0, causal=False, features=4):
    rng = np.random.default_rng(seed)
    lengths = np.full(positions // 6, 6)
    return Occurrences(rng.normal(size=(positions, features)), lengths, rng.integers(0, 3, positions), causal)


def drawing(data):
    return lambda i: (data, axes_of(data.tokens, np.random.default_rng(i), single=i % 2 == 0))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("causal", [False, True])
def test_a_draft_says_what_its_head_does(dtype, causal):
    given = data(causal=causal)
    draft = separated(drawing(given), FORMATS[dtype])
    again = enclosed(given.tokens, draft.head, given.lengths, causal, FORMATS[dtype])
    assert np.array_equal(again.ids, draft.ids.ids) and np.array_equal(again.radius, draft.ids.radius)
    order = np.argsort(again.ids)
    low, high = (again.ids + sign * again.radius for sign in (-1, 1))
    widths = {}
    for k, (a, b) in enumerate(pairwise(order)):
        if given.codes[a] != given.codes[b]:
            between = low[order[k + 1 :]].min() - high[order[: k + 1]].max()
            widths[int(a), int(b)] = 1 + between / (again.radius[a] + again.radius[b])
    assert draft.changes == len(widths) and draft.margin == min(widths.values())
    assert draft.nearest == min(widths, key=widths.__getitem__)
    assert draft.lost == sum(width < separation.LEAST for width in widths.values())


def test_a_wide_enclosure_behind_its_neighbour_counts():
    low, high, codes = np.array([0.0, 2.0, 3.0]), np.array([3.5, 2.5, 4.0]), np.array([7, 7, 8])
    [at], [before], [after] = free(low, high, codes)
    assert (at, before, after) == (1, 3.5, 3.0)
    low, high, codes = np.array([0.0, 2.0, 1.5]), np.array([1.0, 2.5, 4.0]), np.array([7, 8, 8])
    [at], [before], [after] = free(low, high, codes)
    assert (at, before, after) == (0, 1.0, 1.5)


def test_one_label_needs_no_gap():
    given = data()
    alike = Occurrences(given.tokens, given.lengths, np.zeros(60, dtype=int))
    draft = separated(drawing(alike), FORMATS["float64"])
    assert draft.margin == np.inf and draft.changes == draft.lost == 0


def test_sets_of_equal_sums_collide_where_all_weights_are_equal():
    """Mean pooling gives the shared tokens one id; a softmax does not."""
    given, one = Occurrences(EQUAL_SUMS, np.array([4, 4]), np.arange(8)), np.ones(1)
    for scale, apart in ((0.0, False), (1.0, True), (4.0, True)):
        z = attention(given, one, one, scale).z
        assert (abs(z[[0, 3]] - z[[4, 7]]) > 1e-4).all() == apart, scale
    assert (attention(given, one, one, 0.0).z[[0, 3]] == attention(given, one, one, 0.0).z[[4, 7]]).all()


def test_scores_stay_below_the_scale():
    given = data()
    for scale in separation.SCALES:
        seen = attention(given, *axes_of(given.tokens, np.random.default_rng(0), False)[1:], scale)
        keys, queries = (given.tokens @ seen.directions[name] for name in ("key", "query"))
        assert 0.5 < abs(keys).max() <= 1 and 0.5 * scale < abs(queries).max() <= scale


def test_a_good_draw_ends_the_search_and_a_hopeless_one_too(monkeypatch):
    asked = []
    given = data()

    def draw(i):
        asked.append(i)
        return drawing(given)(i)

    separated(draw, FORMATS["float64"])
    assert asked == [0, 1]
    asked.clear()
    monkeypatch.setattr(separation, "SAFE", 1e300)
    monkeypatch.setattr(separation, "DRAWS", 5)
    separated(draw, FORMATS["float64"])
    assert asked == [0, 1, 2, 3, 4]
    asked.clear()
    monkeypatch.setattr(separation, "LEAST", 1e299)
    monkeypatch.setattr(separation, "FIRST", 3)  # the first of them may have been unlucky
    separated(draw, FORMATS["float64"])
    assert asked == [0, 1, 2]
    asked.clear()
    monkeypatch.setattr(separation, "LEAST", 1.0)
    monkeypatch.setattr(separation, "WORK", 3 * 60 * 6 - 1)
    separated(draw, FORMATS["float64"])
    assert asked == [0, 1, 2]


def test_of_two_good_draws_the_one_with_fewer_changes_is_kept():
    tokens = np.stack([np.arange(6.0), np.tile([0.0, 1.0], 3), np.linspace(0.1, 0.7, 6)], 1)
    given = Occurrences(tokens, np.array([3, 3]), np.array([0, 1, 0, 1, 0, 1]))
    eye = np.eye(3)
    axes = [(eye[0], eye[2], eye[2]), (eye[1], eye[2], eye[2])]
    draft = separated(lambda i: (given, axes[i % 2]), FORMATS["float64"])
    assert draft.draw == 1 and draft.changes == 1


def test_scores_that_cannot_be_proved_are_no_draft():
    given = Occurrences(np.full((2, 1), 1e30), np.array([2]), np.arange(2))
    with pytest.raises(Unprovable, match="no draw"):
        separated(lambda i: (given, (np.ones(1),) * 3), BROKEN)


BROKEN = type(FORMATS["float32"])("float32", 0.4, 0.0)


def test_axes_are_rich_coordinates_or_unit_directions():
    tokens = np.array([[0.0, 1.0, 5.0, 7.0, 2.0], [0.0, 2.0, 5.0, 8.0, 3.0]])
    single = axes_of(tokens, np.random.default_rng(0), True)
    assert all(sorted(a) == [0, 0, 0, 0, 1] and a[[0, 2]].sum() == 0 for a in single)
    for a in axes_of(tokens, np.random.default_rng(0), False):
        assert np.linalg.norm(a) == pytest.approx(1) and np.count_nonzero(a) == 5
    assert [len(a) for a in axes_of(np.ones((2, 1)), np.random.default_rng(0), True)] == [1, 1, 1]


def test_powers_of_two():
    assert [power_of_two(x) for x in (1.0, 1.99, 2.0, 0.7)] == [1.0, 1.0, 2.0, 0.5]
