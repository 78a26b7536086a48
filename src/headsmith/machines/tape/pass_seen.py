"""One pass of a tape, looked at: what it read, how much room was left, what the slots held before and after."""

from __future__ import annotations

from dataclasses import dataclass

from headsmith.proof.certificate import Bound
from headsmith.records.shown import Shown, exactly, number, upper


@dataclass(frozen=True, repr=False)
class PassSeen(Shown):
    """most: the largest sum |theta_k s_k| + |bias|; slots: (largest |entry| before, behind); norm: (least, most)."""

    program: str
    at: int
    name: str
    view: str
    activation: str
    reads: tuple[int, ...]
    put: tuple[tuple[int, str], ...]
    most: float
    domain: float
    norm: tuple[float, float] | None
    norms: tuple[float, float]
    slots: tuple[tuple[float, float], ...]
    bound: Bound

    @property
    def room(self) -> float:
        """The share of the domain that no row used."""
        return 1 - self.most / self.domain

    def title(self) -> str:
        return f"{self.program}, pass {self.at}: {self.name}"

    def rows(self) -> list[tuple[str, str]]:
        reads = ", ".join(map(str, self.reads)) or "none"
        writes = ", ".join(f"{how} slot {slot}" for slot, how in self.put) or "no slot"
        norm = []
        if self.norm is not None:
            (lo, hi), (least, most) = self.norms, self.norm
            norm = [("norm", f"|c|^2 + g from {number(least)} to {number(most)} of {number(lo)} to {number(hi)}")]
        return [
            ("reads", f"slots {reads}"),
            ("computes", f"{self.activation}, {'unit vectors, ' * (self.norm is not None)}view {self.view}"),
            ("writes", writes),
            ("room", f"sums of rows up to {number(self.most)} of {exactly(self.domain)}, room {self.room:.0%}"),
            *norm,
            *((f"slot {k}", f"{number(a)} -> {number(b)}") for k, (a, b) in enumerate(self.slots)),
            ("error", f"at most {upper(self.bound.total)} (certified, for this state)"),
        ]
