"""One instruction of a tape: which rows of the state are read, what becomes of them, and where it goes.

    state    T tokens; a token is S slots of D numbers and the constant 1          s = (s_1 ... s_S, 1)
    rows     K (D), Q (D), V (D), g (1), flags: each (theta, bias) over the S D + 1 numbers of a state token
    pass     V <- f(V);  V <- V / sqrt(V.V + g) where `unit`;  Z <- V, or a view: attention of K, Q, V;
             s_k <- keep_k s_k + put_k Z

What an instruction does not name is zero. This file knows the sizes of a block, no numbers of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headsmith.machines.prompts.heads import FUNCTIONS

VIEWS = ("self", "heads", "causal", "whole")
"""Z = V itself; H heads of D/H; the same, causal; one head of D."""


@dataclass(frozen=True)
class Sizes:
    """D numbers a slot, S slots, H heads."""

    slot: int
    slots: int
    heads: int

    def __str__(self) -> str:
        return f"{self.slots} slot{'s' * (self.slots != 1)} of {self.slot}, {self.heads} head{'s' * (self.heads != 1)}"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows first, first + 1, ... of a part: z = sum over slots of weights[slot] s_slot[:features] + bias.

    part      "K", "Q", "V", "g"; of a looped run "jump", which may be a condition on the state, and "target"
    weights   slot -> (rows, features up to D); features are counted from the first of the slot
    """

    part: str
    weights: Mapping[int, Tensor]
    bias: Tensor
    first: int = 0


@dataclass(frozen=True, eq=False)
class Instruction:
    """A pass: rows, an activation on V, whether V becomes a unit vector, the view, and the slots it writes.

    put   slot -> "set" (the slot becomes Z) or "add" (Z is added to it); slots that are not named keep their bits
    """

    name: str
    rows: tuple[Rows, ...]
    activation: str = "identity"
    unit: bool = False
    view: str = "self"
    put: Mapping[int, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What a pass is, for the eye: attention, norm, activation or rows."""
        if self.view != "self":
            return "attention"
        if self.unit:
            return "norm"
        return "rows" if self.activation == "identity" else "activation"

    @property
    def reads(self) -> tuple[int, ...]:
        """The slots that its rows look at."""
        return tuple(sorted({slot for rows in self.rows for slot in rows.weights}))

    @property
    def numbers(self) -> int:
        """Numbers that its rows name: weights and biases."""
        return sum(len(rows.bias) + sum(w.numel() for w in rows.weights.values()) for rows in self.rows)

    def named(self, part: str, state: Tensor, sizes: Sizes) -> Tensor:
        """z of the rows of a part, (..., tokens, D), or (..., tokens, 1) of g and flags, in the dtype of the state."""
        width = sizes.slot if part in ("K", "Q", "V") else 1
        z = state.new_zeros(*state.shape[:-1], width)
        for rows in self.rows:
            if rows.part != part:
                continue
            where = slice(rows.first, rows.first + len(rows.bias))
            total = rows.bias.to(state).expand(*state.shape[:-1], -1).clone()
            for slot, weight in rows.weights.items():
                at = slot * sizes.slot
                total += state[..., at : at + weight.shape[1]] @ weight.to(state).mT
            z[..., where] = total
        return z

    def reference(self, state: Tensor, sizes: Sizes) -> Tensor:
        """The state behind the pass, by plain formulas in the dtype of the state: (..., tokens, S D + 1)."""
        v = FUNCTIONS[self.activation](self.named("V", state, sizes))
        if self.unit:
            v = v / (v.square().sum(-1, keepdim=True) + self.named("g", state, sizes)).sqrt()
        out = state.clone()
        z = v if self.view == "self" else self._attended(v, state, sizes)
        for slot, how in self.put.items():
            where = slice(slot * sizes.slot, (slot + 1) * sizes.slot)
            out[..., where] = out[..., where] + z if how == "add" else z
        return out

    def _attended(self, v: Tensor, state: Tensor, sizes: Sizes) -> Tensor:
        heads = 1 if self.view == "whole" else sizes.heads
        k, q, v = (
            t.unflatten(-1, (heads, -1)).movedim(-2, -3)
            for t in (self.named("K", state, sizes), self.named("Q", state, sizes), v)
        )
        scores = q @ k.mT
        if self.view == "causal":
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=v.device).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        return (torch.softmax(scores, -1) @ v).movedim(-3, -2).flatten(-2)
