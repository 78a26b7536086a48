"""Reading a layer: what algorithm do its weights run?

(icl-linear-regression, Sec 3.)  Everything is computed from the products KQ (H, D, D), scale folded in, and the
read-out rows OV (H, N, D), so no change of basis inside a head and no reordering of heads can move a number.  To
first order only the sum

    Omega = C_f sum_h mu_h A_h,   A_h = the covariate block of KQ_h,   mu_h = the response entry of OV_h

is identified by the data: it is the preconditioner of the gradient step that the layer runs.  A weak head may
keep an odd A_h for long without doing harm, so numbers about single heads are averaged with the heads'
activity |omega_h mu_h|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headsmith.lab.theory.approximate import Problem

__all__ = ["DUMMY", "Mechanism", "mechanism"]

DUMMY = 0.02  # a head with less than this share of the activity counts as a dummy


@dataclass(frozen=True)
class Mechanism:
    """The numbers of dossier section 3; see `mechanism`."""

    omega: Tensor
    mu: Tensor
    activity: Tensor
    head_classes: tuple[str, ...]
    off_diagonal: float
    non_identity: float
    label_leak: float
    value_leak: float
    sign_match: bool
    zero_sum: float
    homogeneity: float
    gamma: float
    mu_plus: float
    mu_minus: float
    effective_rate: float
    preconditioner: Tensor
    pinning: float
    manifold_gamma: float
    manifold_distance: float

    @property
    def plateau(self) -> bool:
        """Two or more active heads of one sign: the layer sits on the single-head plateau."""
        active = [c for c in self.head_classes if c != "0"]
        return len(self.head_classes) > 1 and len(set(active)) == 1

    def rates(self) -> Tensor:
        """E (N, d): the diagonal of each response's preconditioner (section 5.4's sum_h mu_hn omega_hj)."""
        return self.preconditioner.diagonal(dim1=-2, dim2=-1)


def mechanism(kq: Tensor, ov: Tensor, features: int, problem: Problem, gain: float = 1.0) -> Mechanism:
    """All metrics of the heads KQ (H, D, D) and OV (H, N, D).

    off_diagonal  1 - sum_i A_ii^2 / |A|^2        label_leak  |KQ[d:, :d]| / |A|
    non_identity  |A - omega I|^2 / |A|^2         value_leak  |OV[:, :d]| / |OV|
    zero_sum      |sum mu| / sum |mu|, the worst response; homogeneity  std |omega| / mean |omega| of active
    heads
    """
    kq, ov, d = kq.detach().double(), ov.detach().double(), features
    A = kq[:, :d, :d]
    own = ov[..., d:].diagonal(dim1=-2, dim2=-1)  # (H, N): mu_hn
    omega = A.diagonal(dim1=-2, dim2=-1).mean(-1)
    strength = A.norm(dim=(-2, -1)) * own.norm(dim=-1)
    activity = strength / strength.sum().clamp_min(1e-300)
    active = activity >= DUMMY
    classes = tuple(
        "0" if not a else "+" if w > 0 else "-" for a, w in zip(active.tolist(), omega.tolist(), strict=True)
    )

    def average(values: Tensor) -> float:
        return float((values * activity).sum())

    square = A.square().sum((-2, -1)).clamp_min(1e-300)
    on_diagonal = A.diagonal(dim1=-2, dim2=-1).square().sum(-1)
    eye = torch.eye(d, dtype=torch.float64)
    mu = own[:, 0] if own.shape[1] == 1 else own
    first = own[:, 0]
    sizes = omega.abs()[active]
    plus, minus = active & (omega > 0), active & (omega < 0)
    weight = own.abs().sum(-1) * active
    rate = gain * (torch.einsum("hn,hij->nij", own, A))
    groups = float(first[plus].sum()), float(first[minus].sum())
    near, distance = _valley_distance(omega, first, active, groups, problem)
    trace_rate = float(rate[0].diagonal().mean())
    return Mechanism(
        omega=omega,
        mu=mu,
        activity=activity,
        head_classes=classes,
        off_diagonal=average(1 - on_diagonal / square),
        non_identity=average((A - omega[:, None, None] * eye).square().sum((-2, -1)) / square),
        label_leak=average(kq[:, d:, :d].norm(dim=(-2, -1)) / square.sqrt()),
        value_leak=average(ov[..., :d].norm(dim=(-2, -1)) / ov.norm(dim=(-2, -1)).clamp_min(1e-300)),
        sign_match=bool((omega.unsqueeze(-1) * own > 0)[active].all()),
        zero_sum=float((own.sum(0).abs() / own.abs().sum(0).clamp_min(1e-300)).max()),
        homogeneity=float(sizes.std(correction=0) / sizes.mean()),
        gamma=float((weight * omega.abs()).sum() / weight.sum()),
        mu_plus=groups[0],
        mu_minus=groups[1],
        effective_rate=trace_rate,
        preconditioner=rate[0] if own.shape[1] == 1 else rate,
        pinning=(1 + problem.features * problem.ratio) * trace_rate,
        manifold_gamma=near,
        manifold_distance=distance,
    )


def _valley_distance(
    omega: Tensor, mu: Tensor, active: Tensor, groups: tuple[float, float], problem: Problem
) -> tuple[float, float]:
    """min over gamma of sqrt(mean (|omega|/gamma - 1)^2 + (mu+/mu_gamma - 1)^2 + (mu-/mu_gamma + 1)^2 +
    dummies).
    """
    sizes, dummies = omega.abs()[active].numpy(), mu[~active].numpy()
    best = (math.nan, math.inf)
    middle = float(np.exp(np.log(sizes + 1e-300).mean()))
    for gamma in middle * np.geomspace(0.5, 2.0, 401):
        if problem.features * gamma**2 > 300:
            continue
        height = problem.valley(gamma)
        total = ((sizes / gamma - 1) ** 2).mean() + (groups[0] / height - 1) ** 2
        total += (groups[1] / height + 1) ** 2 + ((dummies / height) ** 2).sum()
        if total < best[1]:
            best = (float(gamma), float(total))
    return best[0], math.sqrt(best[1])
