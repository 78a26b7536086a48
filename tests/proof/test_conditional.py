"""Samples, and a constant for what lies between: for each term a function or a head that makes it all of the error."""

import math

import numpy as np
import pytest

from headsmith.proof import conditional
from headsmith.proof.approximation import Unprovable
from headsmith.proof.conditional import CALLABLE_ULPS, prove_from_samples
from headsmith.proof.rounding import FORMATS, prove_rounding
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


def head_part(head: Head, lo: float, hi: float) -> Part:
    return Part("x", "out", None, (lo, hi), (head,))


def bounded(part: Part, eps: float, slope: float, curvature: float | None, f=np.zeros_like):
    """(the bound, the largest gap between two samples)."""
    seen: list[np.ndarray] = []

    def watched(z):
        seen.append(z)
        return f(z)

    return prove_from_samples(part, watched, eps, slope, curvature), max(float(np.diff(z).max()) for z in seen)


ZERO = Head.table([0.0], [0.0], [0.0])


def test_a_zigzag_between_samples():
    """|f'| <= 2 and f = 0 at every sample: in the middle of a gap s f may be 2 s/2, which the head 0 does not see."""
    bound, gap = bounded(head_part(ZERO, -1.0, 1.0), 1e-2, 2.0, None)
    assert 2.0 * gap / 2 <= bound <= 1.1 * gap


def test_parabolas_between_samples():
    """|f''| <= 3 and f = 0 at every sample: +-3/2 t (s - t) in turn, smooth at the samples, 3 s^2/8 between them."""
    bound, gap = bounded(head_part(ZERO, -1.0, 1.0), 1e-2, 2.0, 3.0)
    assert 3.0 * gap**2 / 8 <= bound <= 1.1 * 3.0 * gap**2 / 8


@pytest.mark.parametrize(("curvature", "step"), [(None, 1.0), (0.0, 2 / 3)])
def test_a_head_that_rises_between_samples(curvature, step):
    """eps is so large that samples s apart suffice; the head 1/(1 + 2 cosh(z - s/2)) is 1/3 between two of them."""
    bump = Head.table([-1.0, 0.0, 1.0], [step / 2, 0.0, -step / 2], [0.0, 1.0, 0.0])
    bound, gap = bounded(head_part(bump, -8.0, 8.0), 100.0, 0.0, curvature)
    at_samples = float(bump(np.array([0.0, step])).max())
    assert gap == pytest.approx(step) and at_samples + 0.01 < 1 / 3 == pytest.approx(float(bump(np.array(step / 2))))
    assert bound >= 1 / 3


def test_a_line_pays_its_slope_between_samples():
    """Exactly |head - f| at the samples + (|head'| + L) s/2: no less is true for every f with |f'| <= L."""
    line = Head(np.zeros(1), np.zeros(1), np.zeros(1), np.full(1, 3.0))
    bound, gap = bounded(head_part(line, -1.0, 1.0), 1.0, 0.5, None)
    assert bound == pytest.approx(3.0 + (3.0 + 0.5) * gap / 2, rel=1e-6)


def test_a_parabola_pays_its_curvature_between_samples(monkeypatch):
    """With |head''| <= 4: (4 + L2) s^2/8."""
    monkeypatch.setattr(conditional, "_polynomial", lambda part, a, b: ((1.0, 4.0), 0.0))
    bound, gap = bounded(head_part(ZERO, -1.0, 1.0), 1.0, 1.0, 0.5)
    assert bound == pytest.approx(4.5 * gap**2 / 8, rel=1e-6)


def test_the_polynomial_of_a_quadratic_head():
    """sup|P'| and sup|P''| on [1, 2], both attained by a head that is nearly z^2 there."""
    head = Head.table([-1e-3, 1e-3], [0.0, 0.0], [-1e3, 1e3])  # 1e3 tanh(1e-3 z), a line; its curvature is tiny
    (first, second), rest = conditional._polynomial(head_part(head, 1.0, 2.0), 1.0, 2.0)
    assert 1.0 - 1e-5 <= first <= 1.001 and second <= 1e-4 and rest < 1e-12
    bent = Head.table([-2.0, 2.0], [0.0, 0.0], [-1.0, 1.0])  # tanh(2 z): f' = 2 at 0, |f''| = 3.08 at 0.33
    (first, second), _ = conditional._polynomial(head_part(bent, -0.05, 0.05), -0.05, 0.05)
    assert 2.0 <= first <= 2.1 and 4 * 2 * math.tanh(0.1) * (1 - math.tanh(0.1) ** 2) <= second


def test_what_the_polynomial_leaves_out_counts_twice(monkeypatch):
    """The head may be rho above its polynomial between samples and rho below at them."""
    monkeypatch.setattr(conditional, "_polynomial", lambda part, a, b: ((0.0, 0.0), 0.125))
    assert prove_from_samples(head_part(ZERO, -1.0, 1.0), np.zeros_like, 100.0, 0.0, None) >= 0.25


def test_the_ulps_of_the_function_are_paid_for():
    """A function that returns 1 may be 1 + 8 ulps."""
    one = Head.table([0.0], [0.0], [1.0])
    bound, _ = bounded(head_part(one, -1.0, 1.0), 1.0, 0.0, None, np.ones_like)
    assert CALLABLE_ULPS * 2.0**-52 <= bound <= 2 * CALLABLE_ULPS * 2.0**-52


def test_the_rounding_of_the_head_at_the_samples_is_paid_for():
    """Keys of a billion that cancel: what float64 says of the head at a sample is off by its own rounding."""
    part = head_part(Head.table([0.0, 0.0], [0.0, 0.0], [1e9, -1e9]), -1.0, 1.0)
    own = prove_rounding(part, FORMATS["float64"], 1e-9).bound
    bound, _ = bounded(part, 1.0, 0.0, None)
    assert own > 1e-8 and own <= bound <= 1.01 * own


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_error_at_the_samples(sign):
    half = Head.table([0.0], [0.0], [sign * 0.5])
    bound, _ = bounded(head_part(half, -1.0, 1.0), 1.0, 0.0, None)
    assert 0.5 <= bound <= 0.5001


def test_far_from_zero_the_grid_is_measured_not_assumed():
    """On [2^40, 2^40 + 1] floats are 2^-12 apart, so samples are not evenly spaced: the widest gap counts."""
    part = head_part(ZERO, 2.0**40, 2.0**40 + 1.0)
    bound, gap = bounded(part, 1e-2, 1.0, None)
    assert gap >= 1.2 * 0.08 * 1e-2 and bound >= gap / 2 and math.isfinite(bound)


def test_too_many_samples_name_the_cheaper_way():
    with pytest.raises(Unprovable, match="derivative_bounds"):
        prove_from_samples(part(), np.tanh, 1e-9, 1.0, None)
