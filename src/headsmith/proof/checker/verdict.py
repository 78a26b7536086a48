"""What a check may answer, and how much it may spend on it."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

WORK = 1_500_000  # one unit is a few microseconds of ball arithmetic: a key or an operation in a cell
SECONDS = 120.0  # the last resort: on any machine there is an answer in this time


class Verdict(NamedTuple):
    """status 0: proved; 1: altered or false; 2: cannot be repeated here. `bound` is what was proved."""

    status: int
    reason: str
    bound: float | None = None


class Rejected(Exception):
    """(status, reason) of a file that is not proved."""


class Open(Exception):
    """A ball too wide to decide: a divisor may vanish, a root may be of a negative number. Bisect, or give up."""


def need(condition: Any, reason: str, status: int = 1) -> None:
    """Rejects the file unless the condition holds."""
    if not condition:
        raise Rejected(status, reason)


class Budget:
    """Counts work, so that every machine gives up at the same place, and looks at the clock only as a last resort."""

    def __init__(self, work: int = WORK, seconds: float = SECONDS) -> None:
        self.most, self.left, self.end = work, work, time.monotonic() + seconds
        self.seconds = seconds

    def spend(self, units: int) -> None:
        """Pays for work before it is done."""
        self.left -= units
        need(self.left >= 0, f"the proof cannot be repeated within {self.most} steps", 2)
        need(time.monotonic() < self.end, f"the proof cannot be repeated within {self.seconds:g} seconds", 2)
