"""One pass with the rows that its instruction names, and no others: the block's real function, other roundings.

    z = theta . s + bias,  r = read(z),  V = f(r_V),  U = V or V root(V.V + g),  Z = U or attention of K, Q, U

`read`, `f` and `root` are the tables of the block, softmax and all. What is skipped is what the block adds as zeros:
rows of zeros (it reads them as zeros up to the table's error), slots that are not read, gates that are shut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.machines.tape.instruction import Instruction, Rows, Sizes
from headsmith.proof.statement import Head

AT_ONCE = 2**12  # numbers that a table looks up side by side: their scores stay in the cache


@dataclass(frozen=True, eq=False)
class PassRun:
    """What one pass made of a state: the sums, what was read off them, the value, and the state behind it.

    sums, read   part ("K", "Q", "V", "g") -> (..., tokens, named rows), before and behind the table
    bent         V behind its activation;  square   V.V + g of a norm, (..., tokens, 1);  value   U
    """

    instruction: Instruction
    before: Tensor
    sums: Mapping[str, Tensor]
    read: Mapping[str, Tensor]
    bent: Tensor
    square: Tensor | None
    value: Tensor
    written: Tensor
    after: Tensor


def run(instruction: Instruction, state: Tensor, sizes: Sizes, tables: Mapping[str, Head]) -> PassRun:
    """The pass on a state (..., tokens, S D + 1)."""
    sums = {part: summed(instruction, part, state, sizes) for part in _parts(instruction)}
    read = {part: look_up(tables["read"], z) for part, z in sums.items()}
    v = read.get("V", state.new_zeros(*state.shape[:-1], 1))
    bent = v if instruction.activation == "identity" else look_up(tables[instruction.activation], v)
    square, value = None, bent
    if instruction.unit:
        square = bent.square().sum(-1, keepdim=True)
        square = square + read["g"] if "g" in read else square
        value = bent * look_up(tables["norm"], square)
    z = value if instruction.view == "self" else _attended(instruction, read, value, sizes)
    return PassRun(instruction, state, sums, read, bent, square, value, z, _written(instruction, state, z, sizes))


def summed(instruction: Instruction, part: str, state: Tensor, sizes: Sizes) -> Tensor:
    """z of the rows of a part from the first to the last that is named, (..., tokens, rows)."""
    named = [rows for rows in instruction.rows if rows.part == part]
    z = [(rows.first, sum_rows(rows, state, sizes)) for rows in named]
    if len(z) == 1 and z[0][0] == 0:
        return z[0][1]
    out = state.new_zeros(*state.shape[:-1], max(first + t.shape[-1] for first, t in z))
    for first, t in z:
        out[..., first : first + t.shape[-1]] = t
    return out


def sum_rows(rows: Rows, state: Tensor, sizes: Sizes) -> Tensor:
    """theta . s + bias of a few rows, slot by slot."""
    total = rows.bias.to(state).expand(*state.shape[:-1], -1)
    for slot, weight in rows.weights.items():
        at = slot * sizes.slot
        total = total + state[..., at : at + weight.shape[1]] @ weight.to(state).mT
    return total


def look_up(head: Head, z: Tensor) -> Tensor:
    """sum_r softmax_r(a_r z + b_r)(v_r + l_r z) for every z: keys first, where softmax is fastest.

    >>> tanh = Head.table([-1.0, 1.0], [0.0, 0.0], [-1.0, 1.0])
    >>> look_up(tanh, torch.tensor([0.5])), torch.tensor([0.5]).tanh()
    (tensor([0.4621]), tensor([0.4621]))
    """
    a, b, values, lines = (torch.tensor(c).to(z) for c in (head.slopes, head.offsets, head.values, head.lines))
    parts = []
    for flat in z.reshape(-1).split(AT_ONCE):
        pattern = torch.softmax(torch.addcmul(b[:, None], flat, a[:, None]), 0)
        constant, line = values @ pattern if head.values.any() else None, lines @ pattern if head.lines.any() else None
        level = flat * line if line is not None else flat.new_zeros(flat.shape)
        parts.append(level if constant is None else constant if line is None else constant + level)
    return torch.cat(parts).reshape(z.shape)


def split(instruction: Instruction, read: Mapping[str, Tensor], value: Tensor, sizes: Sizes) -> tuple[Tensor, ...]:
    """(K, Q, U) of a view, (..., heads, tokens, size): the heads up to the last that is named."""
    whole = instruction.view == "whole"
    size = sizes.slot if whole else sizes.slot // sizes.heads
    parts = [read.get(part, value.new_zeros(*value.shape[:-1], 1)) for part in ("K", "Q")] + [value]
    heads = max(-(-part.shape[-1] // size) for part in parts)
    if whole:  # K and Q may be narrower than U
        asked = max(part.shape[-1] for part in parts[:2])
        widths = [asked, asked, value.shape[-1]]
    else:
        widths = [heads * size] * 3
    padded = [torch.nn.functional.pad(p, (0, width - p.shape[-1])) for p, width in zip(parts, widths, strict=True)]
    return tuple(part.unflatten(-1, (heads, -1)).movedim(-2, -3) for part in padded)


def _attended(instruction: Instruction, read: Mapping[str, Tensor], value: Tensor, sizes: Sizes) -> Tensor:
    """softmax(Q K) U, head by head; causal heads see no later token."""
    k, q, v = split(instruction, read, value, sizes)
    scores = q @ k.mT
    if instruction.view == "causal":
        scores = scores.masked_fill(later(scores), -torch.inf)
    return (torch.softmax(scores, -1) @ v).movedim(-3, -2).flatten(-2)


def later(scores: Tensor) -> Tensor:
    """Which keys stand behind their query."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)


def _parts(instruction: Instruction) -> tuple[str, ...]:
    """The parts that a pass needs: K and Q only of a view, g only of a norm."""
    needed = (*("K", "Q") * (instruction.view != "self"), "V", *("g",) * instruction.unit)
    return tuple(part for part in needed if any(rows.part == part for rows in instruction.rows))


def _written(instruction: Instruction, state: Tensor, z: Tensor, sizes: Sizes) -> Tensor:
    """The slots that are set become Z, zeros behind its last number; those that are added to gain it."""
    out = state.clone()
    for slot, how in instruction.put.items():
        at, width = slot * sizes.slot, z.shape[-1]
        if how == "add":
            out[..., at : at + width] += z
        else:
            out[..., at : at + width] = z
            out[..., at + width : at + sizes.slot] = 0.0
    return out
