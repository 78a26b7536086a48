"""Each erratum about a layer is confirmed, and is not where nothing is wrong."""

import pytest
import torch

from headsmith.papers.deep_optimizers import errata_layers
from headsmith.papers.errata import Erratum

ERRATA = [entry for entry in vars(errata_layers).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_three():
    assert [entry.item.split()[0] for entry in ERRATA] == ["E9", "E10", "E12"]


def test_one_step_needs_no_wiping(monkeypatch):
    paths = errata_layers.paths
    monkeypatch.setattr(errata_layers, "paths", lambda net, result, networks: paths(net, result, [net.network] * 2))
    assert not errata_layers.wiped.run().printed_fails


def test_another_path_is_no_repair(monkeypatch):
    drift = errata_layers.descended
    monkeypatch.setattr(errata_layers, "descended", lambda *a: tuple(1e-6 + part for part in drift(*a)))
    assert not errata_layers.wiped.run().repaired_works


def test_another_answer_is_none(monkeypatch):
    guess = errata_layers.outputs
    monkeypatch.setattr(errata_layers, "outputs", lambda *a: 1e-6 + guess(*a))
    assert not errata_layers.answered.run().repaired_works
    monkeypatch.setattr(errata_layers, "outputs", lambda *a: 0 * guess(*a))
    assert not errata_layers.answered.run().printed_fails


def test_too_small_a_lock_lets_others_in():
    tokens = torch.zeros(21, 6, dtype=torch.float64)
    angle = 2 * torch.pi * torch.arange(21).double() / 21
    tokens[:, 0], tokens[:, 1], tokens[:, 2] = 1.0, angle.cos(), angle.sin()
    tokens[:, 3], tokens[:, 4] = 2.0, 1.5
    needed = 3.0 / (1 - float(angle[1].cos()))
    for lock, others in ((1.01 * needed, False), (0.9 * needed, True)):
        found = errata_layers.product(lock)(tokens)[:, 5]
        assert bool((found > 3.01).all()) == others and bool((found >= 3 - 1e-9).all())


def test_squares_meet_products_at_their_knots(monkeypatch):
    monkeypatch.setattr(errata_layers, "KNOTS", 7)  # at -3, -2, ..., 3
    layer = errata_layers.mlp(errata_layers.squares(), 6, torch.float64)
    a, b = torch.tensor([1.0, -1.0, 3.0, 2.0]).double(), torch.tensor([3.0, 1.0, -3.0, 2.0]).double()
    tokens = torch.zeros(4, 6, dtype=torch.float64)
    tokens[:, 3], tokens[:, 4] = a, b
    assert torch.allclose(layer(tokens)[:, 5], a * b, atol=1e-13)
    tokens[:, 3] = torch.tensor([0.0, 1.0, 0.0, 2.0])
    tokens[:, 4] = torch.tensor([1.0, 2.0, 0.0, 1.0])
    off = (layer(tokens)[:, 5] - tokens[:, 3] * tokens[:, 4]).abs()
    assert float(off.max()) <= 1 / 4 + 1e-12


def test_without_positions_it_is_another_product(monkeypatch):
    monkeypatch.setattr(errata_layers, "product", lambda lock, make=errata_layers.product: make(0.0))
    assert not errata_layers.remark_3.run().printed_fails
