"""What a machine hands back: the value, and a certificate for this very prompt."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from headsmith.network import digest
from headsmith.proof.certificate import Certificate
from headsmith.records.shown import Shown, number


@dataclass(frozen=True, repr=False)
class Result(Shown):
    """value, the certificate of this prompt, and how often the block was run.

    For regressions `weights` are the coefficients and `intercept` the constant, if the prompt asked for one.
    """

    program: str
    value: Tensor
    certificate: Certificate
    loops: int = 1
    intercept: Tensor | None = None

    def __post_init__(self) -> None:
        vars(self)["_given"] = self._digest()

    def _digest(self) -> str:
        """SHA-256 of what was handed back; tensors can be edited in place."""
        constant = {} if self.intercept is None else {"intercept": self.intercept}
        return digest({}, {"value": self.value, **constant})

    @property
    def valid(self) -> bool:
        """Whether value and intercept are still those that the certificate speaks of."""
        return self._digest() == vars(self)["_given"]

    @property
    def weights(self) -> Tensor:
        """The value, by the name that regressions have for it."""
        return self.value

    def title(self) -> str:
        if not self.valid:
            return f"Result of {self.program}\nvoid: the value changed after the proof"
        return f"Result of {self.program}: {self.certificate.title().removeprefix('Certificate: ')}"

    def rows(self) -> list[tuple[str, str]]:
        flat = self.value.detach().reshape(-1).tolist()
        shown = ", ".join(number(v, 6) for v in flat[:12]) + (", ..." if len(flat) > 12 else "")
        constant = [] if self.intercept is None else [("intercept", number(float(self.intercept), 6))]
        proof = self.certificate.rows() if self.valid else []
        return [("value", shown), *constant, ("loops", str(self.loops)), *proof]
