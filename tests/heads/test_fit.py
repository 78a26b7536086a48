"""Keys in crossings and steps, the descent on them, and the head of a given size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith.heads.descent import Work, descend, fitted, misfit
from headsmith.heads.fit import Unreached, finish, fit, grown, refit_values, shrunk
from headsmith.heads.keys import Keys, attention, from_anchors, lines, merge, split
from headsmith.heads.problem import Problem
from headsmith.heads.starts import Segments
from headsmith.heads.table import best_reference, noise


def sine(x):
    return np.sin(3 * x)


def relu(x):
    return np.maximum(x, 0)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10**6))
def test_attention_is_the_softmax_of_its_lines_for_every_reference(count, seed):
    rng = np.random.default_rng(seed)
    keys = Keys(rng.uniform(-1, 1, count - 1), rng.uniform(0.1, 9, count - 1))
    z = np.linspace(-1, 1, 17)
    for reference in range(count):
        slopes, offsets = lines(keys, reference)
        assert slopes[reference] == offsets[reference] == 0
        weights = np.exp(slopes[:, None] * z + offsets[:, None])
        assert np.allclose(attention(keys, z, reference), weights / weights.sum(0), rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10**6))
def test_merge_undoes_split(count, seed):
    rng = np.random.default_rng(seed)
    keys = Keys(rng.uniform(-1, 1, count - 1), rng.uniform(0.5, 9, count - 1))
    j = int(rng.integers(count))
    more = split(keys, j, float(rng.uniform(-1, 1)), 0.5)
    assert more.number == count + 1 and (more.step > 0).all()
    back = merge(more, j)
    assert np.allclose(back.cross, keys.cross) and np.allclose(back.step, keys.step)


def test_the_values_solve_the_linear_problem():
    problem = Problem(sine, -2, 2, 1e-6)
    keys = from_anchors(np.linspace(-2.5, 2.5, 9), 0.4)
    found = fitted(problem, keys, Work(np.inf))
    best = np.linalg.lstsq(found.weights.T, found.y, rcond=None)[0]
    assert np.allclose(found.residual, found.y - best @ found.weights, atol=1e-7)
    assert misfit(problem, keys, Work(np.inf)) == pytest.approx((found.cost / len(found.z)) ** 0.5, rel=1e-6)


def test_descent_gains_orders_of_magnitude_and_counts_its_work():
    problem = Problem(sine, -2, 2, 1e-6)
    keys = from_anchors(np.linspace(-2.5, 2.5, 9), 0.4)
    work = Work(np.inf)
    assert descend(problem, keys, work).worst < 1e-6 < 1e-3 * fitted(problem, keys, work).worst
    assert 1e3 < work.spent < 1e5
    broke = Work(0.0)
    descend(problem, keys, broke)
    assert broke.spent < work.spent / 20


def test_a_relu_needs_no_descent():
    problem = Problem(relu, -1, 1, 1e-8, kinks=(0.0,))
    keys = Segments(problem).keys(3, 0.5)
    assert keys is not None
    table = finish(problem, fitted(problem, keys, Work(np.inf)), Work(np.inf))
    assert table.error < 1e-8 and table.noise < 1e-10
    assert np.abs(table.slopes).max() > 1e7


def test_kinks_that_do_not_bend_are_dropped():
    assert Segments(Problem(sine, -2, 2, 1e-6, kinks=(0.0, 0.5))).gates == []


def test_the_reference_key_decides_the_noise():
    problem = Problem(relu, -1, 1, 1e-6, kinks=(0.0,))
    keys = Segments(problem).keys(3, 0.5)
    assert keys is not None
    found = fitted(problem, keys, Work(np.inf))
    per_key = [noise(*lines(keys, r), found.values, found.weights, found.z, 2.0**-53) for r in range(keys.number)]
    assert per_key[best_reference(keys, found.values, found.z)] == min(per_key) < 1e-3 * max(per_key)


def test_growing_and_shrinking_change_the_number_by_one():
    problem, work = Problem(sine, -2, 2, 1e-6), Work(np.inf)
    found = descend(problem, from_anchors(np.linspace(-2.5, 2.5, 9), 0.4), work)
    assert grown(problem, found).number == 10
    assert [keys.number for keys in shrunk(problem, found.keys, work, 3)] == [8, 8, 8]


def test_pieces_grade_themselves_towards_a_singular_end():
    widths = np.diff(Problem(np.sqrt, 0, 1, 1e-6).edges)
    assert widths[0] < 1e-9 and widths[-1] > 0.1
    assert len(Problem(sine, -2, 2, 1e-6).edges) < 8


def test_fit_has_exactly_the_keys_asked_for():
    for count in (1, 2, 5, 9):
        table = fit(sine, -2, 2, count, 1e-6, effort=0.3)
        assert len(table) == count
    assert table.error <= 0.97e-6
    assert fit(sine, -2, 2, 5, 1e-6, effort=0.1).error > 1e-6


def test_refitted_values_suit_the_rounded_keys():
    table = fit(sine, -2, 2, 9, 1e-5, cap=20)
    again = refit_values(sine, table.slopes, table.offsets, -2, 2, 1e-5, dtype="float32")
    assert np.array_equal(again.slopes, table.slopes.astype(np.float32))
    assert again.error < 1e-4
    rounded = table.slopes.round(2), table.offsets.round(2)
    careless = np.abs(type(table)(*rounded, table.values, 0, 0)(np.linspace(-2, 2, 99)) - sine(np.linspace(-2, 2, 99)))
    assert refit_values(sine, *rounded, -2, 2, 1e-5, cap=20).error < 0.1 * careless.max()


def test_measured_error_sees_between_the_fit_points():
    problem = Problem(sine, -2, 2, 1e-6)
    found = fitted(problem, Keys(np.array([0.3]), np.array([1e9])), Work(np.inf))
    table = finish(problem, found, Work(np.inf))
    z = np.linspace(-2, 2, 100001)
    assert table.error >= np.abs(table(z) - sine(z)).max() * (1 - 1e-6)


def test_a_point_is_a_domain():
    assert fit(sine, 1.0, 1.0, 1, 1e-9).error < 1e-15


def test_not_a_number_is_refused():
    with pytest.raises(Unreached, match="not finite"):
        fit(np.log, -1, 1, 3, 1e-3)
