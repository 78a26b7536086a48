"""Heads on a tensor grid: sizes and refusals."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from headsmith.constructions.tensor_grid import grid_network, memory_rows, stored_head
from headsmith.search.tensor_grid import Search, TooRough, cost

BOX = [(-1.0, 1.0), (-1.0, 1.0)]


def smooth(x, y):
    return (np.sin(2 * x) * np.cos(y) + x * y)[None]


def test_the_smallest_head_found_keeps_its_aim():
    search = Search(smooth, BOX, 1e-3)
    head = search.find(0.95e-3)
    assert head.tokens <= 16
    z = np.linspace(-1, 1, 201)
    assert np.abs(head.grid([z, z]) - smooth(z[:, None], z[None, :])).max() < 1.05e-3


def test_more_keys_mean_a_smaller_error():
    loose, tight = (Search(smooth, BOX, eps).find(eps) for eps in (1e-2, 1e-5))
    z = np.linspace(-1, 1, 101)
    errors = [np.abs(h.grid([z, z]) - smooth(z[:, None], z[None, :])).max() for h in (loose, tight)]
    assert loose.tokens < tight.tokens <= 30 and errors[1] <= 1.05e-5 < errors[0] <= 1.05e-2


def test_rough_functions_are_refused_and_costs_are_counted():
    with pytest.raises(TooRough):
        Search(lambda x, y: np.abs(x + 0 * y - 0.3)[None], BOX, 1e-6)
    tokens = cost(lambda *x: np.exp(-sum(t**2 for t in x))[None], [(-1, 1)] * 6, 1e-3)
    assert 2**6 <= tokens <= 6**6


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stored_offsets_are_exact_sums(dtype):
    head = Search(smooth, BOX, 1e-3, dtype).find(0.8e-3)
    offsets = memory_rows(head)[:, 2].reshape(head.values.shape[:2])
    narrow = offsets.astype(dtype).astype(np.float64)
    assert np.array_equal(offsets, narrow)
    exact = [[Fraction(a) + Fraction(b) for b in head.axes[1].offsets] for a in head.axes[0].offsets]
    assert all(Fraction(offsets[i, j]) == exact[i][j] for i in range(len(exact)) for j in range(len(exact[0])))


def test_a_head_comes_back_from_its_network():
    head = Search(smooth, BOX, 1e-3).find(0.9e-3)
    back = stored_head(grid_network(head, ["x", "y"], torch.float64), 2)
    for before, after in zip(head.axes, back.axes, strict=True):
        assert np.array_equal(before.slopes, after.slopes) and np.array_equal(before.offsets, after.offsets)
    assert np.array_equal(head.values, back.values)
