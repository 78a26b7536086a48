"""The looped form: the whole tape in the prompt, its place in the state, the same block again and again.

    lines    instructions, loop, count, closing, halt        each with an address: its number
    count    s <- s + step, jump back while s < (times - 3/2) step     a slot of its own holds the loops that are done
    halt     keep everything, jump to yourself
    run      state <- block(tape, state), until the place is that of halt

What comes next is chosen by the block (`fetch`, `turn`), not by whoever runs it: an instruction may say so itself, with
a row "jump", below 1/2 for the next line and above it for the line of the row "target". Both may read the state: that
is a `while`. Every token keeps a place; that of the first one decides.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from headsmith.machines.tape.frozen import encode
from headsmith.machines.tape.instruction import Instruction, Rows, Sizes
from headsmith.machines.tape.program import TapeProgram
from headsmith.refusal import Refusal

NUMBERS = 2**28  # that a tape in a prompt may have: two gigabytes
PASSES = 2**20  # that a run may take
LOOPS = 2**15  # counted in steps that the reading error, 2^-26 of a step each time, cannot add up to half of


def lines(program: TapeProgram) -> tuple[Instruction, ...]:
    """What stands on the tape, line by line; the last one halts."""
    found = list(program.instructions)
    if program.times and program.loop:
        found += [*program.loop, _count(program, len(found))]
    found += program.closing
    halt = Instruction("halt", (_flag("jump", 1.0), _flag("target", float(len(found)))))
    return (*found, halt)


def jumps(instruction: Instruction) -> bool:
    """Whether it says itself what comes next."""
    return any(rows.part in ("jump", "target") for rows in instruction.rows)


def tape(found: tuple[Instruction, ...], sizes: Sizes) -> Tensor:
    """The tape tokens of these lines, with their addresses l and l^2: (lines rows, S D + 3)."""
    rows = encode(found[0], sizes)
    if len(found) * rows.numel() > NUMBERS:
        raise Refusal(
            f"a prompt of {len(found)} instructions would have {len(found) * rows.numel():,} numbers: run it without "
            "looped=True, instruction by instruction"
        )
    written = torch.stack([encode(line, sizes) for line in found])
    address = torch.arange(len(found), dtype=torch.float64)[:, None, None].expand(*written.shape[:2], 1)
    return torch.cat([written, address, address.square()], -1).flatten(0, 1)


def _count(program: TapeProgram, start: int) -> Instruction:
    """One more loop is done: back to its first line, as long as some are left."""
    if program.times > LOOPS:
        raise Refusal(f"a counter in the state counts up to {LOOPS} loops, not {program.times}")
    slot = _free(program)
    step = 2.0 ** -math.ceil(math.log2(program.times))
    left = Rows(
        "jump", {slot: torch.tensor([[-1.0]], dtype=torch.float64)}, _vector(0.5 + (program.times - 1.5) * step)
    )
    one = Rows("V", {}, _vector(step))
    return Instruction("count", (one, left, _flag("target", float(start))), put={slot: "add"})


def _free(program: TapeProgram) -> int:
    """A slot that nothing reads, writes or enters."""
    used = {place.slot for place in (*program.inputs, *program.outputs)}
    for line in program.written:
        used |= {*line.reads, *line.put}
    if program.start is not None:
        D = program.sizes.slot
        used |= {k for k in range(program.sizes.slots) if bool(program.start[..., k * D : (k + 1) * D].any())}
    free = [slot for slot in range(program.sizes.slots) if slot not in used]
    if not free:
        raise Refusal(
            f"the counter of a loop needs a slot of its own, and {program.source.name} uses all {program.sizes.slots}: "
            f"make the program for a machine of slots={program.sizes.slots + 1}"
        )
    return free[-1]


def _flag(part: str, value: float) -> Rows:
    return Rows(part, {}, _vector(value))


def _vector(value: float) -> Tensor:
    return torch.tensor([value], dtype=torch.float64)
