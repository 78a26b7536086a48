"""An instruction in exact arithmetic: balls of 200 bits, by code that knows no table."""

from functools import cache

import torch
from flint import arb, arb_mat

import headsmith as hs
from headsmith.functions import precision
from headsmith.machines.tape.instruction import VIEWS, Instruction, Rows, Sizes
from headsmith.machines.tape.program import Stretch, TapeProgram

from ..data import random

FUNCTIONS = {
    "identity": lambda z: z,
    "tanh": lambda z: z.tanh(),
    "silu": lambda z: z / (1 + (-z).exp()),
    "relu": lambda z: z if z > 0 else arb(0),
    "gelu": lambda z: z * (1 + (z / arb(2).sqrt()).erf()) / 2,
}


def exact(instruction: Instruction, state: torch.Tensor, sizes: Sizes) -> list[list[arb]]:
    """The state behind the pass, as balls."""
    with precision(200):
        D = sizes.slot
        v = [[FUNCTIONS[instruction.activation](z) for z in row] for row in _named(instruction, "V", state, sizes)]
        if instruction.unit:
            g = _named(instruction, "g", state, sizes)
            v = [
                [x / (sum((y * y for y in row), arb(0)) + extra[0]).sqrt() for x in row]
                for row, extra in zip(v, g, strict=True)
            ]
        z = v if instruction.view == "self" else _attended(instruction, v, state, sizes)
        out = [[arb(s) for s in row] for row in state.tolist()]
        for slot, how in instruction.put.items():
            for token, row in enumerate(z):
                for i, x in enumerate(row):
                    out[token][slot * D + i] = x + (out[token][slot * D + i] if how == "add" else 0)
        return out


def _named(instruction, part, state, sizes):
    width = 1 if part == "g" else sizes.slot
    out = [[arb(0)] * width for _ in state]
    for rows in (rows for rows in instruction.rows if rows.part == part):
        for k, bias in enumerate(rows.bias.tolist()):
            for token, s in enumerate(state.tolist()):
                terms = [
                    arb(w) * s[slot * sizes.slot + i]
                    for slot, weight in rows.weights.items()
                    for i, w in enumerate(weight[k].tolist())
                ]
                out[token][rows.first + k] = sum(terms, arb(bias))
    return out


def _attended(instruction, v, state, sizes):
    heads = 1 if instruction.view == "whole" else sizes.heads
    size, causal = sizes.slot // heads, instruction.view == "causal"
    keys, queries = (_named(instruction, part, state, sizes) for part in ("K", "Q"))
    out = [[arb(0)] * sizes.slot for _ in state]
    for h in range(heads):
        where = slice(h * size, (h + 1) * size)
        for j, query in enumerate(queries):
            seen = range(j + 1 if causal else len(v))
            weights = [(arb_mat([query[where]]) * arb_mat([keys[i][where]]).transpose())[0, 0].exp() for i in seen]
            total = sum(weights, arb(0))
            for c in range(h * size, (h + 1) * size):
                out[j][c] = sum((w * v[i][c] for w, i in zip(weights, seen, strict=True)), arb(0)) / total
    return out


def far(after: torch.Tensor, true: list[list[arb]]) -> float:
    """The largest |after - true|, rounded up."""
    with precision(200):
        errors = (abs(arb(x) - y) for row, wanted in zip(after.tolist(), true, strict=True)
                  for x, y in zip(row, wanted, strict=True))  # fmt: skip
        return max(float(error.upper()) for error in errors) * (1 + 1e-12)


class Example:
    """What a tape program came from, where that is a test."""

    name = "example"


@cache
def small() -> hs.machine.Tape:
    """A block that is quick to run."""
    return hs.machine.Tape(slot=8, slots=3, heads=2)


def instruction(seed, activation="identity", view="self", unit=False, spread=0.4, put=None, rows=5):
    """A random instruction on slots 0 and 2 of the small block."""
    parts = [
        Rows(part, {0: spread * random(rows, 8, seed=seed + k), 2: spread * random(rows, 5, seed=seed + 10 + k)},
             spread * random(rows, seed=seed + 20 + k))
        for k, part in enumerate("KQV")
    ]  # fmt: skip
    parts.append(Rows("g", {}, torch.tensor([0.25], dtype=torch.float64)))
    return Instruction(f"{activation} {view}", tuple(parts), activation, unit, view, put or {1: "set", 0: "add"})


def every_instruction(seed=0):
    """One of each sort."""
    for activation in FUNCTIONS:
        for view in VIEWS:
            for unit in (False, True):
                yield instruction(seed := seed + 1, activation, view, unit)


def program(*instructions, features=24, **more):
    """A tape program of these instructions: all slots go in, all come out."""
    places = tuple(Stretch(k, 0, 8 * k, 8) for k in range(features // 8))
    return TapeProgram(small().sizes, Example, tuple(instructions), places, places, **more)


def state(tokens=4, seed=0, spread=1.0):
    """Random tokens of three slots, and the 1."""
    return torch.cat([spread * random(tokens, 24, seed=seed), torch.ones(tokens, 1).double()], -1)
