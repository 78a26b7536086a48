"""How errors in K, Q and V reach the output of an attention head.

If every entry of K, Q, V is off by at most e_K, e_Q, e_V, the score of key i for query j moves, up to a shift
that all keys share, by at most (k0 any vector, d the head size)

    D_ij = e_K (|Q_j|_1 + d e_Q) + e_Q |K_i - k0|_1,

a softmax whose scores move by at most D moves a mean of values v by at most range(v) tanh(D/2), and, when the
weights p and the mean o are known, by at most sum_i p_i (exp(D_ij) - 1)|v_i - o| / sum_i p_i exp(-D_ij). To
this comes e_V, and what floating point does to the head that was executed. (algorithm-emulation Thm 4.1: the
printed bound has a factor n and uses 1 - exp(-D) where exp(D) - 1 is needed.)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from headsmith.proof.rounding import EXP_ERROR, FORMATS, INFLATE, Format, gamma


def a_priori(
    e: float, size: float, head_dim: int, tokens: int, fmt: Format, values: tuple[float, float] | None = None
) -> tuple[float, float]:
    """(error from K, Q, V off by e; rounding of the softmax) for all K, Q, V with entries up to `size`.

    values: (error, size) of V, where they are others than those of K and Q.

    >>> round(a_priori(1e-5, 2.0, 4, 12, FORMATS["float64"])[0] / 1e-5)
    33
    """
    e_v, size_v = values or (e, size)
    if tokens == 1:  # a lone token attends to itself, whatever it scores, and exp(0)/exp(0) is exact
        return e_v * INFLATE, 0.0
    d_ij = e * (2 * head_dim * size + head_dim * e)
    moved = e_v + 2 * size_v * math.tanh(d_ij / 2)
    most, most_v = size + e, size_v + e_v
    score = head_dim * most * most
    return moved * INFLATE, softmax_rounding(score, 2 * most_v, most_v, head_dim, tokens, fmt) * INFLATE


def softmax_rounding(score: float, spread: float, most: float, head_dim: int, tokens: int, fmt: Format) -> float:
    """Softmax attention over `tokens` keys with |scores| <= score and |values| <= most, executed in a format.

    Weights off by factors 1 + x with |x| <= alpha move a mean of values in a range `spread` by alpha spread / 2.
    """
    u = fmt.unit
    slip = gamma(head_dim, u) * score + 2 * head_dim * fmt.tiny
    eta = slip + u * (2 * score + 2 * slip)
    alpha = math.expm1(eta) * (1 + EXP_ERROR * u) + EXP_ERROR * u if eta < 1 else math.inf
    if alpha >= 0.5:
        return math.inf
    flushed = (tokens - 1) * fmt.tiny * math.exp(2 * slip)
    weights = (alpha / 2 + flushed) * spread / (1 - alpha - flushed)
    sums = gamma(2 * tokens, u) * most * (1 + alpha) / (1 - alpha)
    return weights + sums + 2 * tokens * fmt.tiny * max(1.0, most)


def a_posteriori(
    k: Tensor, q: Tensor, v: Tensor, e: tuple[float, float, float], dtype: str, *, causal: bool = False
) -> tuple[Tensor, Tensor]:
    """(from K, Q, V; rounding), each (..., queries, head_dim), for a head executed on these very k, q, v.

    k, q, v are (..., tokens, head_dim): what the machine read, off by at most e = (e_K, e_Q, e_V); a causal head sees
    no later key.
    """
    k, q, v = k.double(), q.double(), v.double()
    (e_k, e_q, e_v), fmt, head_dim, tokens = e, FORMATS[dtype], k.shape[-1], k.shape[-2]
    scores, size = q @ k.mT, q.abs() @ k.abs().mT
    later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1) & causal
    p = torch.softmax(scores.masked_fill(later, -math.inf), -1)
    o = p @ v
    # what we do not know of the exact weights and mean, because we evaluate them in float64
    unit = 2.0**-53
    doubt = 4 * (gamma(head_dim + 2, unit) * size + unit * (2 * scores.abs() + tokens + 16)).amax(-1, keepdim=True)
    width = v.amax(-2, keepdim=True) - v.amin(-2, keepdim=True)
    blur = doubt * width + gamma(tokens + 4, unit) * v.abs().amax(-2, keepdim=True)

    apart = torch.cdist(p @ k, k, p=1)
    shift = (e_k * (q.abs().sum(-1, keepdim=True) + head_dim * e_q) + e_q * apart) * INFLATE
    far = width * torch.tanh(shift.amax(-1, keepdim=True) / 2)
    push = p * torch.expm1(shift)
    least = ((1 - doubt) * (p * torch.exp(-shift)).sum(-1, keepdim=True)).clamp(min=0)
    near = (1 + doubt) * (_spread(push, v, o) + push.sum(-1, keepdim=True) * blur) / least
    moved = e_v + torch.where(least > 0, torch.minimum(far, near), far)

    u, tiny = fmt.unit, fmt.tiny
    slip = gamma(head_dim, u) * size + 2 * head_dim * tiny
    top = slip.amax(-1, keepdim=True)
    eta = slip + u * (scores.amax(-1, keepdim=True) - scores + slip + top)
    alpha = torch.expm1(eta) * (1 + EXP_ERROR * u) + EXP_ERROR * u
    flushed = (tokens - 1) * tiny * torch.exp(2 * top)
    weight = p * (1 + doubt) * alpha
    total = weight.sum(-1, keepdim=True) + flushed
    share = 1 / (1 - total).clamp(min=1e-300)
    first = (_spread(weight, v, o) + weight.sum(-1, keepdim=True) * blur + flushed * width) * share
    mass = ((1 + doubt) * (p * (1 + alpha)) @ v.abs()) * share + flushed * v.abs().amax(-2, keepdim=True)
    second = gamma(2 * tokens, u) * mass + 2 * tokens * tiny * v.abs().amax(-2, keepdim=True).clamp(min=1.0)
    rounding = torch.where((total < 0.5) & (doubt < 0.5), first + second, math.inf)
    return moved * INFLATE, rounding * INFLATE


def _spread(weight: Tensor, v: Tensor, o: Tensor) -> Tensor:
    """sum_i weight_ji |v_ic - o_jc|, a column at a time."""
    columns = [(weight * (v[..., c].unsqueeze(-2) - o[..., c].unsqueeze(-1)).abs()).sum(-1) for c in range(v.shape[-1])]
    return torch.stack(columns, -1)
