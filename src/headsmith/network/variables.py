"""Where the variables of a construction live: after which layer, in which tokens, in which features.

A network that loops does in every pass what it does in the first. So a variable has one place, and a name for each
step: "step 3 / layer 2 / delta" is the place of "layer 2 / delta", in the third pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

Place = tuple[int, int | slice, slice]


class Variables(dict[str, Place]):
    """name -> (layer, token or tokens, features); "step 3 / name" is known too if there are that many passes.

    >>> variables = Variables({"delta": (1, slice(0, 4), slice(2, 3))}, loops=20)
    >>> variables["step 3 / delta"] == variables["delta"], "step 21 / delta" in variables
    (True, False)
    """

    def __init__(self, places: Mapping[str, Place], loops: int = 1) -> None:
        super().__init__(places)
        self.loops = loops

    def __missing__(self, name: str) -> Place:
        place = self.get(_within(name, self.loops))
        if place is None:
            raise KeyError(name)
        return place

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or super().__contains__(_within(str(name), self.loops))


def _within(name: str, loops: int) -> str:
    """What stands behind "step t / ", if t is one of 1, ..., loops."""
    step, _, rest = name.partition(" / ")
    number = step.removeprefix("step ")
    known = loops > 1 and step.startswith("step ") and number.isdecimal() and 1 <= int(number) <= loops
    return rest if known else ""


def read_variable(stream: Tensor, place: Place) -> Tensor:
    """The variable, in the stream (batch..., tokens, features) behind its layer."""
    _, token, where = place
    return stream[..., token, where]
