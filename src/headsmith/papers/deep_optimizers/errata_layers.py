"""Layers that "Transformers are Deep Optimizers" (deep-optimizers, Thm 1, Remark 3) leaves out, and one it could.

Scratch rows that nobody wipes, a query that nobody answers, and element-wise multiplication, which ordinary attention
and ordinary MLPs are said not to be able to replace.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

import headsmith as hs
from headsmith.constructions.training.compact import cleaning
from headsmith.network import Attention, Network, Select
from headsmith.network.hidden import Hidden, heads, mlp
from headsmith.papers.deep_optimizers.errata_construction import RATE, data, forward_pass
from headsmith.papers.errata import Evidence, erratum
from headsmith.reference.autograd import descended, outputs

PAPER = "deep-optimizers"
STEPS = 5
TOKENS, SIZE, KNOTS = 21, 3.0, 257
"""How many tokens multiply two numbers up to SIZE, and how many knots an MLP has for a square."""


def paths(net: Any, result: Any, networks: list[Network]) -> list[tuple[Tensor, Tensor]]:
    """(largest difference of a weight to autograd's behind each step, the last tokens) of each network."""
    X, Y = data()
    start = net.encode(*net.read(hs.prompt.training(X, Y, X[0], init=0)))
    wanted, stream, found = descended(result.initial, X, Y, "relu", STEPS, RATE)[0], net.form.stream(net.task), []
    for network in networks:
        tokens, gaps = start, []
        for w in wanted[1:]:
            tokens = network(tokens)
            gaps.append((stream.flat(stream.weights(tokens)) - w).abs().max())
        found.append((torch.stack(gaps), tokens))
    return found


@erratum(
    PAPER,
    "E9 Thm 1, the last MLP",
    printed="an MLP that is Proj_W and has its size leaves [x; y; w; 0; 1; t], which is easy",
    repair="two more hidden units for each scratch row: - relu(z) + relu(-z)",
    where="constructions/training/compact.py",
)
def wiped() -> Evidence:
    """Residual layers add to what is there: a second step starts with the p, slopes and deltas of the first."""
    net, result = forward_pass(STEPS)
    tape = net.form.stream(net.task)
    units = list(cleaning(tape, None))
    kept = [unit for unit in units if unit.writes.keys() & set(tape.rows("w"))]
    layers = dict(net.network.layers.items()) | {"clean": mlp(kept, tape.width, torch.float64)}
    (gaps, _), (right, _) = paths(net, result, [Network(layers), net.network])
    more, scratch = len(units) - len(kept), len(tape.scratch())
    return (
        f"weights off by {float(gaps[0]):.0e} after 1 step, {float(gaps[1]):.1g} after 2",
        f"by {float(right[-1]):.0e} after {STEPS}, with {more} more units for {scratch} rows",
        float(gaps[0]) < 1e-14 and float(gaps[1]) > 0.01,
        float(right.max()) < 1e-14 and more == 2 * scratch,
    )


@erratum(
    PAPER,
    "E10 Thm 1, what is answered",
    printed="the last layer leaves [x; 0; w; 0; 1; 0] in the query's token, which was to be answered",
    repair="the forward half of one more step: f(w, x), in the query's token",
    where="constructions/training/form.py",
)
def answered() -> Evidence:
    """Where y is 0 and everything else is wiped there is no prediction."""
    net, result = forward_pass(STEPS)
    (_, tokens), tape = paths(net, result, [net.network])[0], net.form.stream(net.task)
    told = {row for name in ("x", "one", "absent") for row in tape.rows(name)}
    others = [row for row in range(tape.width) if row not in told]
    left = float(tokens[tape.samples, others].abs().max())
    f = outputs(result.weights, data()[0][:1], "relu")[0]
    gap = float((result.prediction - f).abs().max())
    return (
        f"{left:g} in its {len(others)} other rows, where f(w, x) = ({float(f[0]):.2f}, {float(f[1]):.2f})",
        f"within {gap:.0e} of it, {net.task.matrices.depth} blocks more",
        left == 0 and float(f.abs().min()) > 0.05,
        gap < 1e-14,
    )


ONE, COS, SIN, LEFT, RIGHT, OUT = range(6)


def product(lock: float) -> Attention:
    """Two heads: token i adds sum_s (relu(t) - relu(-t)) to OUT, t = a_i b_s + lock (cos(position i - position s) - 1).

    Any lock (1 - cos(2 pi / T)) > |a b| shuts out all but s = i; with a lock of 0 there are no positions.
    """
    pairs = [({LEFT: sign}, {COS: lock}, {SIN: lock}, {ONE: -lock}) for sign in (1.0, -1.0)]
    value = heads([[{ONE: sign * TOKENS}] for sign in (1.0, -1.0)], 6, torch.float64)
    keys = Select([[RIGHT, COS, SIN, ONE]] * 2, 6)
    query = heads(pairs, 6, torch.float64)
    return Attention(query, keys, value, Select.writing([[OUT]] * 2, 6), weights="relu", residual=True)


def squares() -> list[Hidden]:
    """a b = ((a + b)/2)^2 - ((a - b)/2)^2, either square by its line through KNOTS equal steps of [-SIZE, SIZE]."""
    step = 2 * SIZE / (KNOTS - 1)
    at = [-SIZE + k * step for k in range(KNOTS - 1)]
    bends = [-2 * SIZE + step, *[2 * step] * (KNOTS - 2)]  # the first slope of the line, and by how much it turns
    return [
        Hidden({LEFT: 0.5, RIGHT: sign * 0.5}, {OUT: sign * bend}, bias=-knot)
        for sign in (1.0, -1.0)
        for knot, bend in zip(at, bends, strict=True)
    ]


def multiplied() -> tuple[float, float, float]:
    """How far a b is off: heads without positions, with positions, and an MLP."""
    angle = 2 * math.pi * torch.arange(TOKENS, dtype=torch.float64) / TOKENS
    tokens = torch.zeros(TOKENS, 6, dtype=torch.float64)
    tokens[:, ONE], tokens[:, COS], tokens[:, SIN] = 1.0, angle.cos(), angle.sin()
    drawn = torch.rand(TOKENS, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    tokens[:, [LEFT, RIGHT]] = SIZE * (2 * drawn - 1)
    lock = 2.0 ** math.ceil(math.log2(SIZE**2 / (1 - math.cos(2 * math.pi / TOKENS))))
    layers = product(0.0), product(lock), mlp(squares(), 6, torch.float64)
    alone, placed, by_mlp = (
        (layer(tokens)[:, OUT] - tokens[:, LEFT] * tokens[:, RIGHT]).abs().max() for layer in layers
    )
    return float(alone), float(placed), float(by_mlp)


@erratum(
    PAPER,
    "E12 Remark 3",
    printed="transformer layers cannot multiply two rows of a token: element-wise multiplication is necessary",
    repair="true of heads without positions; an MLP comes near, and two rows of positions are enough",
    where="papers/deep_optimizers/errata_layers.py",
)
def remark_3() -> Evidence:
    """Positions on a circle shut out all tokens but one's own; an MLP has two squares."""
    alone, placed, by_mlp = multiplied()
    most = (2 * SIZE / (KNOTS - 1)) ** 2 / 4
    return (
        f"two heads and two rows of positions multiply up to {placed:.0e}",
        f"without positions off by {alone:.2g}; an MLP of {len(squares())} units by {by_mlp:.0e}, at most {most:.1e}",
        placed < 1e-12,
        alone > 1 and by_mlp <= most,
    )
