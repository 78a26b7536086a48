"""Attention layers that are written down instead of trained: the same algorithms, exact weights, no data.

(icl-linear-regression, Thm 4.2, Eq (4.9), Eq (5.2).)  A pair of heads with logits +-gamma x_l.x and values +-eta/(2
gamma) y_l is one step of gradient descent on centred covariates, with error O(gamma^2); a matrix in the logits
preconditions the step; two heads per head turn any linear attention into softmax (exactly, for centred tokens, as
gamma -> 0); and N responses fit into as few as N + 1 heads, since only the sums sum_h mu_hn omega_h matter, not the
heads.  All layers are strictly causal with a residual, so the answer appears in the response entries of the last
token.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headsmith.lab.theory.approximate import check_prompts
from headsmith.lab.train.models import AttentionModel
from headsmith.lab.train.tasks import Task
from headsmith.network import Attention, Dense, Network
from headsmith.reference import risks
from headsmith.refusal import Refusal

__all__ = ["construct", "to_network"]

NAMES = ("debiased_gd", "preconditioned_gd", "linear_attention", "superposition")


def construct(
    name: str,
    *,
    features: int = 5,
    length: int = 40,
    noise: float = 0.1,
    gamma: float = 0.05,
    rate: float | None = None,
    covariance: Tensor | None = None,
    preconditioner: Tensor | None = None,
    kq: Tensor | None = None,
    ov: Tensor | None = None,
    supports: Sequence[Sequence[int]] = ((0, 1, 2, 3), (2, 3, 4, 5)),
    heads: int | None = None,
) -> Network:
    """The network that runs `name`: debiased_gd, preconditioned_gd, linear_attention or superposition.

    debiased_gd        rate (the best one for length and noise unless given)
    preconditioned_gd  covariance of the covariates (identity unless given), or the preconditioner itself
    linear_attention   kq (H, D, D) and ov (H, N, D) of the layer (1/L) sum_h OV_h Z Z' KQ_h z, by 2H softmax heads
                       (unless given, the best layer: one head that takes the plain gradient step)
    superposition      one response per support with `heads` heads, N + 1 at least (N + 1 unless given); here the
                       heads are no opposite pairs, so the error is O(gamma) instead of O(gamma^2)

    >>> construct("debiased_gd", features=5, length=40, noise=0.1, gamma=0.05)      # doctest: +SKIP
    """
    check_prompts(features, length, noise)
    if not 0 < gamma < 10:
        raise Refusal(f"gamma={gamma}: the logits need a size between 0 and 10, for instance 0.05")
    if name == "debiased_gd":
        step = risks.debiased_rate(features, length, noise) if rate is None else rate
        return _pairs(torch.eye(features).double()[None] * step, gamma)
    if name == "preconditioned_gd":
        if preconditioner is None:
            sigma = torch.eye(features) if covariance is None else covariance
            preconditioner = risks.preconditioner(sigma.double(), length, noise)
        return _pairs(preconditioner.double()[None], gamma)
    if name == "linear_attention":
        if (kq is None) != (ov is None):
            raise Refusal("linear_attention needs kq (H, D, D) and ov (H, N, D) of one layer, or neither for the best")
        if kq is None or ov is None:
            kq, ov = _plain_step(features, risks.vanilla_rate(features, length, noise) if rate is None else rate)
        return _from_linear(kq.double(), ov.double(), gamma)
    if name == "superposition":
        task = Task(features=max(features, 1 + max(j for s in supports for j in s)), length=length, noise=noise)
        return _superposed(supports, task, gamma, heads)
    raise Refusal(f"nothing is constructed under the name {name!r}; there are {', '.join(NAMES)}")


def to_network(model: AttentionModel) -> Network:
    """The trained layer as a `Network`: strictly causal softmax attention with a residual."""
    if model.activation.kind != "exp":
        raise Refusal(f"a network has softmax heads; this layer uses {model.activation.name}")
    kq, ov = (t.detach().double() for t in model.products())
    return _network(kq, ov, model.features)


def _pairs(steps: Tensor, gamma: float) -> Network:
    """Two heads per response for (1/L) sum_l y_ln (x_l - mean x)' P_n x, steps = P (N, d, d)."""
    responses, d = steps.shape[:2]
    width = d + responses
    kq = torch.zeros(2 * responses, width, width, dtype=torch.float64)
    ov = torch.zeros(2 * responses, responses, width, dtype=torch.float64)
    for n, step in enumerate(steps):
        size = float(step.diagonal().abs().mean())
        for sign, head in ((1, 2 * n), (-1, 2 * n + 1)):
            kq[head, :d, :d] = sign * gamma * step / size
            ov[head, n, d + n] = sign * size / (2 * gamma)
    return _network(kq, ov, d)


def _plain_step(features: int, rate: float) -> tuple[Tensor, Tensor]:
    """KQ = rate on the covariates, OV = the response: (rate/L) sum_l y_l x_l' x, one step of gradient descent."""
    kq = torch.zeros(1, features + 1, features + 1, dtype=torch.float64)
    kq[0, :features, :features] = rate * torch.eye(features)
    ov = torch.zeros(1, 1, features + 1, dtype=torch.float64)
    ov[0, 0, features] = 1
    return kq, ov


def _from_linear(kq: Tensor, ov: Tensor, gamma: float) -> Network:
    """Logits +-gamma Z' KQ_h z and values +-OV_h / (2 gamma): (1/L) OV_h Z (Z - mean Z)' KQ_h z up to
    O(gamma^2).
    """
    features = kq.shape[-1] - ov.shape[1]
    return _network(torch.cat([gamma * kq, -gamma * kq]), torch.cat([ov, -ov]) / (2 * gamma), features)


def _superposed(supports: Sequence[Sequence[int]], task: Task, gamma: float, heads: int | None) -> Network:
    """Heads with mu 1 = 0 per response and sum_h mu_hn omega_h = E_n: mu = rows of a simplex, omega its dual
    frame.
    """
    responses = len(supports)
    count = responses + 1 if heads is None else heads
    if count < responses + 1:
        raise Refusal(
            f"{responses} responses need {responses + 1} heads: with {count} the sums over heads cannot vanish"
        )
    targets = risks.multi_task_rates(supports, task.features, task.length, task.noise)
    basis = torch.linalg.qr(torch.cat([torch.ones(count, 1), torch.eye(count, responses)], 1).double()).Q[
        :, 1 : responses + 1
    ]
    omega = basis @ targets
    size = gamma / float(omega.abs().max())
    d = task.features
    kq = torch.diag_embed(torch.nn.functional.pad(size * omega, (0, responses)))
    ov = torch.zeros(count, responses, d + responses, dtype=torch.float64)
    for n in range(responses):
        ov[:, n, d + n] = basis[:, n] / size
    return _network(kq, ov, d)


def _network(kq: Tensor, ov: Tensor, features: int) -> Network:
    heads, responses, width = ov.shape
    eye = torch.eye(width, dtype=torch.float64).expand(heads, width, width)
    output = torch.zeros(heads, width, responses, dtype=torch.float64)
    output[:, features:] = torch.eye(responses, dtype=torch.float64)
    layer = Attention(Dense(kq), Dense(eye), Dense(ov), Dense(output), visible="strict", residual=True)
    names = [f"x{j + 1}" for j in range(features)]
    names += ["y"] if responses == 1 else [f"y{n + 1}" for n in range(responses)]
    return Network({"attention": layer}, features=names)
