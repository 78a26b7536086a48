"""MLPs unit by unit, and heads of unequal rows."""

import torch

from headsmith.network.hidden import Hidden, heads, mlp, scaled, sparse


def test_units_are_added_in_their_order():
    """1e16 + 1 - 1e16 is 0 in this order, and 1 in the other."""
    first = [Hidden({0: 1.0}, {1: 1.0}), Hidden({2: 1.0}, {1: 1.0}), Hidden({0: 1.0}, {1: -1.0})]
    x = torch.tensor([[1e16, 0.0, 1.0]], dtype=torch.float64)
    assert mlp(first, 3, torch.float64)(x)[0, 1] == 0.0
    assert mlp([first[0], first[2], first[1]], 3, torch.float64)(x)[0, 1] == 1.0


def test_a_bias_is_stored_only_where_there_is_one():
    layer = mlp([Hidden({0: 1.0}, {1: 1.0}, bias=-2.0)], 2, torch.float32)
    assert layer(torch.tensor([[3.0, 0.0]])).tolist() == [[3.0, 1.0]]
    assert mlp([Hidden({0: 1.0}, {1: 1.0})], 2, torch.float32).up_bias is None


def test_rows_and_heads_are_filled_up_with_nothing():
    x = torch.tensor([[2.0, 3.0]], dtype=torch.float64)
    assert sparse([{0: 1.0, 1: -1.0}, {}], 2, torch.float64)(x).tolist() == [[-1.0, 0.0]]
    found = heads([scaled([0, 1], 2.0), scaled([1], -1.0)], 2, torch.float64)(x)
    assert found.tolist() == [[[4.0, 6.0]], [[-3.0, 0.0]]]
