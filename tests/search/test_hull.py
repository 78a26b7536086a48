"""Mixtures and directions: exact where the programmes that propose them are not."""

from fractions import Fraction

import numpy as np
import pytest

from headsmith.proof.hardmax import hard_mean, points
from headsmith.search.hull import mixture, setting_apart


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_mixture_is_exact_and_positive(d):
    draw = np.random.default_rng(d)
    shared = points(draw.normal(size=(2 * d + 2, d)))
    weights = [Fraction(k + 1, sum(range(1, 2 * d + 3))) for k in range(2 * d + 2)]
    token = tuple(sum(w * x for w, x in zip(weights, column, strict=True)) for column in zip(*shared, strict=True))
    found = mixture(token, shared)
    assert found is not None and min(found) > 0 and sum(found) == 1
    assert token == tuple(
        sum(w * x for w, x in zip(found, column, strict=True)) for column in zip(*shared, strict=True)
    )


def test_no_mixture_outside_or_on_the_border():
    square = points(np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]]))
    for x in ([0.5, 0.0], [1.0, 1.0], [1.5, 0.5]):
        assert mixture(points(np.array([x]))[0], square) is None


def test_no_mixture_beside_a_line_by_one_rounding():
    """0.1 + 0.2 is not 0.3 in floats: (0.3, 0.1 + 0.2) is off the diagonal, however little."""
    diagonal = points(np.array([[0.0, 0], [1, 1]]))
    assert mixture(points(np.array([[0.3, 0.3]]))[0], diagonal) is not None
    assert mixture(points(np.array([[0.3, 0.1 + 0.2]]))[0], diagonal) is None


APART = {
    "the mean": ([[1.0, 2, 4]], [[1.0, 3, 4]]),
    "a higher token": ([[0.0, 3, 6, 7]], [[0.0, 2, 6, 8]]),
    "an edge": (
        [[[0.0, 0], [2, 0], [0, 2], [0.5, 0], [1, 0.5]]],
        [[[0.0, 0], [2, 0], [0, 2], [1, 0.25], [0.5, 0.25]]],
    ),
    "an edge that no float is upright on": (
        [[[0.0, 0], [3, 1], [-1, 3], [0.75, 0.25], [1, 1.25]]],
        [[[0.0, 0], [3, 1], [-1, 3], [1.25, 0.75], [0.5, 0.75]]],
    ),
}


@pytest.mark.parametrize("name", APART)
def test_a_direction_sets_apart_in_exact_arithmetic(name):
    first, second = (points(np.array(x[0]).reshape(len(x[0]), -1)) for x in APART[name])
    found = setting_apart(first, second)
    assert found is not None and hard_mean(found, first) != hard_mean(found, second)
    assert any(found) == (name != "the mean")


def test_ties_along_an_edge_without_simple_numbers_are_exact():
    edge, far, r = points(np.array([[3.1234567, 1.7654321], [-1, 3], [0.5, 1.25]]))
    zero, quarter, half = (tuple(c * share for c in edge) for share in (0, Fraction(1, 4), Fraction(1, 2)))
    first = (zero, edge, far, quarter, tuple(a + b for a, b in zip(r, quarter, strict=True)))
    second = (zero, edge, far, half, r)
    found = setting_apart(first, second)
    assert found is not None and hard_mean(found, first) != hard_mean(found, second)


def test_no_direction_sets_a_proved_pair_apart():
    first, second = (points(np.array(x)[:, None]) for x in ([1.0, 2, 5, 6], [1.0, 3, 4, 6]))
    assert setting_apart(first, second) is None
