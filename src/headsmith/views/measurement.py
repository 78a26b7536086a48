"""What a network actually does: its largest error on samples, and its curves for a picture.

A measurement is no proof, and is never shown as one; it says how much of the proved bound is used. Errors are worked
out in ball arithmetic, so that the number is an error of the network and not of the reference. For a formula of one
variable samples go where errors hide: the ends of the domain, kinks, singular places and the points where two keys
tie, each approached geometrically, and points at random; the worst are refined locally.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headsmith.network import Attention
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.compiled import Compiled
    from headsmith.functions import Expression

RANDOM = 20_000
FEW = 64  # samples of a target that is not a formula of one variable
WORST = 64  # points that are measured again in ball arithmetic
TIES = 400  # ties whose surroundings are sampled
NEAR = 32  # keys of one head up to which every tie is visited, not only those of neighbours


@dataclass(frozen=True)
class Measured:
    """The largest error found, where, and on how many inputs."""

    error: float
    at: Any
    points: int


@dataclass(frozen=True)
class HeadCurves:
    """One head over the domain: `weights[i, j]` is what it gives key j at the i-th input."""

    name: str
    input: str
    output: str
    keys: tuple[str, ...]
    weights: np.ndarray


@dataclass(frozen=True)
class Curves:
    """A network over its domain: inputs, target, output - target in ball arithmetic, and all weights."""

    formula: str
    domain: tuple[float, float]
    dtype: str
    bound: float
    keys: int
    x: np.ndarray
    target: np.ndarray
    error: np.ndarray
    heads: tuple[HeadCurves, ...]


def scalar(net: Compiled) -> Expression | None:
    """The formula of a network of one variable and one output; None for every other kind."""
    formulas: Sequence[Expression] = getattr(net.target, "formulas", ())
    names = net.target.inputs
    return formulas[0] if len(formulas) == len(names) == 1 and not getattr(net.target, "vector", True) else None


def measure(net: Compiled, seed: int = 0) -> Measured:
    """The largest |net(x) - f(x)| on samples.

    >>> net = hs.compile("tanh(x)", domain=(-2, 2), eps=1e-6)
    >>> measure(net).error <= net.certificate.bound
    True
    """
    return _at_random(net, seed) if scalar(net) is None else _searched(net, seed)


def errors(net: Compiled, count: int, seed: int = 0) -> tuple[list[Tensor], Tensor]:
    """Random inputs in the domain, and the error of each: the largest of an output, or the 2-norm, as in the bound."""
    generator = torch.Generator().manual_seed(seed)
    inputs = [x.to(net.dtype) for x in net.target.sample(net.certificate.domain, count, generator)]
    found = net.certify(*inputs).reshape(count, -1)
    return inputs, found.amax(-1) if net.certificate.norm == "sup" else found.norm(dim=-1)


def _at_random(net: Compiled, seed: int) -> Measured:
    inputs, found = errors(net, FEW, seed)
    worst = int(found.argmax())
    return Measured(float(found[worst]), [x[worst].tolist() for x in inputs], FEW)


def _searched(net: Compiled, seed: int) -> Measured:
    x = samples(net, seed)
    points = len(x)
    for _ in range(3):
        worst = np.argsort(-_rough_errors(net, x))[:WORST]
        below, above = (x[np.clip(worst + step, 0, len(x) - 1)] for step in (-1, 1))
        local = np.linspace(below.astype(np.float64), above.astype(np.float64), 17).astype(x.dtype)
        x = np.unique(np.concatenate([x[worst], local.ravel()]))
        points += local.size
    worst = np.argsort(-_rough_errors(net, x))[:WORST]
    found = net.certify(torch.from_numpy(x[worst]))
    at = int(found.argmax())
    return Measured(float(found[at]), float(x[worst[at]]), points)


def _formula(net: Compiled) -> Expression:
    formula = scalar(net)
    if formula is None:
        raise Refusal(f"{net.target} is not a formula of one variable")
    return formula


def _rough_errors(net: Compiled, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        y = net(torch.from_numpy(x)).double().numpy()
    return np.abs(y - _formula(net)(x.astype(np.float64)))


def samples(net: Compiled, seed: int = 0) -> np.ndarray:
    """Inputs of the network's dtype in its domain: special places, their surroundings, and random ones."""
    lo, hi = net.plan.domain
    places = _formula(net).places(lo, hi)
    special = [lo, hi, *places.kinks, *places.singularities, *places.removable, *islice(ties(net), TIES)]
    random = np.random.default_rng(seed).uniform(lo, hi, RANDOM)
    return _inside(np.concatenate([_around(special, hi - lo, 30), random]), net)


def _around(places: Sequence[float], width: float, steps: int) -> np.ndarray:
    """Each place and its surroundings, at distances that shrink by a quarter each."""
    reach = width * 0.25 ** np.arange(1.0, steps)
    return np.add.outer(places, np.concatenate([-reach, [0.0], reach])).ravel()


def _inside(points: np.ndarray, net: Compiled) -> np.ndarray:
    """Points as numbers of the network's dtype, those in its domain, in order and each once."""
    lo, hi = net.plan.domain
    cast = points.astype(net.plan.dtype)
    return np.unique(cast[(cast >= lo) & (cast <= hi)])


def ties(net: Compiled) -> Iterator[float]:
    """Where two keys of a head that reads the input have equal scores: it turns from one to the other."""
    lo, hi = net.plan.domain
    trace = net.network.trace(net.encode(torch.tensor(lo, dtype=net.dtype)))
    for i, layer in enumerate(net.network.layers.values()):
        keys = trace.get(f"blocks.{i}.attn.hook_memory_k")
        if not isinstance(layer, Attention) or keys is None:
            continue
        for h in range(layer.heads):
            if wires(layer, h)[0] != 0:
                continue
            lines = np.unique(keys[:, h].double().numpy(), axis=0)
            pairs = combinations(lines, 2) if len(lines) <= NEAR else pairwise(lines)
            for (slope, offset), (other, level) in pairs:
                if other != slope and lo < (place := (offset - level) / (other - slope)) < hi:
                    yield float(place)


def wires(layer: Attention, head: int) -> tuple[int, int]:
    """The features that a scalar head reads and writes."""
    return int(layer.query.dense()[head, 0].abs().argmax()), int(layer.output.dense()[head, :, 0].abs().argmax())


def curves(net: Compiled, points: int = 1201) -> Curves:
    """The network over its domain, at evenly spaced inputs and around its kinks, for a picture."""
    lo, hi = net.plan.domain
    places = _formula(net).places(lo, hi)
    special = _around([*places.kinks, *places.singularities], hi - lo, 20)
    x = torch.from_numpy(_inside(np.concatenate([np.linspace(lo, hi, points), special]), net))
    with torch.no_grad():
        y = net(x)
        trace = net.network.trace(net.encode(x))
    exact = [_formula(net).at(z) for z in x.double().tolist()]
    error = np.array([float((value - ball).mid()) for value, ball in zip(y.double().tolist(), exact, strict=True)])
    heads: list[HeadCurves] = []
    for i, (name, layer) in enumerate(net.network.layers.items()):
        if isinstance(layer, Attention):
            pattern = trace[f"blocks.{i}.attn.hook_pattern"][:, :, 0, :].double().numpy()
            own = f"blocks.{i}.attn.hook_v" in trace
            for h in range(layer.heads):
                source, target = (net.network.features[k] for k in wires(layer, h))
                heads.append(_head_curves(f"{name} head {h}", source, target, pattern[:, h], own))
    return Curves(
        formula=str(net.target),
        domain=(lo, hi),
        dtype=net.plan.dtype,
        bound=net.certificate.bound,
        keys=net.plan.anchors,
        x=x.double().numpy(),
        target=np.array([float(ball.mid()) for ball in exact]),
        error=error,
        heads=tuple(heads),
    )


def _head_curves(name: str, source: str, target: str, weights: np.ndarray, own: bool) -> HeadCurves:
    """The keys that one head uses; `own`: the first column is the token itself, for heads that see it."""
    gated = own and bool(weights[:, 0].any())
    keys = [f"key {j}" for j in range(weights.shape[1] - own)]
    if gated and keys:
        keys[0] = "null"
    used = weights.max(0) > 0
    names = [key for key, kept in zip([*["itself"] * own, *keys], used, strict=True) if kept]
    return HeadCurves(name, source, target, tuple(names), weights[:, used])
