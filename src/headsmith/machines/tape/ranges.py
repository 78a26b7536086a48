"""Nothing saturates in silence: every sum of a pass, every norm and every sum of slots is held to the block's ranges.

    sum_k |theta_k s_k| + |bias| <= domain      of every row, K and Q also where the view does not look at them
    lo <= V.V + g <= hi, g >= 0                  of a norm
    |s_k| <= domain                              of slots that are added to

The first is asked of |theta|_2 |s|_2 + |bias|, slot by slot, which is never less and costs no product of matrices; only
rows that fail this are summed. A refusal names the instruction and the token, and says which block would do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from headsmith.machines.bending import ACTIVATIONS
from headsmith.machines.tape.instruction import VIEWS, Instruction, Rows, Sizes
from headsmith.machines.tape.passes import PassRun, sum_rows
from headsmith.proof.rounding import INFLATE
from headsmith.records.shown import number
from headsmith.refusal import Refusal

UNDECIDED = 2.0**-24  # of a condition from 1/2: it is read within 2^-26, and gates that it opens are exact
WIDEST = 2.0**10  # domain: beyond it the scores of ReLU, 2^40 z, are rounded by more than can be bounded
LONGEST = 2.0**30  # ratio hi/lo of norms for which a table is advised
PARTS, SINGLE = ("K", "Q", "V"), ("g", "jump", "target")


@dataclass(frozen=True)
class BlockRanges:
    """What a block holds: sums of rows up to `domain`, V.V + g of norms in `norm`."""

    sizes: Sizes
    domain: float
    norm: tuple[float, float]

    def check(self, at: int, instruction: Instruction, state: Tensor) -> float:
        """The largest sum of |theta_k s_k| + |bias|, or one never less; refuses what leaves the domain, by name."""
        self._fit(at, instruction)
        most = 0.0
        for rows in instruction.rows:
            bound = _most(rows, state, self.sizes)
            if not float(bound.max()) <= self.domain:
                bound = sizes_of(rows, state, self.sizes)
            if not float(bound.max()) <= self.domain:
                raise self._beyond(at, instruction, rows, bound)
            if rows.part == "jump":
                self._decided(at, instruction, rows, state)
            most = max(most, float(bound.max()))
        for slot in (slot for slot, how in instruction.put.items() if how == "add"):
            held = state[..., slot * self.sizes.slot : (slot + 1) * self.sizes.slot].abs()
            if not float(held.max()) <= self.domain:
                raise Refusal(
                    f"instruction {at} ({instruction.name}) adds to slot {slot}, where {_token(held)} holds "
                    f"{number(float(held.max()))}, beyond the domain {number(self.domain)}: {_wider(float(held.max()))}"
                )
        return most

    def _decided(self, at: int, instruction: Instruction, rows: Rows, state: Tensor) -> None:
        """A condition is one where it is further from 1/2 than it is read wrong."""
        near = (sum_rows(rows, state, self.sizes) - 0.5).abs()
        if not bool((near >= UNDECIDED).all()):
            raise Refusal(
                f"the jump of instruction {at} ({instruction.name}) is neither yes nor no at {_token(-near)}: "
                f"it is within {UNDECIDED:.1g} of 1/2"
            )

    def _fit(self, at: int, instruction: Instruction) -> None:
        """Refuses an instruction that names what the block does not have."""
        D, S, problem = self.sizes.slot, self.sizes.slots, ""
        named = sorted((rows.part, rows.first, rows.first + len(rows.bias)) for rows in instruction.rows)
        if any(part == other and first < last for (part, _, last), (other, first, _) in pairwise(named)):
            problem = "names a row twice"
        for rows in instruction.rows:
            last, most = rows.first + len(rows.bias), D if rows.part in PARTS else 1
            if rows.part not in (*PARTS, *SINGLE) or not 0 <= rows.first < last <= most:
                problem = f"names rows {rows.first} to {last - 1} of {rows.part!r}"
            for slot, weight in rows.weights.items():
                if not 0 <= slot < S or weight.dim() != 2 or len(weight) != len(rows.bias) or weight.shape[1] > D:
                    problem = f"reads a table of shape {tuple(weight.shape)} from slot {slot}"
        known = instruction.activation in ACTIVATIONS and instruction.view in VIEWS
        if not known or not all(0 <= k < S and how in ("set", "add") for k, how in instruction.put.items()):
            put = ", ".join(f"{how} {slot}" for slot, how in instruction.put.items())
            problem = f"asks for {instruction.activation!r}, view {instruction.view!r}, {put}"
        if problem:
            raise Refusal(
                f"instruction {at} ({instruction.name}) {problem}: the block has {S} slots of {D}, rows of "
                f"{', '.join((*PARTS, *SINGLE))}, views {', '.join(VIEWS)}, and sets or adds to a slot"
            )

    def check_norm(self, at: int, done: PassRun) -> None:
        """V.V + g as it was executed, in the range of the table of 1/sqrt, and g not below 0."""
        if done.square is None:
            return
        lo, hi = self.norm
        s, name = done.square, f"instruction {at} ({done.instruction.name})"
        if not (bool((s >= lo).all()) and bool((s <= hi).all())):
            far = torch.maximum(s / hi, lo / s.clamp(min=0)).nan_to_num(math.inf)
            value = float(s.flatten()[int(far.argmax())])
            low, high = min(lo, value * 0.9), max(hi, value * 1.1)
            advice = f"build the machine with norm=({number(low)}, {number(high)}), or scale the program"
            advice = advice if low * LONGEST >= high else "no table reaches so far"
            raise Refusal(
                f"norm of {name}, {_token(far)}: |c|^2 + g = {number(value)}, the table of 1/sqrt reaches from "
                f"{number(lo)} to {number(hi)}: {advice}"
            )
        if "g" in done.sums and not bool((done.sums["g"] >= 0).all()):
            raise Refusal(f"norm of {name}, {_token(-done.sums['g'])}: g is negative, and eps of a norm is not")

    def _beyond(self, at: int, instruction: Instruction, rows: Rows, bound: Tensor) -> Refusal:
        most, place = float(bound.max()), torch.unravel_index(bound.argmax(), bound.shape)
        return Refusal(
            f"{rows.part}[{rows.first + int(place[-1])}] of instruction {at} ({instruction.name}) adds terms of size "
            f"{number(most, 4)} at {_token(bound)}, beyond the domain {number(self.domain)}: {_wider(most)}"
        )


def _wider(most: float) -> str:
    """What would hold sums of this size."""
    if not most * 1.01 <= WIDEST:
        return f"no machine reaches beyond {number(WIDEST, 4)}, so scale the program"
    return f"build the machine with domain={number(most * 1.01)} or more, or scale the program"


def sizes_of(rows: Rows, state: Tensor, sizes: Sizes) -> Tensor:
    """sum_k |theta_k s_k| + |bias| of a few rows, rounded up: (..., tokens, rows)."""
    total = rows.bias.to(state).abs().expand(*state.shape[:-1], -1)
    for slot, weight in rows.weights.items():
        at = slot * sizes.slot
        total = total + state[..., at : at + weight.shape[1]].abs() @ weight.to(state).abs().mT
    return total * INFLATE


def _most(rows: Rows, state: Tensor, sizes: Sizes) -> Tensor:
    """|theta|_2 |s|_2 + |bias|, slot by slot, rounded up: (..., tokens, rows)."""
    bound = rows.bias.to(state).abs().expand(*state.shape[:-1], -1)
    for slot, weight in rows.weights.items():
        at = slot * sizes.slot
        length = torch.linalg.vector_norm(state[..., at : at + weight.shape[1]], dim=-1, keepdim=True)
        bound = bound + length * torch.linalg.vector_norm(weight.to(state), dim=-1)
    return bound * INFLATE


def _token(sizes: Tensor) -> str:
    """token 3, or token 3 of sequence (1,), where the largest size is."""
    *batch, token, _ = (int(i) for i in torch.unravel_index(sizes.argmax(), sizes.shape))
    return f"token {token}" + (f" of sequence {', '.join(map(str, batch))}" if batch else "")
