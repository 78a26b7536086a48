"""What a transformer that trains a network is given, and what it hands back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from headsmith.proof.certificate import Certificate
from headsmith.proof.handed import Handed
from headsmith.records.shown import number, upper


@dataclass(frozen=True, eq=False)
class TrainingPrompt:
    """The data, a query, where w starts, and, if they differ from step to step, the rates and who counts.

    X (batch..., n, inputs), Y (batch..., n, outputs) or (batch..., n), query (batch..., inputs), init a seed or the
    matrices (out, in), with biases pairs (matrix, bias); rates (steps,), masks (steps, n) of 0 and 1.
    """

    X: Any
    Y: Any
    query: Any
    init: int | Sequence[Any] = 0
    rates: Any = None
    masks: Any = None


@dataclass(frozen=True, repr=False, eq=False)
class TrainingResult(Handed):
    """The trained network, its prediction for the query, and how far each step was from gradient descent.

    path           (batch..., steps + 1, D): all weights before the first and after every step, as the tokens hold them
    loss_curve     (batch..., steps + 1)
    perturbations  (batch..., steps): |e|_2 of each step is at most this, e being what its gradient was perturbed by
    kinks          how many slopes of all steps are those beside a kink, because z was too near to it
    """

    name: str
    weights: list[Tensor]
    biases: list[Tensor]
    prediction: Tensor
    path: Tensor
    loss_curve: Tensor
    perturbations: Tensor
    kinks: int
    certificate: Certificate
    initial: list[Tensor]

    def title(self) -> str:
        return f"Result of {self.name}: {self.promise()}"

    def rows(self) -> list[tuple[str, str]]:
        first, last = self.loss_curve[..., 0].double().mean(), self.loss_curve[..., -1].double().mean()
        flat = self.prediction.detach().reshape(-1).tolist()
        return [
            ("loss", f"{number(float(first), 6)} -> {number(float(last), 6)}"),
            ("prediction", ", ".join(number(v, 6) for v in flat[:8]) + (", ..." if len(flat) > 8 else "")),
            ("steps", f"{self.perturbations.shape[-1]}{self._perturbed()}"),
            *self.proof(),
        ]

    def _perturbed(self) -> str:
        return f", each perturbed by at most {upper(float(self.perturbations.amax()))}" if self.valid else ""
