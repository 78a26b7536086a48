"""Where the prompts come from: random linear-regression problems, one per prompt.

    x_l, x ~ N(0, Sigma),   y_l = W x_l + noise,   W drawn anew for every prompt

Tokens are kept as the paper writes them, one column per example: Z = [X; Y] of shape (..., d + N, L), so that
the response rows lie contiguously and one batched product reads them off; the query is (..., d), its response
unknown. One normal tensor is drawn for a whole batch and its last rows are overwritten by the responses:
drawing random numbers is nearly half of the cost of a training step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from headsmith.lab.theory.approximate import check_prompts
from headsmith.refusal import Refusal

__all__ = ["Prompts", "Sampled", "Task", "correlated", "isotropic", "kms", "multi_task", "sampled"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Prompts(NamedTuple):
    """tokens (..., d + N, L), query (..., d), target (..., N): what a model sees, and what it should answer."""

    tokens: Tensor
    query: Tensor
    target: Tensor

    def regression(self, response: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """(X, y, x) as the reference predictors take them: (..., L, d), (..., L), (..., d)."""
        d = self.query.shape[-1]
        return self.tokens[..., :d, :].transpose(-1, -2), self.tokens[..., d + response, :], self.query


@dataclass(frozen=True)
class Task:
    """y = W x + N(0, noise) in context; `isotropic`, `correlated` and `multi_task` make the usual ones.

    >>> prompts = isotropic(features=5, length=40, noise=0.1).draw(256)
    >>> prompts.tokens.shape
    torch.Size([256, 6, 40])
    """

    features: int = 5
    length: int = 40
    noise: float = 0.1
    covariance: tuple[tuple[float, ...], ...] | None = None
    supports: tuple[tuple[int, ...], ...] | None = None
    weights: str = "independent"

    def __post_init__(self) -> None:
        check_prompts(self.features, self.length, self.noise)
        if self.weights not in ("independent", "shared", "notebook"):
            raise Refusal(f"weights={self.weights!r}: choose independent, shared (the text's) or notebook (the code's)")

    @property
    def responses(self) -> int:
        """N, the number of responses per example."""
        return len(self.supports) if self.supports else 1

    @property
    def width(self) -> int:
        """D = d + N, the length of a token."""
        return self.features + self.responses

    @property
    def sigma(self) -> Tensor:
        """The covariance matrix of the covariates, in float64."""
        if self.covariance is None:
            return torch.eye(self.features, dtype=torch.float64)
        return torch.tensor(self.covariance, dtype=torch.float64)

    @property
    def solved(self) -> bool:
        """Whether the closed-form risks apply: Gaussian prompts of unit signal, the same noise everywhere."""
        return self.weights == "independent"

    def prior(self, response: int = 0) -> Tensor:
        """The covariance of the weights of one response, in float64."""
        d = self.features
        if self.supports is None:
            return torch.eye(d, dtype=torch.float64) / d
        diagonal = torch.zeros(d, dtype=torch.float64)
        support = list(self.supports[response])
        diagonal[support] = {"independent": 1 / len(support), "shared": 1 / d, "notebook": 1.0}[self.weights]
        return torch.diag(diagonal)

    def draw(
        self,
        *shape: int,
        length: int | None = None,
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Prompts:
        """Fresh prompts of the given batch shape; `length` may differ from the task's own."""
        d, n, width, L = self.features, self.responses, self.width, length or self.length
        options: dict[str, Any] = {"dtype": dtype, "device": device}
        tokens = torch.empty(*shape, width, L, **options).normal_(generator=generator)
        small = torch.empty(*shape, n * d + d + n, **options).normal_(generator=generator)
        query = small[..., n * d : n * d + d]
        if self.covariance is not None:
            root = _root(self.covariance, dtype, torch.device(device))
            tokens[..., :d, :] = root @ tokens[..., :d, :]
            query = query @ root.T
        deviation, answer_noise = math.sqrt(self.noise), math.sqrt(self.noise)
        if self.weights == "notebook":
            deviation, answer_noise = 2 * deviation, 0.0
        weights = self._weights(small)
        clean = weights @ tokens[..., :d, :]
        tokens[..., d:, :].mul_(deviation).add_(clean)
        signal = (weights @ query.unsqueeze(-1)).squeeze(-1)
        return Prompts(tokens, query, signal.add_(small[..., n * d + d :], alpha=answer_noise))

    def _weights(self, small: Tensor) -> Tensor:
        """W (..., N, d): variance 1/d per entry, or 1/|S| on each task's support, or the paper's other two
        choices.
        """
        d, n = self.features, self.responses
        if self.supports is None:
            return small[..., : n * d].unflatten(-1, (n, d)) / math.sqrt(d)
        mask = _mask(self.supports, d, self.weights == "independent", small.dtype, small.device)
        if self.weights == "shared":
            return small[..., :d].unsqueeze(-2) * mask / math.sqrt(d)
        return small[..., : n * d].unflatten(-1, (n, d)) * mask


@lru_cache(maxsize=32)
def _root(covariance: tuple[tuple[float, ...], ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """The Cholesky factor of a covariance; kept, since a CUDA graph cannot fetch it anew."""
    return torch.linalg.cholesky(torch.tensor(covariance, dtype=torch.float64)).to(dtype=dtype, device=device)


@lru_cache(maxsize=32)
def _mask(
    supports: tuple[tuple[int, ...], ...], d: int, unit: bool, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """(N, d): 1 on each support (1/sqrt|S| if the signal is to have unit variance), 0 off it."""
    mask = torch.zeros(len(supports), d, dtype=dtype)
    for i, support in enumerate(supports):
        mask[i, list(support)] = 1 / math.sqrt(len(support)) if unit else 1.0
    return mask.to(device)


@dataclass(frozen=True)
class Sampled(Task):
    """A task whose prompts come from the user's own sampler; see `sampled`."""

    sampler: Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]] | None = field(default=None, repr=False)

    @property
    def solved(self) -> bool:
        """Whether the best predictor of this task is known in closed form."""
        return False

    def draw(self, *shape, length=None, generator=None, dtype=torch.float32, device="cpu"):  # type: ignore[override]
        """Prompts of the shape asked for, drawn afresh."""
        count, sampler = math.prod(shape), cast(Callable[..., Any], self.sampler)
        X, y, x, target = sampler(count, length or self.length, generator)
        tokens = torch.cat([X, y.unsqueeze(-1)], -1).transpose(-1, -2)
        if tokens.shape != (count, self.width, length or self.length):
            raise Refusal(
                f"the sampler returned tokens of shape {tuple(tokens.shape)} instead of "
                f"{(count, self.width, length or self.length)}; it must return X (batch, L, d), y (batch, L), "
                "x (batch, d), target (batch,)"
            )
        parts = (tokens, x, target.unsqueeze(-1))
        return Prompts(*(p.to(dtype=dtype, device=device).unflatten(0, shape) for p in parts))


def isotropic(features: int = 5, length: int = 40, noise: float = 0.1) -> Task:
    """x ~ N(0, I): the paper's main setting."""
    return Task(features, length, noise)


def kms(features: int, rho: float) -> Tensor:
    """rho^|i - j|: the Kac-Murdock-Szego covariance (icl-linear-regression, section 5.3)."""
    index = torch.arange(features, dtype=torch.float64)
    return rho ** (index[:, None] - index).abs()


def correlated(covariance: Tensor | float = 0.5, features: int = 5, length: int = 40, noise: float = 0.1) -> Task:
    """x ~ N(0, Sigma); a number rho stands for Sigma_ij = rho^|i - j|."""
    check_prompts(features, length, noise)
    matrix = covariance if isinstance(covariance, Tensor) else kms(features, float(covariance))
    matrix = matrix.double()
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not torch.allclose(matrix, matrix.T):
        raise Refusal(f"a covariance is a symmetric matrix; got shape {tuple(matrix.shape)}")
    if float(torch.linalg.eigvalsh(matrix)[0]) <= 0:
        raise Refusal("the covariance is not positive definite; add a small multiple of the identity")
    rows = tuple(tuple(float(v) for v in row) for row in matrix)
    return Task(len(rows), length, noise, covariance=rows)


def multi_task(
    supports: Sequence[Sequence[int]] = ((0, 1, 2, 3), (2, 3, 4, 5)),
    features: int = 6,
    length: int = 40,
    noise: float = 0.1,
    weights: str = "independent",
) -> Task:
    """N responses, the n-th depending on the features in supports[n] (section 5.4).

    weights="independent": own weights of unit signal; "shared": one weight vector N(0, I/d) for all, as in
    the text; "notebook": unit-variance entries, context noise of deviation 2 sqrt(noise), noiseless answers,
    as in the code.
    """
    for support in supports:
        if not support or not all(0 <= j < features for j in support):
            raise Refusal(f"the support {list(support)} does not lie in 0..{features - 1}")
    return Task(features, length, noise, supports=tuple(tuple(s) for s in supports), weights=weights)


def sampled(
    sampler: Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]], features: int, length: int, noise: float
) -> Task:
    """A task from `sampler(batch, length, generator) -> X (batch, L, d), y (batch, L), x (batch, d), target
    (batch,)`.
    """
    return Sampled(features, length, noise, sampler=sampler)
