"""The frozen block of the solver: read, bend, write, sum, shrink. Its weights know sizes and a range, nothing else.

Every token of the prompt is an instruction (a, shift, op, step) and sees the state, the last two iterates (p, q):

    read     z_i = a_i . (p, q) + shift_i                softmax over copies of the token, a lattice that returns z
    bend     sigmoid(z_i)   and   soft(z_i) = z_i - clip(z_i, -1, 1)    gates: attend to yourself or to nothing
    write    step_i (op_i . (z_i, sigmoid(z_i), soft(z_i), 1))      the lattice again: how attention multiplies
    sum      p + all that was written                                                             token mixing
    shrink   p_k -> p_k - clip(p_k, -low_k, high_k)                               two gates for each coordinate

so that p <- shrink(p + sum_i step_i f_i(a_i . (p, q) + shift_i)), f_i any mixture of identity, sigmoid and clip. Which
algorithm that is, gradient descent or Nesterov's, least squares or lasso, is decided by the numbers in the tokens.
(In-Context Algorithm Emulation, section 3: Thm 3.1, Cor 3.1.2, repaired; thresholds and acceleration are ours.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from headsmith.constructions.identity import identity
from headsmith.network import Affine, Attention, Copies, Dense, Layer, Map, Network, Select, Sparse, TokenMix
from headsmith.proof.statement import Head

SHARP = 1e12  # slope of a gate: a hinge within 0.28 / SHARP, and exactly zero 745 / SHARP away from it
LATTICE = 5e-15  # error of the lattice relative to its range: as fine as float64 goes
SATURATED = 40.0  # beyond it the sigmoid is 0 or 1 to the last bit

Line = Mapping[int, float]
"""A linear form of a token: feature -> coefficient."""


def stream(features: int) -> dict[str, range]:
    """Where things are in a token: name -> features.

    >>> stream(2)["step"]
    range(14, 16)
    """
    sizes = {
        "state": 2 * features, "one": 1, "a": 2 * features, "shift": 1, "op": 4, "step": features,
        "p": features, "low": features, "high": features, "bent": 3,
    }  # fmt: skip
    places, at = {}, 0
    for name, size in sizes.items():
        places[name], at = range(at, at + size), at + size
    return places


def lattice(reach: float) -> Head:
    """The table that returns z for |z| <= reach."""
    return identity(reach, LATTICE * reach)


def block(features: int, tokens: int, table: Head) -> Network:
    """(..., tokens, width) -> (..., 1, features): one iteration of whatever the tokens say."""
    at = stream(features)
    width, one, d = at["bent"].stop, at["one"][0], features
    z, squashed, soft = at["bent"]
    reading = {
        "query": Select([[*at["state"], one]], width),
        "key": Select([[*at["a"], *at["shift"]]], width),
        "value": Select([[one]], width),
        "output": Select.writing([[z]], width),
    }
    writing = {
        "query": Select([[*at["bent"], one]], width),
        "key": Select([[*at["op"]]], width),
        "value": Select([[*at["step"]]], width),
        "output": Select.writing([[*at["p"]]], width),
    }
    bends = [
        ({z: 1.0}, {one: 1.0}, squashed),
        ({z: SHARP, one: -SHARP}, {z: 1.0, one: -1.0}, soft),
        ({z: -SHARP, one: -SHARP}, {z: 1.0, one: 1.0}, soft),
    ]
    # behind the sum a token is (p, low, high, one, p next)
    unit, last = 3 * d, range(3 * d + 1, 4 * d + 1)
    above = [({k: SHARP, 2 * d + k: -SHARP}, {k: 1.0, 2 * d + k: -1.0}, last[k]) for k in range(d)]
    below = [({k: -SHARP, d + k: -SHARP}, {k: 1.0, d + k: 1.0}, last[k]) for k in range(d)]
    layers: dict[str, Layer] = {
        "read": copies(table, **reading),
        "bend": gates(bends, one, width),
        "write": copies(table, **writing),
        "keep": Affine(Select([*at["p"], *at["low"], *at["high"]], width)),
        "sum": TokenMix(Dense(torch.ones(1, tokens, dtype=torch.float64))),
        "widen": Affine(Select([*range(3 * d), *[-1] * (d + 1)], 3 * d), [0.0] * unit + [1.0] + [0.0] * d),
        "shrink": gates([*above, *below], unit, 4 * d + 1),
        "next": Affine(Select([*last], 4 * d + 1)),
    }
    names = [name if len(place) == 1 else f"{name}.{k}" for name, place in at.items() for k in range(len(place))]
    variables = {
        "z": ("read", 0, slice(z, z + 1)),
        "sigmoid": ("bend", 0, slice(squashed, squashed + 1)),
        "soft": ("bend", 0, slice(soft, soft + 1)),
        "p": ("next", 0, slice(0, d)),
    }
    instructions = ["state", *(f"instruction.{i}" for i in range(1, tokens))]
    return Network(layers, tokens=instructions, features=names, variables=variables)


def copies(table: Head, **maps: Map) -> Copies:
    """A rule layer: f(query . key) value, f the table, added to the stream."""
    grid = [torch.tensor(column)[None] for column in (table.slopes, table.offsets, table.values)]
    return Copies(**maps, slopes=grid[0], offsets=grid[1], levels=grid[2], residual=True)


def gates(rows: Sequence[tuple[Line, Line, int]], one: int, width: int) -> Attention:
    """target += value(x) sigmoid(score(x)) for each row (score, value, target): yourself, or a null token."""

    def form(lines: Sequence[Line]) -> Sparse:
        terms = max(map(len, lines))
        index = [[[*line, *[one] * (terms - len(line))]] for line in lines]
        coefficient = [[[*line.values(), *[0.0] * (terms - len(line))]] for line in lines]
        return Sparse(index, coefficient, width)

    return Attention(
        query=Select([[one]] * len(rows), width),
        key=form([score for score, _, _ in rows]),
        value=form([value for _, value, _ in rows]),
        output=Select.writing([[target] for _, _, target in rows], width),
        visible="self",
        memory=torch.zeros(1, width, dtype=torch.float64),
        residual=True,
    )
