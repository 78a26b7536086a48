"""Training inside the forward pass: a transformer whose prompt is the training set (Transformers are Deep Optimizers).

    w <- box(w - rate (gradient of loss(w) + decay w)),  `steps` times, for an N-layer network f(w, x)

    loss    squared     (1/2n) sum |f(x_i) - y_i|^2
            huber(d)    (1/n) sum of h(f(x_i) - y_i), h(r) = r^2/2 up to |r| = d and linear beyond
            logistic    (1/n) sum log(1 + exp(f)) - y f,  y in {0, 1}

or the same with momentum, or Adam, whose moments the tokens carry (`reference.optimizers`).

Each step is run by the same block. What is promised is the paper's per-step claim: every step is exact gradient descent
on a gradient that is perturbed by e, |e|_2 <= eps over all weights together. (The distance after L steps can grow like
(1 + rate L_f)^L, so no useful bound of it exists; the perturbation of each step has one.) Of an optimizer every step
is within rate eps of its formula on the exact gradient and the moments that the tokens hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled
from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target, uniform
from headsmith.constructions.design import Design, many
from headsmith.constructions.training.compact import CompactTraining
from headsmith.constructions.training.form import ENFORCED, Form, Plan
from headsmith.constructions.training.printed_training import PrintedTraining
from headsmith.constructions.training.softmax_training import SoftmaxTraining
from headsmith.constructions.training.stream import Matrices
from headsmith.constructions.training.sums import ramped
from headsmith.functions.kinks import Kinked
from headsmith.functions.smooth import SMOOTH
from headsmith.proof.domain import Domain, Finite, read_interval
from headsmith.proof.perturbation import Law, worst_step
from headsmith.proof.statement import Head
from headsmith.records.shown import exactly
from headsmith.reference.optimizers import Optimizer
from headsmith.refusal import Refusal
from headsmith.targets.reading import check_sizes
from headsmith.targets.training.claims import claims, held, stepped, title
from headsmith.targets.training.exact import trained
from headsmith.targets.training.fields import (
    DEFAULTS,
    read_activation,
    read_box,
    read_number,
    read_optimizer,
    read_spread,
)  # fmt: skip
from headsmith.targets.training.tables import activation_tables, near_enough, root_table

ROOM = {"x": 4.0, "y": 4.0, "w": 8.0}
OUTPUTS = ("identity", "activation")
STILL = (
    "the start is w = 0, a stationary point: every unit answers 0 and hands back 0, so the gradient of every matrix "
    "is 0 and no step moves any; give init= a seed, or matrices that are not 0"
)
ALIKE = (
    "the start is w = 0, where all units of a layer are the same, and so is what they are handed back: no step would "
    "ever tell them apart; give init= a seed, or matrices that are not 0"
)
SPREAD = 4.0  # the largest v^
SPREAD_SAID = "; v of the set: v* / (1 - b2^t) of each step, checked at run time"


@dataclass(frozen=True)
class Training(Target):
    """Gradient descent on a network of these widths, (inputs, hidden, ..., outputs), run by the forward pass.

    activation  relu, leaky (slope 0.01), hard tanh, identity, tanh, sigmoid, silu, softplus, gelu
    loss        "squared", "huber(1.5)" (huber: 1) or "logistic"
    output      "identity", or "activation": also on the last layer, as the paper has it
    project     a box for all weights after each step: a number B for [-B, B], or two ends around 0
    decay       weight decay: decay * w is added to the gradient
    optimizer   "gd", "momentum" (beta: 0.9; as torch.optim.SGD has it) or "adam" (betas: (0.9, 0.999), root: 1e-4; the
                step is m^ / sqrt(v^ + root), for v^ up to domain={"v": 4})

    >>> t = Training(widths=[2, 3, 1], steps=5, rate=0.1, samples=4)
    >>> net = hs.compile(t, eps=1e-9)
    >>> r = net(hs.prompt.training(torch.rand(4, 2).double(), torch.rand(4, 1).double(), [0.5, 0.5], init=1))
    >>> [tuple(w.shape) for w in r.weights], r.certificate.bound <= 1e-9
    ([(3, 2), (1, 3)], True)
    >>> print(Training(widths=[2, 3, 1], steps=5, rate=0.1, samples=4, optimizer="momentum", beta=0.5))
    5 steps of gradient descent with momentum 0.5 on a 2-3-1 relu network, squared loss, 4 samples
    """

    kind = "training"
    methods = ("auto", "printed", "softmax")
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
    optimizer: str = "gd"
    beta: float | None = None
    betas: Any = None
    root: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.widths, list | tuple) or len(self.widths) < 2:
            raise Refusal(f"widths are two or more sizes such as [5, 8, 2], inputs first, not {self.widths!r}")
        check_sizes(**{f"widths[{k}]": size for k, size in enumerate(self.widths)})
        check_sizes(steps=self.steps, samples=self.samples)
        object.__setattr__(self, "widths", tuple(self.widths))
        object.__setattr__(self, "activation", read_activation(self.activation))
        if self.output not in OUTPUTS:
            raise Refusal(f"the output of the network is {' or '.join(OUTPUTS)}, not {self.output!r}")
        if not isinstance(self.biases, bool):
            raise Refusal(f"biases are True or False, not {self.biases!r}")
        if self.bend < math.inf:  # one spelling: a sentence with huber(1_0) in it is about a delta of 10
            object.__setattr__(self, "loss", f"huber({exactly(self.bend)})")
        for name, least in (("rate", math.ulp(0.0)), ("decay", 0.0)):
            object.__setattr__(self, name, read_number(getattr(self, name), name, least))
        object.__setattr__(self, "project", read_box(self.project))
        read = read_optimizer(self.optimizer, beta=self.beta, betas=self.betas, root=self.root)
        for name in DEFAULTS[read.name]:
            object.__setattr__(self, name, getattr(read, name))

    def __str__(self) -> str:
        network = f"{'-'.join(map(str, self.widths))} {self.activation} network"
        steps, samples = many(self.steps, "step"), many(self.samples, "sample")
        return f"{steps} of {title(self.optimized)} on a {network}, {self.loss} loss, {samples}"

    # what it is

    @cached_property
    def optimized(self) -> Optimizer:
        """Who makes a step of a gradient."""
        return Optimizer(self.optimizer, self.beta or 0.0, self.betas or (0.0, 0.0), self.root or 0.0)

    @property
    def ranges(self) -> dict[str, float]:
        """The sizes of the domain unless it is named: of Adam also the largest v^."""
        return ROOM | ({"v": SPREAD} if self.optimizer == "adam" else {})

    @cached_property
    def matrices(self) -> Matrices:
        """The network that is trained."""
        last = len(self.widths) - 1
        bent = tuple(range(1, last + (self.output == "activation"))) if self.activation != "identity" else ()
        return Matrices(tuple(self.widths), self.biases, bent)

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
        return math.inf if found is None else read_number(found[1] or "1", "delta of the Huber loss", math.ulp(0.0))

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
            "w": Input((self.matrices.parameters,)),
            "rates": Input((self.steps,), optional=True),
            "masks": Input((self.steps, n), optional=True),
        }

    @property
    def effort(self) -> float:
        """A gradient in balls of every step."""
        return max(1.0, self.steps * self.samples * self.matrices.parameters / 2e3)

    def claim(self) -> str:
        return stepped(self)["w"]

    def statement(self, request: Request) -> str:
        return (
            f"{claims(self)} for every {request.dtype} {request.domain} and query in the set of "
            f"x, in each of the {self.steps} steps w -> w' that the network answers, {held(self)}"
            f"; gradient: of the {self.loss} loss on {many(self.samples, 'sample')} (or those that a mask "
            f"leaves) of a {'-'.join(map(str, self.widths))} {self.activation} network with {self.output} output"
            f"{' and biases' * self.biases}{self._near(request)}; rate: {exactly(self.rate)}, or that of the "
            f"prompt{SPREAD_SAID * (self.optimizer == 'adam')}; a step whose own error bound, worked out from its "
            "tokens, is larger than the bound is refused"
        )

    def _near(self, request: Request) -> str:
        """What is said of kinks."""
        if self.activation in SMOOTH or not self.matrices.bent:
            return ""
        kinked = (ramped if request.method == "printed" else Kinked.of)(self.activation, request.dtype)
        gap = exactly(kinked.gap)
        kink = f"a pre-activation is within {gap} of a kink of {self.activation}"
        return f", or a subgradient where {kink} or rounding cannot tell it from one"

    def domain(self, given: Any, dtype: str) -> Domain:
        """|x|, |y| <= 4, |w| <= 8, v^ <= 4; a number is for the first three, a mapping changes some of them."""
        asked = dict(given) if isinstance(given, Mapping) else {} if given is None else dict.fromkeys(ROOM, given)
        if unknown := set(asked) - set(self.ranges):
            raise Refusal(f"the domain of {self} names {min(map(str, unknown))!r}; it has {', '.join(self.ranges)}")
        pairs = {name: asked.get(name, size) for name, size in ROOM.items()}
        spread = {name: read_spread(asked.get(name, SPREAD), dtype) for name in self.ranges if name == "v"}
        ends = {name: (-p, p) if isinstance(p, int | float) else p for name, p in pairs.items()}
        sets: dict[str, Any] = {name: read_interval(pair, dtype) for name, pair in ends.items() if name in ("x", "w")}
        y = Finite((0.0, 1.0)) if self.squashed else read_interval(ends["y"], dtype)
        return Domain({"x": sets["x"], "y": y, "w": sets["w"], **spread})

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
        if self.matrices.depth > 1 and bool((w == 0).all(-1).any()):
            raise Refusal(ALIKE if self.activation in ("sigmoid", "softplus") else STILL)
        rates, masks = (*plan, None, None)[:2]
        if rates is not None and not bool(((rates > 0) & (rates < 1e6)).all()):
            raise Refusal("the rates of a prompt must be positive numbers below 1e6, one for each step")
        if masks is not None and not bool(((masks == 0) | (masks == 1)).all() & (masks.sum(-1) > 0).all()):
            raise Refusal("the masks of a prompt hold 1 for samples that count in a step and 0 for others, not all 0")

    def sample(self, domain: Domain, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Data of size 1, and starts as `start` makes them, in the middle of their domain: steps are to stay inside."""
        seeds = torch.randint(2**31, (count,), generator=generator).tolist()
        w = torch.stack([self.matrices.flat(self.start(seed)) for seed in seeds])
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
        for (rows, columns), fan in zip(self.matrices.sizes, self.widths, strict=False):
            matrix = torch.zeros(rows, columns, dtype=torch.float64)
            drawn = torch.randn(rows, fan, generator=generator, dtype=torch.float64)
            matrix[:, :fan] = drawn * math.sqrt(2 / fan)
            found.append(matrix)
        return found

    # what it equals

    def exact(self, x: Any, y: Any, query: Any, w: Any, rates: Any = None, masks: Any = None) -> list[Any]:
        """The last w and f(query), in balls."""
        return trained(self, x, y, query, w, rates, masks)

    # how it is built and run

    def designs(self, request: Request) -> Iterator[Design]:
        if request.method != "auto":
            yield self._otherwise(request)
            return
        root = None
        if self.optimizer == "adam":
            size = request.domain["v"][1]
            near = near_enough(ENFORCED * request.eps / 2, self.matrices.parameters, size)
            root = root_table(self.optimized, size, near, request.dtype)
        yield CompactTraining.of(self, root, self._tables(request))

    def _otherwise(self, request: Request) -> Design:
        """The form that a method names, if it has all that is asked for."""
        form: type[Form] = PrintedTraining if request.method == "printed" else SoftmaxTraining
        if word := form.beyond(self):
            raise Refusal(
                f"method={request.method!r} is {form.plain}: leave out {word}, or take method='auto', which has it"
            )
        if request.method == "printed":
            return PrintedTraining.of(self, request)
        return SoftmaxTraining.of(self, request, self._tables(request))

    def _tables(self, request: Request) -> tuple[Head, ...]:
        """What the activation needs; of eps each of D weights has its share."""
        if self.activation not in SMOOTH or not self.matrices.bent:
            return ()
        share = ENFORCED * request.eps / math.sqrt(self.matrices.parameters)
        return activation_tables(self.activation, share, request.dtype)

    def worst(self, request: Request, law: Law) -> tuple[float, float]:
        """(approximation, rounding) of the worst step anywhere in the domain; inf where no float holds its numbers."""
        sizes = {name: request.domain.size(name) for name in self.ranges}
        found = worst_step(self.matrices.sizes, self.biases, law, self.rate, **sizes)
        parts = torch.stack([found.approximation, found.bound - found.approximation])
        approximation, rounding = parts.nan_to_num(nan=math.inf).flatten().tolist()
        return approximation, rounding

    def plan(self, x: Tensor, rates: Tensor | None = None, masks: Tensor | None = None) -> Plan:
        """The rate of each step, and which samples count in it."""
        rates = x.new_full((self.steps,), self.rate) if rates is None else rates
        return rates, x.new_ones(self.steps, self.samples) if masks is None else masks

    def schedule(self, x: Tensor, y: Tensor, query: Tensor, w: Tensor, *plan: Any) -> Plan | None:
        """The plan, if the steps differ."""
        return self.plan(x, *plan) if plan else None

    def value(self, f: Tensor, y: Tensor) -> Tensor:
        """The loss of all samples."""
        r = f - y
        if self.squashed:
            each = torch.nn.functional.softplus(f) - y * f
        else:
            cut = r.abs().clamp(max=self.bend)
            each = cut * (r.abs() - cut / 2)
        return each.sum(-1).mean(-1)

    @classmethod
    def compiled(cls) -> type[Compiled]:
        from headsmith.targets.training.network import TrainingNetwork

        return TrainingNetwork


def _smaller(values: Tensor, domain: Domain, name: str) -> Tensor:
    """The same numbers, drawn together around the one nearest to 0."""
    if isinstance(domain.sets[name], Finite):
        return values
    centre = torch.tensor(0.0).clamp(*domain[name])
    return centre + (values - centre) * min(1.0, 1 / domain.size(name))
