"""Programs that a tape runs show themselves in one line; on a block that fits they have a listing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from headsmith.records.shown import Shown

SHOWN = 6  # programs of a chain that its line names


class Listable(Shown):
    """A program of hs.prompt: its line is `title`."""

    def listing(self) -> Any:
        """Its instructions on a block that fits; `vm.host(program).listing()` has those for a machine that is there.

        >>> from headsmith import prompt
        >>> prompt.chain(prompt.linear([[1.0, 2.0]], activation="relu"), prompt.linear([[2.0]])).listing()
        Tape program chain: 2 passes
             instruction  reads  writes  activation  view  numbers
          0  linear       0      0       relu                    3
          1  linear       0      0                               2
        """
        return import_module("headsmith.machines.tape.host").fitted(self).listing()


def one_line(name: str, programs: tuple[Any, ...]) -> str:
    """chain of 3: norm of 384, pool, linear 384 -> 2; programs that hold others are named, not spelled out."""
    told = [part.name if hasattr(part, "stages") else part.title() for part in programs[:SHOWN]]
    return f"{name} of {len(programs)}: {', '.join(told)}" + (", ..." if len(programs) > SHOWN else "")
