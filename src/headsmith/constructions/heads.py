"""Scalar heads: formulas of one variable as sums and compositions of softmax heads, side by side for a vector.

    out_r = sum of parts,   part(z) = bias + sum_h sum_j p_j(z) (g_j + l_j z),   p = softmax(a_j z + b_j)

What is stored are the keys (a, b, g, l) of each head and one bias a part. Which function each part is meant to equal
follows from the formula (`functions.composition`), so the proof needs nothing else: every part is proved on the values
that its input takes (`proof.composition`), and the worst component is the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch

from headsmith.constructions.assemble import assemble
from headsmith.constructions.design import Altered, Design, Tally
from headsmith.constructions.exact import exact_terms
from headsmith.constructions.printed import is_printed
from headsmith.constructions.reading import heads_of
from headsmith.functions.composition import decomposed, single
from headsmith.network import Affine, Attention, Network, Select
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import exact, propagate, prove_program
from headsmith.proof.statement import Head, Part

if TYPE_CHECKING:
    from headsmith.compiler.request import Request


@dataclass(frozen=True, eq=False)
class ScalarHeads(Design):
    """One program of parts for each component of the target."""

    name, serves = "heads", "formula"
    programs: tuple[tuple[Part, ...], ...]

    @property
    def parts(self) -> list[Part]:
        """The parts of all components."""
        return list(chain(*self.programs))

    @property
    def tally(self) -> Tally:
        layers = max(len({part.input for part in parts}) for parts in self.programs)
        return Tally(sum(part.keys for part in self.parts), sum(len(part.heads) for part in self.parts), layers)

    def method(self, target: Any) -> str:
        """Told from what the heads are."""
        if target.vector:
            return "side by side"
        [parts], [f] = self.programs, target.formulas
        if len(parts) > 1:
            return "composition"
        [part] = parts
        if is_printed(part):
            return "printed"
        gates = [head.attends_to_itself for head in part.heads]
        if not exact_terms(f).rest:
            return "exact"
        places = f.places(*part.domain)
        smooth = not places.kinks and not places.singularities
        if not any(gates):
            return "analytic" if smooth else "table"
        return "gate" if all(gates) else "analytic" if smooth else "gate + table"

    def network(self, target: Any, dtype: str) -> Network:
        kind = getattr(torch, dtype)
        if not target.vector:
            return assemble(self.programs[0], kind)
        programs = [_renamed(parts, r, target.variables) for r, parts in enumerate(self.programs)]
        whole = assemble(list(chain(*programs)), kind)
        places = [whole.features.index(parts[-1].output) for parts in programs]
        layers: dict[str, Any] = {name: layer for name, layer in whole.layers.items() if name != "read"}
        layers["read"] = Affine(Select(places, features=len(whole.features)))
        return Network(layers, tokens=whole.inputs, features=whole.features, variables=whole.variables)

    def prove(self, target: Any, request: Request) -> Bound:
        """The error of the worst component; that of every other one is at most its total."""
        domain = request.domain[request.domain.names[0]]
        proofs = [prove_program(parts, domain, request.dtype) for parts in self.programs]
        errors = [propagate(own, exact(domain), request.dtype)[own[-1].part.output] for own in proofs]
        worst = max(errors, key=lambda error: error.total)
        first = proofs[0][0].approximation
        alone = len(self.parts) == 1
        return Bound(
            worst.approximation,
            worst.rounding,
            least=first.least if alone else 0.0,
            witness=(first.witness,) if alone else (),
            cells=sum(len(p.approximation.edges) - 1 for p in chain(*proofs)),
        )

    def record(self) -> dict[str, Any]:
        """What each part computes and its bias: hints for other readers, derived again and compared by ours."""
        return {
            "programs": [
                [
                    {"input": p.input, "output": p.output, "target": p.target.tree(), "bias": p.bias.hex()}
                    for p in parts
                    if p.target is not None
                ]
                for parts in self.programs
            ]
        }

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> ScalarHeads:
        said = record["programs"]
        if len(said) != len(target.formulas):
            raise Altered("the file has another number of components than its target")
        held = _wired_heads(network)
        domain = request.domain[request.domain.names[0]]
        programs = []
        for r, (f, own) in enumerate(zip(target.formulas, said, strict=True)):
            steps = single(f) if len(own) == 1 else decomposed(f)
            biases = [float.fromhex(part["bias"]) for part in own]
            blank = [Part(i, o, g, domain, (), bias) for (i, o, g), bias in zip(steps, biases, strict=True)]
            named = _renamed(blank, r, target.variables) if target.vector else blank
            filled = [tuple(held.get((n.input, n.output), ())) for n in named]
            programs.append(tuple(replace(part, heads=heads) for part, heads in zip(blank, filled, strict=True)))
        return cls(tuple(programs))


def _wired_heads(network: Network) -> dict[tuple[str, str], list[Head]]:
    """(input, output) -> heads, as the layers hold them."""
    found: dict[tuple[str, str], list[Head]] = {}
    one = network.features.index("one")
    for layer in network.layers.values():
        if isinstance(layer, Attention):
            sources = layer.query.dense()[:, 0].argmax(-1).tolist()
            outputs = layer.output.dense()[:, :, 0].argmax(-1).tolist()
            for head, source, output in zip(heads_of(layer, one), sources, outputs, strict=True):
                found.setdefault((network.features[source], network.features[output]), []).append(head)
    return found


def _renamed(parts: Sequence[Part], r: int, variables: Sequence[str]) -> list[Part]:
    """Component r reads the common input and gets variables of its own."""
    names = {parts[0].input: variables[0] if variables else "x"} | {p.output: f"{p.output}.{r}" for p in parts}
    return [replace(part, input=names[part.input], output=names[part.output]) for part in parts]
