"""Gradient descent on a small network by torch autograd: the steps that a forward pass is compared with.

    w <- w - rate gradient of (1/2n) sum_i |f(w, x_i) - y_i|^2,   the last layer without activation

Rows of data are samples; where a network has biases, they are the last columns of its matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Curve = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Curve] = {
    "relu": F.relu,
    "leaky": F.leaky_relu,
    "hard tanh": F.hardtanh,
    "identity": lambda z: z,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "softplus": lambda z: F.softplus(z, threshold=1e3),
    "gelu": F.gelu,
}


def outputs(rows: Sequence[Tensor], x: Tensor, activation: str, biases: bool = False) -> Tensor:
    """f(w, x), (n, outputs), w being matrices (out, in).

    >>> V = [torch.tensor([[1.0], [-1.0]]), torch.tensor([[2.0, 1.0]])]
    >>> outputs(V, torch.tensor([[3.0], [-3.0]]), "relu")
    tensor([[6.],
            [3.]])
    """
    curve = ACTIVATIONS[activation]
    for j, V in enumerate(rows, 1):
        z = F.linear(x, V[:, :-1], V[:, -1]) if biases else F.linear(x, V)
        x = curve(z) if j < len(rows) else z
    return x


def descended(
    rows: Sequence[Tensor], x: Tensor, y: Tensor, activation: str, steps: int, rate: float, biases: bool = False
) -> tuple[Tensor, Tensor]:
    """(path (steps + 1, all weights), losses (steps + 1)), w before the first and after every step.

    >>> V = [torch.tensor([[1.0]]), torch.tensor([[2.0]])]
    >>> descended(V, torch.tensor([[1.0]]), torch.tensor([[3.0]]), "relu", steps=1, rate=0.1)[0]
    tensor([[1.0000, 2.0000],
            [1.2000, 2.1000]])
    """
    path, losses = [], []
    for t in range(steps + 1):
        rows = [V.detach().requires_grad_() for V in rows]
        loss = 0.5 * (outputs(rows, x, activation, biases) - y).square().sum(-1).mean()
        path.append(torch.cat([V.detach().flatten() for V in rows]))
        losses.append(loss.detach())
        if t < steps:
            slopes = torch.autograd.grad(loss, rows)
            rows = [V - rate * slope for V, slope in zip(rows, slopes, strict=True)]
    return torch.stack(path), torch.stack(losses)
