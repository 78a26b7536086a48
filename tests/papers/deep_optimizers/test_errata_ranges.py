"""Both errata about ranges are confirmed, on sums of ReLUs that are what they are called."""

import pytest
import torch

from headsmith.papers.deep_optimizers import errata_ranges
from headsmith.papers.errata import Erratum

ERRATA = [entry for entry in vars(errata_ranges).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_two():
    assert [entry.item.split()[0] for entry in ERRATA] == ["E3", "E4"]


def test_narrow_layers_stay_inside_of_the_printed_range(monkeypatch):
    monkeypatch.setattr(errata_ranges, "WIDTH", 1)
    assert not errata_ranges.range_of_r.run().printed_fails


def test_the_gradient_is_that_of_autograd():
    """At the identity, where all layers are linear."""
    exact, largest = errata_ranges.gradient(lambda z: z, torch.ones_like)
    g = torch.Generator().manual_seed(0)
    K = errata_ranges.WIDTH
    rows = [torch.randn(*size, generator=g, dtype=torch.float64) for size in ((K, 4), (K, K), (1, K))]
    rows[1] = rows[1].abs()
    rows = [(2 * V / V.norm(dim=1, keepdim=True)).requires_grad_() for V in rows]
    x, y = (torch.randn(20, size, generator=g, dtype=torch.float64) for size in (4, 1))
    z = (x / x.norm(dim=1, keepdim=True)) @ rows[0].T @ rows[1].T
    slopes = torch.autograd.grad(0.5 * (z @ rows[2].T - y).square().mean(), rows)
    wanted = torch.cat([s.flatten() for s in slopes[::-1]])
    assert torch.allclose(exact, wanted, atol=1e-12) and largest == pytest.approx(float(z.detach().abs().max()))
