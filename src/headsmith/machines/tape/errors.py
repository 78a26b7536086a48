"""What one pass costs: |block - instruction| in every entry of the state behind it, for the state that it was given.

    read   e = table + gamma(S D + 5) sum |theta_k s_k|           the sum is rounded, then read off the table
    bend   e_V = slope_f e + eps_f
    norm   tau |c| + e_V / sqrt(s') + |c| D / (2 s'^1.5),  D = 2 e_V |c|_1 + d e_V^2 + e + gamma(d + 1)(|c|^2 + g)
           s = |c|^2 + g, s' = s - D: the table's error, that of c, and that of what the table is asked
    view   `bounds`: K and Q move the scores, U moves what is averaged, and the softmax rounds
    write  nothing where a slot is set, one rounding of the sum where it is added to

`a_priori` takes every state in the domain, `a_posteriori` the one that was met. Gates cost nothing: their weights are
0.0 and 1.0. What follows from pass to pass is not bounded here: see `TapeResult.prove`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from headsmith.machines import bounds
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.passes import PassRun, split
from headsmith.machines.tape.ranges import BlockRanges, sizes_of
from headsmith.machines.tape.tables import ROOM, Worth
from headsmith.proof.certificate import Bound
from headsmith.proof.rounding import FORMATS, INFLATE, gamma

FLOAT = FORMATS["float64"]
TOKENS = 4096  # that the promise for all states allows; one run may have more


@dataclass(frozen=True)
class Errors:
    """The error of a pass on a block of these ranges, whose tables are worth that much."""

    ranges: BlockRanges
    worth: Worth

    @property
    def sizes(self) -> Sizes:
        """Of the block."""
        return self.ranges.sizes

    def entry(self, size: float, rounds: bool) -> float:
        """Of a row whose terms sum to `size` at most."""
        if not rounds:
            return self.worth.entry.approximation
        return self.worth.entry.total + gamma(self.sizes.slots * self.sizes.slot + 5, FLOAT.unit) * size * INFLATE

    def bent(self, activation: str, entry: float, rounds: bool) -> float:
        """Of V behind its activation; V may leave the domain by what the activations are proved beyond it."""
        approximation, rounding, slope = self.worth.bends[activation]
        if entry > ROOM * self.ranges.domain / 2:
            return math.inf
        return (slope * entry + approximation + rounding * rounds) * INFLATE

    # for every state

    def promises(self) -> dict[str, Bound]:
        """What a pass of each sort costs at most: rows alone, a norm, and the views of a row or a norm."""
        exact, both = self._a_priori(False), self._a_priori(True)
        return {name: Bound(exact[name], max(0.0, both[name] - exact[name])) for name in exact}

    def _a_priori(self, rounds: bool) -> dict[str, float]:
        domain, sizes = self.ranges.domain, self.sizes
        entry = self.entry(domain, rounds)
        v = max(self.bent(name, entry, rounds) for name in self.worth.bends)
        unit = self._unit_a_priori(v, entry, rounds)
        most = domain * (1 + ROOM)
        found = {"self": v, "unit": unit}
        for name, size in (("heads", sizes.slot // sizes.heads), ("whole", sizes.slot)):
            views = [
                bounds.a_priori(entry, most, size, TOKENS, FLOAT, values) for values in ((v, most), (unit, 1.0 + ROOM))
            ]
            found[name] = max(moved + rounding * rounds for moved, rounding in views)
        added = FLOAT.unit * 2 * most * rounds  # one rounding, where a slot is added to
        return {name: (error + added) * INFLATE for name, error in found.items()}

    def _unit_a_priori(self, v: float, entry: float, rounds: bool) -> float:
        """c is at most sqrt(s) long, lo <= s <= hi: errors of c and s are worst at lo, that of the table at hi.

        |c_i| |c|_1 is at most (1 + sqrt(d)) s / 2, where one entry is larger than all others, which are alike.
        """
        (lo, hi), d = self.ranges.norm, self.sizes.slot
        slip = gamma(d + 1, FLOAT.unit) * rounds
        moved = 2 * v * math.sqrt(d * hi) + d * v * v + entry + 2 * slip * hi
        if not moved <= ROOM * lo:
            return math.inf
        low = lo - moved
        table = (self.worth.root.approximation + self.worth.root.rounding * rounds) * math.sqrt(hi)
        own = (3 + math.sqrt(d)) / 2 * v / math.sqrt(low) + (d * v * v + entry) / (2 * low)
        return table * (1 + ROOM) + 1.01 * own + 2 * slip + 1.01 * FLOAT.unit * rounds

    # for the state that was met

    def a_posteriori(self, done: PassRun) -> Bound:
        """Of a pass that is known."""
        exact, both = self._met(done, False), self._met(done, True)
        return Bound(exact, max(0.0, both - exact))

    def _met(self, done: PassRun, rounds: bool) -> float:
        instruction, u = done.instruction, FLOAT.unit * rounds
        entries = {part: self.entry(self._size(done, part), rounds) for part in ("K", "Q", "V", "g")}
        error = self.bent(instruction.activation, entries["V"], rounds)
        if instruction.unit:
            error = self._unit_met(done, error, entries["g"], rounds)
        if instruction.view != "self":
            k, q, v = split(instruction, done.read, done.value, self.sizes)
            causal, parts = instruction.view == "causal", (entries["K"], entries["Q"], error)
            moved, rounding = bounds.a_posteriori(k, q, v, parts, "float64", causal=causal)
            error = float((moved + rounding * rounds).max())
        added = [slot for slot, how in instruction.put.items() if how == "add"]
        written = [done.after[..., slot * self.sizes.slot : (slot + 1) * self.sizes.slot] for slot in added]
        return (error + u * max((float(slot.abs().max()) for slot in written), default=0.0)) * INFLATE

    def _size(self, done: PassRun, part: str) -> float:
        """The largest sum of |theta_k s_k| + |bias| in a part; rows that are not named add up nothing."""
        named = (rows for rows in done.instruction.rows if rows.part == part)
        return max((float(sizes_of(rows, done.before, self.sizes).max()) for rows in named), default=0.0)

    def _unit_met(self, done: PassRun, v: float, entry: float, rounds: bool) -> float:
        """Of U = V root(V.V + g), token by token; `low` is below the sum as it was executed and as it is meant."""
        c, s, slip = done.bent, done.square, gamma(self.sizes.slot + 1, FLOAT.unit) * rounds
        if s is None:
            return math.inf
        own, d = c.square().sum(-1, keepdim=True), c.shape[-1]
        sums = slip * (own + (s - own).abs())
        moved = (2 * v * c.abs().sum(-1, keepdim=True) + d * v * v + entry + sums) * INFLATE
        low, most = s - moved - 2 * sums, c.abs().amax(-1, keepdim=True)
        table = self.worth.root.approximation + self.worth.root.rounding * rounds
        rounded = FLOAT.unit * rounds * done.value.abs().amax(-1, keepdim=True)
        error = most * table + v / low.sqrt() + most * moved / (2 * low * low.sqrt()) + rounded
        (lo, hi), asked = self.ranges.norm, (s - sums, s + sums)
        known = (low > 0) & (asked[0] >= lo * (1 - ROOM)) & (asked[1] <= hi * (1 + ROOM))
        return float(torch.where(known, error, math.inf).max()) * INFLATE
