"""Tape programs on disk: what was asked for, in the numbers that were given, and the block that it is for.

    {"format": 2, "kind": "tape program",
     "program":       a tree of {"kind": "chain" | "linear" | ..., its fields}: numbers in hexadecimal, arrays by tensor
     "block":         {"slot", "slots", "heads", "domain", "norm"}
     "scales":        what each norm multiplies its numbers by; "features": numbers of a token
     "instructions":  for each of them its name, the slots it reads and writes, activation, view, size
     "hash":          SHA-256 of all of it and of every tensor}

Instructions are not read from the file: loading reads the program, lowers it again, and the list must be the same. So
a file cannot bring an instruction that its program does not have. A file whose hash was made right after a number was
changed holds another program, and says so of itself: what it computes is proved against the numbers that it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headsmith.compiler.files import FORMAT, PROGRAM, Manifest, seal_program, write
from headsmith.compiler.target import read_value, write_value
from headsmith.constructions.design import Altered
from headsmith.machines.prompts.descent import DescentProgram, descent
from headsmith.machines.prompts.heads import HeadProgram, LinearProgram, head, linear
from headsmith.machines.prompts.layers import (
    ChainProgram,
    NormProgram,
    PoolProgram,
    ResidualProgram,
    UnitProgram,
    chain,
    features,
    norm,
    pool,
    residual,
    unit,
)
from headsmith.machines.prompts.rule import RuleProgram, rule
from headsmith.machines.prompts.sentence import SentenceProgram
from headsmith.machines.tape.instruction import Instruction
from headsmith.machines.tape.lowering import lower
from headsmith.machines.tape.program import TapeProgram
from headsmith.machines.tape.tape import Tape
from headsmith.network.files import canonical

KINDS: dict[str, type] = {
    "head": HeadProgram,
    "linear": LinearProgram,
    "norm": NormProgram,
    "unit": UnitProgram,
    "pool": PoolProgram,
    "residual": ResidualProgram,
    "chain": ChainProgram,
    "sentence": SentenceProgram,
    "descent": DescentProgram,
    "rule": RuleProgram,
}
SPOKEN = (DescentProgram, RuleProgram)  # their names say loss and steps: no file has a say in them
BARE = 2**10  # features of a program without a number of its own, a mean
BUILD: dict[type, Callable[[Any], Any]] = {  # through the public doors, which refuse what is no program
    HeadProgram: lambda p: _head(p),
    LinearProgram: lambda p: linear(p.weight, p.bias, p.activation),
    UnitProgram: lambda p: unit(p.features),
    NormProgram: lambda p: norm(p.gamma, p.beta, p.eps, p.centred),
    PoolProgram: lambda p: pool(),
    ResidualProgram: lambda p: residual(*p.stages),
    ChainProgram: lambda p: chain(*p.stages),
    SentenceProgram: lambda p: SentenceProgram(p.name, chain(*p.stages).stages),
    DescentProgram: lambda p: descent(
        p.X, p.y, p.loss, l1=p.l1.tolist() if p.path else float(p.l1), l2=p.l2, delta=p.delta, rate=p.rate,
        momentum=p.momentum, steps=p.steps,
    ),
    RuleProgram: lambda p: rule(p.f, p.X, p.y, p.rate, p.steps, eps=p.eps),
}  # fmt: skip


def _head(program: HeadProgram) -> HeadProgram:
    """The head of the queries that were given and of their scale; folding the two is done again."""
    (k, q, v), (b_k, b_q, b_v) = program.weights, program.biases
    q, b_q = program.queries or (q, b_q)
    found = head(k, q, v, program.scale, (b_k, b_q, b_v), activation=program.activation, causal=program.causal)
    return found if program.queries else replace(found, queries=None)


def save(tape: TapeProgram, path: str | Path) -> Path:
    """Writes the file."""
    manifest, tensors = _record(tape)
    return write(path, seal_program(manifest, tensors), tensors)


def _record(tape: TapeProgram) -> tuple[Manifest, dict[str, Tensor]]:
    """What a file says of a program, without its hash, and the arrays."""
    sizes, tensors = tape.sizes, dict[str, Tensor]()
    ranges = {"domain": tape.domain.hex(), "norm": [end.hex() for end in tape.norm]}
    block = {"slot": sizes.slot, "slots": sizes.slots, "heads": sizes.heads, **ranges}
    manifest = {
        "format": FORMAT,
        "kind": PROGRAM,
        "program": _written(tape.source, "program", tensors),
        "block": block,
        "scales": [scale.hex() for scale in tape.scales],
        "features": tape.features,
        "instructions": [_line(instruction) for instruction in tape.written],
    }
    return manifest, tensors


def loaded(manifest: Manifest, tensors: Mapping[str, Tensor]) -> TapeProgram:
    """The program of a file, lowered again; a file that says anything else is refused."""
    block, source = _block(manifest["block"]), _read(manifest["program"], tensors, set())
    scales = [float.fromhex(scale) for scale in manifest["scales"]]
    if not all(0 < scale < math.inf and math.frexp(scale)[0] == 0.5 for scale in scales):
        raise Altered("a scale of a norm is a power of two")
    sample = _sample(source, manifest["features"])
    tape = lower(source, block.sizes, sample=sample, norm=block.norm, domain=block.domain, scales=scales)
    again, arrays = _record(tape)
    for at, (ours, theirs) in enumerate(zip(again["instructions"], manifest["instructions"], strict=False)):
        if ours != theirs:
            raise Altered(f"instruction {at} of the file is not the one that its program has")
    if canonical(again) != canonical({key: value for key, value in manifest.items() if key != "hash"}):
        raise Altered("the file says something else than its program, lowered again, says of itself")
    if set(arrays) != set(tensors) or any(not torch.equal(arrays[name], given) for name, given in tensors.items()):
        raise Altered("the numbers of the file are none that its program could hold")
    return tape


def _block(record: Mapping[str, Any]) -> Tape:
    """A block of these sizes, checked and not built."""
    low, high = (float.fromhex(end) for end in record["norm"])
    sizes = {name: record[name] for name in ("slot", "slots", "heads")}
    block = Tape.__new__(Tape)
    block._size(**sizes, domain=float.fromhex(record["domain"]), low=low, high=high, root=1.0)
    return block


def _sample(source: Any, count: Any) -> Tensor | None:
    """A token of as many numbers as the program reads; none where it carries its data."""
    width = 0 if hasattr(source, "steps") else features(source)
    if type(count) is not int or not (0 < count <= BARE if width is None else count == width):
        raise Altered(f"its program reads tokens of {width or f'up to {BARE}'} numbers, not of {count!r}")
    return torch.zeros(1, count, dtype=torch.float64) if count else None


def _line(instruction: Instruction) -> list[Any]:
    """What a listing says of an instruction."""
    return [
        instruction.name,
        list(instruction.reads),
        [[slot, how] for slot, how in sorted(instruction.put.items())],
        instruction.activation,
        instruction.unit,
        instruction.view,
        instruction.numbers,
    ]


def _written(value: Any, place: str, tensors: dict[str, Tensor]) -> Any:
    """A program as a tree; what is no program is written as targets write it."""
    kind = next((name for name, cls in KINDS.items() if type(value) is cls), None)
    if kind is not None:
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        return {kind: {name: _written(part, f"{place}.{name}", tensors) for name, part in own.items()}}
    if isinstance(value, tuple):
        return [_written(part, f"{place}.{i}", tensors) for i, part in enumerate(value)]
    return write_value(value.numpy() if isinstance(value, Tensor) else value, place, tensors)


def _read(value: Any, tensors: Mapping[str, Tensor], used: set[str]) -> Any:
    """The inverse, through the doors by which users make programs."""
    if isinstance(value, list):
        return tuple(_read(part, tensors, used) for part in value)
    if isinstance(value, dict) and not set(value) & {"tensor", "float", "formula"}:
        [(kind, body)] = value.items()
        cls = KINDS[kind]
        given = cls(**{name: _read(part, tensors, used) for name, part in body.items()})
        found = BUILD[cls](given)
        return found if cls in SPOKEN else replace(found, name=_name(given.name))
    array = read_value(value, tensors, used)
    return torch.from_numpy(array) if hasattr(array, "shape") else array


def _name(name: Any) -> str:
    """A name that stands on one line and says what it says."""
    if not (isinstance(name, str) and name.isprintable()):
        raise Altered(f"the name {name!a} cannot be shown")
    return name
