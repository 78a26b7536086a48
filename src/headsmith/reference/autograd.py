"""Training a small network by torch autograd: the steps that a forward pass is compared with.

    w <- w - rate (gradient of loss(f(w, x), y) + decay w),   the last layer without activation

or a step of momentum or Adam on that gradient (`reference.optimizers`). The loss is (1/2n) sum_i |f(w, x_i) - y_i|^2
unless another is given. Rows of data are samples; the biases of a network are the last columns of its matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from headsmith.reference.optimizers import Optimizer

Curve = Callable[[Tensor], Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]
PLAIN = Optimizer()
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


def squared(f: Tensor, y: Tensor) -> Tensor:
    """(1/2n) sum_i |f_i - y_i|^2"""
    return 0.5 * (f - y).square().sum(-1).mean()


def gradient(
    rows: Sequence[Tensor], x: Tensor, y: Tensor, activation: str, biases: bool = False, loss: Loss = squared
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """(loss, its gradient by each matrix)"""
    rows = [V.detach().requires_grad_() for V in rows]
    value = loss(outputs(rows, x, activation, biases), y)
    return value.detach(), torch.autograd.grad(value, rows)


def descended(
    rows: Sequence[Tensor],
    x: Tensor,
    y: Tensor,
    activation: str,
    steps: int,
    rate: float,
    biases: bool = False,
    loss: Loss = squared,
    decay: float = 0.0,
    optimizer: Optimizer = PLAIN,
) -> tuple[Tensor, Tensor]:
    """(path (steps + 1, all weights), losses (steps + 1)), w before the first and after every step.

    >>> V = [torch.tensor([[1.0]]), torch.tensor([[2.0]])]
    >>> descended(V, torch.tensor([[1.0]]), torch.tensor([[3.0]]), "relu", steps=1, rate=0.1)[0]
    tensor([[1.0000, 2.0000],
            [1.2000, 2.1000]])
    """
    path, losses, rows = [], [], [V.detach() for V in rows]
    kept: list[tuple[Tensor, ...]] = [(torch.zeros_like(V),) * len(optimizer.moments) for V in rows]
    for t in range(steps + 1):
        value, slopes = gradient(rows, x, y, activation, biases, loss)
        path.append(torch.cat([V.flatten() for V in rows]))
        losses.append(value)
        parts = zip(rows, slopes, kept, strict=True)
        moved = [optimizer.moved(V, g + decay * V, held, rate, t + 1, float) for V, g, held in parts]
        rows, kept = [V for V, _ in moved], [held for _, held in moved]
    return torch.stack(path), torch.stack(losses)
