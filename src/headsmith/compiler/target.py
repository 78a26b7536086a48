"""What can be compiled: a mathematical object, its inputs, its exact values, and the designs that come near it.

A target is a frozen dataclass without numerics. Subclassing `Target` with a `kind` registers it for files; its fields
are what a file stores of it (numbers exactly, formulas as trees, arrays as tensors).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headsmith.constructions.design import Design
from headsmith.functions import Expression, parse
from headsmith.network import Network, digest
from headsmith.proof.domain import Domain, Finite, read_domain
from headsmith.proof.rounding import ASSUMPTIONS
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.compiled import Compiled
    from headsmith.compiler.request import Request


@dataclass(frozen=True)
class Input:
    """One argument of net(...): its trailing shape; `optional` ones may be left out."""

    shape: tuple[int, ...] = ()
    optional: bool = False


class Target(ABC):
    """The mathematical object that a network is compared with.

    `str(target)` is its title.
    """

    kind: ClassVar[str]
    methods: ClassVar[tuple[str, ...]] = ("auto",)
    faultless: ClassVar[bool] = False
    """Whether the claim is that there is no error, so that no eps need be asked for."""
    norm: ClassVar[str] = "sup"
    """In which errors are bounded: at each input, or in the mean over the domain."""
    kinds: ClassVar[dict[str, type[Target]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            Target.kinds[cls.kind] = cls

    # what it is

    @property
    @abstractmethod
    def inputs(self) -> dict[str, Input]:
        """The arguments of net(...), by name and in order; each has a set of that name in the domain."""

    @abstractmethod
    def claim(self) -> str:
        """What the network equals, in the names of the inputs: (sin(3*x)), A X B."""

    def statement(self, request: Request) -> str:
        """The sentence of the certificate: every hypothesis the proof uses is in it."""
        return (
            f"|network({', '.join(self.arguments)}) - {self.claim()}| <= bound for every {request.dtype} "
            f"{request.domain}"
        )

    def hash(self) -> str:
        """SHA-256 of its arrays: two targets of the same sizes are two functions, so a sentence names them by it.

        >>> hs.target.Product([[1.0]], [[2.0]]).hash() == hs.target.Product([[1.0]], [[2.5]]).hash()
        False
        """
        return digest({}, self.record()[1])

    @property
    def arguments(self) -> list[str]:
        """The inputs that must be given."""
        return [name for name, given in self.inputs.items() if not given.optional]

    def domain(self, given: Any, dtype: str) -> Domain:
        """What the user gave as domain, as named sets."""
        return read_domain(given, self.arguments, dtype, str(self))

    def plain(self, domain: Domain) -> Any:
        """The domain as a user would give it."""
        return domain.plain()

    def size(self, domain: Domain) -> float:
        """An eps that a constant reaches, if that is easy to say."""
        return math.inf

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a certificate rests on beside its domain."""
        return ASSUMPTIONS

    @property
    def known(self) -> bool:
        """Whether it can be proved again; False for code that a file names but does not hold."""
        return True

    @property
    def effort(self) -> float:
        """How many times longer than usual an input takes to certify: pictures draw so many times fewer."""
        return 1.0

    def rows(self) -> list[tuple[str, str]]:
        """Lines of a plan that only this target has."""
        return []

    # what it equals

    @abstractmethod
    def exact(self, *inputs: Any) -> Any:
        """The target at one sample, given as nested lists of floats: balls, flat or nested as the output is."""

    def arrange(self, *inputs: Any) -> Sequence[Any]:
        """The inputs in the shapes that `inputs` names, where the target takes short forms of them too."""
        return inputs

    def check(self, domain: Domain, *inputs: Tensor | None) -> None:
        """Refuses inputs that break a hypothesis which is about several of them together."""
        return None

    def sample(self, domain: Domain, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """`count` random inputs in the domain, float64, one tensor for each argument."""
        return tuple(uniform(domain, name, (count, *self.inputs[name].shape), generator) for name in self.arguments)

    # how it is built and run

    @abstractmethod
    def designs(self, request: Request) -> Iterator[Design]:
        """Candidates, the cheapest first; each is proved until one meets eps. Raises Short where none is left."""

    def printed_keys(self, request: Request) -> float | None:
        """The keys that the paper's rule needs for the same promise, if it has one."""
        return None

    def encode(self, *inputs: Tensor) -> Tensor:
        """Inputs -> tokens (batch..., tokens, features), if constructions agree on it; one alone is tokens as it is."""
        [tokens] = inputs
        return tokens

    def decode(self, tokens: Tensor) -> Tensor:
        """Tokens -> output."""
        return tokens

    def run(self, network: Network, tokens: Tensor, domain: Domain) -> Tensor:
        """One pass of the network, unless the target says how often it loops."""
        return network(tokens)

    @classmethod
    def compiled(cls) -> type[Compiled]:
        """The class of its networks: `Compiled`, unless there is truly more to say."""
        from headsmith.compiler.compiled import Compiled

        return Compiled

    # files

    def record(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """(JSON, tensors) of its fields."""
        record: dict[str, Any] = {}
        tensors: dict[str, Tensor] = {}
        for field in _stored(type(self)):
            record[field.name] = write_value(getattr(self, field.name), field.name, tensors)
        return record, tensors

    @staticmethod
    def from_record(kind: str, record: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Target:
        """The target that `record` wrote; refuses what it could not have written."""
        cls = Target.kinds.get(kind)
        if cls is None:
            raise Refusal(f"no target is called {kind!r}; this version knows {', '.join(sorted(Target.kinds))}")
        names = {field.name for field in _stored(cls)}
        if set(record) != names:
            raise Refusal(f"the record of a {kind} has {', '.join(sorted(record))}, not {', '.join(sorted(names))}")
        used: set[str] = set()
        target = cls(**{name: read_value(value, tensors, used) for name, value in record.items()})
        if used != set(tensors):
            raise Refusal(f"the record of a {kind} has tensors that it does not use")
        return target


def _stored(cls: type[Target]) -> list[Any]:
    """The fields that a file holds: all but those with the metadata {"stored": False}, such as code."""
    return [field for field in fields(cls) if field.metadata.get("stored", True)]  # type: ignore[arg-type]


def uniform(domain: Domain, name: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Numbers of this shape, at random in the set of that name, float64."""
    found = domain.sets[name]
    if isinstance(found, Finite):
        return torch.tensor(found.values).double()[torch.randint(len(found.values), shape, generator=generator)]
    lo, hi = domain[name]
    return (lo + (hi - lo) * torch.rand(shape, generator=generator, dtype=torch.float64)).clamp(lo, hi)


def write_value(value: Any, place: str, tensors: dict[str, Tensor]) -> Any:
    """JSON: floats in hexadecimal, formulas as trees, arrays by the name of their tensor."""
    if isinstance(value, Expression):
        return {"formula": value.tree()}
    if isinstance(value, np.ndarray):
        tensors[place] = torch.from_numpy(np.array(value, dtype=np.float64))
        return {"tensor": place}
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, list | tuple):
        return [write_value(item, f"{place}.{i}", tensors) for i, item in enumerate(value)]
    raise Refusal(f"the target holds {type(value).__name__}, which a file does not store")


def read_value(value: Any, tensors: Mapping[str, Tensor], used: set[str]) -> Any:
    if isinstance(value, list):
        return tuple(read_value(item, tensors, used) for item in value)
    if not isinstance(value, dict):
        return value
    [(tag, body)] = value.items()
    if tag == "formula":
        return Expression.from_tree(body)
    if tag == "float":
        return float.fromhex(body)
    if tag == "tensor":
        used.add(body)
        return tensors[body].numpy().copy()
    raise Refusal(f"the file has {tag!r} where a number, a formula or a tensor belongs")


def as_expression(f: Any) -> Expression:
    """A formula, given as text or parsed."""
    return parse(f) if isinstance(f, str) else f
