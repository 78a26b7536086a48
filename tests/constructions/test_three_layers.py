"""Thm I.2 whole: three layers as printed fail one fault at a time, and work without any."""

import numpy as np
import pytest
import torch

from headsmith import Refusal
from headsmith.constructions.three_layers import FAULTS, ThreeLayers


def example(**options):
    """Three tokens of two features, two units; w . x of the first row reaches exactly 1 at X = 1."""
    rng = np.random.default_rng(0)
    inner, outer = rng.uniform(-0.5, 0.5, (3, 2, 3, 2)), np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    inner[0, 0, 0] = [0.5, 0.5]
    bias = rng.uniform(-0.5, 0.5, (3, 2))
    bias[0, 0] = 0.0
    return ThreeLayers(inner, outer, bias, **{"reach": 1.5, "heads": 32} | options)


def inputs():
    X = torch.from_numpy(np.random.default_rng(1).uniform(-1, 1, (100, 3, 2)))
    X[0] = 1.0
    return X


def truth(net, X, bias=True):
    sums = np.einsum("ikjd,bjd->bik", net.inner, X.numpy()) + (net.bias if bias else 0.0)
    return (np.maximum(sums, 0) * net.outer).sum(-1)


def error(net, bias=True):
    X = inputs()
    return float(np.abs(net.network()(X)[..., 0].numpy() - truth(net, X, bias)).max())


def test_without_faults_the_three_layers_are_the_network_of_units():
    assert error(example()) < 0.02
    assert error(example(heads=128, beta=1e4)) < error(example(heads=8)) / 8


def test_all_layers_are_attention_between_token_wise_maps():
    net = example().network()
    assert [layer.kind for layer in net.layers.values()] == ["affine", "attention", "attention", "attention", "affine"]
    assert net.layers["rows"].heads == 6 * 32 + 1 and net.layers["units"].heads == 2
    assert example(faults=("tie",)).network().layers["units"].heads == 4


def test_a_tie_with_the_null_token_halves_the_sum_at_every_sharpness():
    """a |S| / 2 in place of a relu(S), whatever beta: the printed network is another function."""
    for beta in (30.0, 1000.0):
        printed = example(faults=("tie",), beta=beta)
        X = inputs()
        sums = np.einsum("ikjd,bjd->bik", printed.inner, X.numpy()) + printed.bias
        out = printed.network()(X)[..., 0].numpy()
        assert np.abs(out - (np.abs(sums) * printed.outer).sum(-1) / 2).max() < 0.05
        assert np.abs(out - truth(printed, X)).max() > 0.5


def test_the_logarithm_of_zero():
    assert np.isnan(error(example(faults=("log",))))


def test_sentinels_of_zero_lose_what_is_at_the_end_of_the_range():
    """reach is what |w . x| reaches: the sum that attains it comes back as 0."""
    assert error(example(reach=1.0, faults=("ends",))) > 0.5 > 0.05 > error(example(reach=1.0))


def test_without_bias_another_network_is_computed():
    printed = example(faults=("bias",))
    assert error(printed) > 0.1 and error(printed, bias=False) < 0.02


def test_what_it_is_not_made_for_is_refused():
    with pytest.raises(Refusal, match="the faults of the print are ends, log, tie, bias"):
        example(faults=("sign",))
    with pytest.raises(Refusal, match="\\+1 and -1"):
        ThreeLayers(np.ones((1, 1, 1, 1)), np.array([[0.5]]), np.zeros((1, 1)), reach=1.0)
    assert all(example(faults=(fault,)).network() for fault in FAULTS)
