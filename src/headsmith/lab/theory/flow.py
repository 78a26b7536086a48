"""Gradient flow of the loss: three phases, and how slowly the last one ends.

(icl-linear-regression, Appendix B, Eq (B.4), corrected.)  From a small start mu = omega = (a, -a) both grow like a
e^t (phase I), saturate (phase II), and then omega falls back towards 0 while mu grows, 2 mu omega pinned at eta*
(phase III).  The paper's law for phase III, omega ~ t^(-1/2), eliminates the wrong coordinate: the stiff one is
omega, not mu.  What is conserved by the leading terms is mu^2 - omega^2, which drifts by 4 lambda mu^2 (x cosh x -
sinh x) with x = d omega^2, and that gives

    mu = (4 lambda d^3 c^6 t)^(1/6),    omega = c / mu,    c = eta*/2,

a t^(-1/6) law, five digits right at t = 10^7.  The flow is that of loss / 2 (appendix B), so t = 2 rate
steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headsmith.lab.theory.approximate import Problem, check_heads
from headsmith.lab.theory.exact import moments
from headsmith.refusal import Refusal

__all__ = ["Flow", "flow", "late_law", "printed_law"]


def late_law(time: float | np.ndarray, problem: Problem) -> float | np.ndarray:
    """omega(t) = c / (4 lambda d^3 c^6 t)^(1/6): the corrected law of phase III.

    >>> round(float(late_law(1e6, Problem())), 5)
    0.06461
    """
    c = 0.5 * problem.rate
    return c / (4 * problem.ratio * problem.features**3 * c**6 * time) ** (1 / 6)


def printed_law(time: float | np.ndarray, peak: float, peak_time: float, problem: Problem) -> float | np.ndarray:
    """(peak^-2 + d^3 lambda (t - tau) / (2 (1 + d lambda)^2))^(-1/2): phase III as the paper has it."""
    d, ratio = problem.features, problem.ratio
    return (peak**-2 + d**3 * ratio * (time - peak_time) / (2 * (1 + d * ratio) ** 2)) ** -0.5


@dataclass(frozen=True)
class Flow:
    """A trajectory: `times` (T,), `omega` and `mu` (T, H), and the loss along it."""

    times: np.ndarray
    omega: np.ndarray
    mu: np.ndarray
    loss: np.ndarray
    problem: Problem

    @property
    def effective_rate(self) -> np.ndarray:
        """sum_h mu_h omega_h over time; it is pinned at eta* from phase II on."""
        return (self.omega * self.mu).sum(-1)

    @property
    def peak(self) -> tuple[float, float]:
        """(time, |omega_1|) at the turning point of the first head, by a parabola through three samples."""
        height = np.abs(self.omega[:, 0])
        i = int(np.clip(height.argmax(), 1, len(height) - 2))
        a, b, c = np.polyfit(self.times[i - 1 : i + 2] - self.times[i], height[i - 1 : i + 2], 2)
        shift = -b / (2 * a) if a < 0 else 0.0
        return float(self.times[i] + shift), float(a * shift**2 + b * shift + c)

    @property
    def phases(self) -> tuple[float, float]:
        """(tau_1, tau_2): the last time that min(|mu|, |omega|) <= 1/(2 sqrt d) before the peak, and the
        peak.
        """
        tau2 = self.peak[0]
        small = np.minimum(np.abs(self.mu[:, 0]), np.abs(self.omega[:, 0])) <= 0.5 / math.sqrt(self.problem.features)
        before = np.flatnonzero(small & (self.times < tau2))
        return float(self.times[before[-1]]) if len(before) else 0.0, tau2

    def exponent(self, start: float, end: float) -> float:
        """d log omega / d log t between two times: -1/6 late in phase III."""
        low, high = (np.interp(t, self.times, np.abs(self.omega[:, 0])) for t in (start, end))
        return float(np.log(high / low) / np.log(end / start))


def flow(
    omega0: Tensor | list[float],
    mu0: Tensor | list[float],
    loss: str = "approx",
    *,
    until: float = 1e3,
    features: int = 5,
    length: int = 40,
    noise: float = 0.1,
    samples: int = 400,
) -> Flow:
    """The gradient flow omega' = -(1/2) d loss/d omega, mu' = -(1/2) d loss/d mu from (omega0, mu0) to time
    `until`.

    >>> t, height = flow([1e-3, -1e-3], [1e-3, -1e-3], until=20, samples=2000).peak
    >>> round(t, 2), round(height, 4)
    (7.69, 0.5763)
    """
    from scipy.integrate import solve_ivp

    if loss not in ("approx", "exact"):
        raise Refusal(f"loss={loss!r}: choose approx (the paper's) or exact (of the finite prompt)")
    check_heads(omega0, mu0)
    problem = Problem(features, length, noise)
    start = np.concatenate([np.asarray(omega0, dtype=float), np.asarray(mu0, dtype=float)])
    heads = len(start) // 2
    field = (_approximate_field if loss == "approx" else _exact_field)(problem, heads)
    early = np.linspace(0, min(20.0, until), samples // 2 if until > 20 else samples)
    late = np.geomspace(20.0, until, samples // 2)[1:] if until > 20 else np.empty(0)
    times = np.concatenate([early, late])
    method, tolerance = ("LSODA", 1e-9) if loss == "approx" else ("RK45", 1e-4)
    solved = solve_ivp(lambda _, z: field(z)[1], (0, until), start, method, t_eval=times, rtol=tolerance, atol=1e-12)
    losses = np.array([field(z)[0] for z in solved.y.T])
    return Flow(solved.t, solved.y[:heads].T, solved.y[heads:].T, losses, problem)


def _approximate_field(problem: Problem, heads: int):
    """z -> (loss, -grad / 2) of the approximate loss, in numpy: it is called a hundred thousand times."""
    d, ratio = problem.features, problem.ratio

    def field(z: np.ndarray) -> tuple[float, np.ndarray]:
        omega, mu = z[:heads], z[heads:]
        kernel = np.exp(np.minimum(d * np.outer(omega, omega), 700.0))
        slack = 1 - omega @ mu
        spread = kernel @ mu
        value = problem.noise + slack**2 + ratio * mu @ spread
        d_omega = slack * mu - d * ratio * mu * (kernel @ (mu * omega))
        return value, np.concatenate([d_omega, slack * omega - ratio * spread])

    return field


def _exact_field(problem: Problem, heads: int):
    """z -> (loss, -grad / 2) of the exact loss, by automatic differentiation on common random numbers."""

    def field(z: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.tensor(z, requires_grad=True)
        b, M = moments(point[:heads], problem, draws=100)
        mu = point[heads:]
        value = 1 + problem.noise - 2 * b @ mu + mu @ M @ mu
        (slope,) = torch.autograd.grad(value, point)
        return float(value.detach()), -0.5 * slope.numpy()

    return field
