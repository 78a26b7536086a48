"""What an optimizer does with a gradient, in the tokens of the units: they hold g, its moments, and are told its pace.

    momentum  carry  v <- beta v + g, g <- 0                                  MLP
              pace   g <- -rate v                                             a token attends to itself
    adam      square s <- g^2                                                 a token attends to itself
              carry  m <- b1 m + (1 - b1) g, v <- b2 v + (1 - b2) s, g <- 0   MLP
              pace   ahead <- -rate m / (1 - b1^t), spread <- v / (1 - b2^t)  a token attends to itself
              root   g <- ahead / sqrt(spread + root)                         a table times a feature, by copies

A ReLU attention that sees only its own token multiplies two of its features: relu(lead own) v with own = 1 is lead v,
as lead > 0, and relu(g g) own is g^2. The reciprocal root is a softmax over copies of the token, whose stored
table is proved on the range of v^ that every step is held to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache

import torch
from torch import Tensor

from headsmith.constructions.rule import copies
from headsmith.constructions.training.tape import TrainingTape
from headsmith.functions import Expression, parse
from headsmith.network import Attention, Copies, Layer, Select
from headsmith.network.hidden import SIGNS, Hidden, heads, itself, mlp, scaled
from headsmith.proof.composition import Error, exact, propagate, prove_part
from headsmith.proof.moments import Kept
from headsmith.proof.statement import Head, Part
from headsmith.reference.optimizers import Optimizer


def optimizing(
    tape: TrainingTape, optimizer: Optimizer, decay: float, head: Head | None, dtype: torch.dtype
) -> Iterator[tuple[str, Layer]]:
    """The layers between the gradient and the move."""
    if decay:
        yield "fade", mlp(fading(tape, decay), tape.width, dtype)
    if optimizer.name == "adam":
        yield "square", square(tape)
    yield "carry", mlp(carrying(tape, optimizer), tape.width, dtype)
    yield "pace", pace(tape, dtype)
    if head is not None:
        yield "root", root(tape, head, dtype)


def fading(tape: TrainingTape, decay: float) -> Iterator[Hidden]:
    """g <- g + decay w."""
    for w, g in zip(tape.rows("w"), tape.rows("g"), strict=True):
        for sign in SIGNS:
            yield Hidden({w: sign * decay}, {g: sign})


def carrying(tape: TrainingTape, optimizer: Optimizer) -> Iterator[Hidden]:
    """Each moment <- its share of itself and of what is new; g <- 0."""
    (b1, b2), own = optimizer.betas, tape.rows
    if optimizer.name == "momentum":
        yield from _averaging(own("v"), own("g"), optimizer.beta, 1.0)
    else:
        yield from _averaging(own("m"), own("g"), b1, 1 - b1)
        yield from _averaging(own("v"), own("square"), b2, 1 - b2)
    for g in own("g"):
        for sign in SIGNS:
            yield Hidden({g: sign}, {g: -sign})


def _averaging(moment: Sequence[int], new: Sequence[int], stays: float, comes: float) -> Iterator[Hidden]:
    for m, g in zip(moment, new, strict=True):
        for sign in SIGNS:
            yield Hidden({m: sign * stays, g: sign * comes}, {m: sign})
        for sign in SIGNS:
            yield Hidden({m: sign}, {m: -sign})


def square(tape: TrainingTape) -> Attention:
    """s = relu(g g) own, a head for each feature."""
    each = Select([[g] for g in tape.rows("g")], tape.width)
    ones = Select([tape.rows("own")] * tape.fan, tape.width)
    return itself(each, each, ones, [[s] for s in tape.rows("square")], tape.width)


def pace(tape: TrainingTape, dtype: torch.dtype) -> Attention:
    """g = -rate v; or ahead = -lead m and spread = lift v. One head for all features: its score is what they share."""
    momentum = "lift" not in tape.slices
    asks = [tape.rows("lead")] if momentum else [tape.rows("lead"), tape.rows("lift")]
    value = [scaled(tape.rows("v"), -1.0)] if momentum else [scaled(tape.rows("m"), -1.0), scaled(tape.rows("v"), 1.0)]
    writes = [tape.rows("g")] if momentum else [tape.rows("ahead"), tape.rows("spread")]
    own = Select([tape.rows("own")] * len(asks), tape.width)
    return itself(Select(asks, tape.width), own, heads(value, tape.width, dtype), writes, tape.width)


def root(tape: TrainingTape, head: Head, dtype: torch.dtype) -> Copies:
    """g = table(spread) ahead, the same table for each feature."""
    spread, ahead, g = ([[row] for row in tape.rows(name)] for name in ("spread", "ahead", "g"))
    reads = spread, [tape.rows("own")] * tape.fan, ahead
    return copies([head] * tape.fan, reads, tape.width, Select.writing(g, tape.width), dtype)


def reciprocal(optimizer: Optimizer) -> Expression:
    """1 / sqrt(v + root), the root being the float that it is, digit by digit."""
    return parse(f"1/sqrt(v + {Decimal(optimizer.root)})")


def kept(tape: TrainingTape, optimizer: Optimizer, full: Tensor, moving: Tensor, turns: range) -> list[Kept]:
    """What the units hold of each layer, in float64, in steps t = 1, 2, ..."""
    g = tape.weights(full, "g")
    before, after = ({name: tape.weights(seen, name) for name in tape.moments} for seen in (full, moving))
    told = torch.tensor([optimizer.corrections(t) for t in turns]).double()
    lead, lift = told.T[:, :, None, None]
    held = [[{name: rows[j] for name, rows in part.items()} for part in (before, after)] for j in range(len(g))]
    return [Kept(own, old, new, lead, lift) for own, (old, new) in zip(g, held, strict=True)]


@lru_cache(maxsize=64)
def prove_root(head: Head, optimizer: Optimizer, size: float, dtype: str) -> Error:
    """|table(v) - 1 / sqrt(v + root)| for every v in [0, size]."""
    start = exact((0.0, size))
    part = Part("v", "root", reciprocal(optimizer), start.reach, (head,))
    return propagate([prove_part(part, dtype, start)], start, dtype)["root"]
