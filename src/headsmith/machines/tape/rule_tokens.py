"""A rule with its data in the tokens, as instructions: one head that attends to a sample's own keys, and one mean.

    token (i, r)   a_r x_i | b_r - a_r y_i | L_r x_i | code of i        and w, the same in all of them
    rule           K = (a_r x_i, b_r - a_r y_i, G code), Q = (w, 1, G code), V = L_r x_i:     z = f(w . x_i - y_i) x_i
    step           w <- w - rate mean z                                  K = 0: a mean over all tokens

The code is the number of the sample in binary, as signs: two samples differ in one of them at least, which costs the
score 2 G^2. It is the same in all keys of a sample, so what is misread of it shifts all their scores alike.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from headsmith.machines.prompts.rule import RuleProgram
from headsmith.machines.tape.descending import power
from headsmith.machines.tape.instruction import Instruction, Rows, Sizes
from headsmith.machines.tape.program import Stretch, TapeProgram
from headsmith.records.shown import number
from headsmith.refusal import Refusal

SILENT = 64.0  # exp(-64) of the weight may go to other samples
SHARE = 0.25  # of the domain, which a row may use
SLOTS = 3  # the data, w, and f(w . x - y) x


def rule_sizes(program: RuleProgram) -> Sizes:
    """The smallest block that holds it, and a slot for a counter of loops."""
    return Sizes(2 * program.X.shape[1] + 1 + _bits(len(program.y)), SLOTS + 1, 1)


def lower_rule(program: RuleProgram, sizes: Sizes, domain: float) -> TapeProgram:
    """The tape: its start is the data, its loop the two instructions of a step."""
    d, needed, H = program.X.shape[1], rule_sizes(program).slot, sizes.heads
    if needed > sizes.slot or sizes.slots < SLOTS:
        raise Refusal(
            f"{program.name} keeps {needed} numbers of a sample in one slot and takes {SLOTS} slots, the block has "
            f"{sizes.slots} of {sizes.slot}: hs.machine.Tape(slot={-(-max(needed, sizes.slot) // H) * H}, "
            f"slots={max(SLOTS, sizes.slots)}, heads={H}) holds it"
        )
    keys = _Keys(program, domain)
    start = torch.zeros(len(keys.data), sizes.slots * sizes.slot + 1, dtype=torch.float64)
    start[:, :needed], start[:, -1] = keys.data, 1.0
    step = Instruction(
        "step",
        (Rows("V", {2: -program.rate * keys.value_unit / keys.unit * torch.eye(d, dtype=torch.float64)}, _zeros(d)),),
        view="whole",
        put={1: "add"},
    )
    loop = (Instruction("rule", keys.rows(), view="whole", put={2: "set"}), step)
    out = (Stretch(1, 0, 0, d),)
    return TapeProgram(
        sizes, program, (), (), out, loop, program.steps, (), start, keys.unit, pooled=True, domain=domain
    )


class _Keys:
    """The tokens (i, r) in units in which no row leaves its share of the domain."""

    def __init__(self, program: RuleProgram, domain: float) -> None:
        self.program, self.room = program, SHARE * domain
        table, X, y = program.table, program.X, program.y
        a, b, values = (torch.tensor(column) for column in (table.slopes, table.offsets, table.values))
        keys = (a[:, None, None] * X).movedim(0, 1).flatten(0, 1)
        shift = (b[:, None] - a[:, None] * y).mT.flatten()
        read = (values[:, None, None] * X).movedim(0, 1).flatten(0, 1)
        path = torch.stack(program.iterates())
        most = float(path.abs().max()) or 1.0
        self.unit = power(math.sqrt(most / max(float(keys.abs().max()), 1e-300)))
        self.unit = max(self.unit, power(most / self.room))
        self.gain = power(float(shift.abs().max()) / self.room) if float(shift.abs().max()) > self.room else 1.0
        self.value_unit = max(1.0, power(float(read.abs().max()) / self.room))
        self.strength = self._strength(path, keys, shift) if len(y) > 1 else 0.0
        sizes = {"a_r x_i": float(keys.abs().max()) * self.unit, "b_r - a_r y_i": self.gain, "its code": self.strength}
        for name, size in sizes.items():
            if size > domain / 2:
                raise Refusal(
                    f"{name} of {program.name} is {number(size)}, beyond half the domain {number(domain)}: "
                    "measure X and y in other units, take a larger eps, or a larger domain"
                )
        codes = _codes(len(y)).repeat_interleave(len(a), 0)
        self.data = torch.cat([keys * self.unit, shift[:, None] / self.gain, read / self.value_unit, codes], 1)

    def _strength(self, path: Tensor, keys: Tensor, shift: Tensor) -> float:
        """G, for which the keys of other samples weigh nothing in any step of the run."""
        scores = path @ keys.mT + shift
        own = scores.unflatten(-1, (len(self.program.y), -1)).amax(-1)
        spread = float((scores.amax(-1) - own.amin(-1)).max())
        return power(math.sqrt((spread + SILENT + math.log(len(shift))) / 2))

    def rows(self) -> tuple[Rows, ...]:
        """K, Q and V of the rule: selections, and G."""
        d, bits = self.program.X.shape[1], _bits(len(self.program.y))
        width = 2 * d + 1 + bits
        K, Q = (torch.zeros(d + 1 + bits, width, dtype=torch.float64) for _ in range(2))
        K[: d + 1, : d + 1] = torch.eye(d + 1)
        K[d + 1 :, 2 * d + 1 :] = Q[d + 1 :, 2 * d + 1 :] = self.strength * torch.eye(bits)
        w, one = torch.zeros(d + 1 + bits, d, dtype=torch.float64), _zeros(d + 1 + bits)
        w[:d], one[d] = torch.eye(d), self.gain
        V = torch.zeros(d, 2 * d + 1, dtype=torch.float64)
        V[:, d + 1 :] = torch.eye(d)
        return Rows("K", {0: K}, _zeros(len(K))), Rows("Q", {0: Q, 1: w}, one), Rows("V", {0: V}, _zeros(d))


def _bits(samples: int) -> int:
    """Signs that tell so many samples apart."""
    return (samples - 1).bit_length()


def _codes(samples: int) -> Tensor:
    """The number of each sample in binary, as signs."""
    bits = torch.arange(samples)[:, None] >> torch.arange(_bits(samples))
    return (2 * (bits & 1) - 1).double()


def _zeros(count: int) -> Tensor:
    return torch.zeros(count, dtype=torch.float64)
