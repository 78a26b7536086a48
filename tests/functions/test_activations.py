"""Activations by name: options kept to the digit, other names refused."""

import pytest

from headsmith.functions.activations import NAMES, clipped, leaky, named, spelled
from headsmith.refusal import Refusal


def test_every_name_is_known():
    for name in NAMES:
        assert spelled(named(name)) and named(name.lower()) is named(name.upper())
    assert named("leaky_relu") is leaky(0.01) and named("hardtanh(-2, 3)") is clipped(-2.0, 3.0)


@pytest.mark.parametrize("name", ["", "swish", "ReLU(1)", "LeakyReLU(1, 2)", "Hardtanh(1)", "LeakyReLU(x)", "ReLU6(1"])
def test_other_names_are_refused(name):
    with pytest.raises(Refusal, match="no activation is called"):
        named(name)


@pytest.mark.parametrize("slope", [0.01, -0.5, 0.0, 1e-300, 1e30, 1 / 3])
def test_options_are_exact(slope):
    assert named(spelled(leaky(slope))) is leaky(slope)
    [found] = [float(node.exact) for node in leaky(slope).order if node.op == "num"]
    assert found == slope
