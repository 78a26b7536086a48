"""How a head turns logits into weights: f(a_l) / sum f(a_k), for softmax and its relatives.

All that matters to a pair of opposite heads is the gain C_f in f(a) = 1 + C_f a + ..., which sets the step of
gradient descent that it runs (section 5.2 of the paper).  Linear attention divides by a fixed length instead
of normalising, and pays for it on longer prompts.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.refusal import Refusal

__all__ = ["Activation", "activation"]

GUARD = 1e-9  # keeps the sum of 1 + tanh and of squares away from 0


@dataclass(frozen=True)
class Activation:
    """f in weights = f(a) / sum f(a): `exp`, `tanh` (1 + tanh a), `affine` (1 + C a), `square` ((1 + C a)^2),
    `linear`.

    >>> activation("square:0.5").gain
    1.0
    """

    kind: str = "exp"
    constant: float = 1.0

    @property
    def gain(self) -> float:
        """C_f, the slope of f at 0 over f(0)."""
        return {"exp": 1.0, "tanh": 1.0, "linear": 1.0}.get(self.kind, self.constant) * (
            2.0 if self.kind == "square" else 1.0
        )

    @property
    def name(self) -> str:
        """How it is written in commands, such as square:0.5."""
        return f"{self.kind}:{self.constant:g}" if self.kind in ("affine", "square") else self.kind

    def weights(self, logits: Tensor) -> Tensor:
        """f(a_l) / sum_k f(a_k) along the last axis; a_l / L for linear attention."""
        if self.kind == "exp":
            return torch.softmax(logits, -1)
        if self.kind == "linear":
            return logits / logits.shape[-1]
        values = self._value(logits)
        return values / values.sum(-1, keepdim=True)

    def pull_back(self, logits: Tensor, weights: Tensor, cotangent: Tensor, inner: Tensor) -> Tensor:
        """(f'(a_l) / sum f)(c_l - <weights, c>): the derivative of `weights` transposed, `inner` = <weights,
        c>.
        """
        if self.kind == "exp":
            return (cotangent - inner).mul_(weights)
        if self.kind == "linear":
            return cotangent / logits.shape[-1]
        slope = self._slope(logits) / self._value(logits).sum(-1, keepdim=True)
        return (cotangent - inner).mul_(slope)

    def _value(self, a: Tensor) -> Tensor:
        if self.kind == "tanh":
            return 1 + GUARD + torch.tanh(a)
        line = 1 + self.constant * a
        return line if self.kind == "affine" else line.square() + GUARD

    def _slope(self, a: Tensor) -> Tensor:
        if self.kind == "tanh":
            return 1 - torch.tanh(a).square()
        if self.kind == "affine":
            return torch.full_like(a, self.constant)
        return 2 * self.constant * (1 + self.constant * a)


def activation(name: str | Activation) -> Activation:
    """The activation of a name such as "exp", "tanh", "affine:0.5", "square:0.8" or "linear".

    >>> activation("affine:0.8")
    Activation(kind='affine', constant=0.8)
    """
    if isinstance(name, Activation):
        return name
    kind, _, constant = str(name).partition(":")
    if kind not in ("exp", "tanh", "affine", "square", "linear"):
        raise Refusal(f"no activation is called {name!r}; there are exp, tanh, affine[:C], square[:C] and linear")
    try:
        return Activation(kind, float(constant) if constant else 1.0)
    except ValueError:
        raise Refusal(f"the constant of {name!r} is not a number; write for instance {kind}:0.5") from None
