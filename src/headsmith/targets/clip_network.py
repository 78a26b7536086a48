"""Truncated linear models as a network: an affine layer for the models, then the heads that truncate.

on_memory   every token is a scalar head: its keys are constants, or itself and a null token
on_tokens   softmax-universality Thm 3.9: the n tokens are the keys of every head, read off their positions
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import torch

from headsmith.functions import Expression, parse
from headsmith.heads.assemble import network as scalar_network
from headsmith.network import Affine, Attention, Dense, Network, Select
from headsmith.proof.rounding import FORMATS, gamma
from headsmith.proof.statement import Part
from headsmith.targets.kinds import Clip

Interval = tuple[float, float]


def range_of(low: float, high: float) -> Expression:
    """clip(x, low, high), the ends written out exactly."""
    return parse(f"clip(x, {Decimal(low):f}, {Decimal(high):f})")


@dataclass(frozen=True)
class Preactivation:
    """z = W x + t as it is stored and run: where it lies, and how far it can be from the target's."""

    reach: Interval
    approximation: float  # weights that the dtype had to round
    rounding: float

    @classmethod
    def of(cls, target: Clip, W: np.ndarray, t: np.ndarray, domain: Interval, dtype: str) -> Preactivation:
        """For stored W, t; all sums are of non-negative terms and inflated, the reach is rounded outwards."""
        size, d, fmt = max(map(abs, domain)), W.shape[1], FORMATS[dtype]
        whole = np.abs(W).sum(1) * size + np.abs(t)
        rounding = (gamma(d + 2, fmt.unit) * float(whole.max()) + 2 * (d + 1) * fmt.tiny) * (1 + 1e-9)
        shift = float((np.abs(W - target.W).sum(1) * size + np.abs(t - target.t)).max()) * (1 + 1e-9)
        ends = np.stack([W * domain[0], W * domain[1]])
        noise = gamma(d + 3, 2.0**-53) * float(whole.max()) + rounding + shift
        low, high = float((ends.min(0).sum(1) + t).min()) - noise, float((ends.max(0).sum(1) + t).max()) + noise
        return cls((math.nextafter(low, -math.inf), math.nextafter(high, math.inf)), shift, rounding)


def _models(clip: Clip, dtype: torch.dtype) -> Affine:
    """z_i = w_i . x_i + t_i, one row for each token."""
    weight, shift = (torch.tensor(v).to(dtype) for v in (clip.W, clip.t))
    return Affine(Dense(weight[:, None, :]), shift[:, None])


def _names(clip: Clip) -> list[str]:
    return [f"token.{i}" for i in range(len(clip.t))]


def on_memory(clip: Clip, part: Part, dtype: torch.dtype) -> Network:
    """models, then the scalar network of the part: its keys are memory tokens, or the token itself and a null token."""
    inner = scalar_network([part], dtype)
    layers = {"models": _models(clip, dtype), **inner.layers}
    variables = {f"z.{i}": ("models", i, slice(0, 1)) for i in range(len(clip.t))}
    return Network(layers, tokens=_names(clip), features=inner.features, variables=variables)  # type: ignore[arg-type]


def on_tokens(clip: Clip, part: Part, dtype: torch.dtype) -> Network:
    """Thm 3.9's layout: A(X) = [z; 1; 0; I_n], and head h reads key k off the position of token k."""
    n, count = len(clip.t), len(part.heads)
    width, used = 3 + n, part.heads[0].keys
    embed = torch.zeros(n, width, dtype=dtype)
    embed[:, 1], embed[:, 3:] = 1.0, torch.eye(n)
    key, value = torch.zeros(count, 2, width, dtype=dtype), torch.zeros(count, 1, width, dtype=dtype)
    for h, head in enumerate(part.heads):
        rows = [torch.tensor(v).to(dtype) for v in (head.slopes, head.offsets, head.values)]
        key[h, 0, 3 : 3 + used], key[h, 1, 3 : 3 + used], value[h, 0, 3 : 3 + used] = rows
    seen: Any = "all" if used == n else (torch.arange(n) < used).expand(n, n)
    layers = {
        "models": _models(clip, dtype),
        "lift": Affine(Select([0] + [-1] * (width - 1), features=1), embed, range(n)),
        "level1": Attention(
            Select([[0, 1]] * count, width), Dense(key), Dense(value), Select.writing([[2]] * count, width),
            visible=seen, residual=True,
        ),
        "read": Affine(Select([2], features=width)),
    }  # fmt: skip
    features = ["z", "one", "out", *(f"position.{i}" for i in range(n))]
    variables = {f"z.{i}": ("models", i, slice(0, 1)) for i in range(n)}
    return Network(layers, tokens=_names(clip), features=features, variables=variables)
