"""From the bytes of a file to a verdict: hashes, the sentence, and the proof of its kind.

tensors, and a manifest in JSON: kind, target, request (domain, dtype), design (a hint), network (the wiring),
certificate (approximation, rounding, bound, kind, statement, assumptions, weights), hash
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256
from typing import Any, NamedTuple

from flint import arb
from safetensors import deserialize

from . import grids, programs, rounding, stacks, statements, units
from .formulas import Formula
from .heads import Interval, Key, prove
from .rounding import FORMATS, Format
from .verdict import Budget, Verdict, need
from .wiring import ODD, Tensor, scalar_wires, tensor

FORMAT, TARGET = 2, "target/"
KEYS = {"format", "kind", "target", "request", "design", "network", "certificate", "hash"}
SAID = {"approximation", "rounding", "bound", "kind", "statement", "assumptions", "weights"}


class Stated(NamedTuple):
    """What the certificate claims."""

    approximation: float
    rounding: float
    bound: float


class File(NamedTuple):
    """A file whose hashes are right."""

    manifest: Any
    network: dict[str, Tensor]
    target: dict[str, Tensor]
    fmt: Format
    stated: Stated


def canonical(obj: Any) -> str:
    """JSON in one spelling."""
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(config: Any, raw: dict[str, Any]) -> str:
    """SHA-256 over JSON and tensors, in order of their names."""
    found = sha256(canonical(config).encode())
    names = {"F64": "float64", "F32": "float32"}
    for name, t in sorted(raw.items()):
        found.update(f"{name}|{names.get(t['dtype'], t['dtype'])}|{list(t['shape'])}|".encode())
        found.update(bytes(t["data"]))
    return found.hexdigest()


def proved(data: bytes, budget: Budget) -> Verdict:
    """The verdict on the bytes of a file; raises `Rejected` or `Open` where it is not proved."""
    file = opened(data)
    kind = file.manifest["kind"]
    need(kind in PROOFS, f"this checker repeats proofs of {', '.join(PROOFS)}, not of a {str(kind)[:40]}", 2)
    PROOFS[kind](file, budget)
    return Verdict(0, "proved again from the stored weights", file.stated.bound)


def opened(data: bytes) -> File:
    """The parts of a file, once its hashes, its dtype and its sum are right."""
    raw = dict(deserialize(data))
    text = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["headsmith"]
    manifest = json.loads(text)
    need(isinstance(manifest, dict) and text == canonical(manifest), "the manifest was altered")
    need(manifest.get("format") == FORMAT, f"this checker reads file format {FORMAT}", 2)
    need(not str(manifest.get("kind")).startswith("machine: "), "this checker repeats no proofs of machines", 2)
    bare = {key: value for key, value in manifest.items() if key != "hash"}
    need(digest(bare, raw) == manifest["hash"], "the file was altered: its hash differs")
    said = manifest["certificate"]
    need(set(manifest) == KEYS and set(said) == SAID, "the manifest has other entries than a file of Headsmith")
    need(said["kind"] == "proved", f"a {str(said['kind'])[:40]} certificate rests on what the file does not hold", 2)
    own = {name: t for name, t in raw.items() if not name.startswith(TARGET)}
    need(digest(manifest["network"], own) == said["weights"], "the weights were altered: their hash differs")
    kinds = {t["dtype"] for t in own.values()}
    need(len(kinds) == 1 and kinds <= set(FORMATS), "the weights are not all float64 or all float32")
    fmt = FORMATS[kinds.pop()]
    need(manifest["request"]["dtype"] == fmt.name, "the weights are not of the dtype that the file names")
    need(said["assumptions"] == statements.ASSUMPTIONS, "the file names other assumptions")
    target = {name.removeprefix(TARGET): t for name, t in raw.items() if name.startswith(TARGET)}
    need(all(t["dtype"] == "F64" for t in target.values()), "the numbers of the target are not all float64")
    return File(
        manifest,
        {name: tensor(t, fmt) for name, t in own.items()},
        {name: tensor(t, FORMATS[t["dtype"]]) for name, t in target.items()},
        fmt,
        _stated(said),
    )


def _stated(said: Any) -> Stated:
    stated = Stated(*(programs.finite(said[part]) for part in Stated._fields))
    need(stated.approximation >= 0 and stated.rounding >= 0, "a bound is negative")
    parts = Fraction(stated.approximation) + Fraction(stated.rounding)
    need(parts <= Fraction(stated.bound), "the bound is less than its parts")
    return stated


def formula(file: File, budget: Budget) -> None:
    """Formulas: programs of scalar heads, or one head on a grid."""
    goals, names, vector = statements.formulas_of(file.manifest["target"])
    domain = statements.domain_of(file.manifest["request"], names)
    _says(file, statements.of_formulas(goals, names, vector, domain, file.fmt.name))
    design = file.manifest["design"]
    if design["name"] == "heads":
        need(len(names) == 1, ODD)
        _programs(file, goals, domain[names[0]], vector, budget)
    else:
        need(design["name"] == "grid", f"this checker does not know the construction {str(design['name'])[:40]!r}", 2)
        _grid(file, goals, names, tuple(domain[name] for name in names), budget)


def _says(file: File, sentence: str) -> None:
    """The file states the sentence that was derived."""
    need(file.manifest["certificate"]["statement"] == sentence, "the statement is not that of target and domain")


def _programs(file: File, goals: Sequence[Formula], ends: Interval, vector: bool, budget: Budget) -> None:
    """Each component by its parts."""
    hints = file.manifest["design"]["programs"]
    wires = scalar_wires(file.manifest["network"], file.network)
    need(isinstance(hints, list) and len(hints) == len(goals) == len(wires.outputs), ODD)
    found = [programs.parts_of(own, wires, r if vector else None) for r, own in enumerate(hints)]
    programs.covered(found, wires)
    for parts, goal, output in zip(found, goals, wires.outputs, strict=True):
        need(parts and parts[0].source == wires.source and parts[-1].output == output, ODD)
        _witnessed(parts, goal, ends, file.stated, budget)
        most = programs.component(parts, ends, goal, file.fmt, file.stated[:2], budget)
        _compare(file.stated, most.approximation, most.rounding)


def _witnessed(parts: Sequence[programs.Part], goal: Formula, ends: Interval, stated: Stated, budget: Budget) -> None:
    """A few exact values: a network that is plainly false is called so."""
    (lo, hi), name = ends, next(iter(goal.variables), "x")
    work = len(goal.steps) + sum(len(head) for part in parts for head in part.heads)
    for i in range(65):
        budget.spend(work)
        x = min(max(lo + (hi - lo) * i / 64, lo), hi)
        value = programs.formula_at(goal, {name: arb(x)})
        if value is not None:
            gap = abs(programs.program_at(parts, x) - value)
            need(not gap > stated.approximation, f"false: the error exceeds {stated.approximation:.3e} at {x:.6g}")


def _compare(stated: Stated, approximation: float, slip: float) -> None:
    """What was found is what is stated, at most."""
    need(
        approximation <= stated.approximation, f"an approximation error of {approximation:.4e} is what it can prove", 2
    )
    need(slip <= stated.rounding, f"a rounding error of {slip:.3e} is what this checker can prove", 2)


def _grid(file: File, goals: Sequence[Formula], names: Sequence[str], box: grids.Box, budget: Budget) -> None:
    """One head whose keys are a product."""
    need(len(names) <= 4, "this checker repeats proofs of up to four variables", 2)
    grid, outputs = grids.grid_wires(file.manifest["network"], file.network, names)
    need(len(outputs) == len(goals) == len(grid.values), ODD)
    if len(names) == 1:
        return _shared(file, grid, goals, box[0], budget)
    slips = rounding.worst(lambda cell: grids.slip(grid, cell, file.fmt), box, file.stated.rounding, grid.work, budget)
    _compare(file.stated, 0.0, slips)
    for values, goal in zip(grid.values, goals, strict=True):
        grids.Component(grid, values, goal, names, file.stated.approximation, budget).shown(box)


def _shared(file: File, grid: grids.Grid, goals: Sequence[Formula], ends: Interval, budget: Budget) -> None:
    """One variable: components that share the keys of one head, each a head of its own to the proof."""
    [axis], stated = grid.axes, file.stated
    for values, goal in zip(grid.values, goals, strict=True):
        head = tuple(Key(a, b, g, 0.0) for a, b, g in zip(axis.slopes, axis.offsets, values, strict=True))
        part = programs.Part("x", "out", goal, 0.0, (head,))
        _witnessed([part], goal, ends, stated, budget)
        most = prove([head], 0.0, goal, ends, stated.approximation, budget, stated.approximation)
        slips = rounding.rounding(rounding.Sum([head]), ends, file.fmt, stated.rounding, budget)
        _compare(stated, most.bound, slips)


def perceptron(file: File, budget: Budget) -> None:
    """An MLP: heads that stand for activations, between its own matrices."""
    target = file.manifest["target"]
    need(isinstance(target, dict) and set(target) == {"weights", "biases", "activations"}, "the target is malformed")
    matrices, sigmas = units.matrices_of(target, file.target), statements.listed_formulas(target["activations"])
    ends = statements.domain_of(file.manifest["request"], ["x"])["x"]
    _says(file, statements.of_perceptron(matrices, sigmas, ends, file.fmt.name))
    need(file.manifest["design"] == {"name": "units"} and all(f.variables == {"x"} for f in sigmas), ODD)
    stack = stacks.Stack(matrices, sigmas, units.unit_heads(file.manifest["network"], file.network, matrices), ends)
    stacks.witnessed(stack, file.stated.approximation, budget)
    most = stacks.propagated(stack, file.fmt, file.stated[:2], budget)
    _compare(file.stated, most.approximation, most.rounding)


PROOFS = {"formula": formula, "mlp": perceptron}
