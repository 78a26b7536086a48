"""A network of ReLU units over whole sequences as two attention layers (softmax-universality, Thm I.2, repaired).

    f_i(X) = sum_k outer_ik relu(s_ik),    s_ik = sum_j inner_ikj . x_j + bias_ik

Layer 1, head (i, j): token i reads token j (its only visible key, so with weight 1) through W_V = [inner_ikj ;
outer_ik inner_ikj]; the bias enters in head (i, i). n^2 heads leave s_k and outer_k s_k, sign included, on token i.
Layer 2, head k: a gate. Token i sees itself with score beta s_ik and a null token with score 0; its value is
outer_ik s_ik. So it adds outer_ik s sigmoid(beta s), which is outer_ik relu(s) within kappa |outer_ik| / beta,
kappa = W(1/e) = 0.27846...

As printed, one layer more, no bias, and the sign picks between two heads of which the wrong one ties with the null
token for every beta and returns s/2: `printed_unit` is that third layer.
"""

from __future__ import annotations

import numpy as np
import torch

from headsmith.network import Affine, Attention, Dense, Network, Select, Sparse

KAPPA = 0.27846455


def native_network(
    inner: np.ndarray, outer: np.ndarray, bias: np.ndarray, beta: float, dtype: torch.dtype = torch.float64
) -> Network:
    """inner (n, N, n, d), outer and bias (n, N): X (n tokens, d features) -> (n tokens, 1)."""
    n, units, _, d = inner.shape
    names = [
        *(f"x.{i}" for i in range(d)),
        "one",
        *(f"s.{k}" for k in range(units)),
        *(f"v.{k}" for k in range(units)),
        "out",
    ]
    width = len(names)
    s, v = range(d + 1, d + 1 + units), range(d + 1 + units, d + 1 + 2 * units)
    one = torch.zeros(width, dtype=dtype)
    one[d] = 1.0
    value = np.zeros((n * n, 2 * units, width))
    seen = torch.zeros(n * n, n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(n):
            h = i * n + j
            seen[h, i, j] = True
            value[h, :units, :d] = inner[i, :, j]
            value[h, units:, :d] = outer[i, :, None] * inner[i, :, j]
        value[i * n + i, :, d] = np.concatenate([bias[i], outer[i] * bias[i]])
    nothing = [[-1]] * (n * n)
    read = Attention(
        Select(nothing, width),
        Select(nothing, width),
        Dense(torch.from_numpy(value).to(dtype)),
        Select.writing([[*s, *v]] * (n * n), width),
        visible=seen,
        residual=True,
    )
    gates = Attention(
        Select([[place] for place in s], width),
        Sparse([[[d]]] * units, torch.full((units, 1, 1), beta, dtype=dtype), width),
        Select([[place] for place in v], width),
        Select.writing([[width - 1]] * units, width),
        visible="self",
        memory=torch.zeros(1, width, dtype=dtype),
        residual=True,
    )
    layers = {
        "lift": Affine(Select([*range(d), *[-1] * (width - d)], features=d), one),
        "read": read,
        "gates": gates,
        "out": Affine(Select([width - 1], features=width)),
    }
    return Network(layers, tokens=[f"token.{i}" for i in range(n)], features=names)


def printed_unit(sums: np.ndarray, signs: np.ndarray, beta: float) -> np.ndarray:
    """The third layer of softmax-universality Thm I.2 as printed, for one unit: sums (..., n), signs (n,) of +1 and -1.

    Head 1 has C = diag(sign = +1), head 2 C = diag(sign = -1); D is 0 on the diagonal and -1 off it; the null
    token scores 0.
    """
    n = sums.shape[-1]
    values = np.concatenate([sums, np.zeros((*sums.shape[:-1], 1))], -1)
    out = np.zeros_like(sums)
    for sign in (1.0, -1.0):
        scores = np.zeros((*sums.shape[:-1], n, n + 1))
        scores[..., :n] = -1.0 + np.eye(n)
        scores[..., range(n), range(n)] = sums * (signs == sign)
        weights = np.exp(beta * (scores - scores.max(-1, keepdims=True)))
        weights /= weights.sum(-1, keepdims=True)
        out += sign * (weights @ values[..., None])[..., 0]
    return out
