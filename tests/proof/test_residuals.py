"""Residuals: their ranges as users give them, the exact check, and each rounding at numbers that need it."""

from fractions import Fraction

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.constructions.rule import block
from headsmith.proof.composition import Error
from headsmith.proof.residuals import Ranges, multiplied
from headsmith.proof.rounding import FORMATS
from headsmith.proof.statement import Head

SINGLE = FORMATS["float32"]


def near(z):
    """float32 numbers a little above z, whose products and sums round by nearly half a unit in the last place."""
    return np.float32(z) * (np.float32(1 + 2.0**-12) + np.arange(1, 200, dtype=np.float32) * np.float32(2.0**-23))


def test_the_computed_residual_slips():
    """fl(fl(w x) - y): two roundings in the same direction, each of nearly one unit."""
    w, x = np.meshgrid(near(1), near(1))
    y = np.float32(2.0**-24) * np.float32(0.98)
    computed = (w * x - y).astype(np.float64)
    off = np.abs(computed - (w.astype(float) * x.astype(float) - float(y))).max()
    ranges = Ranges(x=float(x.max()), y=abs(float(y)), w=float(w.max()), residual=1.1)
    slip = ranges.residuals(1, SINGLE).rounding
    assert 0.9 * slip <= off <= slip


def test_the_slip_grows_with_the_features():
    """1 + ... + 1 in order, every sum cut off by half a unit."""
    d, total, exact = 8, np.float32(0.0), Fraction(0)
    for _ in range(d):
        term = max(
            np.float32(1.0) - np.arange(64, dtype=np.float32) * np.float32(2.0**-24), key=lambda t: off(total, t)
        )
        total, exact = total + term, exact + Fraction(float(term))
    slip = Ranges(x=1.0, y=0.0, w=1.0, residual=9.0).residuals(d, SINGLE).rounding
    assert slip / 4 <= abs(Fraction(float(total)) - exact) <= slip
    assert Ranges(x=1.0, y=5.0, w=1.0, residual=9.0).products(d) == 13.0


def off(total, term):
    return float(Fraction(float(total)) + Fraction(float(term)) - Fraction(float(total + term)))


def test_the_product_with_x_is_rounded():
    """A table of one key is exact, so all that is left is level x, one rounding."""
    level, x = near(1), near(1)
    worst, most = 0.0, float(level.max()) * float(x.max())
    for value in level.tolist():
        network = block(Head.table([0.0], [0.0], [value]), 1, 1, torch.float32)
        xs = torch.from_numpy(x)[:, None]
        out = network(torch.cat([xs, xs, xs, xs], -1)[:, None])[:, 0, 0]
        worst = max(worst, float((out.double() - value * xs[:, 0].double()).abs().max()))
    table = Error(0.0, 0.0, (0.0, float(level.max())))
    rounding = multiplied(table, float(x.max()), SINGLE).rounding
    assert 0.9 * rounding <= worst <= rounding <= 1.01 * SINGLE.unit * most
    assert multiplied(Error(0.0, 1.0, (0.0, 1.0)), 3.0, SINGLE).rounding >= 3.0
    assert multiplied(Error(1.0, 0.0, (0.0, 1.0)), 3.0, SINGLE).rounding > 5 * SINGLE.unit  # |f| + error is rounded


@pytest.mark.parametrize(
    "given",
    [5.0, (-5, 5), {"residual": 5.0}, {"residual": 5.0, "x": 3.0, "w": 1.0, "y": 5.0}, {"w.x - y": (-5, 5), "x": 2}],
)
def test_a_domain_reads_back_as_itself(given):
    target = hs.target.ResidualRule("tanh(t)", 2, 3)
    domain = target.domain(given, "float64")
    assert target.domain(target.plain(domain), "float64") == domain
    assert domain.size("w.x - y") == 5.0 and list(domain.names) == ["x", "y", "w", "w.x - y"]


@pytest.mark.parametrize(
    "given", [0, (1, 2), (-1, 2), "wide", {"x": 1.0}, {"residual": 1.0, "z": 1.0}, {"residual": None}]
)
def test_what_is_no_domain_is_refused(given):
    with pytest.raises(hs.Refusal, match="positive number that bounds"):
        hs.plan(hs.target.ResidualRule("t", 2, 3), domain=given, eps=1e-3)
    with pytest.raises(hs.Refusal, match="needs a domain, such as"):
        hs.plan(hs.target.ResidualRule("t", 2, 3), eps=1e-3)


def test_residuals_are_compared_exactly():
    """w . x - y is 2 + 2^-60, which rounds to 2; and 2 exactly, which is allowed."""
    net = hs.compile(
        hs.target.ResidualRule("tanh(t)", 2, 1), domain={"residual": 2.0, "x": 2.0, "w": 1.0, "y": 2.0}, eps=1e-3
    )
    x, y = torch.tensor([[2.0, 2.0**-30]]).double(), torch.zeros(1).double()
    net(x, y, torch.tensor([1.0, 0.0]).double())
    with pytest.raises(hs.Refusal, match="sample 0 has a residual of size 2, beyond the domain 2"):
        net(x, y, torch.tensor([1.0, 2.0**-30]).double())
