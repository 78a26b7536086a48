"""Training inside the forward pass: a transformer whose prompt is the training set (Transformers are Deep Optimizers).

    w <- box(w - rate (gradient of loss(w) + decay w)),  `steps` times, for an N-layer network f(w, x)

    loss    squared     (1/2n) sum |f(x_i) - y_i|^2
            huber(d)    (1/n) sum of h(f(x_i) - y_i), h(r) = r^2/2 up to |r| = d and linear beyond
            logistic    (1/n) sum log(1 + exp(f)) - y f,  y in {0, 1}

Each step is run by the same block. What is promised is the paper's per-step claim: every step is exact gradient descent
on a gradient that is perturbed by e, |e|_2 <= eps over all weights together. (The distance after L steps can grow like
(1 + rate L_f)^L, so no useful bound of it exists; the perturbation of each step has one.)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from flint import arb, arb_mat
from torch import Tensor

from headsmith.compiler.compiled import Compiled
from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target, uniform
from headsmith.constructions.design import Design, many
from headsmith.constructions.tape import Tape
from headsmith.constructions.training import CompactTraining
from headsmith.functions.kinks import Kinked
from headsmith.network import Network
from headsmith.proof.domain import Domain, Finite, exactly, read_interval
from headsmith.proof.perturbation import Law, worst_step
from headsmith.proof.rounding import FORMATS
from headsmith.reference.backpropagation import CURVES, Backpropagation
from headsmith.refusal import Refusal
from headsmith.targets.reading import check_sizes, read_ends

ROOM = {"x": 4.0, "y": 4.0, "w": 8.0}
OUTPUTS = ("identity", "activation")
STILL = (
    "the start is w = 0, a stationary point: every unit answers 0 and hands back 0, so the gradient of every matrix "
    "is 0 and no step moves any; give init= a seed, or matrices that are not 0"
)
Plan = tuple[Tensor, Tensor]  # rates (batch..., steps) and masks (batch..., steps, n)


@dataclass(frozen=True)
class Training(Target):
    """Gradient descent on a network of these widths, (inputs, hidden, ..., outputs), run by the forward pass.

    activation  relu, leaky (slope 0.01), hard tanh, identity
    loss        "squared", "huber(1.5)" (huber: 1) or "logistic"
    output      "identity", or "activation": also on the last layer, as the paper has it
    project     a box for all weights after each step: a number B for [-B, B], or two ends around 0
    decay       weight decay: decay * w is added to the gradient

    >>> t = Training(widths=[2, 3, 1], steps=5, rate=0.1, samples=4)
    >>> net = hs.compile(t, eps=1e-9)
    >>> r = net(hs.prompt.training(torch.rand(4, 2).double(), torch.rand(4, 1).double(), [0.5, 0.5], init=1))
    >>> [tuple(w.shape) for w in r.weights], r.certificate.bound <= 1e-9
    ([(3, 2), (1, 3)], True)
    """

    kind = "training"
    widths: Sequence[int]
    activation: str = "relu"
    loss: str = "squared"
    steps: int = 1
    rate: float = 0.1
    samples: int = 1
    output: str = "identity"
    biases: bool = False
    project: Any = None
    decay: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.widths, list | tuple) or len(self.widths) < 2:
            raise Refusal(f"widths are two or more sizes such as [5, 8, 2], inputs first, not {self.widths!r}")
        check_sizes(**{f"widths[{k}]": size for k, size in enumerate(self.widths)})
        check_sizes(steps=self.steps, samples=self.samples)
        object.__setattr__(self, "widths", tuple(self.widths))
        object.__setattr__(self, "activation", _activation(self.activation))
        if self.output not in OUTPUTS:
            raise Refusal(f"the output of the network is {' or '.join(OUTPUTS)}, not {self.output!r}")
        if not isinstance(self.biases, bool):
            raise Refusal(f"biases are True or False, not {self.biases!r}")
        _ = self.bend
        for name, least in (("rate", math.ulp(0.0)), ("decay", 0.0)):
            object.__setattr__(self, name, _number(getattr(self, name), name, least))
        object.__setattr__(self, "project", _box(self.project))

    def __str__(self) -> str:
        network = f"{'-'.join(map(str, self.widths))} {self.activation} network"
        steps, samples = many(self.steps, "step"), many(self.samples, "sample")
        return f"{steps} of gradient descent on a {network}, {self.loss} loss, {samples}"

    # what it is

    @cached_property
    def tape(self) -> Tape:
        """Where everything is in the stream."""
        last = len(self.widths) - 1
        bent = tuple(range(1, last + (self.output == "activation"))) if self.activation != "identity" else ()
        units = sum(self.widths[1:])
        extra = (("odds", self.widths[-1]),) * self.squashed + (("fade", units),) * (self.decay > 0)
        return Tape(tuple(self.widths), self.samples, self.biases, bent, extra)

    @property
    def squashed(self) -> bool:
        """Whether the loss compares sigmoid(f) with y."""
        return self.loss == "logistic"

    @property
    def bend(self) -> float:
        """Where the loss turns from quadratic to linear."""
        found = re.fullmatch(r"huber(?:\(([^()]+)\))?", self.loss) if isinstance(self.loss, str) else None
        if found is None and self.loss not in ("squared", "logistic"):
            raise Refusal(f"no loss is called {self.loss!r}; there are squared, huber(delta) and logistic")
        return math.inf if found is None else _number(found[1] or "1", "delta of the Huber loss", math.ulp(0.0))

    @property
    def slopes(self) -> tuple[tuple[float, float], ...]:
        """(shift, coefficient): loss' is the sum of coefficient (relu(r - shift) - relu(-r - shift))."""
        return ((0.0, 1.0),) if self.bend == math.inf else ((0.0, 1.0), (self.bend, -1.0))

    @property
    def inputs(self) -> dict[str, Input]:
        n, (first, *_, last) = self.samples, self.widths
        return {
            "x": Input((n, first)),
            "y": Input((n, last)),
            "query": Input((first,)),
            "w": Input((self.tape.parameters,)),
            "rates": Input((self.steps,), optional=True),
            "masks": Input((self.steps, n), optional=True),
        }

    def claim(self) -> str:
        fade = f"(gradient + {exactly(self.decay)} w)" if self.decay else "gradient"
        box = "" if self.project is None else "Proj_[" + ", ".join(map(exactly, self.project)) + "]"
        return f"{box}(w - rate {fade})"

    def statement(self, request: Request) -> str:
        gap = Kinked.of(self.activation, request.dtype).gap
        near = (
            f", or a subgradient where a pre-activation is within {exactly(gap)} of a kink of {self.activation} or "
            "rounding cannot tell it from one"
        )
        return (
            f"|w' - {self.claim()}|_2 <= rate bound for every {request.dtype} {request.domain} and query in the set of "
            f"x, in each of the {self.steps} steps w -> w' that the network answers, w being the start and each of its "
            f"iterates; gradient: of the {self.loss} loss on {many(self.samples, 'sample')} (or those that a mask "
            f"leaves) of a {'-'.join(map(str, self.widths))} {self.activation} network with {self.output} output"
            f"{' and biases' * self.biases}{near * bool(self.tape.bent)}; rate: {exactly(self.rate)}, or that of the "
            "prompt; a step whose own error bound, worked out from its tokens, is larger than the bound is refused"
        )

    def domain(self, given: Any, dtype: str) -> Domain:
        """|x|, |y| <= 4 and |w| <= 8; a number is for all three, a mapping changes some of them."""
        asked = dict(given) if isinstance(given, Mapping) else {} if given is None else dict.fromkeys(ROOM, given)
        if unknown := set(asked) - set(ROOM):
            raise Refusal(f"the domain of {self} names {min(map(str, unknown))!r}; it has x, y and w")
        pairs = {name: asked.get(name, size) for name, size in ROOM.items()}
        ends = {name: (-p, p) if isinstance(p, int | float) else p for name, p in pairs.items()}
        sets: dict[str, Any] = {name: read_interval(pair, dtype) for name, pair in ends.items() if name in ("x", "w")}
        y = Finite((0.0, 1.0)) if self.squashed else read_interval(ends["y"], dtype)
        return Domain({"x": sets["x"], "y": y, "w": sets["w"]})

    def arrange(self, *inputs: Any) -> Sequence[Any]:
        """Labels of one output may come without their last axis."""
        x, y, *rest = inputs
        if self.widths[-1] == 1 and y.dim() and y.shape[-1] == self.samples != 1:
            y = y.unsqueeze(-1)
        return x, y, *rest

    def check(self, domain: Domain, *inputs: Any) -> None:
        """The query lies where samples do; the start is no stationary point; a schedule is one."""
        _, _, query, w, *plan = inputs
        domain.check("x", query)
        if self.tape.depth > 1 and bool((w == 0).all(-1).any()):
            raise Refusal(STILL)
        rates, masks = (*plan, None, None)[:2]
        if rates is not None and not bool(((rates > 0) & (rates < 1e6)).all()):
            raise Refusal("the rates of a prompt must be positive numbers below 1e6, one for each step")
        if masks is not None and not bool(((masks == 0) | (masks == 1)).all() & (masks.sum(-1) > 0).all()):
            raise Refusal("the masks of a prompt hold 1 for samples that count in a step and 0 for others, not all 0")

    def sample(self, domain: Domain, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Data of size 1, and starts as `start` makes them, in the middle of their domain: steps are to stay inside."""
        seeds = torch.randint(2**31, (count,), generator=generator).tolist()
        w = torch.stack([self.tape.flat(self.start(seed)) for seed in seeds])
        data = (_smaller(uniform(domain, *drawn, generator), domain, drawn[0]) for drawn in self._drawn(count))
        low, high = domain["w"]
        return *data, w.clamp(0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high)

    def _drawn(self, count: int) -> list[tuple[str, tuple[int, ...]]]:
        shapes = {name: given.shape for name, given in self.inputs.items()}
        return [(name, (count, *shapes[of])) for name, of in (("x", "x"), ("y", "y"), ("x", "query"))]

    def start(self, seed: int) -> list[Tensor]:
        """Matrices (out, in) of variance 2/in, the biases 0 in a last column: what init=seed stands for."""
        generator = torch.Generator().manual_seed(seed)
        found = []
        for (rows, columns), fan in zip(self.tape.sizes, self.widths, strict=False):
            matrix = torch.zeros(rows, columns, dtype=torch.float64)
            drawn = torch.randn(rows, fan, generator=generator, dtype=torch.float64)
            matrix[:, :fan] = drawn * math.sqrt(2 / fan)
            found.append(matrix)
        return found

    # what it equals

    def gradient(self) -> Backpropagation:
        """The gradient of the loss, in balls."""
        bend = arb(self.bend) if self.bend < math.inf else None

        def slope(f: arb, y: arb) -> arb:
            if self.squashed:
                return 1 / (1 + (-f).exp()) - y
            return f - y if bend is None else (f - y).max(-bend).min(bend)

        return Backpropagation(self.activation, self.tape.bent, self.biases, slope)

    def moved(self, rows: Sequence[arb_mat], data: Sequence[Any], rate: float, present: Sequence[float]) -> list[Any]:
        """w' of one step from w, in balls; data are x and y."""
        found = []
        x, y = map(arb_mat, data)
        for V, gradient in zip(rows, self.gradient().gradient(rows, x, y, present), strict=True):
            step = V - (gradient + V * arb(self.decay)) * arb(rate)
            found.append(step if self.project is None else _boxed(step, *self.project))
        return found

    def exact(self, x: Any, y: Any, query: Any, w: Any, rates: Any = None, masks: Any = None) -> list[Any]:
        """The last w and f(query), in balls."""
        rates = rates or [self.rate] * self.steps
        masks = masks or [[1.0] * self.samples] * self.steps
        rows = [arb_mat(part.tolist()) for part in self.tape.split(torch.tensor(w, dtype=torch.float64))]
        for rate, present in zip(rates, masks, strict=True):
            rows = self.moved(rows, (x, y), rate, present)
        answer = self.gradient().outputs(rows, arb_mat([query]))[2]
        return [v for V in (*rows, answer) for row in V.tolist() for v in row]

    # how it is built and run

    def designs(self, request: Request) -> Iterator[Design]:
        yield CompactTraining(self.steps, self.tape.widths[1:])

    def law(self, dtype: str) -> Law:
        """What the error bound of a step has to know."""
        tape, kinked = self.tape, Kinked.of(self.activation, dtype)
        sizes = tape.samples, tape.tokens, kinked, tape.bent
        return Law(FORMATS[dtype], *sizes, self.bend, self.squashed, self.project, self.decay)

    def worst(self, request: Request) -> float:
        """The bound of the worst step anywhere in the domain."""
        sizes = {name: request.domain.size(name) for name in ROOM}
        return worst_step(self.tape.sizes, self.biases, self.law(request.dtype), self.rate, **sizes)

    def plan(self, x: Tensor, rates: Tensor | None = None, masks: Tensor | None = None) -> Plan:
        """The rate of each step, and which samples count in it."""
        rates = x.new_full((self.steps,), self.rate) if rates is None else rates
        return rates, x.new_ones(self.steps, self.samples) if masks is None else masks

    def encode(self, *inputs: Any) -> Tensor:
        """The tokens of samples, query and units (batch..., n + 1 + units, features), told of the first step."""
        x, y, query, w, *plan = inputs
        stream = self.tape.start(x, y, query, w)
        rates, masks = self.plan(x, *plan)
        self.tape.instruct(stream, rates[..., 0], masks[..., 0, :])
        return stream

    def decode(self, tokens: Tensor) -> Tensor:
        """(batch..., D + outputs): the last w, and f(query)."""
        return torch.cat([self.tape.flat(self.tape.weights(tokens)), self.answers(tokens)[..., -1, :]], -1)

    def answers(self, tokens: Tensor) -> Tensor:
        """f of samples and query, where they have just been worked out."""
        tape = self.tape
        return tokens[..., tape.data, tape.slices[tape.activation(tape.depth)]]

    def run(self, network: Network, tokens: Tensor, domain: Domain) -> Tensor:
        *_, (_, last) = self.passes(network, tokens, domain)
        return self.read_out(network, last)

    def schedule(self, x: Tensor, y: Tensor, query: Tensor, w: Tensor, *plan: Any) -> Plan | None:
        """The plan, if the steps differ."""
        return self.plan(x, *plan) if plan else None

    def told(self, tokens: Tensor, plan: Plan | None, t: int) -> Tensor:
        """The tokens, told what is different in this step."""
        if plan is None or t == 0:
            return tokens
        tokens = tokens.clone()
        self.tape.instruct(tokens, plan[0][..., t], plan[1][..., t, :])
        return tokens

    def value(self, f: Tensor, y: Tensor) -> Tensor:
        """The loss of all samples."""
        r = f - y
        if self.squashed:
            each = torch.nn.functional.softplus(f) - y * f
        else:
            cut = r.abs().clamp(max=self.bend)
            each = cut * (r.abs() - cut / 2)
        return each.sum(-1).mean(-1)

    def passes(
        self, network: Network, tokens: Tensor, domain: Domain, plan: Plan | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """(the stream when the moves are known, the stream behind the step) of each step; every w is checked."""
        told = list(network.layers).index("descend")
        for t in range(self.steps):
            self._inside(domain, tokens, t)
            for i, state in enumerate(network.states(self.told(tokens, plan, t))):
                if i == told:
                    full = state
            tokens = state
            yield full, tokens
        self._inside(domain, tokens, self.steps)

    def _inside(self, domain: Domain, tokens: Tensor, t: int) -> None:
        try:
            domain.check("w", tokens[..., self.tape.samples + 1 :, self.tape.slices["w"]])
        except Refusal as refusal:
            raise Refusal(f"after step {t}, {refusal}, or take a smaller rate") from None

    def read_out(self, network: Network, tokens: Tensor) -> Tensor:
        """The forward half of one more block: f(query) with the last w."""
        last = self.tape.depth
        stop = f"bend{last}" if last in self.tape.bent else f"forward{last}"
        for name, state in zip(network.layers, network.states(tokens), strict=False):
            if name == stop:
                return state
        raise Refusal(f"the network has no layer {stop}")

    @classmethod
    def compiled(cls) -> type[Compiled]:
        from headsmith.targets.training_network import TrainingNetwork

        return TrainingNetwork


def _smaller(values: Tensor, domain: Domain, name: str) -> Tensor:
    """The same numbers, drawn together around the one nearest to 0."""
    if isinstance(domain.sets[name], Finite):
        return values
    centre = torch.tensor(0.0).clamp(*domain[name])
    return centre + (values - centre) * min(1.0, 1 / domain.size(name))


def _boxed(values: arb_mat, low: float, high: float) -> arb_mat:
    return arb_mat([[v.max(arb(low)).min(arb(high)) for v in row] for row in values.tolist()])


def _activation(given: Any) -> str:
    """The name that it has here, however it is spelled: hard_tanh, Hardtanh, LeakyReLU."""
    known = {name.replace(" ", ""): name for name in CURVES} | {"leakyrelu": "leaky"}
    found = known.get(str(given).lower().translate(str.maketrans("", "", " _-")))
    if found is None:
        raise Refusal(f"no activation is called {given!r}; there are {', '.join(CURVES)}")
    return found


def _number(given: Any, name: str, least: float) -> float:
    try:
        value = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not least <= value < 1e6:
        kind = "positive" if least else "not negative"
        raise Refusal(f"the {name} must be a number below 1e6 and {kind}, not {given!r}")
    return value


def _box(given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    low, high = read_ends(*((-given, given) if isinstance(given, int | float) else given))
    if not low <= 0 <= high:
        raise Refusal(f"the box of a projection must hold 0, where unused features lie, not [{low:g}, {high:g}]")
    return low, high
