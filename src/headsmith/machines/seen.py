"""What one token of an attention machine saw: the keys that its program's numbers were read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from headsmith.machines.prompts.heads import HeadProgram
from headsmith.records.shown import Shown, number
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.machines.attention import Attention


@dataclass(frozen=True, repr=False)
class HeadSeen(Shown):
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


def see(vm: Attention, program: HeadProgram, x: Tensor, query: int) -> HeadSeen:
    """Run one head on one sequence and look at one of its tokens."""
    one = x.dim() == program.weights[0].dim() == 2
    if not (one and isinstance(query, int) and 0 <= query < len(x)):
        raise Refusal(f"explain takes one head, one sequence and a token 0..{x.shape[-2] - 1} of it")
    vm.check(program, x)
    trace = vm.network.trace(vm.encode(program, x))
    pattern, read = trace["blocks.0.attn.hook_pattern"][:, query], trace["blocks.0.hook_resid_post"][query]
    anchors = vm.table.values
    entries = []
    for part, name in enumerate("KQV"):
        for i in range(program.head_dim):
            j = part * vm.head_dim + i
            weight, at = pattern[j].max(-1)
            room = 1 - abs(float(read[j])) / vm.domain
            entries.append((f"{name}[{i}]", float(read[j]), float(anchors[int(at)]), float(weight), room))
    attention = trace["blocks.2.attn.hook_pattern"][0, query]
    best = attention.topk(min(3, len(attention)))
    attended = tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    return HeadSeen(program.name, query, tuple(entries), attended, max(0.0, 1 - float(best.values.sum())))
