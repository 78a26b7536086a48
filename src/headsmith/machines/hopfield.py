"""Modern Hopfield layers that compute: stored patterns are keys, states are queries (algorithm-emulation App E).

Def E.1:  Hopfield(R; Y) = W_V W_K Y softmax(beta (W_K Y)^T W_Q R), columns of Y the stored patterns, of R the
states.

    Thm E.1    f(a . z + b): patterns (slope_j a; slope_j b + offset_j; g_j), state (z; 1). The table (slope,
               offset, g) is frozen, a and b come in with the patterns: a neuron from a prompt.
    Thm E.2    f(w . x_i - y_i) x_i: patterns (slope_j x_i; slope_j y_i; g_j x_i; offset_j; C e_i) for every
               sample i and grid point j, state (w; -1; 0; 1; e_c).
    Cor E.2.1  with f = loss' these are the gradients of all samples.

As printed, Thm E.2 has -1 where the state meets -L_j^2, so that far grid points win instead of near ones, and
a constant C that knows neither the grid nor beta, so that a state reads other samples. `faults` keeps them,
for comparison.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.request import read_eps
from headsmith.compiler.scalar import ScalarTask, solve
from headsmith.compiler.target import as_expression
from headsmith.constructions.design import Short, many
from headsmith.functions import Expression
from headsmith.machines.bounds import softmax_rounding
from headsmith.machines.lattices import Numbers, numbers_of
from headsmith.machines.machine import Machine, positive, whole
from headsmith.machines.reading import Reading
from headsmith.machines.result import Result
from headsmith.network import Affine, Attention, Dense, Layer, Network
from headsmith.proof.approximation import prove
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import resolution
from headsmith.proof.domain import Domain
from headsmith.proof.rounding import FORMATS, INFLATE, gamma, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import upper
from headsmith.refusal import Refusal

UNIT = 2.0**-53


def table(f: str | Expression, radius: float, eps: float) -> Head:
    """f on |z| <= radius as one table of constant values, within eps."""
    target = as_expression(f)
    task = ScalarTask(target, (-radius, radius), eps, "float64")
    try:
        part = solve(task).part
        if len(part.heads) != 1 or part.heads[0].lines.any():
            part = solve(task, "table").part
    except Short as short:
        raise Refusal(
            f"{target} on |z| <= {radius:g} cannot be had within {eps:.2g} as one table: {short.reason}"
        ) from None
    [head] = part.heads
    return Head.table(head.slopes, head.offsets, head.values + part.bias)


def table_error(f: Expression, head: Head, radius: float) -> float:
    """The proved error of a table of f on |z| <= radius, in exact arithmetic."""
    return _proved(f, numbers_of(head), radius)


@lru_cache(maxsize=64)
def _proved(f: Expression, numbers: Numbers, radius: float) -> float:
    part = Part("x", "out", f, (-radius, radius), (Head(*map(np.array, numbers)),))
    places = f.places(-radius, radius)
    kinks = (*places.kinks, *places.singularities, *places.removable)
    return prove(part, resolution(part, kinks), kinks).bound


class Neurons(Machine):
    """f(A z + b) with A and b stored as patterns (algorithm-emulation Thm E.1, repaired: sums over all of 0..P).

    >>> layer = Neurons("tanh(x)", features=2, neurons=1, domain=4.0, eps=1e-6)
    >>> layer([[1.0, 1.0]], [0.0], [[0.25, 0.25]]).value.round(decimals=6)
    tensor([[0.4621]], dtype=torch.float64)
    """

    kind = "neurons"
    f: Expression
    features: int
    neurons: int
    domain: float

    def __init__(self, f: str | Expression, features: int, neurons: int, domain: float, eps: float) -> None:
        self._size(f=as_expression(f), features=features, neurons=neurons, domain=domain)
        self._freeze({"f": table(self.f, self.domain, read_eps(eps))})

    def _size(self, *, f: Expression, features: int, neurons: int, domain: float) -> None:
        self.f, self.features, self.neurons = f, whole("features", features), whole("neurons", neurons)
        self.domain = positive("domain", domain)
        # what is executed may leave the domain by the rounding of a dot product: the table is proved that far
        self.reach = self.domain * (1 + 2 * gamma(features + 3, UNIT))
        self.reads = neurons, features + 1
        self.parameters = {"f": f, "features": features, "neurons": neurons, "domain": self.domain}

    def _build(self) -> Network:
        columns = (torch.tensor(v) for v in (self.head.slopes, self.head.offsets, self.head.values))
        layer = Reading(*columns, rows=self.neurons, features=self.features)
        return Network({"retrieve": layer}, tokens=[f"neuron.{i}" for i in range(self.neurons)])

    def _stored(self, network: Network) -> dict[str, Head]:
        layer = network.layers["retrieve"]
        if not isinstance(layer, Reading):
            raise Refusal("neurons are retrieved by a reading layer")
        return {"f": layer.table}

    @property
    def head(self) -> Head:
        """The table of f."""
        return self.tables["f"]

    @cached_property
    def part(self) -> Part:
        """The table and what it is meant to equal."""
        return Part("x", "out", self.f, (-self.reach, self.reach), (self.head,))

    @property
    def error(self) -> float:
        """The proved error of the table, in exact arithmetic."""
        return table_error(self.f, self.head, self.reach)

    def prove(self) -> Bound:
        """The promise for every neuron whose terms sum to at most the domain."""
        return self._bound(self.domain)

    def _bound(self, size: float) -> Bound:
        """The error where sum |a_k z_k| + |b| is at most `size`: z is off before f is looked up."""
        rounding = prove_rounding(self.part, FORMATS["float64"], 0.0, terms=self.features + 3, reach=size).bound
        return Bound(self.error, rounding)

    @property
    def hypotheses(self) -> Domain:
        """The range of f, and of the sums before it."""
        return Domain({"A z + b": (-self.domain, self.domain), "sum |a_k z_k| + |b|": (0.0, self.domain)})

    @property
    def statement(self) -> str:
        """|layer - f(A z + b)| <= bound."""
        return (
            f"|layer - f(A z + b)| <= bound in every entry, f = {self.f}, for up to {self.neurons} float64 neurons of "
            f"{many(self.features, 'feature')} with {self.hypotheses}"
        )

    def __call__(self, A: Any, b: Any, Z: Any) -> Result:
        """A (neurons, features), b (neurons,), states Z (..., features) -> f(A z + b), (..., neurons)."""
        self.proved_hash()
        a, bias, z = map(self.read, (A, b, Z))
        fits = a.shape == (self.neurons, self.features) and bias.shape == (self.neurons,)
        if not (fits and z.dim() and z.shape[-1] == self.features):
            raise Refusal(
                f"these neurons read A ({self.neurons}, {self.features}), b ({self.neurons},), Z (..., {self.features})"
            )
        states = z.reshape(-1, self.features)
        size = states.abs() @ a.abs().mT + bias.abs()
        reach = (states @ a.mT + bias).abs() + gamma(self.features + 1, UNIT) * size
        executed = reach + gamma(self.features + 3, UNIT) * size
        if reach.numel() and not (float(reach.max()) <= self.domain and float(executed.max()) <= self.reach):
            at, most = int(executed.argmax()), float(executed.max())
            raise Refusal(
                f"neuron {at % self.neurons} meets {most:.4g} at state {at // self.neurons}, beyond its domain "
                f"{self.domain:g}: build with a larger domain"
            )
        one = states.new_ones(len(states), 1)
        prompt = torch.cat([torch.cat([a, bias[:, None]], -1), torch.cat([states, one], -1)])
        value = self.network(prompt).reshape(*z.shape[:-1], self.neurons)
        bound = self._bound(float(size.max()) * INFLATE if size.numel() else 0.0)
        within = Domain({"A z + b": (-self.domain, self.domain)})
        statement = f"|layer - f(A z + b)| <= bound in every entry, f = {self.f}, for these neurons and states"
        return Result("neurons", value, self.certified(bound, statement, within))

    def title(self) -> str:
        return f"Neurons: {self.neurons} x {self.f} of {many(self.features, 'feature')}"

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("domain", f"{self.hypotheses}, float64"),
            ("table", f"{many(self.head.keys, 'key')}"),
            ("promise", f"error at most {upper(self.certificate.bound)}"),
            ("weights", self.weight_hash[:16]),
        ]


def printed_table(f: str | Expression, radius: float, steps: int, sharpness: float = 30.0) -> Head:
    """The printed table: L_j = -radius + j h, scores -beta (z - L_j)^2 with beta = sharpness / h^2, values f(L_j)."""
    target, h = as_expression(f), 2 * radius / steps
    anchors = -radius + h * np.arange(steps + 1)
    beta = sharpness / (h * h)
    return Head.table(2 * beta * anchors, -beta * anchors**2, target(anchors))


def outputs(head: Head, radius: float) -> tuple[float, float]:
    """(least, most) of the largest score over |r| <= radius: what one sample can score against another."""
    r = np.concatenate([[-radius, radius], _crossings(head, radius)])
    top = (r[:, None] * head.slopes + head.offsets).max(1)
    return float(top.min()), float(top.max())


def _crossings(head: Head, radius: float) -> np.ndarray:
    """Where two scores meet: the largest score is convex and piecewise linear, with its least value at one of these."""
    slope = head.slopes[:, None] - head.slopes
    with np.errstate(divide="ignore", invalid="ignore"):
        places = (head.offsets - head.offsets[:, None]) / slope
    places = places[np.isfinite(places)]
    return places[np.abs(places) <= radius]


class Gradients(Machine):
    """f(w . x_i - y_i) x_i for all samples at once (algorithm-emulation Thm E.2, Cor E.2.1).

    residual: the largest |w . x_i - y_i|, of every state with every sample; inputs: the largest |entry of x|. At most
    `leak` goes to other samples. `steps` asks for the printed table of that many steps, and `faults` keeps errors of
    the print: "sign", "constant".

    >>> rule = Gradients("tanh(x)", features=1, samples=2, residual=3.0, inputs=1.0, eps=1e-6)
    >>> rule([[1.0], [0.5]], [0.0, 0.5], [2.0]).value
    tensor([[0.9640],
            [0.2311]], dtype=torch.float64)
    """

    kind = "gradients"
    f: Expression
    features: int
    samples: int
    residual: float
    inputs: float
    constant: float

    def __init__(
        self,
        f: str | Expression,
        features: int,
        samples: int,
        residual: float,
        inputs: float,
        eps: float,
        *,
        steps: int | None = None,
        faults: tuple[str, ...] = (),
    ) -> None:
        if not set(faults) <= {"sign", "constant"}:
            raise Refusal(f"the faults of the print are 'sign' and 'constant', not {', '.join(map(repr, faults))}")
        if faults and steps is None:
            raise Refusal("the faults of the print belong to its table: give steps, such as steps=48")
        target, radius, most = as_expression(f), positive("residual", residual), positive("inputs", inputs)
        aim = read_eps(eps) / (2 * most)
        head = table(target, radius, aim) if steps is None else printed_table(target, radius, steps)
        leak = min(0.5, aim / (4 * max(float(np.abs(head.values).max()), 1e-300)))
        least, top = outputs(head, radius)
        constant = top - least + math.log(max(1, samples - 1) * head.keys / leak)
        if "constant" in faults:
            beta = float(-head.offsets.min()) / radius**2
            constant = beta * (2 * features * most**2 + most - math.log(leak))
        self._size(f=target, features=features, samples=samples, residual=radius, inputs=most, constant=constant)
        self.sign, self.faults = -1.0 if "sign" in faults else 1.0, tuple(faults)
        self._freeze({"f": head})

    def _size(
        self, *, f: Expression, features: int, samples: int, residual: float, inputs: float, constant: float
    ) -> None:
        self.f, self.features, self.samples = f, whole("features", features), whole("samples", samples)
        self.residual, self.inputs = positive("residual", residual), positive("inputs", inputs)
        self.constant = positive("the constant that keeps samples apart", constant)
        self.sign, self.faults, self.reads = 1.0, (), (samples, 2 * features + 1)
        self.parameters = {
            "f": f, "features": features, "samples": samples,
            "residual": self.residual, "inputs": self.inputs, "constant": self.constant,
        }  # fmt: skip

    def _build(self) -> Network:
        d, n, keys = self.features, self.samples, self.head.keys
        width, stored = 2 * d + n + 2, self.samples * self.head.keys
        total, new = stored + n, _zeros
        maps, bias = new(total, 2 * width, 2 * d + 1), new(total, 2 * width)
        slopes, offsets, values = (torch.tensor(v) for v in (self.head.slopes, self.head.offsets, self.head.values))
        for i in range(n):
            rows = slice(i * keys, (i + 1) * keys)
            for k in range(d):
                maps[rows, k, k], maps[rows, d + 1 + k, k] = slopes, values
            maps[rows, d, d] = slopes
            bias[rows, 2 * d + 1], bias[rows, 2 * d + 2 + i] = offsets, self.constant
            state = stored + i
            maps[state, width : width + d, d + 1 :] = torch.eye(d)
            bias[state, width + d], bias[state, width + 2 * d + 1] = -1.0, self.sign
            bias[state, width + 2 * d + 2 + i] = 1.0
        sees = torch.zeros(total, total, dtype=torch.bool)
        sees[stored:, :stored] = True
        key, query, value, keep = new(1, width, 2 * width), new(1, width, 2 * width), new(1, d, 2 * width), new(1, d, d)
        key[0, :, :width], query[0, :, width:] = torch.eye(width), torch.eye(width)
        value[0, :, d + 1 : 2 * d + 1], keep[0] = torch.eye(d), torch.eye(d)
        source = [*[i for i in range(n) for _ in range(keys)], *range(n)]
        layers: dict[str, Layer] = {
            "store": Affine(Dense(maps), bias, source),
            "retrieve": Attention(Dense(query), Dense(key), Dense(value), Dense(keep), visible=sees),
            "states": Affine(Dense(torch.eye(d, dtype=torch.float64)), None, range(stored, total)),
        }
        return Network(layers, tokens=[f"sample.{i}" for i in range(n)])

    def _stored(self, network: Network) -> dict[str, Head]:
        store, d = network.layers["store"], self.features
        if not (isinstance(store, Affine) and isinstance(store.map, Dense) and store.bias is not None):
            raise Refusal("gradients store their patterns by a dense affine map")
        keys = (store.bias.shape[0] - self.samples) // self.samples
        rows, bias = store.map.weight[:keys].numpy(), store.bias[:keys].numpy()
        return {"f": Head.table(rows[:, 0, 0], bias[:, 2 * d + 1], rows[:, d + 1, 0])}

    @property
    def head(self) -> Head:
        """The table of f."""
        return self.tables["f"]

    @property
    def error(self) -> float:
        """The proved error of the table, in exact arithmetic."""
        return table_error(self.f, self.head, self.residual)

    @property
    def most(self) -> float:
        """The largest |value| of the table."""
        return float(np.abs(self.head.values).max())

    @property
    def leak(self) -> float:
        """The largest share of the weights that goes to other samples, from above."""
        least, top = outputs(self.head, self.residual)
        slip = 8 * UNIT * (np.abs(self.head.slopes).max() * self.residual + np.abs(self.head.offsets).max())
        others = (self.samples - 1) * self.head.keys
        return others * math.exp(top - least + float(slip) - self.constant) * INFLATE

    def prove(self) -> Bound:
        """The promise for all samples and states whose terms sum to at most the residual."""
        return self._bound(self.residual)

    def _bound(self, size: float) -> Bound:
        """The table, what leaks, and the rounding of scores that carry the constant; size = max sum |w_k x_k| + |y|."""
        if self.faults:
            return Bound(math.inf, math.inf, kind="unproved")
        approximation = (self.error + 2 * self.leak * self.most) * self.inputs * INFLATE
        scores = float(np.abs(self.head.slopes).max() * size + np.abs(self.head.offsets).max()) + self.constant
        count, most = self.samples * self.head.keys, self.most * self.inputs * (1 + 2 * UNIT)
        terms = 2 * self.features + self.samples + 6
        rounding = softmax_rounding(scores * INFLATE, 2 * most, most, terms, count, FORMATS["float64"])
        return Bound(approximation, (rounding + UNIT * most) * INFLATE)

    @property
    def hypotheses(self) -> Domain:
        """The residuals of every state with every sample, the inputs, and the sums in a residual."""
        return Domain(
            {
                "w . x - y": (-self.residual, self.residual),
                "x": (-self.inputs, self.inputs),
                "sum |w_k x_k| + |y|": (0.0, self.residual),
            }
        )

    @property
    def statement(self) -> str:
        """|layer - f(w . x - y) x| <= bound."""
        return (
            f"|layer - f(w . x - y) x| <= bound in every entry, f = {self.f}, for "
            f"{many(self.samples, 'float64 sample')} of {many(self.features, 'feature')} and every state w with "
            f"{self.hypotheses}"
        )

    def __call__(self, X: Any, y: Any, w: Any) -> Result:
        """X (samples, features), y (samples,), w (features,) or one w a sample -> (samples, features)."""
        self.proved_hash()
        x, labels, weights = map(self.read, (X, y, w))
        own = (self.samples, self.features)
        if x.shape != own or labels.shape != own[:1] or weights.shape not in {own, own[1:]}:
            raise Refusal(
                f"these patterns hold X ({self.samples}, {self.features}) and y ({self.samples},); w has "
                f"{self.features} numbers, or as many for each sample"
            )
        weights = weights.expand(self.samples, self.features)
        self._check(x, labels, weights)
        value = self.network(torch.cat([x, labels[:, None], weights], -1))
        size = float((weights.abs() @ x.abs().mT + labels.abs()).max()) * INFLATE
        statement = f"|layer - f(w . x - y) x| <= bound in every entry, f = {self.f}, for these samples and states"
        sets = {name: self.hypotheses[name] for name in ("w . x - y", "x")}
        return Result("gradients", value, self.certified(self._bound(size), statement, Domain(sets)))

    def _check(self, x: Tensor, labels: Tensor, weights: Tensor) -> None:
        """Every state meets the patterns of every sample: a residual beyond the range would read a wrong one."""
        r = weights @ x.mT - labels
        slack = gamma(self.features + 2, UNIT) * (weights.abs() @ x.abs().mT + labels.abs())
        reach = r.abs() + slack
        if float(reach.max()) <= self.residual and float(x.abs().max()) <= self.inputs:
            return
        mine = bool((reach.diagonal() > self.residual).any())
        met = reach.diagonal().diag() if mine else reach
        state, i = divmod(int(met.argmax()), self.samples)
        whose = "" if mine else f" with the state of sample {state}"
        raise Refusal(
            f"sample {i} has the residual {float(r[state, i]):.4g}{whose}, "
            f"and |x| goes up to {float(x.abs().max()):.4g}; promised were {self.residual:g} and {self.inputs:g}"
        )

    def title(self) -> str:
        sizes = f"{many(self.samples, 'sample')} of {many(self.features, 'feature')}"
        return f"Gradients: f(w . x - y) x, f = {self.f}, {sizes}"

    def rows(self) -> list[tuple[str, str]]:
        bound = self.certificate.bound
        promise = "none: printed, with its faults" if self.faults else f"error at most {upper(bound)}"
        return [
            ("domain", f"{self.hypotheses}, float64"),
            ("table", f"{many(self.head.keys, 'key')} a sample"),
            ("promise", promise),
            ("weights", self.weight_hash[:16]),
        ]


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(*shape, dtype=torch.float64)
