"""A few small machines of every kind, each with the arguments of one call, for the tests that all of them share."""

from collections.abc import Callable
from typing import Any

import torch

import headsmith as hs
from headsmith.machines.machine import Machine
from headsmith.machines.tape.instruction import Instruction, Rows, Sizes
from headsmith.machines.tape.program import Stretch, TapeProgram

from .data import filled, random

DATA = random(6, 2, seed=3)
TARGET = DATA @ torch.tensor([1.0, -2.0], dtype=torch.float64) + 0.1 * random(6, seed=4)


def _solver(program: Any) -> tuple[Machine, tuple[Any, ...]]:
    return hs.machine.Solver(features=2, samples=6), (program,)


def _attention(dtype: str = "float64", method: str = "auto") -> tuple[Machine, tuple[Any, ...]]:
    eps = 1e-3 if dtype == "float64" else 1e-2
    vm = hs.machine.Attention(features=2, head_dim=2, tokens=3, domain=1.0, eps=eps, dtype=dtype, method=method)
    program, x = filled(1, domain=0.9, tokens=3, features=2, rows=2)
    return vm, (program, x.to(vm.dtype))


def _layer(activation: str) -> tuple[Machine, tuple[Any, ...]]:
    vm = hs.machine.Attention(features=2, head_dim=2, tokens=3, domain=2.0, eps=1e-4)
    theta = torch.tensor([[0.5, -0.25], [1.0, 0.5]], dtype=torch.float64)
    return vm, (hs.prompt.linear(theta, [0.1, -0.2], activation), torch.tensor([[0.3, -0.8], [0.9, 0.7]]).double())


def _neurons(f: str, eps: float) -> tuple[Machine, tuple[Any, ...]]:
    states = torch.tensor([[0.5, -0.5], [1.0, 0.25]], dtype=torch.float64)
    return hs.machine.Neurons(f, features=2, neurons=2, domain=2.0, eps=eps), (
        [[1.0, 0.5], [-0.5, 1.0]], [0.1, -0.2], states
    )  # fmt: skip


def _gradients(f: str, eps: float) -> tuple[Machine, tuple[Any, ...]]:
    layer = hs.machine.Gradients(f, features=2, samples=2, residual=3.0, inputs=1.0, eps=eps)
    return layer, ([[1.0, 0.5], [-0.25, 0.75]], [0.5, -1.0], [1.0, 0.5])


def _tape(*lines: Instruction) -> tuple[Machine, tuple[Any, ...]]:
    sizes, places = Sizes(slot=4, slots=2, heads=2), (Stretch(0, 0, 0, 4), Stretch(1, 0, 4, 4))
    vm = hs.machine.Tape(sizes.slot, sizes.slots, sizes.heads)
    return vm, (TapeProgram(sizes, _Example, lines, places, places), random(3, 8, seed=5))


class _Example:
    name = "example"


def _line(seed: int, activation: str, view: str, unit: bool = False) -> Instruction:
    parts = [
        Rows(
            p,
            {0: 0.7 * random(4, 4, seed=seed + k), 1: 0.7 * random(4, 4, seed=seed + 3 + k)},
            random(4, seed=seed + k),
        )
        for k, p in enumerate("KQV")
    ]
    parts.append(Rows("g", {}, torch.tensor([0.5], dtype=torch.float64)))
    return Instruction(
        f"{activation} {view}", tuple(parts), activation, unit, view, {seed % 2: "set", 1 - seed % 2: "add"}
    )


def _token_grid(heads: int) -> tuple[Machine, tuple[Any, ...]]:
    program, x = filled(1, domain=0.9, tokens=4, features=2, rows=2)
    return hs.machine.TokenGrid(features=2, head_dim=2, tokens=4, domain=1.0, heads=heads), (program, x)


EXAMPLES: dict[str, Callable[[], tuple[Machine, tuple[Any, ...]]]] = {
    "solver: ols": lambda: _solver(hs.prompt.ols(DATA, TARGET)),
    "solver: lasso": lambda: _solver(hs.prompt.lasso(DATA, TARGET, 0.3)),
    "solver: huber": lambda: _solver(hs.prompt.huber(DATA, TARGET, 1.5)),
    "attention: head": lambda: _attention(),
    "attention: head, float32": lambda: _attention("float32"),
    "attention: head, two keys": lambda: _attention(method="two-key"),
    "attention: gelu": lambda: _layer("gelu"),
    "attention: relu": lambda: _layer("relu"),
    "tape: views": lambda: _tape(
        _line(1, "tanh", "heads"), _line(2, "gelu", "causal"), _line(3, "silu", "whole"), _line(4, "relu", "self")
    ),
    "tape: norms": lambda: _tape(_line(5, "tanh", "self", True), _line(8, "identity", "heads", True)),
    "neurons: tanh": lambda: _neurons("tanh(x)", 1e-6),
    "neurons: sin": lambda: _neurons("sin(x)", 1e-3),
    "neurons: sin, fine": lambda: _neurons("sin(x)", 1e-5),
    "neurons: cos": lambda: _neurons("cos(x)", 1e-4),
    "neurons: gelu": lambda: _neurons("gelu(x)", 1e-3),
    "gradients: x": lambda: _gradients("x", 1e-2),
    "gradients: tanh": lambda: _gradients("tanh(x)", 1e-6),
    "token grid: one head": lambda: _token_grid(1),
    "token grid: three heads": lambda: _token_grid(3),
}
