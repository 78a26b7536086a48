"""The tables of a tape: proved on what they hold, and no more than that is taken for a table."""

import math

import numpy as np
import pytest
import torch
from flint import arb

from headsmith.functions import precision
from headsmith.machines.bending import ACTIVATIONS
from headsmith.machines.tape import tables
from headsmith.machines.tape.passes import look_up
from headsmith.machines.tape.tables import Worth
from headsmith.proof.approximation import value
from headsmith.proof.statement import Head, Part
from headsmith.refusal import Refusal

from .exact import small


def worth(**changed):
    return Worth.of({**small().tables, **changed}, 256.0, small().norm)


def test_what_the_tables_are_worth():
    found = worth()
    assert found.entry.approximation < 2e-12 and found.entry.rounding < 3e-12
    assert found.root.approximation < 1.25e-11 and found.root.rounding < 1e-12
    assert set(found.bends) == set(ACTIVATIONS)


@pytest.mark.parametrize("name", ["read", "norm"])
def test_the_proved_errors_are_attained(name):
    """In balls, at points of the range: nearly what is proved, never more."""
    head, bound = small().tables[name], worth().entry if name == "read" else worth().root
    z = np.linspace(-256, 256, 2001) if name == "read" else np.geomspace(2.0**-6, 64, 2001)
    part, worst = Part("v", "out", None, (float(z[0]), float(z[-1])), (head,)), 0.0
    with precision(128):
        for x in z.tolist():
            true = arb(x) if name == "read" else 1 / arb(x).sqrt()
            worst = max(worst, float(abs(value(part, x) - true).upper()))
    assert 0.7 * bound.approximation < worst <= bound.approximation
    executed = look_up(head, torch.from_numpy(z))
    with precision(128):
        rounded = max(
            float(abs(arb(y) - value(part, x)).upper()) for x, y in zip(z.tolist(), executed.tolist(), strict=True)
        )
    assert 0.01 * bound.rounding < rounded <= bound.rounding
    exact = torch.from_numpy(z if name == "read" else 1 / np.sqrt(z))
    assert float((executed - exact).abs().max()) <= bound.total


def test_a_changed_table_is_worth_less():
    read, norm = small().tables["read"], small().tables["norm"]
    assert worth(read=_moved(read)).entry.approximation > 1e-3
    assert worth(norm=_moved(norm)).root.approximation > 1e-6
    assert worth(gelu=_moved(small().tables["gelu"])).bends["gelu"][0] > 1e-3
    steep = Head(norm.slopes * 1e6, norm.offsets, norm.values, norm.lines)
    assert worth(norm=steep).root.approximation > 1e-2


def _moved(head):
    lines = head.lines if not head.lines.any() else head.lines * 1.01
    return Head(head.slopes, head.offsets, head.values * 1.01, lines)


@pytest.mark.parametrize(("lo", "hi"), [(2.0**-6, 64.0), (0.25, 4.0), (1.0, 4096.0), (1e-9, 1e-6), (3.0, 5.0)])
def test_ranges_of_one_ratio_share_their_keys(lo, hi):
    """Scaled by a power of four, which rounds nothing; proved anew all the same."""
    head, within = tables.root(lo, hi)
    assert head.keys == 33 and np.array_equal(head.offsets, small().tables["norm"].offsets)
    found = tables.Worth.of({**small().tables, "norm": head}, 256.0, (lo, hi)).root
    assert found.total <= within and within <= 2 * 1.25e-12 / math.sqrt(lo)


@pytest.mark.slow
def test_a_wider_range_is_searched():
    head, within = tables.root(2.0**-8, 2.0**8)
    assert 33 < head.keys <= 64
    assert tables.Worth.of({**small().tables, "norm": head}, 256.0, (2.0**-8, 2.0**8)).root.total <= within


def test_a_ratio_that_no_table_has_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "GOALS", (1e-16,))
    with pytest.raises(Refusal, match="take a norm range of smaller ratio"):
        tables.root(2.0**-9, 2.0**9)


def test_the_reading_table_reaches_as_far_as_rows_may_round():
    head = tables.reading(16.0)
    assert abs(float(head(np.array(16.0 * (1 + tables.ROOM)))) - 16.0 * (1 + tables.ROOM)) < 1e-12
    assert math.isclose(tables.ROOM, 2.0**-10)
