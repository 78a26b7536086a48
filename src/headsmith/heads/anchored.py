"""A network of ReLU units over whole sequences from anchors alone (softmax-universality, Thm F.2, repaired).

    f_i(X) = sum_k outer_ik relu(s_ik),    s_ik = sum_j z_ikj,    z_ikj = inner_ikj . x_j + bias_ik / n

The lift writes z_ikj on token j. Layer 1, head (i, k): the identity, read off anchors; W_O = 1 then sums over tokens.
Layer 2, head (i, k): Range_[0,b] of the sum, read off anchors, weighted by outer_ik. n N heads a layer.

With c = beta dL^2 = 1.2 and six cells of padding, anchors are the identity to 8e-7 dL; with c = 5.43 they follow Range
within 0.0615 dL; the printed choice, sharp anchors, is a staircase in both layers, off by up to dL/2.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from headsmith.network import Affine, Attention, Dense, Network, Select, TokenMix
from headsmith.proof.statement import Head

IDENTITY, RANGE, SHARP = 1.2, 5.43, 40.0
PADDING = 6


def anchored_head(low: float, high: float, count: int, sharpness: float, padding: int = 0) -> Head:
    """`count` anchors on [low, high], ends included, and `padding` more on either side, valued at their places."""
    step = (high - low) / (count - 1)
    places = low + step * np.arange(-padding, count + padding)
    beta, middle = sharpness / step**2, (low + high) / 2
    return Head.table(
        beta * (places - middle), beta * middle * (middle - places) - beta / 2 * (places - middle) ** 2, places
    )


def anchored_network(
    inner: np.ndarray,
    outer: np.ndarray,
    bias: np.ndarray,
    identity: Head,
    ramp: Head,
    dtype: torch.dtype = torch.float64,
) -> Network:
    """inner (n, N, n, d), outer and bias (n, N): X (n tokens, d features) -> (n tokens, 1)."""
    n, units, _, d = inner.shape
    count = n * units
    width = 2 * count + 4
    lift = np.zeros((n, width, d))
    lift[:, :count] = inner.transpose(2, 0, 1, 3).reshape(n, count, d)
    shift = np.zeros((n, width))
    shift[:, :count], shift[:, count] = bias.reshape(-1) / n, 1.0
    names = [f"z.{i}.{k}" for i in range(n) for k in range(units)]
    features = [*names, "one", *(name.replace("z", "s") for name in names), "slope", "offset", "value"]
    second = count + 1 + n + 3
    one = torch.zeros(second, dtype=dtype)
    one[count] = 1.0
    weight = np.zeros((count, second, 1))
    weight[range(count), count + 1 + np.repeat(np.arange(n), units), 0] = outer.reshape(-1)
    layers = {
        "lift": Affine(Dense(torch.from_numpy(lift).to(dtype)), torch.from_numpy(shift).to(dtype), range(n)),
        "identity": _layer(
            identity, range(count), count, width, Select.writing([[count + 1 + h] for h in range(count)], width), dtype
        ),
        "sum": TokenMix(Dense(torch.ones(1, n, dtype=dtype))),
        "again": Affine(Select([*range(count + 1, 2 * count + 1), *[-1] * (second - count)], features=width), one),
        "range": _layer(ramp, range(count), count, second, Dense(torch.from_numpy(weight).to(dtype)), dtype),
        "part": Affine(Select([[count + 1 + i] for i in range(n)], second), None, [0] * n),
    }
    return Network(layers, tokens=[f"token.{i}" for i in range(n)], features=features)


def _layer(head: Head, sources: range, one: int, width: int, output: Select | Dense, dtype: torch.dtype) -> Attention:
    """One table for every source, from shared memory tokens in the last three features."""
    memory = torch.zeros(head.keys, width, dtype=torch.float64)
    memory[:, -3:] = torch.from_numpy(np.stack([head.slopes, head.offsets, head.values], -1))
    return Attention(
        Select([[source, one] for source in sources], width),
        Select([[width - 3, width - 2]] * len(sources), width),
        Select([[width - 1]] * len(sources), width),
        output,
        visible="none",
        memory=memory.to(dtype),
        residual=True,
    )


def anchors_for(error: float, reach: float, sharp: bool) -> int:
    """Anchors on [0, reach] that follow Range within `error`."""
    return 2 + math.ceil((0.5 if sharp else 0.0625) * reach / error)
