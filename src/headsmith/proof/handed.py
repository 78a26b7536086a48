"""What came out of one run, with the certificate of this very run: void once a tensor in it was edited in place."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from torch import Tensor

from headsmith.network import digest
from headsmith.proof.certificate import Certificate
from headsmith.records.shown import Shown

EDITED = "void: the value changed after the proof"


class Handed(Shown):
    """A frozen dataclass with a certificate; every tensor in its fields belongs to what is certified."""

    certificate: Certificate

    def __post_init__(self) -> None:
        vars(self)["_given"] = self._digest()

    def _digest(self) -> str:
        """SHA-256 of all its tensors, which can be edited in place."""
        held: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        lists = {name: value if isinstance(value, list) else [value] for name, value in held.items()}
        return digest(
            {}, {f"{n}.{k}": v for n, row in lists.items() for k, v in enumerate(row) if isinstance(v, Tensor)}
        )

    @property
    def valid(self) -> bool:
        """Whether its tensors are still those that the certificate speaks of."""
        return self._digest() == vars(self)["_given"]

    def promise(self) -> str:
        """error at most 1.1e-7 (certified), or that it is void."""
        return self.certificate.title().removeprefix("Certificate: ") if self.valid else EDITED

    def proof(self) -> list[tuple[str, str]]:
        """The lines of the certificate, as long as there is one."""
        return self.certificate.rows() if self.valid else []
