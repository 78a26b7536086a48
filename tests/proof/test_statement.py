"""Heads and parts as the proof sees them: plain numbers, and the functions they stand for."""

import numpy as np
import pytest

from headsmith.functions import parse
from headsmith.proof.statement import Head, Part

TABLE = Head.table([-1.0, 0.5, 2.0], [0.0, 0.25, -0.5], [1.0, -2.0, 3.0])
GATE = Head(*(np.array(c) for c in ([4.0, 0.0], [-1.0, 0.0], [0.5, 0.0], [2.0, 0.0])))


def test_a_table_is_a_weighted_mean_of_its_values():
    z = 0.75
    w = [np.exp(-z), np.exp(0.5 * z + 0.25), np.exp(2 * z - 0.5)]
    assert float(TABLE(z)) == pytest.approx((w[0] - 2 * w[1] + 3 * w[2]) / sum(w), rel=1e-14)


def test_a_gate_reads_its_input_through_its_own_key():
    z = np.array([-0.5, 0.0, 1.25])
    assert GATE(z) == pytest.approx((0.5 + 2 * z) / (1 + np.exp(1 - 4 * z)), rel=1e-14)
    assert GATE.attends_to_itself and not TABLE.attends_to_itself


def test_large_scores_do_not_overflow():
    steep = Head.table([1e6, -1e6], [1e5, 0.0], [1.0, -1.0])
    assert steep(np.array([[1.0, -1.0]])).tolist() == [[1.0, -1.0]]


def test_a_cast_head_holds_the_nearest_numbers_and_no_negative_zero():
    head = Head.table([0.1, -1e-60], [1 / 3, -0.0], [1e-9, 123.456]).cast("float32")
    assert head.slopes.tolist() == [float(np.float32(0.1)), 0.0] and head.values[1] == float(np.float32(123.456))
    assert head.slopes.dtype == np.float64
    assert not any(np.signbit(c).any() for c in (head.slopes, head.offsets, head.values, head.lines))


def test_a_part_adds_its_heads_and_its_bias():
    z = np.linspace(-1, 1, 7)
    part = Part("x", "out", parse("x"), (-1.0, 1.0), (TABLE, GATE, GATE), 0.5)
    assert np.allclose(part(z), 0.5 + TABLE(z) + 2 * GATE(z), rtol=0, atol=1e-14)
    assert part.keys == 7


def test_a_part_without_heads_is_its_bias_everywhere():
    assert Part("x", "out", parse("5"), (-1.0, 1.0), (), 5.0)(np.zeros((2, 3))).tolist() == [[5.0] * 3] * 2
