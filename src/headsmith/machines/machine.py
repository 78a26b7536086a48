"""What every machine is: a frozen network, the numbers it was made of, and a promise that goes with both.

    sizes and tables --build--> network --stored--> the same tables --prove--> Bound

A machine runs any prompt that fits it. Everything that a run or a certificate rests on, the tensors, the wiring, the
dtype, the sizes and the tables of the proof, goes into one digest, which is taken when the machine is made and again
before each call and each display. A machine that changed raises `StaleCertificate`, and shows itself as void.
"""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from headsmith.compiler.compiled import VOID
from headsmith.compiler.target import read_value, write_value
from headsmith.constructions.design import Altered, freeze
from headsmith.network import Network, digest, fingerprint, wiring
from headsmith.network.inputs import accept
from headsmith.network.network import classes, overridden
from headsmith.proof.certificate import Bound, Certificate, StaleCertificate
from headsmith.proof.domain import Domain
from headsmith.proof.rounding import ASSUMPTIONS
from headsmith.proof.statement import Head
from headsmith.records.shown import Shown
from headsmith.refusal import Refusal


class Machine(Shown, ABC):
    """A frozen network that reads its program from the prompt; `kind` is what files call it.

    >>> solver = hs.machine.Solver(features=1, samples=2)
    >>> solver.eps = 1.0
    Traceback (most recent call last):
    headsmith.refusal.Refusal: a machine is frozen: eps cannot be set, build another one
    """

    kind: ClassVar[str]
    kinds: ClassVar[dict[str, type[Machine]]] = {}
    dtype_name: str = "float64"
    network: Network
    reads: tuple[int, int]  # named tokens of the prompt, and the features of one
    parameters: Mapping[str, Any]
    tables: Mapping[str, Head]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            Machine.kinds[cls.kind] = cls

    # what a machine says of itself

    @abstractmethod
    def _size(self, *nothing: Any, **parameters: Any) -> None:
        """Checks the sizes, keeps them as attributes, in `reads` and in `parameters`, which a file stores."""

    @abstractmethod
    def _build(self) -> Network:
        """The network of these sizes and tables."""

    @abstractmethod
    def _stored(self, network: Network) -> dict[str, Head]:
        """The tables that a network of these sizes holds: the inverse of `_build`."""

    @abstractmethod
    def prove(self) -> Bound:
        """What holds for every prompt, from sizes and tables alone; `statement` says what that is."""

    @property
    @abstractmethod
    def hypotheses(self) -> Domain:
        """What the promise asks of a prompt."""

    @property
    @abstractmethod
    def statement(self) -> str:
        """What the bound of the promise bounds."""

    # what some machines can do

    def explain(self, *prompt: Any, **options: Any) -> Any:
        """Which keys were read for one prompt, where the machine can tell."""
        raise Refusal(f"{self.title()} is a machine that tells no keys apart: look at what a call returns")

    def plot(self) -> Any:
        """A machine computes what its prompt says, so without one there is nothing to draw."""
        raise Refusal(f"{self.title()} is a machine, without a picture of its own: call it with a program")

    # one life for all: frozen, checked, promised

    def _freeze(self, tables: Mapping[str, Head]) -> None:
        """Builds the network; from here on nothing can be set."""
        freeze(tuple(tables.values()))
        self.parameters, self.tables = MappingProxyType(dict(self.parameters)), MappingProxyType(dict(tables))
        self.network = self._build()
        self._classes = classes(self.network)
        self._frozen = self._digest()

    def __setattr__(self, name: str, value: Any) -> None:
        if "_frozen" in self.__dict__:
            raise Refusal(f"a machine is frozen: {name} cannot be set, build another one")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise Refusal(f"a machine is frozen: {name} cannot be deleted")

    def __getstate__(self) -> dict[str, Any]:
        """What copies are made of; the digest goes along, so that the copy of a changed machine is void as well."""
        return {**vars(self), "parameters": dict(self.parameters), "tables": dict(self.tables)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        freeze(tuple(state["tables"].values()))
        vars(self).update(state)
        vars(self).update({name: MappingProxyType(state[name]) for name in ("parameters", "tables")})

    def _digest(self) -> str:
        """SHA-256 of all that a run or a proof rests on."""
        plain = {n: v for n, v in vars(self).items() if isinstance(v, bool | int | float | str) and n != "_frozen"}
        arrays = {
            f"{name}/{column}": torch.tensor(getattr(head, column))
            for name, head in self.tables.items()
            for column in ("slopes", "offsets", "values", "lines")
        }
        network = {f"network/{name}": tensor for name, tensor in self.network.tensors().items()}
        record = [self.kind, self._record(), _written(plain), self.network.config(), wiring(self.network)]
        return digest(record, {**arrays, **network})

    def _record(self) -> dict[str, Any]:
        return _written(self.parameters)

    @property
    def weight_hash(self) -> str:
        """SHA-256 of the wiring and of every number that is not in the prompt, worked out anew each time."""
        return fingerprint(self.network)

    @property
    def valid(self) -> bool:
        """Whether everything is still what the proofs speak of, and nothing listens in the network."""
        if classes(self.network) != self._classes or self.network.patched or overridden(self):
            return False
        try:
            return self._digest() == self._frozen
        except Exception:  # what cannot even be read is not what was proved
            return False

    def refuse_stale(self) -> None:
        """Raises StaleCertificate where anything was changed since the proof."""
        if not self.valid:
            raise StaleCertificate("the machine was changed after the proof: build it again, or load the saved file")

    def proved_hash(self) -> str:
        """The weight hash that the proofs speak of; raises StaleCertificate where anything was changed since."""
        self.refuse_stale()
        return self.weight_hash

    @cached_property
    def promise(self) -> Bound:
        """What the certificate states: what is proved, with slack."""
        return self.prove().with_slack()

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the certificates rest on beside the prompt's range."""
        return ASSUMPTIONS

    @property
    def certificate(self) -> Certificate:
        """The promise for every prompt that fits, as long as it is about these numbers."""
        weights = self.proved_hash()
        return Certificate.of(self.promise, self.statement, self.hypotheses, self.dtype_name, weights, self.assumptions)

    def certified(self, bound: Bound, statement: str, domain: Domain | None = None) -> Certificate:
        """A certificate of one run; refused where nothing is known of it."""
        if bound.kind == "proved" and not math.isfinite(bound.total):
            raise Refusal(
                f"nothing is proved of this prompt: {self.title()} reads it too coarsely; build it with a smaller eps"
            )
        weights, where = self.proved_hash(), self.hypotheses if domain is None else domain
        return Certificate.of(bound.with_slack(), statement, where, self.dtype_name, weights, self.assumptions)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights that the proofs speak of."""
        return getattr(torch, self.dtype_name)

    def read(self, value: Any) -> Tensor:
        """Numbers of a prompt, promoted exactly; a wider dtype, NaN or infinity is refused."""
        return accept(value, self.dtype, next(self.network.parameters()).device)

    # files

    def save(self, path: str | Path) -> Path:
        """One safetensors file: the tensors, and sizes, wiring and promise as JSON."""
        from headsmith.compiler.files import save_machine

        return save_machine(self, path)

    def record(self) -> dict[str, Any]:
        """JSON of the sizes."""
        self.proved_hash()
        return self._record()

    @staticmethod
    def restored(kind: str, record: Mapping[str, Any], network: Network) -> Machine:
        """The machine of these sizes, made of the tables that a network holds; its network must be that very one."""
        cls = Machine.kinds.get(kind)
        if cls is None:
            raise Refusal(f"no machine is called {kind!r}; this version knows {', '.join(sorted(Machine.kinds))}")
        machine = cls.__new__(cls)
        machine._size(**{name: read_value(value, {}, set()) for name, value in record.items()})
        if machine.reads != (len(network.inputs), next(iter(network.layers.values())).width_in):  # before it is built
            tokens, features = machine.reads
            raise Altered(f"the sizes are those of {tokens} tokens of {features} features, the network reads others")
        machine._freeze(machine._stored(network))
        if machine.weight_hash != fingerprint(network) or machine._record() != dict(record):
            raise Altered("the stored network is not the one that its numbers make: nothing is proved of it")
        return machine

    def promising(self, bound: Bound) -> Self:
        """The same machine, its certificate stating this bound, which was just proved."""
        self.__dict__["promise"] = bound
        return self

    # displays

    def __str__(self) -> str:
        return super().__str__() if self.valid else f"{self.title()}\n{VOID}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.valid else f"<b>{html.escape(self.title())}</b><p>{VOID}</p>"


def whole(name: str, value: Any) -> int:
    """A positive whole number, or a refusal that names it."""
    if not (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        raise Refusal(f"{name} must be a positive whole number, not {value!r}")
    return value


def positive(name: str, value: Any) -> float:
    """A positive finite number, or a refusal that names it."""
    if isinstance(value, bool) or not (isinstance(value, int | float) and 0 < value < math.inf):
        raise Refusal(f"{name} must be a positive number, not {value!r}")
    return float(value)


def _written(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: write_value(value, name, {}) for name, value in values.items()}
