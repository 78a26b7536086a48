"""Steps of gradient descent as instructions: the data are rows, the iterate is the state.

    z <- f(A v + b)                      D samples a pass: identity, tanh(z/2), or two rows of relu for a clipped slope
    w <- w + G z + c                     added to the slot of w, or with a threshold
    (p, m) <- relu(G z + B v + c - t), relu(-(G z + B v + c) - t)         w = p - m, so that zeros are exact

With momentum the slot of w also holds the iterate before. On a penalty path every token is another penalty, which it
holds in a slot of its own. Numbers are kept in units of powers of two, of w and of z, in which they use a quarter of
the domain: the iteration is the same, to the digit.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from headsmith.machines.prompts.descent import DescentProgram
from headsmith.machines.tape.instruction import Instruction, Rows, Sizes
from headsmith.machines.tape.program import Stretch, TapeProgram
from headsmith.records.shown import number
from headsmith.refusal import Refusal

SHARE = 0.25  # of the domain, which the largest sum of a run may use


def descent_sizes(program: DescentProgram, widest: int) -> Sizes:
    """The block that suits it: up to `widest` samples a pass, and a slot for a counter of loops."""
    rows = _Steps.clauses(program) * len(program.y)
    D = max(_Steps.copies(program) * program.X.shape[1], min(widest, rows))
    return Sizes(D, 2 + -(-rows // D) + program.path, 1)


def lower_descent(program: DescentProgram, sizes: Sizes, domain: float) -> TapeProgram:
    """The tape: a loop of one step."""
    steps = _Steps(program, sizes, domain)
    d, loop = program.X.shape[1], (*steps.residuals(), steps.update())
    start = torch.zeros(len(program.l1), sizes.slots * sizes.slot + 1, dtype=torch.float64)
    start[:, -1] = 1.0
    if program.path:
        start[:, steps.penalty * sizes.slot] = program.l1 / steps.unit
    minus = (Stretch(0, d, 0, d),) if program.sparse else ()
    return TapeProgram(
        sizes, program, (), (), (Stretch(0, 0, 0, d),), loop, program.steps, start=start, unit=steps.unit,
        pooled=not program.path, minus=minus, domain=domain,
    )  # fmt: skip


class _Steps:
    """The instructions of one step, in units of w and of z."""

    def __init__(self, program: DescentProgram, sizes: Sizes, domain: float) -> None:
        self.program, self.sizes = program, sizes
        count = -(-self.clauses(program) * len(program.y) // sizes.slot)
        self.penalty = 1 + count
        self._check(count)
        self.unit, self.residual_unit = self._units(SHARE * domain, domain)

    @staticmethod
    def clauses(program: DescentProgram) -> int:
        """Rows that a sample needs."""
        return 2 if program.loss == "huber" else 1

    @staticmethod
    def copies(program: DescentProgram) -> int:
        """Numbers that a coefficient needs: itself or (p, m), and as many again for the iterate before."""
        return (1 + program.sparse) * (1 + (program.momentum > 0))

    def _check(self, count: int) -> None:
        D, S, H = self.sizes.slot, self.sizes.slots, self.sizes.heads
        wide = self.copies(self.program) * self.program.X.shape[1]
        needed = 1 + count + self.program.path
        if wide > D:
            raise Refusal(
                f"{self.program.name} keeps {wide} numbers of its {self.program.X.shape[1]} coefficients in one slot, "
                f"which holds {D}: hs.machine.Tape(slot={-(-wide // H) * H}, slots={S}, heads={H}) holds them"
            )
        if needed > S:
            raise Refusal(
                f"{self.program.name} takes {needed} slots of {D} numbers, the block has {S}: "
                f"hs.machine.Tape(slot={D}, slots={needed}, heads={H}) holds it"
            )

    def _units(self, room: float, domain: float) -> tuple[float, float]:
        """Units of w and of z for which the largest sums of the run are in their share of the domain."""
        program, theta = self.program, self.program.momentum
        X, n = program.X.abs(), len(program.y)
        most = reads = 0.0
        w = old = torch.zeros(1, program.X.shape[1], dtype=torch.float64)
        for after in program.iterates():
            size, v = (1 + theta) * w.abs() + theta * old.abs(), w + theta * (w - old)
            reads = max(reads, float((size @ X.mT + program.y.abs()).max()) + program.delta)
            pull = (1 + program.rate * program.l2) * size + self._summed(v) @ X * (program.rate / n)
            most = max(most, float((pull + program.rate * program.l1[:, None]).max()), float(after.abs().max()))
            w, old = after, w
        if not max(most, reads) < math.inf:
            raise Refusal(f"the steps of {program.name} grow beyond all floats: take a rate below {program.rate:.3g}")
        if program.loss != "logistic":
            return power(most / room), power(reads / room)
        if reads / 2 > domain:
            enough = number(2.0 ** math.ceil(math.log2(reads / 2)), 6)
            raise Refusal(
                f"x . w / 2 reaches {number(reads / 2)} in {program.name}, tanh of it is read up to {number(domain)}: "
                f"measure X in larger units, or take domain={enough}"
            )
        return power(most / room), 1.0

    def _summed(self, v: Tensor) -> Tensor:
        """What the summands of a slope add up to, (..., samples)."""
        program = self.program
        if program.loss == "logistic":
            return torch.full((len(v), len(program.y)), 1.5, dtype=torch.float64)
        slope = (v @ program.X.mT - program.y).abs()
        return 2 * slope + 3 * program.delta if program.loss == "huber" else slope

    def point(self, matrix: Tensor) -> Tensor:
        """Columns on the slot of w whose value is matrix @ v, v = (1 + theta) w - theta w' and w = p - m."""
        signed = torch.cat([matrix, -matrix], 1) if self.program.sparse else matrix
        theta = self.program.momentum
        return torch.cat([(1 + theta) * signed, -theta * signed], 1) if theta else signed

    def residuals(self) -> list[Instruction]:
        """z = f(X v - y), D rows a pass."""
        p, unit = self.program, self.residual_unit
        X, y = p.X * (self.unit / unit), p.y / unit
        if p.loss == "logistic":
            X, bias, bent = X / 2, torch.zeros_like(y), "tanh"
        elif p.loss == "huber":
            X, bias, bent = torch.cat([X, X]), torch.cat([p.delta / unit - y, -p.delta / unit - y]), "relu"
        else:
            bias, bent = -y, "identity"
        D, total = self.sizes.slot, len(bias)
        passes = []
        for i, first in enumerate(range(0, total, D)):
            part = slice(first, first + D)
            rows = Rows("V", {0: self.point(X[part])}, bias[part])
            name = "samples" if total <= D else f"samples {i + 1}/{-(-total // D)}"
            passes.append(Instruction(name, (rows,), bent, put={1 + i: "set"}))
        return passes

    def pulls(self) -> tuple[dict[int, Tensor], Tensor]:
        """-rate/n X' slope, in units of w, as weights on the slots of z and a constant."""
        p, D = self.program, self.sizes.slot
        G = -(p.rate / len(p.y)) * p.X.mT
        if p.loss == "logistic":  # sigmoid(z) = (1 + tanh(z/2)) / 2
            weights, constant = G / 2, G @ (0.5 - p.y)
        elif p.loss == "huber":  # clip(r) = relu(r + delta) - relu(r - delta) - delta
            weights, constant = torch.cat([G, -G], 1), G @ torch.full_like(p.y, -p.delta)
        else:
            weights, constant = G, torch.zeros(len(G), dtype=torch.float64)
        weights = weights * (self.residual_unit / self.unit)
        slots = {1 + i: weights[:, first : first + D] for i, first in enumerate(range(0, weights.shape[1], D))}
        return slots, constant / self.unit

    def update(self) -> Instruction:
        """w behind the step: added, or (p, m) and what they were, set."""
        p, d = self.program, self.program.X.shape[1]
        slots, constant = self.pulls()
        eye = torch.eye(d, dtype=torch.float64)
        if not p.sparse and not p.momentum:
            if p.l2:
                slots[0] = -p.rate * p.l2 * eye
            return Instruction("step", (Rows("V", slots, constant),), put={0: "add"})
        slots[0] = self.point((1 - p.rate * p.l2) * eye)
        if p.sparse:
            slots = {slot: torch.cat([weight, -weight]) for slot, weight in slots.items()}
            constant = torch.cat([constant, -constant])
            if p.path:
                slots[self.penalty] = torch.full((2 * d, 1), -p.rate, dtype=torch.float64)
            else:
                constant = constant - p.rate * float(p.l1[0]) / self.unit
        rows = [Rows("V", slots, constant)]
        if p.momentum:
            kept = len(constant)
            copy = torch.eye(kept, dtype=torch.float64)
            rows.append(Rows("V", {0: copy}, torch.zeros(kept, dtype=torch.float64), kept))
        return Instruction(
            "proximal step" if p.sparse else "step", tuple(rows), "relu" if p.sparse else "identity", put={0: "set"}
        )


def power(x: float) -> float:
    """The least power of two that is not below x."""
    return 2.0 ** math.ceil(math.log2(x)) if x > 0 else 1.0
