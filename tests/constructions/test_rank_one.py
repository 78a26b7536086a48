"""The table that memories share: its ends, its ramps, and what it holds inside of enclosures."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from headsmith.constructions.rank_one import Steps, array, inside, ramps, rank_one_layer, stored_head, stored_steps
from headsmith.proof.context_ids import Enclosed, RankOne


def test_the_ends_of_an_enclosure_are_numbers_of_the_dtype():
    ids = Enclosed(np.array([1.0 + 2.0**-30, -1.0]), np.array([2.0**-29, 2.0**-20]))
    low, high = inside(ids, "float32")
    assert low[0] == high[0] == 1 and (low[1], high[1]) == (-1 - np.float32(2.0**-20), -1 + np.float32(2.0**-20))
    step = 2.0**-23  # the cast goes to numbers outside, and has to be taken back
    low, high = inside(Enclosed(np.array([1 + step]), np.array([0.6 * step])), "float32")
    assert low[0] == high[0] == 1 + step
    ids = Enclosed(np.array([1.0]), np.array([0.0]))
    low, high = inside(ids, "float64")
    assert low[0] < 1 < high[0]


@given(
    codes=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    dtype=st.sampled_from(["float64", "float32"]),
    seed=st.integers(0, 99),
)
def test_ramps_lie_between_ids(codes, dtype, seed):
    ids = np.random.default_rng(seed).permutation(len(codes)) * 1.0
    found = Enclosed(ids, np.full(len(codes), 0.01))
    levels = 10.0 * np.array(codes)[:, None]
    steps = ramps(found, np.array(codes), levels, np.zeros(1), dtype)
    held, certain = steps.recalled(found, np.ones(1), dtype)
    assert certain.all() and np.array_equal(held, levels)
    assert steps.units == 2 * max(1, int((np.diff(np.array(codes)[ids.argsort()]) != 0).sum())) + 1


def test_what_is_stored_is_read_again():
    rng = np.random.default_rng(0)
    head = RankOne(*rng.normal(size=(5, 3)))
    steps = ramps(
        Enclosed(np.arange(4.0), np.full(4, 0.1)), np.arange(4), rng.normal(size=(4, 2)), np.ones(2), "float64"
    )
    table = steps.layer(head.read, torch.float64, 1)
    assert table.writes == (1, 2)
    again = stored_head(rank_one_layer(head, torch.float64), table)
    assert all(np.array_equal(getattr(again, name), getattr(head, name)) for name in RankOne.__dataclass_fields__)
    assert all(np.array_equal(getattr(stored_steps(table), name), part) for name, part in vars(steps).items())


def test_every_weight_has_rank_one():
    layer = rank_one_layer(RankOne(*np.random.default_rng(0).normal(size=(5, 4))), torch.float64)
    for part in (layer.query, layer.key, layer.value, layer.output):
        assert np.linalg.matrix_rank(array(part.weight)[0]) == 1


def test_a_ramp_as_wide_as_what_is_flushed():
    """t - left is below the normal range, and may be 0: then the level is that before the ramp."""
    tiny = 2.0**-126
    found = Enclosed(np.array([tiny / 2]), np.array([tiny / 8]))
    for left, slope, kept in ((tiny / 4, 4 / tiny, False), (-tiny, 1 / tiny, True)):
        steps = Steps(np.array([left]), np.array([slope]), np.array([[0.0], [1.0]]), np.ones(1))
        assert steps.recalled(found, np.ones(1), "float32")[1].tolist() == [kept]
