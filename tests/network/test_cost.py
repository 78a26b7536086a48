import torch

from headsmith.network import Affine, Dense, FeedForward, Network


def test_cost_counts_what_is_there(scalar):
    cost = scalar.sigmoid().cost()
    assert (cost.layers, cost.heads, cost.tokens, cost.memory_tokens, cost.width, cost.head_dim) == (
        3,
        1,
        1,
        2,
        7,
        2,
    )
    assert cost.parameters == 7 + 2 * 7
    assert cost.dense_parameters == (7 + 7) + (7 * (2 + 2 + 1 + 1) + 14) + 7
    assert cost.flops == 7 + 2 * (2 * 2 + 4 + 2) + 1
    assert "dense parameters" in str(cost)


def test_widths_grow_and_layers_add_up():
    wide = Affine(Dense(torch.ones(5, 2, dtype=torch.float64)))
    mlp = FeedForward(Dense(torch.ones(3, 5, dtype=torch.float64)), Dense(torch.ones(5, 3, dtype=torch.float64)))
    cost = Network([wide, mlp], tokens=["a", "b"]).cost()
    assert (cost.layers, cost.heads, cost.tokens, cost.width, cost.head_dim) == (2, 0, 2, 5, 0)
    assert cost.parameters == cost.dense_parameters == 10 + 15 + 15
    assert cost.flops == wide.flops(2, 2) + mlp.flops(2, 5)
