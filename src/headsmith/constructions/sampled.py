"""One head of searched keys for a function given as code, proved on samples and a constant that the user vouches for.

What the function does between samples cannot be seen: the proof (`proof.conditional`) rests on |f'| <= L1 or
|f''| <= L2, and the certificate is conditional on it. A file holds the keys but no code, so it cannot be proved again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from headsmith.constructions.assemble import assemble
from headsmith.constructions.design import Design, Short, Tally
from headsmith.constructions.reading import heads_of
from headsmith.network import Network
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import Bound
from headsmith.proof.conditional import prove_from_samples
from headsmith.proof.rounding import prove_rounding
from headsmith.proof.statement import Head, Part

if TYPE_CHECKING:
    from headsmith.compiler.request import Request


@dataclass(frozen=True, eq=False)
class SampledHead(Design):
    """A table of keys; its error is measured on samples, as densely as the constants ask for."""

    name, serves = "sampled", "callable"
    head: Head

    @property
    def tally(self) -> Tally:
        return Tally(self.head.keys, heads=1, layers=1)

    def method(self, target: Any) -> str:
        return "analytic"

    def network(self, target: Any, dtype: str) -> Network:
        return assemble([Part("x", "out", None, (0.0, 0.0), (self.head,))], getattr(torch, dtype))

    def prove(self, target: Any, request: Request) -> Bound:
        part = Part("x", "out", None, request.domain["x"], (self.head,))
        slope, curvature = target.constants
        try:
            approximation = prove_from_samples(part, target.values, request.eps, slope, curvature)
        except Unprovable as reason:
            raise Short(str(reason)) from None
        rounding = prove_rounding(part, request.format, 2e-3 * request.eps).bound
        return Bound(approximation, rounding, kind="conditional")

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> SampledHead:
        layer: Any = network.layers["level1"]
        [head] = heads_of(layer, network.features.index("one"))
        return cls(head)
