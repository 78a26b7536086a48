"""hs.recall.capacity: what was measured survives, what was measured to fail does not."""

import numpy as np
import pytest

import headsmith as hs
from headsmith.doors.recall.capacity import capacity, margin, survives
from headsmith.refusal import Refusal


@pytest.mark.parametrize(("ids", "fits"), [(100, True), (1_600, True), (3_200, True), (8_000, False), (12_800, False)])
def test_float32_as_measured(ids, fits):
    assert survives(ids, "float32") is fits


@pytest.mark.parametrize("ids", [3_200, 64_000, 200_000, 10_000_000])
def test_float64_as_measured(ids):
    assert survives(ids, "float64")


def test_the_table_and_its_largest_agree():
    for dtype in ("float32", "float64"):
        found = hs.recall.capacity(dtype)
        assert survives(found.largest, dtype) and not survives(found.largest + 1, dtype)
        for ids, gap, units, kept in found.table:
            assert kept == (ids <= found.largest) and gap <= 1 and units == margin(ids, dtype)
        assert ("too few" in str(found)) == any(not row[3] for row in found.table)


def test_data_are_counted():
    """The paper's count is that of the dossier's first family: n = 4, N = 10, d = 4."""
    draw = np.random.default_rng(0)
    table = draw.normal(size=(12, 4))
    data = [table[draw.choice(12, 4, replace=False)] for _ in range(10)]
    found = capacity("float32", data)
    assert found.ids == 40 and found.width == 79 and found.parameters[2] == 356 and found.enough
    assert found.parameters[0] == 3 * 39 + 22 and found.parameters[1] == 79 * 9 + 20
    assert found.printed.log10_gap < -1e4


def test_positions_and_masks_count():
    data = ["ab", "ba", "abab"]
    assert capacity(sequences=data).ids == 2
    assert capacity(sequences=data, mask="causal").ids == 5
    assert capacity(sequences=data, positions=True).ids == 8


def test_too_many_for_float32():
    data = [[k, -k - 1] for k in range(5000)]
    assert capacity("float32", data).enough is False and "cannot all be told apart" in str(capacity("float32", data))
    assert capacity("float64", data).enough


@pytest.mark.parametrize("data", ["ab", ["a", "b"], [np.array([[0.0], [1.0]])]])
def test_where_theorem_2_says_nothing_nothing_is_said(data):
    found = capacity(sequences=[*data])
    assert found.printed is None and "Eq 8" not in str(found)


def test_other_dtypes_are_refused():
    with pytest.raises(Refusal, match="float64 and float32; not 'float16'"):
        capacity("float16")
