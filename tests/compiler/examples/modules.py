"""Perceptrons: gates, exact heads, tables, several layers, one layer, both dtypes."""

from itertools import pairwise

import torch
from torch import nn

import headsmith as hs


def perceptron(*widths, act=nn.ReLU, seed=0, dtype=torch.float64):
    """An nn.Sequential of these widths with random weights."""
    layers = []
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for i, (a, b) in enumerate(pairwise(widths)):
            layers += [nn.Linear(a, b), *([act()] if i < len(widths) - 2 else [])]
    return nn.Sequential(*layers).to(dtype).eval()


def compiled(*widths, eps=1e-3, act=nn.ReLU, dtype=torch.float64):
    name = str(dtype).removeprefix("torch.")
    return hs.compile(perceptron(*widths, act=act, dtype=dtype), domain=(-1, 1), eps=eps, dtype=name)


EXAMPLES = {
    "gates": lambda: compiled(2, 3, 2),
    "gates, float32": lambda: compiled(2, 3, 2, dtype=torch.float32),
    "gates with two ends": lambda: compiled(2, 3, 2, act=nn.Hardtanh),
    "exact heads, deep": lambda: compiled(3, 2, 4, 1, act=nn.SiLU),
    "a table": lambda: compiled(2, 3, 1, act=nn.GELU, eps=3e-2),
    "a table, float32": lambda: compiled(2, 3, 1, act=nn.Softplus, eps=3e-2, dtype=torch.float32),
    "one matrix": lambda: compiled(3, 2),
}
