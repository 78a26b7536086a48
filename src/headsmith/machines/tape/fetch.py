"""The layer that turns the tape: it picks, by its address, the instruction that comes next.

    tape tokens   `rows` for each instruction, in order; token (l, j) is row j of instruction l and ends in (l, l^2)
    state tokens  (.., 1, pc, -1): the mark -1 tells them from tape tokens, the first one's pc says where we are
    fetch         row j <- sum_l softmax_l(4096 (2 pc l - l^2)) row (l, j)

Scores of neighbours are 2048 apart or more where pc is within 1/4 of a whole number, and exp(-2048) is 0 in float64:
weights are exactly 0.0 and 1.0, for up to 2^16 instructions, and what is fetched is what stands on the tape, bit for
bit. A tape of one instruction is fetched whatever pc says. The printed machines read the one program that they are
given (algorithm-emulation Thm 4.2); which of several is read, is ours.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headsmith.network import Affine, Dense, Layer
from headsmith.network.files import LAYERS, Config, Shelf, integer
from headsmith.network.layer import SILENT, Tap
from headsmith.refusal import Refusal

NEAR = 0.25  # of a whole number: from there one line is fetched, and nothing of its neighbours
FAR = 4096.0  # between the scores of neighbouring addresses: exp(-FAR / 2) is 0 in float64, for pc within 1/4


class Fetching(Layer):
    """(L rows + T tokens, width) -> (rows + T tokens, width): the rows of instruction pc, then the state.

    >>> layer = Fetching(rows=1, width=3)
    >>> tape = torch.tensor([[7.0, 0.0, 0.0], [8.0, 1.0, 1.0], [9.0, 2.0, 4.0]], dtype=torch.float64)
    >>> layer(torch.cat([tape, torch.tensor([[5.0, 1.0, -1.0]], dtype=torch.float64)]))[0, 0]
    tensor(8., dtype=torch.float64)
    """

    kind = "fetching"
    hook_names = ("attn.hook_attn_scores", "attn.hook_pattern")

    def __init__(self, *, rows: int, width: int) -> None:
        super().__init__()
        self.rows, self.width = rows, width

    @property
    def width_in(self) -> int:
        """That of a token."""
        return self.width

    @property
    def width_out(self) -> int:
        """The same."""
        return self.width

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """Weights of the addresses of each instruction's first row, then the rows of all, weighted."""
        if padding is not None:
            raise Refusal("a tape runs sequences of one length: all of its tokens are seen")
        lines, left = divmod(self._first(x), self.rows)
        if left or not lines or lines * self.rows == x.shape[-2]:
            raise Refusal(f"a prompt of a tape is {self.rows} tokens an instruction, then state tokens")
        tape, state = x[..., : lines * self.rows, :], x[..., lines * self.rows :, :]
        at, squares = tape[..., :: self.rows, -2], tape[..., :: self.rows, -1]
        pc, mark = state[..., :1, -2], state[..., :1, -1]
        scores = tap("attn.hook_attn_scores", FAR * (2 * pc * at + mark * squares))
        pattern = tap("attn.hook_pattern", torch.softmax(scores, -1))
        fetched = pattern.unsqueeze(-2) @ tape.unflatten(-2, (lines, self.rows)).flatten(-2)
        return torch.cat([fetched.squeeze(-2).unflatten(-1, (self.rows, self.width)), state], -2)

    def _first(self, x: Tensor) -> int:
        """Where the state begins: tape tokens end in a square, state tokens in -1."""
        return int((x[..., -1] >= 0).reshape(-1, x.shape[-2])[0].sum())

    def dense(self, tokens: int) -> list[Layer]:
        """Of a tape of one instruction, which is what the names of tokens are for: everything as it stands."""
        return [Affine(Dense(torch.eye(self.width, dtype=torch.float64)))]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> Layer:
        """Refused: addresses are compared feature by feature."""
        raise Refusal("a machine reads its program feature by feature: rotate network.dense() instead.")

    def flops(self, tokens: int, width: int) -> int:
        """Of one instruction: a weight, and a product for every number."""
        return 10 + 2 * self.rows * self.width

    def dense_parameters(self, tokens: int, width: int) -> int:
        """The identity."""
        return self.width * self.width

    def unusual(self) -> str:
        """A stock transformer has its weights in its weights."""
        return "tokens that are picked by an address"

    def config(self) -> dict[str, Any]:
        """Sizes; the layer has no numbers but the distance of its scores."""
        return {"kind": self.kind, "rows": self.rows, "width": self.width}

    def summary(self) -> str:
        """31 tokens of one instruction, by its address."""
        return f"{self.rows} tokens of one instruction, by its address"


def _fetching(config: Config, name: str, shelf: Shelf) -> Layer:
    return Fetching(rows=integer(config["rows"]), width=integer(config["width"]))


LAYERS[Fetching.kind] = _fetching
