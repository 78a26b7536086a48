"""Running a prompt on the attention machine: check its range, run it, and bound the error of this very run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headsmith.machines.bending import activation_error
from headsmith.machines.bounds import a_posteriori
from headsmith.machines.programs.heads import HeadProgram, LinearProgram
from headsmith.machines.result import Result
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.rounding import FORMATS, INFLATE, gamma
from headsmith.records.shown import Shown, number
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.machines.attention import Attention

PARTS = ("K", "Q", "V")
MARGIN = 1e-3  # by how much activations are proved beyond the domain


def run_head(vm: Attention, program: HeadProgram, x: Tensor) -> Result:
    """The head of the prompt, on tokens x."""
    sizes = check(vm, program, x)
    bent = vm.network.layers["bend"](vm.network.layers["read"](vm.encode(program, x)))
    value = vm.network.layers["attend"](bent)[..., : program.head_dim]
    error = head_error(vm, program, bent, sizes)
    statement = f"|machine - {program.name}| <= bound in every entry, for this prompt"
    return Result(program.name, value, certificate(vm, *error, statement))


def check(vm: Attention, program: HeadProgram, x: Tensor) -> list[float]:
    """The largest sum of |theta_k x_k| + |bias| in K, Q and V; refuses an entry that leaves the domain, by name."""
    if program.features != x.shape[-1] or program.head_dim > vm.head_dim:
        raise Refusal(
            f"a program of shape ({program.head_dim}, {program.features}) does not fit {x.shape[-1]} features "
            f"on a machine with heads of up to {vm.head_dim}"
        )
    wide, sizes = x.double(), []
    for name, weight, bias in zip(PARTS, program.weights, program.biases, strict=True):
        size = wide.abs() @ weight.abs().mT + bias.abs().unsqueeze(-2)
        z = (wide @ weight.mT + bias.unsqueeze(-2)).abs() + gamma(vm.terms, 2.0**-53) * size
        if float(z.max()) > vm.domain:
            place, most = torch.unravel_index(z.argmax(), z.shape), float(z.max())
            raise Refusal(
                f"{name}[{int(place[-1])}] of token {int(place[-2])} has size {most:.4g}, beyond the machine's "
                f"domain {vm.domain:g}: build it with domain={number(most * 1.01)} or more, or scale the program"
            )
        sizes.append(float(size.max()) * INFLATE)
    return sizes


def entry_errors(vm: Attention, sizes: list[float]) -> list[tuple[float, float]]:
    """(approximation, rounding) of an entry of K, Q and V."""
    own, slip = vm.table.rounding(2, vm.domain), gamma(vm.terms, FORMATS[vm.dtype_name].unit)
    return [(vm.table.proof.bound, own + slip * size) for size in sizes]  # summed first, then read off the table


def bend_error(vm: Attention, activation: str, entry: float) -> tuple[float, float, float]:
    """(approximation, rounding, slope) of an activation on what was read, which may leave the domain by `entry`."""
    approximation, rounding, slope = activation_error(activation, vm.domain * (1 + MARGIN), vm.dtype_name)
    if activation != "identity" and entry > MARGIN * vm.domain:
        return math.inf, math.inf, slope
    return approximation, rounding, slope


def head_error(vm: Attention, program: HeadProgram, bent: Tensor, sizes: list[float]) -> tuple[float, float]:
    """(approximation, rounding) of the output, from what was read: the rule of `bounds`, without and with rounding."""
    k, q, v = bent.split(vm.head_dim, -1)
    v = v[..., : program.head_dim]
    entries = entry_errors(vm, sizes)
    extra = bend_error(vm, program.activation, sum(entries[2]))
    exact = [a for a, _ in entries]
    exact[2] = exact[2] * extra[2] + extra[0]
    both = [a + r for a, r in entries]
    both[2] = both[2] * extra[2] + extra[0] + extra[1]
    approximation = float(a_posteriori(k, q, v, (exact[0], exact[1], exact[2]), vm.dtype_name)[0].max())
    moved, rounding = a_posteriori(k, q, v, (both[0], both[1], both[2]), vm.dtype_name)
    return approximation, float((moved + rounding).max()) - approximation


def run_chain(vm: Attention, stages: tuple[LinearProgram, ...], X: Any) -> Result:
    """Linear programs one after another, token by token."""
    given = torch.as_tensor(X)
    x = vm.accept(given.reshape(-1, 1, given.shape[-1]) if given.dim() else given).squeeze(-2)
    error = torch.zeros(*x.shape, 2, dtype=torch.float64)
    for stage in stages:
        x, error = run_stage(vm, stage, x, error)
    name = "mlp" if len(stages) > 1 else stages[0].name
    approximation, rounding = error.amax((0, 1)).tolist()
    statement = f"|machine - {name}| <= bound in every entry, for these inputs"
    value = x.reshape(*given.shape[:-1], -1)
    return Result(name, value, certificate(vm, approximation, rounding, statement))


def run_stage(vm: Attention, stage: LinearProgram, x: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
    """f(Theta x + b) for x (N, features), and its error: e <- eps_f + L_f (|Theta| e + e_read)."""
    if stage.weight.shape[1] != x.shape[-1]:
        raise Refusal(f"the layer reads {stage.weight.shape[1]} features, but {x.shape[-1]} arrive")
    if x.shape[-1] > vm.features:
        raise Refusal(f"the layer reads {x.shape[-1]} features; this machine holds {vm.features}: build a wider one")
    value, sizes = run_rows(vm, stage, x)
    read = torch.tensor(entry_errors(vm, [sizes])[0], dtype=torch.float64)
    approximation, rounding, slope = bend_error(vm, stage.activation, float(read.sum()))
    before = torch.einsum("rk,nkc->nrc", stage.weight.abs(), error)
    after = (slope * (before + read) + torch.tensor([approximation, rounding], dtype=torch.float64)) * INFLATE
    return value, after


def run_rows(vm: Attention, stage: LinearProgram, x: Tensor) -> tuple[Tensor, float]:
    """The rows of Theta through the first two layers, and the largest sum of |theta_k x_k| + |bias|.

    Bent rows go where V goes, head_dim at a time; plain ones take the places of K, Q and V.
    """
    plain, size, values = stage.activation == "identity", 0.0, []
    step = vm.rows if plain else vm.head_dim
    tokens = max(1, 2**22 // (vm.rows * (vm.table.steps + 1)))
    for first in range(0, len(stage.weight), step):
        weight, bias = stage.weight[first : first + step], stage.bias[first : first + step]
        rows = torch.zeros(vm.rows, x.shape[-1] + 1, dtype=torch.float64)
        place = slice(0, len(weight)) if plain else slice(2 * vm.head_dim, 2 * vm.head_dim + len(weight))
        rows[place] = torch.cat([weight, bias[:, None]], -1)
        k, q, v = rows.split(vm.head_dim)
        program = HeadProgram(
            stage.name, (k[:, :-1], q[:, :-1], v[:, :-1]), (k[:, -1], q[:, -1], v[:, -1]), stage.activation
        )
        size = max(size, *check(vm, program, x))
        read = [vm.network.layers["read"](vm.encode(program, part)) for part in x.split(tokens)]
        values.append(vm.network.layers["bend"](torch.cat(read))[..., place])
    return torch.cat(values, -1), size


def certificate(vm: Attention, approximation: float, rounding: float, statement: str) -> Certificate:
    return Certificate(
        approximation * SLACK,
        rounding * SLACK,
        "proved",
        statement,
        (-vm.domain, vm.domain),
        vm.dtype_name,
        vm.proved_hash(),
    )


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """How one token read its program: for each entry the strongest key, its weight, and the room left in the domain."""

    program: str
    query: int
    entries: tuple[tuple[str, float, float, float, float], ...]  # name, value, nearest anchor, its weight, room
    attended: tuple[tuple[int, float], ...]
    leak: float

    def title(self) -> str:
        return f"{self.program}: token {self.query}"

    def rows(self) -> list[tuple[str, str]]:
        rows = [
            (name, f"{number(value, 6)}, strongest key {number(anchor)} with weight {number(weight)}, room {room:.0%}")
            for name, value, anchor, weight, room in self.entries
        ]
        seen = ", ".join(f"token {i} ({number(w)})" for i, w in self.attended)
        return [*rows, ("attends to", f"{seen}; {number(self.leak)} elsewhere")]


def explain(vm: Attention, program: HeadProgram, x: Tensor, query: int) -> Explanation:
    one = x.dim() == program.weights[0].dim() == 2
    if not (one and isinstance(query, int) and 0 <= query < len(x)):
        raise Refusal(f"explain takes one head, one sequence and a token 0..{x.shape[-2] - 1} of it")
    check(vm, program, x)
    trace = vm.network.trace(vm.encode(program, x))
    pattern, read = trace["blocks.0.attn.hook_pattern"][:, query], trace["blocks.0.hook_resid_post"][query]
    anchors = vm.table.head.values
    entries = []
    for part, name in enumerate(PARTS):
        for i in range(program.head_dim):
            j = part * vm.head_dim + i
            weight, at = pattern[j].max(-1)
            room = 1 - abs(float(read[j])) / vm.domain
            entries.append((f"{name}[{i}]", float(read[j]), float(anchors[int(at)]), float(weight), room))
    attention = trace["blocks.2.attn.hook_pattern"][0, query]
    best = attention.topk(min(3, len(attention)))
    attended = tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    return Explanation(program.name, query, tuple(entries), attended, max(0.0, 1 - float(best.values.sum())))
