"""A ReLU layer that reads one coordinate, kept as what it is: a sorted table of steps.

Paper (tokens are columns):  FF(H) = H + W_2 relu(W_1 H + b_1) + b_2, every row of W_1 a multiple of one direction a.
Here:  t = a . x,  ramp_j = relu(slope_j (t - left_j)) - relu(slope_j (t - left_j) - 1),
       out = x + sum_j (levels_{j+1} - levels_j) ramp_j + levels_0 + skip - relu(x + skip)   at the features `writes`.

Every ramp is full before the next begins, so of thousands of hidden units two are between 0 and 1 at a time: the layer
finds them by bisection. The last unit of a feature takes away what the residual stream brings, so that the level alone
is left; `skip` is above every |x| there. `dense` multiplies all of it out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headsmith.network.feedforward import FeedForward
from headsmith.network.layer import SILENT, Layer, Tap
from headsmith.network.maps import Dense, frozen
from headsmith.refusal import Refusal


class Lookup(Layer):
    """out = levels_j behind the ramp of knot j, where t = direction . x; other features pass as they are.

    direction  (features,)
    left       (knots,) where each ramp begins, in order; slope (knots,) of each, so that it ends before the next
    levels     (knots + 1, written): before the first ramp, and behind each
    skip       (written,) above every |x| that is replaced
    writes     the features that are replaced

    >>> step = Lookup([0.0, 1.0], left=[0.25], slope=[4.0], levels=[[3.0], [7.0]], skip=[8.0], writes=[0])
    >>> step(torch.tensor([[5.0, 0.125], [5.0, 0.75]], dtype=torch.float64))
    tensor([[3.0000, 0.1250],
            [7.0000, 0.7500]], dtype=torch.float64)
    """

    kind = "lookup"
    hook_names = ("mlp.hook_read", "hook_mlp_out")
    places: Tensor
    direction: Tensor
    left: Tensor
    slope: Tensor
    levels: Tensor
    skip: Tensor

    def __init__(self, direction: Any, left: Any, slope: Any, levels: Any, skip: Any, writes: Sequence[int]) -> None:
        super().__init__()
        numbers = {"direction": direction, "left": left, "slope": slope, "levels": levels, "skip": skip}
        for name, value in numbers.items():
            setattr(self, name, frozen(value))
        self.writes = tuple(int(w) for w in writes)
        self.register_buffer("places", torch.tensor(self.writes), persistent=False)
        self._check()

    def _check(self) -> None:
        knots, written = len(self.left), len(self.writes)
        shapes = [tuple(t.shape) for t in (self.direction, self.left, self.slope, self.levels, self.skip)]
        if shapes != [(self.width_in,), (knots,), (knots,), (knots + 1, written), (written,)] or not knots:
            raise Refusal("a lookup needs knots, a slope for each, a level more, and a skip for each written feature.")
        if not written or len({*self.writes}) != written or not {*self.writes} <= {*range(self.width_in)}:
            raise Refusal(f"a lookup writes features 0 to {self.width_in - 1}, each once.")
        full = (self.left[1:] - self.left[:-1]) * self.slope[:-1] >= 1
        if not bool(full.all()) or not bool((self.slope > 0).all()):
            raise Refusal("the ramps of a lookup must be in order, each full before the next begins.")

    @property
    def width_in(self) -> int:
        """Features of the stream."""
        return self.direction.shape[0]

    @property
    def width_out(self) -> int:
        """The same."""
        return self.width_in

    @property
    def units(self) -> int:
        """Hidden units of the textbook form: two a ramp, one for each feature that is replaced."""
        return 2 * len(self.left) + len(self.writes)

    def ramp(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """(the last knot below t, how far its ramp has risen): up to the first knot (0, 0)."""
        knot = (torch.searchsorted(self.left.detach(), t.detach().contiguous()) - 1).clamp(min=0)
        return knot, ((t - self.left[knot]) * self.slope[knot]).clamp(0, 1)

    def level(self, t: Tensor) -> Tensor:
        """(..., written): what stands in the table at t."""
        knot, risen = self.ramp(t)
        low = self.levels[knot]
        return low + risen.unsqueeze(-1) * (self.levels[knot + 1] - low)

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """x + ((level(direction . x) - relu(x + skip)) + skip), at the features that are written."""
        t = tap("mlp.hook_read", x @ self.direction)
        old = x.index_select(-1, self.places)
        added = tap("hook_mlp_out", (self.level(t) - torch.relu(old + self.skip)) + self.skip)
        return x.index_add(-1, self.places, added)

    def dense(self, tokens: int) -> list[Layer]:
        """The ReLU layer with all its columns; its sums round, where the table does not."""
        jumps = self.levels[1:] - self.levels[:-1]
        ones = torch.eye(self.width_in).to(self.left)[self.places]
        rise, offset = self.slope[:, None] * self.direction, -self.slope * self.left
        up, bias = torch.cat([rise, rise, ones]), torch.cat([offset, offset - 1, self.skip])
        down = ones.T @ torch.cat([jumps, -jumps, -torch.eye(len(self.writes)).to(jumps)]).T
        return [FeedForward(Dense(up), Dense(down), bias, ones.T @ (self.levels[0] + self.skip), residual=True)]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> Layer:
        """That of the textbook form."""
        [layer] = self.dense(0)
        return layer.rotated(before, after)

    def flops(self, tokens: int, width: int) -> int:
        """A token: the product, the bisection, and seven operations for each feature that is written."""
        return tokens * (2 * self.width_in + math.ceil(math.log2(len(self.left) + 1)) + 7 * len(self.writes))

    def dense_parameters(self, tokens: int, width: int) -> int:
        """Both matrices and both biases."""
        return self.units * (2 * self.width_in + 1) + self.width_in

    def config(self) -> dict[str, Any]:
        """How many knots and features, and which of them are written."""
        return {"kind": self.kind, "knots": len(self.left), "features": self.width_in, "writes": list(self.writes)}

    def summary(self) -> str:
        """4 -> 42 081 relu -> 4 as a table, residual."""
        return f"{self.width_in} -> {self.units} relu -> {self.width_in} as a table, residual"
