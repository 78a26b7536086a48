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
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.compiled import fingerprint
from headsmith.compiler.scalar import Short, Task, solve
from headsmith.functions import Expression, parse
from headsmith.machines.reading import Reading
from headsmith.machines.result import Result
from headsmith.network import Affine, Attention, Dense, Layer, Network
from headsmith.proof.approximation import prove
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.rounding import FORMATS, INFLATE, gamma, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import number
from headsmith.refusal import Refusal


def table(f: str | Expression, radius: float, eps: float) -> tuple[Head, Part, float]:
    """(head, part, proved error): f on |z| <= radius as one table of constant values, within eps."""
    target = parse(f) if isinstance(f, str) else f
    domain = (-radius, radius)
    task = Task(target, domain, eps, "float64")
    try:
        found, _ = solve(task)
        if len(found.part.heads) != 1 or found.part.heads[0].lines.any():
            found, _ = solve(task, "table")
    except Short as short:
        raise Refusal(
            f"{target} on |z| <= {radius:g} cannot be had within {eps:.2g} as one table: {short.reason}"
        ) from None
    head = found.part.heads[0]
    folded = Head.table(head.slopes, head.offsets, head.values + found.part.bias)
    part = Part("x", "out", target, domain, (folded,))
    kinks = (*task.places.kinks, *task.places.singularities)
    return folded, part, prove(part, 1e-3 * eps, kinks).bound


class Neurons:
    """f(A z + b) with A and b stored as patterns (algorithm-emulation Thm E.1, repaired: sums over all of 0..P).

    >>> layer = Neurons("tanh(x)", features=2, neurons=1, domain=4.0, eps=1e-6)
    >>> layer([[1.0, 1.0]], [0.0], [[0.25, 0.25]]).value.round(decimals=6)
    tensor([[0.4621]], dtype=torch.float64)
    """

    def __init__(self, f: str, features: int, neurons: int, domain: float, eps: float) -> None:
        self.features, self.neurons, self.domain = features, neurons, float(domain)
        self.head, self.part, self.error = table(f, self.domain, eps)
        layer = Reading(
            torch.tensor(self.head.slopes),
            torch.tensor(self.head.offsets),
            torch.tensor(self.head.values),
            rows=neurons,
            features=features,
        )
        self.network = Network({"retrieve": layer}, tokens=[f"neuron.{i}" for i in range(neurons)])
        self.weight_hash = fingerprint(self.network)

    def __call__(self, A: Any, b: Any, Z: Any) -> Result:
        """A (neurons, features), b (neurons,), states Z (..., features) -> f(A z + b), (..., neurons)."""
        a, bias, z = (torch.as_tensor(v, dtype=torch.float64) for v in (A, b, Z))
        if a.shape != (self.neurons, self.features) or bias.shape != (self.neurons,) or z.shape[-1] != self.features:
            raise Refusal(
                f"these neurons read A ({self.neurons}, {self.features}), b ({self.neurons},), Z (..., {self.features})"
            )
        states = z.reshape(-1, self.features)
        size = states.abs() @ a.abs().mT + bias.abs()
        reach = (states @ a.mT + bias).abs() + gamma(self.features + 1, 2.0**-53) * size
        if float(reach.max()) > self.domain:
            at, most = int(reach.argmax()), float(reach.max())
            raise Refusal(
                f"neuron {at % self.neurons} meets {most:.4g} at state {at // self.neurons}, beyond its domain "
                f"{self.domain:g}: build with a larger domain"
            )
        one = states.new_ones(len(states), 1)
        prompt = torch.cat([torch.cat([a, bias[:, None]], -1), torch.cat([states, one], -1)])
        value = self.network(prompt).reshape(*z.shape[:-1], self.neurons)
        rounding = prove_rounding(
            self.part, FORMATS["float64"], 0.0, terms=self.features + 3, reach=float(size.max()) * INFLATE
        ).bound
        certificate = Certificate(
            self.error * SLACK,
            rounding * SLACK,
            "proved",
            f"|layer - f(A z + b)| <= bound in every entry, f = {self.part.target}, |A z + b| <= {number(self.domain)}",
            (-self.domain, self.domain),
            "float64",
            self.weight_hash,
        )
        return Result("neurons", value, certificate)


def printed_table(f: str, radius: float, steps: int, sharpness: float = 30.0) -> tuple[Head, Part, float]:
    """The printed table: L_j = -radius + j h, scores -beta (z - L_j)^2 with beta = sharpness / h^2, values f(L_j)."""
    target, h = parse(f), 2 * radius / steps
    anchors = -radius + h * np.arange(steps + 1)
    beta = sharpness / (h * h)
    part = Part(
        "x", "out", target, (-radius, radius), (Head.table(2 * beta * anchors, -beta * anchors**2, target(anchors)),)
    )
    return part.heads[0], part, prove(part, 1e-3 * h).bound


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


class Gradients:
    """f(w . x_i - y_i) x_i for all samples at once (algorithm-emulation Thm E.2, Cor E.2.1).

    residual: the largest |w . x_i - y_i|; inputs: the largest |entry of x|. At most `leak` goes to other samples.
    `steps` asks for the printed table of that many steps, and `faults` keeps errors of the print: "sign", "constant".
    """

    def __init__(
        self,
        f: str,
        features: int,
        samples: int,
        residual: float,
        inputs: float,
        eps: float,
        *,
        steps: int | None = None,
        faults: tuple[str, ...] = (),
    ) -> None:
        if faults and steps is None:
            raise Refusal("the faults of the print belong to its table: give steps, such as steps=48")
        self.features, self.samples, self.residual, self.inputs = features, samples, float(residual), float(inputs)
        found = table(f, self.residual, eps / (2 * inputs)) if steps is None else printed_table(f, self.residual, steps)
        self.head, self.part, self.error = found
        most = float(np.abs(self.head.values).max())
        others = max(1, samples - 1)
        self.leak = eps / (8 * most * self.inputs)
        least, top = outputs(self.head, self.residual)
        self.constant = top - least + math.log(others * self.head.keys / self.leak)
        self.sign = 1.0
        if "constant" in faults:
            beta = float(-self.head.offsets.min()) / self.residual**2
            self.constant = beta * (2 * features * inputs**2 + inputs - math.log(self.leak))
        if "sign" in faults:
            self.sign = -1.0
        self.most, self.faults = most, faults
        self.network = self._build()
        self.weight_hash = fingerprint(self.network)

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

    def __call__(self, X: Any, y: Any, w: Any) -> Result:
        """X (samples, features), y (samples,), w (features,) or one w a sample -> (samples, features)."""
        x, labels, weights = (torch.as_tensor(v, dtype=torch.float64) for v in (X, y, w))
        if x.shape != (self.samples, self.features) or labels.shape != (self.samples,):
            raise Refusal(f"these patterns hold X ({self.samples}, {self.features}) and y ({self.samples},)")
        weights = weights.expand(self.samples, self.features)
        r = (x * weights).sum(-1) - labels
        slack = gamma(self.features + 2, 2.0**-53) * ((x * weights).abs().sum(-1) + labels.abs())
        if float((r.abs() + slack).max()) > self.residual or float(x.abs().max()) > self.inputs:
            i = int(r.abs().argmax())
            raise Refusal(
                f"sample {i} has the residual {float(r[i]):.4g}, and |x| goes up to {float(x.abs().max()):.4g}; "
                f"promised were {self.residual:g} and {self.inputs:g}"
            )
        value = self.network(torch.cat([x, labels[:, None], weights], -1))
        error = math.inf if self.faults else (self.error + 2 * self.leak * self.most) * self.inputs
        return Result("gradients", value, self._certificate(error, x, labels, weights))

    def _certificate(self, error: float, x: Tensor, labels: Tensor, w: Tensor) -> Certificate:
        """Scores carry the constant C, and so its rounding: u C in every score."""
        size = float(((x * w).abs().sum(-1) + labels.abs()).max())
        scores = np.abs(self.head.slopes).max() * size + np.abs(self.head.offsets).max() + self.constant
        u = 2.0**-53
        slip = gamma(2 * self.features + self.samples + 6, u) * float(scores) + 4 * u * float(scores)
        count = self.samples * self.head.keys
        rounding = (2 * math.expm1(2 * slip) + gamma(2 * count + 24, u)) * self.most * self.inputs
        kind = "measured" if self.faults else "proved"
        return Certificate(
            error * SLACK,
            rounding * SLACK,
            kind,
            f"|layer - f(w . x - y) x| <= bound in every entry, f = {self.part.target}, "
            f"|w . x - y| <= {number(self.residual)}",
            (-self.residual, self.residual),
            "float64",
            self.weight_hash,
        )


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(*shape, dtype=torch.float64)
