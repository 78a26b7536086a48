"""What every construction is: the numbers it stores, the network they make, and what is proved of them.

    numbers --network--> tensors --stored--> the same numbers --prove--> Bound

`stored` undoes `network`; whoever loads a file builds the network again from what `stored` read and compares the two
bit for bit, so the proof, which knows only the numbers, speaks of every tensor and wire of the file. There is one
`prove`: planning, loading and certifying all call it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from torch import Tensor

from headsmith.network import Network
from headsmith.proof.certificate import Bound
from headsmith.proof.domain import Domain
from headsmith.records.shown import number
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.request import Request


class Tally(NamedTuple):
    """Keys of all heads, attention heads, attention layers."""

    keys: int
    heads: int
    layers: int


class Design(ABC):
    """A frozen dataclass of numbers. `name` is what files call the construction, `serves` the kind it is proved for."""

    name: ClassVar[str]
    serves: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[Design]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            Design.kinds[cls.name] = cls

    @property
    @abstractmethod
    def tally(self) -> Tally:
        """The sizes that a plan shows."""

    @property
    def promises(self) -> bool:
        """Whether a plan must meet eps with it; False for printed versions that are known to miss it."""
        return True

    def method(self, target: Any) -> str:
        """How it was made, in a word or a line."""
        return self.name

    def size(self) -> str:
        """8 keys, 1 head, 1 layer."""
        return ", ".join(many(n, word) for n, word in zip(self.tally, ("key", "head", "layer"), strict=True))

    def rows(self, target: Any) -> list[tuple[str, str]]:
        """Lines of a plan that only this construction has."""
        return []

    @abstractmethod
    def network(self, target: Any, dtype: str) -> Network:
        """The transformer that holds these numbers."""

    @abstractmethod
    def prove(self, target: Any, request: Request) -> Bound:
        """How far the network can be from the target on the domain; raises Unprovable or Short."""

    @classmethod
    def encode(cls, target: Any, *inputs: Tensor) -> Tensor:
        """Inputs -> tokens (batch..., tokens, features): the target says how, unless the construction has its own."""
        return target.encode(*inputs)

    def run(self, target: Any, network: Network, tokens: Tensor, domain: Domain) -> Tensor:
        """The tokens from which the output is read: one pass, unless somebody says how often it loops."""
        return target.run(network, tokens, domain)

    @classmethod
    def decode(cls, target: Any, tokens: Tensor) -> Tensor:
        """Tokens -> output."""
        return target.decode(tokens)

    def record(self) -> dict[str, Any]:
        """What a file says of the design beside its tensors (JSON): choices that `stored` needs, never claims."""
        return {}

    @classmethod
    @abstractmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Design:
        """The numbers that a network holds: the inverse of `network`."""


def freeze(value: Any) -> None:
    """Makes every array that a design, or anything in it, holds read-only: what was proved of it stays true."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple | list):
        for item in value:
            freeze(item)
    elif is_dataclass(value):
        for field in fields(value):
            freeze(getattr(value, field.name))


class Short(Exception):
    """No design within eps: what stood in the way, and how near the best one came."""

    def __init__(self, reason: str, best: float = float("inf")) -> None:
        super().__init__(reason)
        self.reason, self.best = reason, best


class Altered(Refusal):
    """What a file holds is not what its construction would have built."""


def many(n: float, word: str) -> str:
    """``many(1, "key")`` is ``1 key``, ``many(40001, "key")`` is ``40 001 keys``."""
    text = f"{n:,.0f}".replace(",", " ") if n < 1e9 else number(n, 2)
    return f"{text} {word}" if n == 1 else f"{text} {word}s"
