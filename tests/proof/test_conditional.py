import math

import numpy as np
import pytest

from headsmith.proof.conditional import prove_from_samples
from headsmith.proof.statement import Head, Part
from headsmith.refusal import Refusal

HEAD = Head.table([-1.0, 1.0], [0.0, 0.0], [-1.0, 1.0])


def part(lo: float = -1.0, hi: float = 1.0) -> Part:
    return Part("x", "out", None, (lo, hi), (HEAD,))


@pytest.mark.parametrize("curvature", [None, 0.8])
def test_bound_is_above_and_near(curvature):
    """The head is tanh(x); the function is tanh(x) + 0.01 sin(5x)."""

    def f(z):
        return np.tanh(z) + 0.01 * np.sin(5 * z)

    bound = prove_from_samples(part(), f, 1e-2, 1.05, 1.05 if curvature else None)
    assert 0.01 <= bound <= 0.0125


def test_contradicted_constants_are_refused_and_the_named_one_is_enough():
    with pytest.raises(Refusal, match="no Lipschitz constant; give at least"):
        prove_from_samples(part(), lambda z: np.tanh(3 * z), 1e-2, 1.0, None)
    with pytest.raises(Refusal, match="bends with"):
        prove_from_samples(part(), lambda z: np.tanh(3 * z), 1e-2, 3.0, 1.0)
    assert prove_from_samples(part(), lambda z: np.tanh(3 * z), 1e-2, 3.01, 7.0) > 0.45


def test_a_bump_between_samples_is_paid_for():
    """A function that samples cannot see but its constant allows: the bound holds for it too."""
    eps, slope = 1e-2, 2.0
    bound = prove_from_samples(part(), np.tanh, eps, slope, None)
    spacing = 0.08 * eps / (1.0 + slope)  # no finer than what the proof samples with
    assert bound >= (slope - 1.0) * spacing / 4
    assert bound <= eps


def test_far_from_zero_the_grid_is_measured_not_assumed():
    """On [2^40, 2^40 + 1] floats are 2^-12 apart, so samples are not evenly spaced."""
    lo = 2.0**40
    head = Head.table([0.0], [0.0], [0.0])
    p = Part("x", "out", None, (lo, lo + 1.0), (head,))
    bound = prove_from_samples(p, lambda z: np.zeros_like(z), 1.0, 1.0, None)
    assert bound >= 0.5 * 2.0**-12 and math.isfinite(bound)


def test_too_many_samples_is_a_refusal_that_names_the_cheaper_way():
    with pytest.raises(Refusal, match="derivative_bounds"):
        prove_from_samples(part(), np.tanh, 1e-9, 1.0, None)
