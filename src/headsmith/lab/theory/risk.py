"""One door to the closed-form risks."""

from __future__ import annotations

from torch import Tensor

from headsmith.lab.theory.approximate import Problem, check_prompts
from headsmith.lab.theory.exact import exact_loss
from headsmith.reference import risks
from headsmith.refusal import Refusal

__all__ = ["PREDICTORS", "risk"]

PREDICTORS = (
    "debiased_gd",
    "vanilla_gd",
    "preconditioned_gd",
    "linear_attention",
    "kernel_smoother",
    "ridge",
    "ols",
    "zero",
)


def risk(
    predictor: str,
    features: int = 5,
    length: int = 40,
    noise: float = 0.1,
    *,
    rate: float | None = None,
    covariance: Tensor | None = None,
    preconditioner: Tensor | None = None,
    trained_length: int | None = None,
    omega: float | None = None,
    mu: float | None = None,
) -> float:
    """The exact risk of a predictor on prompts of `length` examples, against the noisy target.

    Rates and preconditioners are the best ones unless given; ridge and kernel_smoother are averaged over
    seeded draws of the covariates, everything else is a formula.

    >>> round(risk("debiased_gd", features=5, length=40, noise=0.1), 4)
    0.2429
    """
    check_prompts(features, length, noise)
    d, L = features, length
    if predictor == "debiased_gd":
        return risks.debiased_gd(d, L, noise, rate)
    if predictor == "vanilla_gd":
        return risks.vanilla_gd(d, L, noise, rate)
    if predictor == "preconditioned_gd":
        if covariance is None:
            raise Refusal("the risk of preconditioned_gd depends on the covariance of the covariates; pass covariance=")
        return risks.preconditioned_gd(covariance.double(), L, noise, preconditioner)
    if predictor == "linear_attention":
        return risks.linear_attention(d, L, noise, trained_length or L, rate)
    if predictor == "kernel_smoother":
        single = Problem(d, L, noise).best_single()
        heads = (single[0] if omega is None else omega, single[1] if mu is None else mu)
        return float(exact_loss([heads[0]], [heads[1]], features=d, length=L, noise=noise))
    if predictor in ("ridge", "ols", "zero"):
        return {
            "ridge": lambda: risks.ridge(d, L, noise),
            "ols": lambda: risks.ols(d, L, noise),
            "zero": lambda: risks.zero(noise),
        }[predictor]()
    raise Refusal(f"no predictor is called {predictor!r}; there are {', '.join(PREDICTORS)}")
