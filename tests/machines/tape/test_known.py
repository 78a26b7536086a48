"""What is known of a slot: no vector with these sizes, length and sum goes beyond what follows, and some come near."""

import math

import pytest
import torch

from headsmith.machines.tape.known import Known

INF = math.inf


def vector(*entries):
    return torch.tensor(entries, dtype=torch.float64)


def test_sizes_bound_a_row():
    known = Known.of(vector(1.0, 2.0, 3.0))
    row = vector(2.0, -1.0, 1.0)[None]
    assert float(known.terms(row)) == pytest.approx(7.0) and float(known.values(row)) == pytest.approx(7.0)
    assert float(known.terms(row[:, :2])) == pytest.approx(4.0)


def test_a_length_bounds_a_row_where_it_is_shorter():
    known = Known.of(torch.ones(4).double(), 1.0)
    assert float(known.terms(torch.ones(1, 4).double())) == pytest.approx(2.0)
    assert float(known.terms(vector(1.0, 0.0, 0.0, 0.0)[None])) == pytest.approx(1.0)


def test_of_a_unit_vector_without_a_mean_only_the_centred_row_counts():
    known = Known.of(torch.ones(5).double(), 1.0, 4, 0.0)
    row = vector(5.0, 7.0, 5.0, 7.0)[None]
    assert float(known.values(row)) == pytest.approx(2.0) and float(known.terms(row)) > 12
    assert float(Known.of(torch.ones(5).double(), 1.0, 4, 0.1).values(row)) == pytest.approx(2.0 + 0.6)
    assert float(known.values(vector(1.0, 1.0, 1.0, 1.0, 1.0)[None])) == pytest.approx(
        1.0
    )  # the last is not in the sum


def test_nothing_is_known_of_what_is_infinite():
    known = Known.of(vector(1.0, INF))
    rows = torch.stack([vector(2.0, 0.0), vector(2.0, 1e-9), vector(0.0, 0.0)])
    assert known.terms(rows).tolist() == pytest.approx([2.0, INF, 0.0])
    assert known.values(rows).tolist() == pytest.approx([2.0, INF, 0.0])
    assert float(known.within(3.0).terms(rows[1:2])) == pytest.approx(2.0 + 3e-9)


def test_errors_and_sums_add_up():
    one, other = Known.of(vector(1.0, 1.0), 1.0, 2, 0.25), Known.of(vector(2.0, 0.0), 2.0, 2, 0.5)
    both = one.plus(other)
    assert both.sizes.tolist() == pytest.approx([3.0, 1.0]) and both.length == pytest.approx(3.0)
    assert both.tilt == pytest.approx(0.75) and both.count == 2
    wrong = one.off(0.25)
    assert wrong.sizes.tolist() == pytest.approx([1.25, 1.25]) and wrong.tilt == pytest.approx(0.75)
    assert wrong.length == pytest.approx(1 + math.sqrt(2) / 4)
    assert one.plus(Known.of(vector(1.0, 0.0), count=1)).tilt == pytest.approx(3.0)  # sums over other numbers


def test_random_vectors_stay_within():
    generator = torch.Generator().manual_seed(0)
    u = torch.randn(1000, 6, dtype=torch.float64, generator=generator)
    u = u - u.mean(1, keepdim=True)
    u = u / u.norm(dim=1, keepdim=True)
    rows = torch.randn(20, 6, dtype=torch.float64, generator=generator) + 3
    known = Known.of(u.abs().amax(0), 1 + 1e-12, 6, 1e-12)
    found = (u @ rows.mT).abs().amax(0)
    assert bool((found <= known.values(rows)).all()) and bool((known.values(rows) < 1.6 * found).all())
    assert bool(((u.abs() @ rows.abs().mT).amax(0) <= known.terms(rows)).all())
