"""What a machine hands back: the value, and a certificate for this very prompt."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from headsmith.proof.certificate import Certificate
from headsmith.proof.handed import Handed
from headsmith.records.shown import number


@dataclass(frozen=True, repr=False)
class Result(Handed):
    """value, the certificate of this prompt, and how often the block was run.

    For regressions `weights` are the coefficients and `intercept` the constant, if the prompt asked for one.
    """

    program: str
    value: Tensor
    certificate: Certificate
    loops: int = 1
    intercept: Tensor | None = None

    @property
    def weights(self) -> Tensor:
        """The value, by the name that regressions have for it."""
        return self.value

    def title(self) -> str:
        return f"Result of {self.program}: {self.promise()}"

    def rows(self) -> list[tuple[str, str]]:
        flat = self.value.detach().reshape(-1).tolist()
        shown = ", ".join(number(v, 6) for v in flat[:12]) + (", ..." if len(flat) > 12 else "")
        constant = [] if self.intercept is None else [("intercept", number(float(self.intercept), 6))]
        return [("value", shown), *constant, ("loops", str(self.loops)), *self.proof()]
