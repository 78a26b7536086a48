"""The search finds few keys, keeps its word between the samples, repeats itself, and knows when to stop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf

from headsmith.search.question import Question
from headsmith.search.search import KeyTable, Unreached, search


def sup_error(table, f, lo, hi, points=20011):
    z = np.random.default_rng(5).uniform(lo, hi, points)
    z = np.concatenate([z, [lo, hi]])
    return float(np.abs(table(z) - f(z)).max())


FEW = [
    ("sin 3x", lambda x: np.sin(3 * x), -2, 2, 1e-6, (), 9),
    ("x^2", lambda x: x * x, -2, 2, 1e-6, (), 4),
    ("exp", np.exp, -2, 2, 1e-6, (), 4),
    ("gelu", lambda x: x * (1 + erf(x / np.sqrt(2))) / 2, -5, 5, 1e-2, (), 4),
    ("silu", lambda x: x / (1 + np.exp(-x)), -8, 8, 1e-6, (), 4),
    ("1/x", lambda x: 1 / x, 0.1, 10, 1e-6, (), 13),
    ("tanh 50x", lambda x: np.tanh(50 * x), -1, 1, 1e-10, (), 2),
    ("relu", lambda x: np.maximum(x, 0), -1, 1, 1e-8, (0.0,), 3),
    ("clip", lambda x: np.clip(x, -1, 1), -2, 2, 1e-6, (-1.0, 1.0), 4),
    ("flat", lambda x: 3 + 1e-8 * np.sin(x), -1, 1, 1e-6, (), 1),
    ("far away", lambda x: np.sin(3 * (x - 1e6)), 1e6, 1e6 + 1, 1e-5, (), 5),
    ("wide", lambda x: np.sin(x / 1e3), 0, 1e4, 1e-6, (), 9),
    ("narrow", np.sin, 1, 1 + 1e-9, 1e-12, (), 2),
]


@pytest.mark.parametrize("name,f,lo,hi,eps,kinks,most", FEW, ids=[case[0] for case in FEW])
def test_few_keys_reach_eps_between_the_samples(name, f, lo, hi, eps, kinks, most):
    table = search(Question(f, lo, hi, eps, kinks), effort=0.6)
    assert len(table) <= most
    assert sup_error(table, f, lo, hi) <= table.error * (1 + 1e-6) + table.noise <= eps


HARD = [
    ("runge25", lambda x: 1 / (1 + 25 * x * x), -1, 1, 1e-6, (), 12),
    ("runge25", lambda x: 1 / (1 + 25 * x * x), -1, 1, 1e-10, (), 31),
    ("runge1000", lambda x: 1 / (1 + 1000 * x * x), -1, 1, 1e-6, (), 17),
    ("exp(-x^2)cos4x", lambda x: np.exp(-x * x) * np.cos(4 * x), -3, 3, 1e-6, (), 17),
    ("softplus", lambda x: np.logaddexp(0, x), -6, 6, 1e-6, (), 8),
    ("softplus", lambda x: np.logaddexp(0, x), -6, 6, 1e-10, (), 21),
    ("gelu", lambda x: x * (1 + erf(x / np.sqrt(2))) / 2, -5, 5, 1e-6, (), 10),
    ("gelu", lambda x: x * (1 + erf(x / np.sqrt(2))) / 2, -5, 5, 1e-10, (), 26),
    ("sin3x", lambda x: np.sin(3 * x), -2, 2, 1e-10, (), 26),
    ("sqrt", np.sqrt, 0, 1, 1e-6, (), 26),
    ("layer", lambda x: np.tanh(50 * (x - 0.3)) + 0.5 * np.sin(3 * x), -1, 1, 1e-6, (), 18),
    ("kink", lambda x: np.abs(x - 0.3) + np.sin(3 * x), -1, 1, 1e-6, (0.3,), 14),
    ("many waves", lambda x: np.sin(200 * x), -1, 1, 1e-4, (), 450),
]


@pytest.mark.slow
@pytest.mark.parametrize("name,f,lo,hi,eps,kinks,most", HARD)
def test_harder_functions(name, f, lo, hi, eps, kinks, most):
    table = search(Question(f, lo, hi, eps, kinks))
    assert len(table) <= most
    assert sup_error(table, f, lo, hi) <= eps


def test_the_same_question_has_the_same_answer():
    one, two = (search(Question(lambda x: np.sin(3 * x), -2, 2, 1e-4), effort=0.2) for _ in range(2))
    for a, b in ((one.slopes, two.slopes), (one.offsets, two.offsets), (one.values, two.values)):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("eps", [1e-3, 1e-4])
def test_float32_heads_hold_float32_numbers_and_little_noise(eps):
    table = search(Question(lambda x: np.sin(3 * x), -2, 2, eps, dtype="float32"), effort=0.3)
    for array in (table.slopes, table.offsets, table.values):
        assert array.dtype == np.float64
        assert np.array_equal(array, array.astype(np.float32))
    assert table.noise <= eps / 6
    assert np.abs(table.values).max() <= 30
    z = np.random.default_rng(1).uniform(-2, 2, 5000).astype(np.float32)
    scores = table.slopes.astype(np.float32)[:, None] * z + table.offsets.astype(np.float32)[:, None]
    weights = np.exp(scores - scores.max(0))
    phi = (table.values.astype(np.float32) @ weights) / weights.sum(0)
    assert np.abs(phi - np.sin(3 * z.astype(np.float64))).max() <= eps


@pytest.mark.parametrize(
    "f,word",
    [
        (lambda x: np.where(x > 0.1, 1.0, 0.0), "jumps by 1 near 0.1"),
        (lambda x: np.random.default_rng(len(x)).normal(size=x.shape), "too rough"),
        (np.log, "not finite near -1"),
        (lambda x: 1 / x, "not finite near 0"),
    ],
    ids=["step", "noise", "nan", "pole"],
)
def test_what_no_head_can_do_is_said(f, word):
    with pytest.raises(Unreached, match=word) as caught:
        search(Question(f, -1, 1, 1e-3))
    assert caught.value.best is None


def test_eps_below_rounding_reports_the_best_head():
    with pytest.raises(Unreached, match="closest head") as caught:
        search(Question(lambda x: np.sin(3 * x), -2, 2, 1e-16), effort=0.1)
    best = caught.value.best
    assert isinstance(best, KeyTable) and 1e-16 < best.error < 1


def test_the_cap_is_kept():
    table = search(Question(lambda x: np.sin(3 * x), -2, 2, 1e-4, cap=2), effort=0.2)
    assert np.abs(table.values).max() <= 2


@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.floats(0.3, 4), st.floats(-2, 2), st.floats(-100, 100), st.sampled_from([1e-3, 1.0, 1e5]))
def test_waves_of_any_place_and_size(rate, slope, centre, size):
    def f(x):
        return size * (np.sin(rate * (x - centre)) + slope * np.exp(-((x - centre) ** 2)))

    table = search(Question(f, centre - 1, centre + 1, 1e-4 * size), effort=0.1)
    assert sup_error(table, f, centre - 1, centre + 1, 3001) <= 1e-4 * size
