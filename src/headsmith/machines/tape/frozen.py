"""The frozen block of a tape: fetch, read, bend, normalise, choose, attend, write. It knows sizes, no program.

    prompt     tape tokens (theta, bias, l, l^2), `registers` of them an instruction, then T state tokens (s, 1, pc, -1)
    fetch      the instruction whose address l is pc                     softmax of 4096 (2 pc l - l^2): exactly one
    read       r_j = theta_j . s + bias_j                                the identity lattice, token j its weights
    bend       V <- f(V)                                                 tanh, silu, relu, gelu or nothing
    normalise  N <- V / sqrt(V.V + g)                                    a table of 1/sqrt, times a feature
    choose     U <- gate(plain) V + gate(unit) N
    attend     Z <- gate(self) U + gate(heads) heads + gate(causal) causal heads + gate(whole) one head of size D
    turn       pc <- gate(1 - jump)(pc + 1) + gate(jump) target
    write      s_k <- gate(keep_k) s_k + gate(put_k) Z

Every gate is a softmax with one more key, a null token of value 0 and score C (1 - 2 flag), C = 2^60, so that its
weights are exactly 0.0 or 1.0: what is off adds exact zeros, what is kept keeps its bits. Flags are rows of the
instruction like all others. (In-Context Algorithm Emulation, Thm 4.2 and section 3; norms and gates are ours.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from headsmith.machines.bending import ACTIVATIONS, Bending
from headsmith.machines.block import copies
from headsmith.machines.reading import Reading
from headsmith.machines.tape.fetch import Fetching
from headsmith.machines.tape.instruction import VIEWS, Instruction, Sizes
from headsmith.network import Affine, Attention, Layer, Map, Network, Select, Sparse
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal

CLOSED = 2.0**60  # C: beyond every score, D domain^2, for flags of 0 and 1, and beyond exp for conditions near 1/2
PARTS = ("K", "Q", "V")
MODES = ("plain", "unit")
MORE = ("one", "pc", "mark")  # behind the slots of a state token: the constant, the place on the tape, -1


def registers(sizes: Sizes) -> dict[str, range]:
    """Which program token is what: name -> rows.

    >>> registers(Sizes(slot=4, slots=2, heads=1))["put"]
    range(17, 19)
    """
    return _places(
        {
            **dict.fromkeys(("K", "Q"), sizes.slot),
            "g": 1,
            **dict.fromkeys((*MODES, *VIEWS), 1),
            **dict.fromkeys(("keep", "put"), sizes.slots),
            **dict.fromkeys(("jump", "target"), 1),
            "V": sizes.slot,
            **dict.fromkeys(ACTIVATIONS, 1),
        }
    )


def count(sizes: Sizes) -> int:
    """Program tokens of an instruction: 3 D + 1 and the flags."""
    return registers(sizes)[ACTIVATIONS[-1]].stop


def stream(sizes: Sizes) -> dict[str, range]:
    """Which feature is what behind the reading: the registers but V and its activations, the token, room, V."""
    kept = {name: len(rows) for name, rows in registers(sizes).items() if name not in ("V", *ACTIVATIONS)}
    slots = {f"slot.{k}": sizes.slot for k in range(sizes.slots)}
    room = {"null": 4, **dict.fromkeys(("N", "U", "Z"), sizes.slot), "next": 1, "V": sizes.slot}
    return _places({**kept, **slots, **dict.fromkeys(MORE, 1), **room})


def _places(sizes: Mapping[str, int]) -> dict[str, range]:
    places, at = {}, 0
    for name, size in sizes.items():
        places[name], at = range(at, at + size), at + size
    return places


def encode(instruction: Instruction, sizes: Sizes) -> Tensor:
    """The program tokens of an instruction, (registers, S D + 1): theta and bias of every row."""
    at, width = registers(sizes), sizes.slots * sizes.slot
    tokens = torch.zeros(count(sizes), width + 1, dtype=torch.float64)
    flags = [at[instruction.activation][0], at[MODES[instruction.unit]][0], at[instruction.view][0]]
    for k in range(sizes.slots):
        how = instruction.put.get(k)
        flags += [at["keep"][k]] * (how != "set") + [at["put"][k]] * (how is not None)
    tokens[flags, width] = 1.0
    for rows in instruction.rows:
        first = at[rows.part][0] + rows.first
        where = slice(first, first + len(rows.bias))
        tokens[where, width] = rows.bias.double()
        for slot, weight in rows.weights.items():
            tokens[where, slot * sizes.slot : slot * sizes.slot + weight.shape[1]] = weight.double()
    return tokens


def network(sizes: Sizes, tables: Mapping[str, Head]) -> Network:
    """(..., tape and state tokens, S D + 3) -> (..., state tokens, S D + 3): one pass."""
    width, rows = sizes.slots * sizes.slot + len(MORE), count(sizes)
    read = tables["read"]
    layers: dict[str, Layer] = {
        "fetch": Fetching(rows=rows, width=width),
        "read": Reading(
            *(torch.tensor(column) for column in (read.slopes, read.offsets, read.values)),
            rows=rows,
            features=width - len(MORE),
            carried=len(MORE) - 1,
            grouped=True,
            whole=True,
        ),
        **_middle(sizes, tables),
        **_end(sizes),
    }
    at = stream(sizes)
    behind = {"K": "bend", "Q": "bend", "V": "bend", "N": "normalise", "U": "choose", "Z": "whole", "next": "turn"}
    variables = {name: (layer, 0, slice(at[name][0], at[name].stop)) for name, layer in behind.items()}
    for k in range(sizes.slots):
        variables[f"slot.{k}"] = ("write", 0, slice(k * sizes.slot, (k + 1) * sizes.slot))
    tokens = [*_names(registers(sizes)), "state"]
    return Network(layers, tokens=tokens, features=_names(at), variables=variables)


def _names(places: Mapping[str, range]) -> list[str]:
    return [name if len(at) == 1 else f"{name}.{k}" for name, at in places.items() for k in range(len(at))]


def stored(network: Network) -> dict[str, Head]:
    """The tables that a network of this shape holds."""
    read, bend, norm = (network.layers[name] for name in ("read", "bend", "normalise"))
    if not (isinstance(read, Reading) and isinstance(bend, Bending)):
        raise Refusal("a tape reads and bends before it normalises")
    columns = (getattr(norm, part)[0].detach().cpu().double() for part in ("slopes", "offsets", "levels"))
    return {"read": read.table, **bend.heads, "norm": Head.table(*(column.numpy().copy() for column in columns))}


def _middle(sizes: Sizes, tables: Mapping[str, Head]) -> dict[str, Layer]:
    """From what was read to U: the stream is laid out, V is bent, and made a unit vector."""
    at, read = stream(sizes), registers(sizes)
    width, wide = at["V"].stop, at["V"].stop + len(ACTIVATIONS)
    front = read["V"].start
    token = range(read[ACTIVATIONS[-1]].stop, read[ACTIVATIONS[-1]].stop + sizes.slots * sizes.slot + len(MORE))
    room = [-1] * (at["V"].start - at["null"].start)
    flags = range(read["V"].stop, token.start)
    lay = Select([*range(front), *token, *room, *read["V"], *flags], token.stop)
    v, one = [*at["V"]], at["one"][0]
    return {
        "lay": Affine(lay),
        "bend": Bending({name: tables[name] for name in ACTIVATIONS}, rows=wide - len(ACTIVATIONS), first=v[0]),
        "normalise": copies(
            tables["norm"],
            query=Select([[*v, at["g"][0]]], width),
            key=Select([[*v, one]], width),
            value=Select([v], width),
            output=Select.writing([[*at["N"]]], width),
        ),
        "choose": _gates(at, [("plain", "V"), ("unit", "N")], "U"),
    }


def _end(sizes: Sizes) -> dict[str, Layer]:
    """From U to the next state: the views, the next place on the tape, the slots."""
    at = stream(sizes)
    width, one = at["V"].stop, at["one"][0]
    size = sizes.slot // sizes.heads
    narrow = [range(h * size, (h + 1) * size) for h in range(sizes.heads)]
    turn = Sparse([[[at["target"][0], one]], [[at["pc"][0], one]]], [[[1.0, 0.0]], [[1.0, 1.0]]], width)
    return {
        "alone": _gates(at, [("self", "U")], "Z"),
        "heads": _view(at, "heads", narrow, "all"),
        "causal": _view(at, "causal", narrow, "causal"),
        "whole": _view(at, "whole", [range(sizes.slot)], "all"),
        "turn": Attention(
            query=Select([[at["jump"][0], one]] * 2, width),
            key=Select([[*at["null"][:2]], [*at["null"][2:]]], width),
            value=turn,
            output=Select.writing([[at["next"][0]]] * 2, width),
            visible="self",
            memory=_null(at),
            residual=True,
        ),
        "write": _write(at, sizes),
    }


def _null(at: Mapping[str, range]) -> Tensor:
    """The null token: zeros, and -2C flag + C of a gate that a 1 opens, 2C flag - C of one that a 1 shuts."""
    memory = torch.zeros(1, at["V"].stop, dtype=torch.float64)
    memory[0, [*at["null"]]] = torch.tensor([-2 * CLOSED, CLOSED, 2 * CLOSED, -CLOSED], dtype=torch.float64)
    return memory


def _gates(at: Mapping[str, range], gates: Iterable[tuple[str, str]], target: str) -> Attention:
    """target <- sum of gate(flag) value, one head each: yourself, or the null token."""
    flags, values = zip(*gates, strict=True)
    width, heads = at["V"].stop, len(flags)
    return Attention(
        query=Select([[at[flag][0], at["one"][0]] for flag in flags], width),
        key=Select([[*at["null"][:2]]] * heads, width),
        value=Select([[*at[value]] for value in values], width),
        output=Select.writing([[*at[target]]] * heads, width),
        visible="self",
        memory=_null(at),
        residual=True,
    )


def _view(at: Mapping[str, range], flag: str, heads: Iterable[range], visible: str) -> Attention:
    """Z <- Z + heads of K, Q, U, each with the null token beside its keys: query (Q, flag, 1), null (0, -2C, C)."""
    width, heads = at["V"].stop, list(heads)

    def part(name: str, more: Iterable[int]) -> Map:
        return Select([[*(at[name][i] for i in head), *more] for head in heads], width)

    return Attention(
        query=part("Q", (at[flag][0], at["one"][0])),
        key=part("K", at["null"][:2]),
        value=part("U", ()),
        output=Select.writing([[at["Z"][i] for i in head] for head in heads], width),
        visible=visible,
        memory=_null(at),
        residual=True,
    )


def _write(at: Mapping[str, range], sizes: Sizes) -> Attention:
    """The next state token: each slot kept, set or added to; the constant, the next place and the mark."""
    width, one, slot = at["V"].stop, at["one"][0], sizes.slot
    rest = [one, at["next"][0], at["mark"][0]]
    behind = sizes.slots * slot
    heads = [
        (at[flag][k], [*value], range(k * slot, (k + 1) * slot))
        for k in range(sizes.slots)
        for flag, value in (("keep", at[f"slot.{k}"]), ("put", at["Z"]))
    ]
    heads.append((one, rest, range(behind, behind + len(rest))))
    longest = max(slot, len(rest))
    return Attention(
        query=Select([[flag, one] for flag, _, _ in heads], width),
        key=Select([[*at["null"][:2]]] * len(heads), width),
        value=Select([[*value, *[-1] * (longest - len(value))] for _, value, _ in heads], width),
        output=Select.writing([[*target] for _, _, target in heads], behind + len(rest)),
        visible="self",
        memory=_null(at),
    )


def prompt(instruction: Instruction, state: Tensor, sizes: Sizes) -> Tensor:
    """A tape of one instruction, and the state (..., tokens, S D + 1): what the network reads in one pass."""
    program = torch.nn.functional.pad(encode(instruction, sizes), (0, 2))
    return torch.cat([program.expand(*state.shape[:-2], *program.shape), marked(state)], -2)


def marked(state: Tensor) -> Tensor:
    """The state tokens as the network reads them: with the place 0, and the mark."""
    place = state.new_zeros(*state.shape[:-1], 1)
    return torch.cat([state, place, place - 1], -1)
