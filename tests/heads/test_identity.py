"""The identity as a lattice: its closed bound holds, and its size grows like a logarithm."""

import numpy as np
import pytest

from headsmith.functions import parse
from headsmith.heads.identity import identity
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
