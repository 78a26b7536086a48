"""The feed-forward block of a transformer, token by token:  out = (x +) down(activation(up(x) + a)) + b.

Constructed networks rarely need one (a head can stand for a neuron); targets such as a user's own MLP, and
the trained counterparts, do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from headsmith.network.layer import SILENT, Layer, Tap, size
from headsmith.network.maps import Map, frozen
from headsmith.refusal import Refusal

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    "tanh": torch.tanh,
    "identity": lambda x: x,
}


class FeedForward(Layer):
    """out = (x +) down(activation(up(x) + up_bias)) + down_bias; gelu is the erf form.

    >>> from headsmith.network import Dense
    >>> FeedForward(Dense([[1.0], [-1.0]]), Dense([[1.0, 1.0]]))(torch.tensor([[-3.0]], dtype=torch.float64))
    tensor([[3.]], dtype=torch.float64)
    """

    kind = "feedforward"
    hook_names = ("mlp.hook_pre", "mlp.hook_post", "hook_mlp_out")

    def __init__(
        self,
        up: Map,
        down: Map,
        up_bias: Tensor | Sequence[float] | None = None,
        down_bias: Tensor | Sequence[float] | None = None,
        activation: str = "relu",
        residual: bool = False,
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise Refusal(f"no activation is called {activation!r}; there are {', '.join(ACTIVATIONS)}.")
        if up.heads is not None or down.heads is not None or up.rows != down.features:
            raise Refusal(
                "a feed-forward layer needs two maps without heads, the second reading all rows of the first."
            )
        if residual and down.rows != up.features:
            raise Refusal(f"a residual feed-forward layer must write the {up.features} features that it reads.")
        self.up, self.down, self.up_bias, self.down_bias = up, down, frozen(up_bias), frozen(down_bias)
        self.activation, self.residual = activation, residual
        for bias, rows in ((self.up_bias, up.rows), (self.down_bias, down.rows)):
            if bias is not None and bias.shape != (rows,):
                raise Refusal(f"a feed-forward bias must have shape ({rows},), not {tuple(bias.shape)}.")

    @property
    def width_in(self) -> int:
        """Columns of `up`."""
        return self.up.features

    @property
    def width_out(self) -> int:
        """Rows of `down`."""
        return self.down.rows

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """(x +) down(activation(up(x) + up_bias)) + down_bias, token by token."""
        pre = self.up(x) if self.up_bias is None else self.up(x) + self.up_bias
        post = tap("mlp.hook_post", ACTIVATIONS[self.activation](tap("mlp.hook_pre", pre)))
        out = self.down(post) if self.down_bias is None else self.down(post) + self.down_bias
        out = tap("hook_mlp_out", out)
        return x + out if self.residual else out

    def dense(self, tokens: int) -> list[Layer]:
        """The same layer, both maps written out."""
        return [self.rotated(None, None)]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> FeedForward:
        """up before, after^T down; the hidden units keep their basis, in which the activation acts."""
        bias = self.down_bias if self.down_bias is None or after is None else self.down_bias.to(after) @ after
        up, down = self.up.between(before, None), self.down.between(None, after)
        return FeedForward(up, down, self.up_bias, bias, self.activation, self.residual)

    def flops(self, tokens: int, width: int) -> int:
        """A token: both maps, both biases, one operation a hidden unit, the residual."""
        biases = size(self.up_bias) + size(self.down_bias)
        add = self.down.rows if self.residual else 0
        return tokens * (self.up.flops() + self.down.flops() + biases + self.up.rows + add)

    def dense_parameters(self, tokens: int, width: int) -> int:
        """Two full matrices and the biases."""
        maps = self.up.rows * self.up.features + self.down.rows * self.down.features
        return maps + size(self.up_bias) + size(self.down_bias)

    def unusual(self) -> str | None:
        """A stock transformer adds its feed-forward layers to the stream."""
        return None if self.residual else "a feed-forward layer without residual"

    def config(self) -> dict[str, Any]:
        """Activation, maps, and which biases there are."""
        return {
            "kind": self.kind,
            "activation": self.activation,
            "residual": self.residual,
            "up": self.up.config(),
            "down": self.down.config(),
            "up_bias": self.up_bias is not None,
            "down_bias": self.down_bias is not None,
        }

    def summary(self) -> str:
        """2 -> 8 relu -> 2, residual."""
        tail = ", residual" if self.residual else ""
        return f"{self.up.features} -> {self.up.rows} {self.activation} -> {self.down.rows}{tail}"
