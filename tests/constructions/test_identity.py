"""The identity as a lattice: its closed bound holds, and its size grows like a logarithm."""

import numpy as np
import pytest
import torch

from headsmith.constructions.identity import identity, lattice, smooth, two_key
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


@pytest.mark.parametrize(
    ("radius", "eps", "most"), [(5.0, 1e-3, 10), (6.0, 1e-12, 24), (64.0, 1e-9, 21), (64.0, 1e-12, 26)]
)
def test_identity_tables_are_short_and_proved(radius, eps, most):
    table = smooth(radius, eps)
    z = torch.linspace(-radius, radius, 4001).double().numpy()
    assert table.steps + 1 <= most and table.proof.bound <= eps
    assert abs(table(z) - z).max() <= table.proof.bound + 1e-13 * radius


def test_two_keys_and_the_alias_of_a_coarse_lattice():
    assert two_key(2.0, 1e-6).proof.bound <= 1e-6 and two_key(2.0, 1e-6).steps == 1
    coarse, fine = lattice(20.0, 40, 2.0, 12.0), lattice(20.0, 80, 2.0, 12.0)
    assert coarse.proof.bound > 1e-2 > 1e-7 > fine.proof.bound
