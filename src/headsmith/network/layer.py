"""What every layer of a network is: a map on (batch..., tokens, features) that knows its sizes and its names.

A layer can also say what it looks like from elsewhere: with textbook matrices (`dense`), in another basis of
the residual stream (`rotated`), as JSON (`config`), and as a count of operations (`flops`). `Tap` is how a
running network is read and patched: each layer hands its inner values, by TransformerLens name, to the tap it
was called with. The silent tap hands them straight back, so an unobserved network does no extra tensor work.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn

Patch = Callable[[Tensor], Tensor | None]


class Tap:
    """tap(name, value) -> value, or what the patch for that name makes of it; `record` keeps what passed.

    Values that have a heads axis are computed heads first; `heads` says where TransformerLens shows that axis
    (-2 for q, k, v, z; -3 for scores and pattern), so patches see the familiar layout.
    """

    def __init__(
        self,
        patches: Mapping[str, Patch] | None = None,
        record: dict[str, Tensor] | None = None,
        prefix: str = "",
    ) -> None:
        self.patches, self.record, self.prefix = patches or {}, record, prefix

    def within(self, prefix: str) -> Tap:
        """The same tap for names that start with `prefix`, such as blocks.0."""
        return self if self.silent else Tap(self.patches, self.record, prefix)

    @property
    def silent(self) -> bool:
        """Whether nobody listens, so that nothing need be handed over."""
        return self.record is None and not self.patches

    def wants(self, name: str) -> bool:
        """Whether this value is recorded or patched; layers skip what only a listener needs."""
        return self.record is not None or self.prefix + name in self.patches

    def __call__(self, name: str, value: Tensor, heads: int | None = None) -> Tensor:
        if not self.wants(name):
            return value
        shown = value if heads is None else value.movedim(0, heads)
        patch = self.patches.get(self.prefix + name)
        new = None if patch is None else patch(shown)
        if self.record is not None:
            self.record[self.prefix + name] = shown if new is None else new
        if new is None:
            return value
        return new if heads is None else new.movedim(heads, 0)


SILENT = Tap()


class Layer(nn.Module, ABC):
    """(batch..., tokens, width_in) -> (batch..., tokens_out(tokens), width_out)."""

    kind: str
    hook_names: tuple[str, ...] = ()

    @abstractmethod
    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """The layer's formula; `padding` (batch..., tokens) is True at tokens that nobody sees."""

    @property
    @abstractmethod
    def width_in(self) -> int | None:
        """Features read; None = any."""

    @property
    @abstractmethod
    def width_out(self) -> int | None:
        """Features written; None = as many as come in."""

    def tokens_out(self, tokens: int) -> int:
        """Tokens that come out when so many go in."""
        return tokens

    def padding_out(self, padding: Tensor | None) -> Tensor | None:
        """Which of the tokens that come out are padding."""
        return padding

    @abstractmethod
    def dense(self, tokens: int) -> list[Layer]:
        """Layers with textbook matrices that compute the same on sequences of `tokens` tokens."""

    @abstractmethod
    def rotated(self, before: Tensor | None, after: Tensor | None) -> Layer:
        """The same layer, its input stream written as x before and its output stream as y after."""

    @abstractmethod
    def flops(self, tokens: int, width: int) -> int:
        """Multiplications, additions and exponentials for one sequence of `tokens` tokens of `width` features."""

    @abstractmethod
    def dense_parameters(self, tokens: int, width: int) -> int:
        """Numbers in the textbook form: every matrix written out."""

    def unusual(self) -> str | None:
        """Why a stock transformer has no such layer, if it has none."""
        return None

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """JSON from which `network.files` builds the layer again, given its tensors."""

    @abstractmethod
    def summary(self) -> str:
        """One line for the printed network."""


def size(tensor: Tensor | None) -> int:
    """Numbers in a tensor, none where there is no tensor."""
    return 0 if tensor is None else tensor.numel()
