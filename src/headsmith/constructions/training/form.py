"""What every form of training offers: tokens to start from, a step that is run again and again, and what it held.

    encode -> told, network, told, network, ... -> half a step more, which answers the query -> decode

Behind each step w is checked against its domain. `held` reads off the tokens what the error bound of a step is worked
out from (`proof.perturbation`); `prove` promises, before a prompt is seen, what is enforced at every step, or what no
step anywhere in the domain exceeds if that is less.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from headsmith.constructions.design import Altered, Design, Short
from headsmith.constructions.training.stream import Stream
from headsmith.functions.smooth import HIGHEST, SMOOTH
from headsmith.network import Layer, Network
from headsmith.proof.certificate import Bound
from headsmith.proof.curves import Kinks, Smoothness
from headsmith.proof.domain import Domain
from headsmith.proof.perturbation import Law, Pass
from headsmith.proof.summed import Summed
from headsmith.records.shown import upper
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

Plan = tuple[Tensor, Tensor]  # rates (batch..., steps) and masks (batch..., steps, n)
Snapshots = tuple[Tensor, Tensor, Tensor]
Variable = tuple[str, tuple[str, int | slice, slice]]  # name, (layer, tokens, features); weights are row by row
ENFORCED = 0.99  # of eps is what a step may use: the rest is room for the slack of the certificate


class Form(Design):
    """The numbers of one form of training. Targets are `hs.target.Training`."""

    serves = "training"
    asked: ClassVar[str]  # the method that makes it: sentences name the gap of that method, and not another's
    plain: ClassVar[str] = ""  # what it does, where that is less than a training may ask for

    @staticmethod
    @abstractmethod
    def stream(target: Any) -> Stream:
        """Where everything is."""

    @abstractmethod
    def law(self, target: Any, request: Request) -> Law:
        """What the error bound of a step has to know."""

    def _law(self, target: Any, request: Request, curve: Kinks | Smoothness | Summed, **own: Any) -> Law:
        """The same, from what is proved of the activation and what only this form has."""
        stream = self.stream(target)
        loss = target.bend, target.squashed, target.project, target.decay
        return Law(request.format, stream.samples, stream.tokens, curve, stream.bent, *loss, **own)

    @abstractmethod
    def block(self, target: Any, dtype: str) -> Iterator[tuple[str, Layer]]:
        """The layers of one step, by name."""

    def network(self, target: Any, dtype: str) -> Network:
        """The layers of one step, which all steps share, with a name for each variable."""
        stream, layers = self.stream(target), dict(self.block(target, dtype))
        names = {name: place for j in stream.layers for name, place in self.variables(stream, j, [*layers])}
        features = [*stream.features()]
        return Network(layers, tokens=stream.names(), features=features, variables=names, loops=target.steps)

    def variables(self, stream: Any, j: int, layers: Sequence[str]) -> Iterator[Variable]:
        """What a step works out in layer j of the trained network."""
        at, bent, data = f"layer {j} / ", j in stream.bent, stream.data
        written = next(name for name in (f"gate{j}", f"backward{j}", "loss") if name in layers)
        yield at + "pre-activation", (f"forward{j}", data, stream.slices[f"z {j}"])
        yield at + "activation", (f"bend{j}" if bent else f"forward{j}", data, stream.slices[stream.activation(j)])
        if bent:
            yield at + "slope", (written, data, stream.slices[f"slope {j}"])
        yield at + "delta", (written, slice(0, stream.samples), stream.slices[f"delta {j}"])

    @abstractmethod
    def watched(self, network: Network) -> tuple[str, str, str]:
        """The layers behind which the gradient is known, its move is, and the step is over."""

    def held(self, target: Any, seen: Snapshots, told: Plan, turns: range) -> Pass:
        """What the tokens of some steps hold, in float64: steps `turns`, counted from 1, behind each other.

        A z that is not stored is worked out again, and where a layer has no slopes, anything stands for them.
        """
        stream, (full, moving, after) = self.stream(target), (part.double() for part in seen)
        samples, rows, places = full[..., : stream.samples, :], stream.weights(full), stream.slices
        reads = [samples[..., stream.reads(j)] for j in stream.layers]
        z = [
            samples[..., places[f"z {j}"]] if f"z {j}" in places else p @ V.mT
            for j, p, V in zip(stream.layers, reads, rows, strict=True)
        ]
        return Pass(
            rows=rows,
            reads=reads,
            z=z,
            slopes=[samples[..., places[f"slope {j}" if f"slope {j}" in places else f"z {j}"]] for j in stream.layers],
            f=samples[..., places[stream.activation(stream.depth)]],
            y=samples[..., places["y"]],
            deltas=[samples[..., places[f"delta {j}"]] for j in stream.layers],
            rate=told[0].double(),
            present=told[1].double(),
            moves=stream.moves(full, moving),
            after=stream.weights(after),
            apart=stream.apart(full),
        )

    @abstractmethod
    def approximates(self, target: Any) -> bool:
        """Whether something stands for something else in exact arithmetic too."""

    @property
    def instead(self) -> str:
        """What to do where the approximation of a prompt is more than was promised, if a larger eps does not help."""
        return ""

    @property
    def lost(self) -> str:
        """What happens to numbers that are too large."""
        return "which no gate shuts out"

    def reach(self, target: Any) -> float:
        """The largest pre-activation for which the activation is proved, if by softmax heads of a smooth one."""
        return HIGHEST if target.activation in SMOOTH else torch.inf

    def worst(self, target: Any, request: Request) -> tuple[float, float]:
        """(approximation, rounding) of the worst step anywhere in the domain, as far as it is known."""
        return torch.inf, torch.inf

    def least(self, target: Any, request: Request) -> tuple[float, str]:
        """What a step is off by whatever its prompt holds, and why."""
        size = min(1.0, request.domain.size("w"))
        least = request.format.unit * size / target.rate
        return least, f"rounding a weight of size {size:g} alone perturbs its gradient by {upper(least)}"

    @classmethod
    def beyond(cls, target: Any) -> str:
        """The word for what the training asks for and this form has not, if there is such a thing."""
        return ""

    def prove(self, target: Any, request: Request) -> Bound:
        """What a step can be off by anywhere in the domain, or what is enforced at every step if that is less."""
        if request.method != self.asked:
            raise Altered(f"method={request.method!r} makes no {self.name}")
        if word := self.beyond(target):
            raise Altered(f"the {self.name} is {self.plain}, without {word}")
        least, reason = self.least(target, request)
        if not least <= ENFORCED * request.eps:  # a plan that would refuse every prompt worth the name
            raise Short(reason, 2 * least)
        approximation, rounding = self.worst(target, request)
        if not self.approximates(target):
            return Bound(0.0, min(rounding, ENFORCED * request.eps))
        half = ENFORCED * request.eps / 2
        return Bound(min(approximation, half), min(rounding, half))

    # how it is run

    @classmethod
    def encode(cls, target: Any, *inputs: Tensor) -> Tensor:
        """The tokens of a prompt (batch..., tokens, features), told of the first step."""
        x, y, query, w, *plan = inputs
        stream = cls.stream(target)
        tokens = stream.start(x, y, query, w)
        rates, masks = target.plan(x, *plan)
        stream.instruct(tokens, rates[..., 0], masks[..., 0, :], target.optimized.corrections(1))
        return tokens

    @classmethod
    def decode(cls, target: Any, tokens: Tensor) -> Tensor:
        """(batch..., D + outputs): the last w, and f(query)."""
        stream = cls.stream(target)
        return torch.cat([stream.flat(stream.weights(tokens)), cls.answers(target, tokens)[..., -1, :]], -1)

    @classmethod
    def answers(cls, target: Any, tokens: Tensor) -> Tensor:
        """f of samples and query, where they have just been worked out."""
        stream = cls.stream(target)
        return tokens[..., stream.data, stream.slices[stream.activation(stream.depth)]]

    @classmethod
    def told(cls, target: Any, tokens: Tensor, plan: Plan | None, t: int) -> Tensor:
        """The tokens, told what is different in this step."""
        if t == 0 or (plan is None and target.optimizer != "adam"):
            return tokens
        rates, masks = target.plan(tokens) if plan is None else plan
        tokens = tokens.clone()
        cls.stream(target).instruct(tokens, rates[..., t], masks[..., t, :], target.optimized.corrections(t + 1))
        return tokens

    def passes(
        self, target: Any, network: Network, tokens: Tensor, domain: Domain, plan: Plan | None = None
    ) -> Iterator[Snapshots]:
        """The stream behind the layers that are watched, step by step; w and v^ are checked."""
        names, wanted, stream = list(network.layers), self.watched(network), self.stream(target)
        for t in range(target.steps):
            _checked(domain, "w", tokens[..., stream.holders, stream.slices["w"]], f"after step {t}")
            states = zip(names, network.states(self.told(target, tokens, plan, t)), strict=True)
            seen = {name: state for name, state in states if name in wanted}
            known, moving, tokens = (seen[name] for name in wanted)
            if "spread" in stream.slices:
                _checked(domain, "v", moving[..., stream.slices["spread"]], f"in step {t + 1}")
            yield known, moving, tokens
        _checked(domain, "w", tokens[..., stream.holders, stream.slices["w"]], f"after step {target.steps}")

    def run(self, target: Any, network: Network, tokens: Tensor, domain: Domain) -> Tensor:
        """All steps, and the read-out."""
        *_, (_, _, last) = self.passes(target, network, tokens, domain)
        return self.read_out(target, network, last)

    def read_out(self, target: Any, network: Network, tokens: Tensor) -> Tensor:
        """The forward half of one more step: f(query) with the last w."""
        last = network.variables[f"layer {self.stream(target).depth} / activation"][0]
        return next(islice(network.states(tokens), last, None))


def _checked(domain: Domain, name: str, values: Tensor, when: str) -> None:
    try:
        domain.check(name, values)
    except Refusal as refusal:
        other = ", or take a smaller rate" if name == "w" else ""
        raise Refusal(f"{when}, {refusal}{other}") from None
