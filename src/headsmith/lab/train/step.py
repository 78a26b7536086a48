"""One training step of the full Q, K, V, O model, by hand: forward, gradient, Adam, for many replicas at
once.

The answer at the query needs no keys or values of the L tokens.  With KQ = s K'Q and OV = O V,

    u_h = KQ_h x,    logits a_h = Z' u_h,    p_h = f(a_h) / sum f(a_h),    m_h = Z p_h,    answer = sum_h
    OV_h m_h

costs O(L D) per head instead of O(L D^2), and its gradient is fifteen lines.  All parameters lie in one flat
vector, so Adam is five operations whatever the number of heads, and a leading axis R carries seeds, learning
rates and head counts (an absent head has O = V = 0 and stays there).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from headsmith.lab.theory.activations import Activation
from headsmith.lab.train.tasks import Prompts

__all__ = ["Adam", "Layout", "Weights", "initialise", "loss_and_gradient", "predict"]


class Weights(NamedTuple):
    """Q, K, V of shape (R H, D, D) and O of shape (R H, N, D): the heads of all replicas one below another."""

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor


@dataclass(frozen=True)
class Layout:
    """How the flat vector of R replicas splits into Q, K, V and O; the logits' scale 1/sqrt(D) lives here.

    >>> Layout(heads=2, features=5).size
    228
    """

    heads: int
    features: int
    responses: int = 1
    replicas: int = 1

    @property
    def width(self) -> int:
        """D = d + N."""
        return self.features + self.responses

    @property
    def scale(self) -> float:
        """1/sqrt(D), folded into KQ everywhere."""
        return 1 / math.sqrt(self.width)

    @property
    def size(self) -> int:
        """How many numbers all replicas have together."""
        return self.replicas * self.heads * self.width * (3 * self.width + self.responses)

    def split(self, flat: Tensor) -> Weights:
        """Views of flat (size,) as matrices."""
        rows, w, n = self.replicas * self.heads, self.width, self.responses
        q, k, v, o = flat.split([rows * w * w] * 3 + [rows * n * w])
        return Weights(q.view(rows, w, w), k.view(rows, w, w), v.view(rows, w, w), o.view(rows, n, w))

    def products(self, weights: Weights) -> tuple[Tensor, Tensor]:
        """KQ (R, H, D, D) with the scale folded in, and the rows of OV that are read out, (R, H, N, D)."""
        kq = self.scale * weights.k.transpose(1, 2) @ weights.q
        ov = weights.o @ weights.v
        shape = (self.replicas, self.heads)
        return kq.unflatten(0, shape), ov.unflatten(0, shape)


def initialise(layout: Layout, seed: int, heads: int | None = None, split: bool = False) -> Weights:
    """One replica as PyTorch would draw it: Q, K, V in U(+-1/sqrt D), O in U(+-1/sqrt(D H)).

    split=True flips signs of Q and O so that heads alternate between the positive and the negative group,
    which skips the plateau where all heads agree; heads < layout.heads leaves the last ones absent (O = V =
    0).
    """
    one = Layout(layout.heads, layout.features, layout.responses)
    count = layout.heads if heads is None else heads
    generator = torch.Generator().manual_seed(seed)
    weights = one.split((2 * torch.rand(one.size, generator=generator) - 1) * one.scale)
    weights.o.div_(math.sqrt(count))
    weights.o[count:] = 0
    weights.v[count:] = 0
    if split:
        kq, ov = one.products(weights)
        d = layout.features
        group = 1 - 2 * (torch.arange(layout.heads) % 2)
        trace = kq[0, :, :d, :d].diagonal(dim1=-2, dim2=-1).sum(-1)
        weights.q.mul_((group * torch.where(trace < 0, -1, 1))[:, None, None])
        own = ov[0, :, :, d:].diagonal(dim1=-2, dim2=-1)
        weights.o.mul_((group[:, None] * torch.where(own < 0, -1, 1))[..., None])
    return weights


def predict(layout: Layout, weights: Weights, prompts: Prompts, activation: Activation) -> Tensor:
    """The answers (R, B, N) to prompts of batch shape (R, B)."""
    return _forward(layout, weights, prompts, activation)[0]


def _forward(layout: Layout, weights: Weights, prompts: Prompts, activation: Activation) -> tuple[Tensor, ...]:
    replicas, batch, width, length = prompts.tokens.shape
    heads, d, n = layout.heads, layout.features, layout.responses
    kq = torch.bmm(weights.k.transpose(1, 2), weights.q[..., :d]) * layout.scale
    ov = torch.bmm(weights.o, weights.v).view(replicas, heads, n, width).transpose(1, 2)
    ov = ov.reshape(replicas, n, heads * width)
    columns = prompts.tokens.view(replicas * batch, width, length)
    directions = torch.bmm(prompts.query, kq.view(replicas, heads * width, d).transpose(1, 2))
    logits = torch.bmm(directions.view(replicas * batch, heads, width), columns)
    attention = activation.weights(logits)
    means = torch.bmm(attention, columns.transpose(1, 2)).view(replicas, batch, heads * width)
    return torch.bmm(means, ov.transpose(1, 2)), ov, columns, logits, attention, means


def loss_and_gradient(
    layout: Layout, weights: Weights, prompts: Prompts, activation: Activation, gradient: Weights
) -> Tensor:
    """The mean squared error of each replica (R,), summed over responses; its gradient is written to
    `gradient`.
    """
    replicas, batch, width, _ = prompts.tokens.shape
    heads, d, n = layout.heads, layout.features, layout.responses
    answer, ov, columns, logits, attention, means = _forward(layout, weights, prompts, activation)
    error = answer - prompts.target
    loss = error.square().sum((1, 2)) / batch
    error.mul_(2 / batch)
    g_ov = torch.bmm(error.transpose(1, 2), means)
    g_means = torch.bmm(error, ov)
    rows = g_means.view(replicas * batch, heads, width)
    inner = (rows * means.view_as(rows)).sum(-1, keepdim=True)
    g_logits = activation.pull_back(logits, attention, torch.bmm(rows, columns), inner)
    g_directions = torch.bmm(g_logits, columns.transpose(1, 2)).view(replicas, batch, heads * width)
    g_kq = torch.bmm(g_directions.transpose(1, 2), prompts.query).mul_(layout.scale)
    g_kq = g_kq.view(replicas * heads, width, d)
    g_ov = g_ov.view(replicas, n, heads, width).transpose(1, 2).reshape(replicas * heads, n, width)
    gradient.q[..., :d] = torch.bmm(weights.k, g_kq)
    torch.bmm(weights.q[..., :d], g_kq.transpose(1, 2), out=gradient.k)
    torch.bmm(weights.o.transpose(1, 2), g_ov, out=gradient.v)
    torch.bmm(g_ov, weights.v.transpose(1, 2), out=gradient.o)
    return loss


class Adam:
    """Adam(0.9, 0.999, 1e-8) on a flat matrix: theta -= rate m sqrt(1 - b2^t) / (1 - b1^t) / (sqrt v + eps
    ...).
    """

    BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8

    def __init__(self, parameters: Tensor) -> None:
        self.parameters = parameters
        self.mean = torch.zeros_like(parameters)
        self.square = torch.zeros_like(parameters)

    @classmethod
    def correction(cls, step: int) -> float:
        """sqrt(1 - b2^t) / (1 - b1^t): what the rate of step t = 1, 2, ... is multiplied by."""
        return math.sqrt(1 - cls.BETA2**step) / (1 - cls.BETA1**step)

    def step(self, gradient: Tensor, rate: float | Tensor) -> None:
        """One update; `rate` already carries `correction(t)` and may be a tensor that broadcasts."""
        self.mean.lerp_(gradient, 1 - self.BETA1)
        self.square.mul_(self.BETA2).addcmul_(gradient, gradient, value=1 - self.BETA2)
        denominator = self.square.sqrt().add_(self.EPSILON)
        if isinstance(rate, Tensor):
            self.parameters.sub_((self.mean / denominator).mul_(rate))
        else:
            self.parameters.addcdiv_(self.mean, denominator, value=-rate)
