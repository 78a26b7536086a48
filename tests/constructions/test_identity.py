"""The identity as a lattice: its closed bound holds, and its size grows like a logarithm."""

import numpy as np
import pytest

from headsmith.constructions.identity import alias, identity, lattice, pad
from headsmith.functions import parse
from headsmith.proof.approximation import prove
from headsmith.proof.statement import Part


@pytest.mark.parametrize("radius", [0.5, 2.74, 64.0])
@pytest.mark.parametrize("eps", [1e-2, 1e-6, 1e-11])
def test_the_lattice_is_proved_within_its_closed_bound(radius, eps):
    head = identity(radius, eps)
    assert prove(Part("x", "z", parse("x"), (-radius, radius), (head,)), 0.01 * eps).bound <= eps
    z = np.linspace(-radius, radius, 1001)
    assert np.allclose(head(-z), -head(z), atol=1e-12 * radius)


def test_sizes():
    assert identity(2.74, 1e-3).keys <= 11 and identity(2.74, 1e-6).keys <= 16
    assert [identity(64.0, 10.0**-k).keys for k in (6, 9, 12)] <= [17, 22, 27]


def test_a_lattice_ends_by_its_alias_and_its_pad():
    """40 steps of h = 1 at kappa = 2 alias by a hundredth; half the spacing at the same sharpness by nothing."""
    coarse, fine = lattice(40, 1.0, 2.0), lattice(80, 0.5, 0.5)
    z = np.linspace(-12, 12, 2001)
    worst = [np.abs(head(z) - z).max() for head in (coarse, fine)]
    assert 0.95 * alias(2.0) <= worst[0] <= alias(2.0) and worst[0] > 1e-2
    assert 0.45 * alias(0.5) <= worst[1] <= 0.5 * alias(0.5) < 1e-7
    cut = lattice(24, 1.0, 2.0)  # ends at 12: nothing beyond the range
    assert worst[0] < np.abs(cut(z) - z).max() <= alias(2.0) + pad(2.0, 0)
