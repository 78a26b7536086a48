"""Lemma 3.11: the bound of the network with every weight written down, and the printed volume, which is too small."""

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.constructions.explicit_relu import ExplicitRelu
from headsmith.functions import parse


def distance(relu, p, points=40_000):
    """|net - f|_p by random points."""
    count = len(relu.names)
    x = np.random.default_rng(0).uniform(-relu.half, relu.half, (points, count))
    net = torch.cat([relu.module()(part) for part in torch.from_numpy(x).split(20_000)])[:, 0].numpy()
    f = np.broadcast_to(relu.f(**{n: x[:, i] for i, n in enumerate(relu.names) if n in relu.f.variables}), len(x))
    return float(((np.abs(net - f) ** p).mean() * (2 * relu.half) ** count) ** (1 / p))


@pytest.mark.parametrize(("g", "delta", "p"), [(4, 0.2, 2), (8, 0.05, 1), (12, 0.01, 2), (12, 0.01, 4)])
def test_every_norm_is_within_its_bound(g, delta, p):
    relu = ExplicitRelu(parse("sin(2*x)*y + x/2"), ("x", "y"), 1.0, g, delta)
    assert distance(relu, p) <= relu.bound(p)


def test_in_the_cores_only_the_width_of_a_cell_counts():
    """f = x, hardly any shells: L_1 of a staircase is a quarter of its step, the bound takes half of it."""
    relu = ExplicitRelu(parse("x"), ("x",), 1.0, 10, 1e-6)
    assert 0.4 * relu.bound(1) <= distance(relu, 1) <= relu.bound(1)


def test_the_shells_of_a_constant_exceed_the_printed_volume():
    """f = 1 in three variables: nothing is lost in the cores, and in the shells more than the print allows for."""
    relu = ExplicitRelu(parse("1 + 0*x"), ("x", "y", "z"), 1.0, 3, 0.3)
    found = distance(relu, 1)
    assert relu.bound(1, printed=True) < found <= relu.bound(1)


def test_a_bump_is_one_on_its_core_and_nothing_in_other_cells():
    relu = ExplicitRelu(parse("x + 10*y"), ("x", "y"), 2.0, 5, 0.25)
    v = relu.centres()[7]
    for shift, share in (((0.0, 0.0), 1.0), ((0.29, -0.29), 1.0), ((0.35, 0.0), 0.5), ((0.4, 0.0), 0.0)):
        x = torch.tensor(v + np.array(shift))[None]
        assert abs(float(relu.module()(x)) - share * (v[0] + 10 * v[1])) < 1e-9


def test_it_is_a_network_that_attention_runs():
    relu = ExplicitRelu(parse("x*y"), ("x", "y"), 1.0, 2, 0.5)
    net = hs.compile(relu.module(), domain=(-1, 1), eps=0.1)
    x = torch.rand(200, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1
    assert float((net(x) - relu.module()(x)).abs().max()) <= net.certificate.bound <= 0.1


def test_sizes_that_make_no_sense_are_refused():
    for g, delta, half in ((4, 1.0, 1.0), (4, 0.0, 1.0), (0, 0.5, 1.0), (4, 0.5, 0.0)):
        with pytest.raises(hs.Refusal, match="positive size"):
            ExplicitRelu(parse("x"), ("x",), half, g, delta)
    with pytest.raises(hs.Refusal, match=r"100\^2 cells"):
        ExplicitRelu(parse("x*y"), ("x", "y"), 1.0, 100, 0.5)
