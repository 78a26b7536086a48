"""Random heads for the tests of the attention machine."""

import torch

from headsmith.machines.prompts.heads import head


def random(*shape, seed):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def filled(seed, domain=2.0, tokens=12, features=4, rows=4, spread=1.0):
    """A random head whose K, Q, V reach the end of the domain, and its tokens."""
    x = random(tokens, features, seed=seed) * spread
    weights = [random(rows, features, seed=seed + 1000 * k) for k in (1, 2, 3)]
    return head(*(w * (0.999 * domain / (x @ w.T).abs().max()) for w in weights)), x
