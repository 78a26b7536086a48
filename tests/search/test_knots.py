"""Knots where they are needed: as near as was asked, with as few as the formula says."""

from itertools import pairwise

import numpy as np
import pytest

from headsmith.functions import parse
from headsmith.functions.smooth import FORMULAS
from headsmith.proof.relu_sums import Asymptotes, sup_error
from headsmith.search.knots import FINEST, bends_needed, relu_sum

CASES = [(name, k) for name in FORMULAS for k in (0, 1)]


def case(name, k):
    formula, left, right = FORMULAS[name][k]
    return parse(formula), Asymptotes(left, right)


@pytest.mark.parametrize("dtype, near", [("float64", 1e-2), ("float64", 1e-4), ("float32", 1e-3)])
@pytest.mark.parametrize("name, k", CASES)
def test_it_is_as_near_as_was_asked(name, k, near, dtype):
    r, ends = case(name, k)
    found = relu_sum(r, ends, near, dtype)
    assert sup_error(found, r, ends) <= 1.1 * near
    assert abs(len(found) - bends_needed(r, ends, near)) <= 4


@pytest.mark.parametrize("name, k", CASES)
def test_four_times_nearer_takes_twice_as_many(name, k):
    counts = [bends_needed(*case(name, k), near) for near in (4e-5, 1e-5, 2.5e-6)]
    assert all(1.9 <= more / few <= 2.05 for few, more in pairwise(counts))


def test_knots_are_fewer_than_equal_steps_would_need():
    """tanh on [-20, 20] within 6e-4: equal steps would take 1 + 20 sqrt(0.77 / 1.2e-3) = 508."""
    assert bends_needed(*case("tanh", 0), 6e-4) < 70


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name, k", CASES)
def test_numbers_are_those_of_the_format_and_add_up_exactly(name, k, dtype):
    r, ends = case(name, k)
    found = relu_sum(r, ends, 1e-3, dtype)
    numbers = np.concatenate([found.slopes, found.offsets, found.coefficients])
    assert (numbers == numbers.astype(dtype).astype(np.float64)).all()
    bends = found.slopes != 0
    assert (found.coefficients[bends] % FINEST[dtype] == 0).all()
    assert found.coefficients[found.slopes > 0].sum() == ends.right[0]
    assert -found.coefficients[found.slopes < 0].sum() == ends.left[0]
