"""How far a step that was run is from gradient descent: a running error bound, from the very tokens of the step.

    w' = box(w - rate (gradient + e)),    |e|_2 <= bound

The recursion of the dossier's a posteriori certificate, entry by entry, for what rounding does (E bounds |computed -
exact| of the letter beside it; k roundings of a term cost gamma(k) of it):

    z = V p        E_z = |V| E_p + gamma(fan + 2) |V| |p|                  f dot, 1/T, T
    p = r(z)       E_p = |r'| E_z + own                                    `proof.curves`
    delta(N)       E   = steepest loss'' E_f + own
    q = V' delta   E_q = |V'| E_delta + gamma(units + 3) |V'| |delta|      1/T, T V, a product, a dot, two heads
    delta = r' q   E   = r' E_q + own
    e              E   = mean (E_delta (|p| + E_p) + |delta| E_p) + gamma(n + 9) mean |delta| |p| + (w' rounded) / rate

Results below the normal range may be flushed to 0: each term that is not 0 costs tiny = 2^-1022 (2^-126), and what is
multiplied afterwards multiplies it; a sum whose terms are all 0 is exact.

n + 9: the rate three times (cast, n over how many count, their product), rate delta, 1/T, T/n twice (quotient, cast), a
product with p, the sum with its products, and two heads; weight decay is one head more, and has eight roundings of its
own. Where an optimizer follows (`proof.moments`) the rate comes later: n + 7, and decay is a coefficient, a product and
a sum. Slopes are right where z and its rounding are on one side of the kink, and outside the gap; others are counted.
Where every token holds w (`apart`), tokens may disagree on it by what rounding did before: |V' - V| |p| more in z, and
|V' - V| |delta| more in q. Their sums round in other ways (`Counts`). Where softmax heads multiply (`Products`), z, q
and delta p are off by what a table is, and the shares of attention, which make the step, by what their score is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from headsmith.proof.curves import Kinks, Smoothness
from headsmith.proof.moments import Kept, RootTable, largest_kept, largest_move, lost_behind, spent
from headsmith.proof.products import Products
from headsmith.proof.rounding import INFLATE, Format, gamma
from headsmith.proof.summed import Summed
from headsmith.reference.optimizers import Optimizer

Level = tuple[Tensor, Tensor]
EXACT = Format("exact", 0.0, 0.0)
LOCK = 2.0**40  # beats every q and every residual in a gate, and LOCK c is finite in float32
LEAST = 2.0**-1022  # the smallest normal number of the bounds themselves
CLIPPED = 4  # roundings of w + g, of the end of the box, of their distance and of two sums, each of w, g or the end
GRADIENT_DESCENT, NO_TABLE = Optimizer(), RootTable()
SQUASHED = 8  # units of roundoff that a sigmoid of two keys may be off by: exp within 4, a sum, a division, a product


@dataclass(frozen=True)
class Counts:
    """How often a term is rounded, beside once for each term of its sum: in a row, in a column, in a gradient.

    onto: a move is two sums, which are added onto w one after the other.
    """

    row: int = 2
    column: int = 3
    gradient: int = 9
    onto: bool = False
    decay: int = 8  # of decay w, which has roundings of its own


COMPACT = Counts()


@dataclass(frozen=True)
class Law:
    """What a step computes with: format, tokens, activation, loss' and box; `bent` layers have the activation.

    `bend` is the largest |loss'|; infinite for the squared loss. `squashed`: loss' is of sigmoid(f). `worst`: a number
    of w' may lie at an end of the box, and a residual where the Huber loss turns.
    """

    fmt: Format
    samples: int
    tokens: int
    curve: Kinks | Smoothness | Summed
    bent: tuple[int, ...]
    bend: float
    squashed: bool
    box: tuple[float, float] | None
    decay: float = 0.0
    worst: bool = False
    optimizer: Optimizer = GRADIENT_DESCENT
    table: RootTable = NO_TABLE
    counts: Counts = COMPACT
    straight: Summed | None = None  # what layers without activation have in its place, if not z itself
    products: Products | None = None

    @property
    def multiplied(self) -> float:
        """What a product of two features is off by, beside their rounding."""
        return 0.0 if self.products is None else self.products.off

    @property
    def widest(self) -> float:
        """The largest number that a gate, a mask or a head that multiplies has to take."""
        return LOCK if self.products is None else self.products.reach

    def at(self, j: int) -> Kinks | Smoothness | Summed | None:
        """What layer j has."""
        return self.curve if j in self.bent else self.straight


@dataclass(frozen=True)
class Pass:
    """One step as it was run, in float64, each (batch..., n, ...): V_j, what it reads, z_j, r', delta_j, g, w'."""

    rows: Sequence[Tensor]
    reads: Sequence[Tensor]
    z: Sequence[Tensor]
    slopes: Sequence[Tensor]  # where a layer has no activation, anything
    f: Tensor
    y: Tensor
    deltas: Sequence[Tensor]
    present: Tensor
    rate: Tensor
    moves: Sequence[Tensor]
    after: Sequence[Tensor]
    kept: Sequence[Kept] = ()  # of an optimizer
    apart: Sequence[Tensor] = ()  # where many tokens hold w: how far any of them is from V_j


@dataclass(frozen=True)
class Perturbation:
    """|e|_2 <= bound, up to `kinks` units whose slope is one of those beside a kink; `largest` is at most law.widest.

    Of an optimizer |w' - formula|_2 <= rate bound, and |m' - formula|_2 and |v' - formula|_2 <= bound; `approximation`
    is the part of it that is there in exact arithmetic.
    """

    bound: Tensor
    approximation: Tensor
    kinks: Tensor
    largest: Tensor


def perturbation(step: Pass, law: Law) -> Perturbation:
    """The bound of each step of a batch; its approximation is what remains of it in exact arithmetic."""
    found, products = _perturbation(step, law), law.products
    if not law.curve.approximates and products is None:
        return found
    table, products = RootTable(law.table.approximation), products and products.exact()
    alone = replace(law, fmt=EXACT, table=table, curve=law.curve.exact(), products=products)
    return replace(found, approximation=_perturbation(replace(step, apart=()), alone).bound)


def _perturbation(step: Pass, law: Law) -> Perturbation:
    read, e_f, levels = _forward(step, law)
    deltas, kinks, largest = _backward(step, law, e_f, levels)
    total: dict[str, Any] = dict.fromkeys(("w", "table", *law.optimizer.moments), torch.zeros(()))
    for j, (move, after) in enumerate(zip(step.moves, step.after, strict=True)):
        error, found = _gradient(step, law, j, read[j], deltas[j]), {}
        if law.optimizer.moments:
            pushed = spent(error, step.kept[j], law.optimizer, law.table, law.fmt, law.worst)
            error, found = pushed.move, {"table": pushed.table, **pushed.moments}
        found["w"] = error + _written(step.rows[j], move, after, law) / step.rate[..., None, None]
        total |= {name: torch.hypot(total[name], _norm(part)) for name, part in found.items()}
    grown = INFLATE + 200 * law.fmt.unit
    norms = {name: part * grown for name, part in total.items()}
    approximation = norms.pop("table") + torch.zeros_like(norms["w"])
    return Perturbation(torch.stack([*norms.values()]).amax(0), approximation, kinks, largest)


def _norm(part: Tensor) -> Tensor:
    """|part|_2 of each matrix: of multiples of its largest entry, since squares of what is flushed are 0."""
    most = part.abs().amax((-1, -2), keepdim=True).clamp(min=LEAST)
    return (part / most).square().sum((-1, -2)).sqrt() * most[..., 0, 0]


def _gradient(step: Pass, law: Law, j: int, e_p: Tensor, e_delta: Tensor) -> Tensor:
    """E of the gradient of one layer, its decay included."""
    u, p, delta, rows = law.fmt.unit, step.reads[j], step.deltas[j], step.rows[j]
    per = 1.0 if law.optimizer.moments else 1 / step.rate[..., None, None]  # what a unit of the result is of a gradient
    e_delta = e_delta + law.multiplied * step.present.unsqueeze(-1) + law.tokens * law.fmt.tiny * per  # rate delta / T
    carried = e_delta.mT @ (p.abs() + e_p) + delta.abs().mT @ (e_p + law.samples / law.tokens * law.fmt.tiny)  # (T/n) p
    size = delta.abs().mT @ p.abs()
    adds = law.samples + (7 if law.optimizer.moments else law.counts.gradient + (law.decay > 0))
    flushed = (2 * adds * (per + (law.products is not None)) + (law.decay > 0) / law.tokens) * law.fmt.tiny
    count, told = step.present.sum(-1)[..., None, None], _told(step, law)
    error = (carried + (gamma(adds, u) + told) * size) / count + flushed
    if law.counts.onto:
        error = error + u * (rows.abs() * per + size / count)
    if not law.optimizer.moments:
        apart = step.apart[j] if step.apart else 0.0
        return error + law.decay * ((gamma(law.counts.decay, u) + told) * rows.abs() + apart)
    return error + (gamma(2, u) * law.decay * rows.abs() + u * step.kept[j].g.abs()) * (law.decay > 0)


def _told(step: Pass, law: Law) -> Tensor | float:
    """What rounding a score adds to shares of attention: as much as the score, in units of roundoff."""
    if law.products is None:
        return 0.0
    return law.products.told(step.rate, step.present.sum(-1), law.fmt)[..., None, None]


def _written(before: Tensor, move: Tensor, after: Tensor, law: Law) -> Tensor:
    """What rounding w + g adds to w', and cutting it off, if w' lies at an end of the box."""
    found, flushed = law.fmt.unit * after.abs(), lost_behind(law.optimizer, law.fmt)
    if law.box is None:
        return found + flushed
    cut = gamma(CLIPPED, law.fmt.unit) * (before.abs() + move.abs() + max(map(abs, law.box)))
    near = torch.minimum(*((after - end).abs() for end in law.box)) <= cut + flushed
    return torch.where(near | law.worst, cut, found) + flushed


def _forward(step: Pass, law: Law) -> tuple[list[Tensor], Tensor, list[Level]]:
    """E of what each layer reads, E_f, and E_z and |V| |p| of each layer."""
    read, found = [torch.zeros_like(step.reads[0])], list[Level]()
    for j, (rows, p, z) in enumerate(zip(step.rows, step.reads, step.z, strict=True), 1):
        adds, curve, size = p.shape[-1] + law.counts.row, law.at(j), p.abs() @ rows.abs().mT
        e_z = _product(read[-1], p, rows.mT, adds, law)
        e_z = e_z + (p.abs() @ step.apart[j - 1].mT if step.apart else 0.0)
        e_z = torch.where(e_z + size > 0, e_z + law.multiplied, z.abs())  # the sum of no products is known: it is 0
        e_p = e_z if curve is None else curve.bent(z, step.slopes[j - 1], e_z, size, law.fmt)
        spare = step.reads[j].shape[-1] - e_p.shape[-1] if j < len(step.rows) else 0
        read.append(torch.nn.functional.pad(e_p, (0, spare)))  # the constant of a bias is exact
        found.append((e_z, size))
    return read[:-1], read[-1], found


def _product(error: Tensor, values: Tensor, rows: Tensor, count: int, law: Law) -> Tensor:
    """E of values @ rows in so many roundings, E of the values being `error`.

    values/T is flushed and then multiplied by T rows, T rows is flushed and then multiplied by values/T, and so are
    a product and three sums; where all products are 0 nothing is flushed, and nothing is off.
    """
    tiny, there = law.fmt.tiny, (values != 0) | (error > 0)
    found = (error + gamma(count, law.fmt.unit) * values.abs() + law.tokens * tiny * there) @ rows.abs()
    return found + tiny * (((values.abs() + error) / law.tokens + law.tokens + 4) * there) @ (rows != 0).to(found)


def _backward(step: Pass, law: Law, e_f: Tensor, levels: Sequence[Level]) -> tuple[list[Tensor], Tensor, Tensor]:
    """(E of each delta, how many slopes are at a kink, the largest number that a gate or a mask has to beat)."""
    last, here = len(step.rows), step.present.unsqueeze(-1)
    q, error = (part * here for part in _slope_of_loss(step, law, e_f))
    error = error + law.multiplied * here * isinstance(law.at(last), Smoothness)  # of a slope that is a number
    kinks, largest = torch.zeros_like(q[..., 0, 0]), (step.f - step.y).abs().amax((-1, -2))
    if law.products is not None:
        scores = (p @ rows.mT for p, rows in zip(step.reads, step.rows, strict=True))
        tops = [(score.abs() + e_z).amax((-1, -2)) for score, (e_z, _) in zip(scores, levels, strict=True)]
        largest = torch.stack([largest, *tops]).amax(0)
    found = []
    for j in range(last, 0, -1):
        if j < last:
            above, width = step.deltas[j], step.z[j - 1].shape[-1]
            rows = step.rows[j][..., :width]
            error = _product(error, above, rows, rows.shape[-2] + law.counts.column, law)
            error = error + (above.abs() @ step.apart[j][..., :width] if step.apart else 0.0) + law.multiplied
            q = above @ rows
            error, largest = error * here, torch.maximum(largest, (q.abs() + error).amax((-1, -2)))
        curve = law.at(j)
        if curve is not None:
            z, (e_z, size) = step.z[j - 1], levels[j - 1]
            kinks = kinks + (curve.doubtful(z, e_z) & (q.abs() + error > 0)).sum((-1, -2))
            error = curve.handed(q, error, z, step.slopes[j - 1], e_z, size, law.fmt)
        found.append(error)
    return found[::-1], kinks, largest


def _slope_of_loss(step: Pass, law: Law, e_f: Tensor) -> tuple[Tensor, Tensor]:
    """loss'(f, y) for who is present, and its E: a subtraction, and two ends of the Huber loss."""
    u, r = law.fmt.unit, step.f - step.y
    if law.squashed:
        return torch.ones_like(r), e_f / 4 + (SQUASHED + 1) * u
    flushed = law.fmt.tiny * (r != 0)
    if law.bend == math.inf:
        return r, e_f + u * (r.abs() + e_f) + flushed
    flat = (r.abs() * (1 - u) - e_f > law.bend) & ~torch.tensor(law.worst)  # where clip forgets what f is off by
    return r.clamp(-law.bend, law.bend), e_f * ~flat + u * (r.abs() + e_f + law.bend) + flushed


def worst_step(
    sizes: Sequence[tuple[int, int]],
    biases: bool,
    law: Law,
    rate: float,
    *,
    x: float,
    y: float,
    w: float,
    v: float = 0.0,
) -> Perturbation:
    """The bound of a step in which every number is as large as the domain allows: no step has a larger one.

    Every E grows with the sizes of the numbers it is made of, and a mean over samples that are alike is any of them.
    """
    curve = cast(Kinks | Smoothness, law.curve)  # no worst step is known of sums of ReLUs
    one, grow = torch.ones(1, 1, dtype=torch.float64), 1 + 200 * law.fmt.unit
    rows = [w * one.expand(*size) for size in sizes]
    p, reads, levels = x * one.expand(1, sizes[0][1] - biases), [], []
    for j, V in enumerate(rows, 1):
        reads.append(torch.cat([p, one], -1) if biases else p)
        levels.append(grow * reads[-1] @ V.mT)
        p = curve.highest(levels[-1]) if j in law.bent else levels[-1]
    last = curve.steep if len(rows) in law.bent else 1.0
    deltas = [last * (p + y).clamp(max=1.0 if law.squashed else law.bend)]
    for V, z in zip(rows[:0:-1], levels[-2::-1], strict=True):
        deltas.append(grow * curve.steep * deltas[-1] @ V[:, : z.shape[-1]])
    deltas = deltas[::-1]
    slopes = [grow * (d.mT @ p + law.decay * V) for d, p, V in zip(deltas, reads, rows, strict=True)]
    kept = [largest_kept(g, law.optimizer, v, law.fmt) for g in slopes]
    moves = [rate * largest_move(g, law.optimizer, law.table, law.fmt) for g in slopes]
    after = [V + move for V, move in zip(rows, moves, strict=True)]
    told, answers = torch.tensor(rate).double(), -y * torch.ones_like(p)
    slopes = [curve.steep * torch.ones_like(z) for z in levels]
    step = Pass(rows, reads, levels, slopes, p, answers, deltas, one[0], told, moves, after, kept)
    return perturbation(step, replace(law, worst=True, curve=curve.worsened()))
