"""The targets that are more than a formula: each a small frozen record of a mathematical object, with no numerics.

>>> import headsmith as hs
>>> swap = hs.target.Product([[1.0, 2.0]], [[0.0, 1.0], [1.0, 0.0]])      # X -> [[1, 2]] X with its columns swapped
>>> hs.compile(swap, eps=1e-12)(X)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headsmith.refusal import Refusal


@dataclass(frozen=True, eq=False)
class Product:
    """X -> A X B for X (features, tokens): A acts on features, B mixes tokens. B may have any sign.

    softmax-universality, Lemma I.1, repaired.
    """

    A: Any
    B: Any


@dataclass(frozen=True, eq=False)
class SequenceMap:
    """X -> f(X), X (tokens, features) -> (tokens, features): a continuous map of whole sequences.

    softmax-universality, Thm 3.14.

    f is a formula for each output number, in the variables x1, x2, ... that count the inputs token by token, or a
    callable on tensors (..., tokens, features), which needs `lipschitz`: |f(X) - f(Y)| <= L max|X - Y| entrywise.

    >>> SequenceMap(["x1*x2", "x1 + x2"], tokens=2, features=1)
    """

    f: Sequence[Any] | Callable[..., Any]
    tokens: int
    features: int
    lipschitz: float | None = None


@dataclass(frozen=True, eq=False)
class ReluNetwork:
    """f_i(X) = sum_k outer[i, k] relu(sum_j inner[i, k, j] . x_j + bias[i, k]), one number a token.

    softmax-universality, Thm I.2 and Thm F.2.

    inner (tokens, units, tokens, features), outer and bias (tokens, units); X (tokens, features).
    """

    inner: Any
    outer: Any
    bias: Any = None


@dataclass(frozen=True, eq=False)
class Clip:
    """Range_[low, high](w_i . x_i + t_i), one truncated linear model for each of n tokens (Def 3.2).

    W (n tokens, d features), t (n tokens); net(x) takes x (batch..., n, d) to (batch..., n). `heads` asks for the
    multi-head form, so many heads with the tokens as keys (Thm 3.9); compile(..., heads=4) says the same.

    >>> Clip([[1.0, 2.0], [0.5, -1.0]], [0.0, 0.25])
    Clip of 2 truncated linear models in 2 features, range [-1, 1]
    """

    W: Any
    t: Any
    low: float = -1.0
    high: float = 1.0
    heads: int | None = None

    def __post_init__(self) -> None:
        W, t = _numbers(self.W, "W", 2), _numbers(self.t, "t", 1)
        if len(W) != len(t):
            raise Refusal(f"W has {len(W)} rows but t has {len(t)} numbers: each token has one row and one number")
        for name, value in zip(("W", "t", "low", "high"), (W, t, *_range(self.low, self.high)), strict=True):
            object.__setattr__(self, name, value)
        if self.heads is not None:
            _sizes(heads=self.heads)

    def __repr__(self) -> str:
        n, d = self.W.shape
        return f"Clip of {n} truncated linear models in {d} features, range [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class PromptClip:
    """Range_[low, high](w . x_i + t_i) with w and t read from the prompt (Thm D.1).

    |w_j| <= weight and |t_i| <= shift; net(x, w, t) takes x (batch..., n, d), w (batch..., d) and t (batch..., n).
    """

    tokens: int
    features: int
    low: float = -1.0
    high: float = 1.0
    weight: float = 1.0
    shift: float = 1.0

    def __post_init__(self) -> None:
        _range(self.low, self.high)
        if self.tokens < 1 or self.features < 1:
            raise Refusal("a prompt needs at least one token and one feature")
        if not (0 < self.weight < math.inf and 0 <= self.shift < math.inf):
            raise Refusal("weight and shift bound |w_j| and |t_i|: they must be finite, the first positive")


@dataclass(frozen=True)
class ResidualRule:
    """f(w . x_i - y_i) x_i for n samples, f a formula of one variable (In-Context Algorithm Emulation, Thm 3.1).

    net(x, y, w) takes x (batch..., n, d), y (batch..., n) and w (batch..., d), or a w for each, to (batch..., n, d).

    >>> ResidualRule("tanh(t)", features=4, samples=16)
    ResidualRule(f='tanh(t)', features=4, samples=16)
    """

    f: Any
    features: int
    samples: int

    def __post_init__(self) -> None:
        _sizes(features=self.features, samples=self.samples)


@dataclass(frozen=True)
class Descent:
    """w <- w - rate ((1/n) sum_i loss'(w . x_i, y_i) x_i + l2 w), `steps` times (Cor 3.1.2 to 3.1.4).

    loss: "squared" (r^2/2), "logistic" (y in {0, 1}) or "huber" (delta = 1).
    net(x, y, w) takes x (batch..., n, d), y (batch..., n) and the start w (batch..., d) to the last w.

    >>> Descent("squared", features=4, samples=16, steps=40, rate=0.5).steps
    40
    """

    loss: str
    features: int
    samples: int
    steps: int = 1
    rate: float = 1.0
    l2: float = 0.0

    def __post_init__(self) -> None:
        _sizes(features=self.features, samples=self.samples, steps=self.steps)
        if self.loss not in ("squared", "logistic", "huber"):
            raise Refusal(f"no loss is called {self.loss!r}; there are squared, logistic and huber")
        numbers = isinstance(self.rate, int | float) and isinstance(self.l2, int | float)
        if not (numbers and 0 < self.rate < math.inf and 0 <= self.l2 < math.inf):
            raise Refusal("the rate must be a positive number, and l2 must not be negative")


def _sizes(**sizes: int) -> None:
    for name, value in sizes.items():
        if not (isinstance(value, int) and value >= 1):
            raise Refusal(f"{name} must be a whole number of at least 1, not {value!r}")


def _numbers(given: Any, name: str, axes: int) -> np.ndarray:
    """Finite float64 numbers with this many axes, copied and read-only."""
    try:
        array = np.array(given.detach().cpu().numpy() if hasattr(given, "detach") else given, dtype=np.float64)
    except (TypeError, ValueError):
        raise Refusal(f"{name} must be an array of real numbers") from None
    if array.ndim != axes or array.size == 0 or not np.isfinite(array).all():
        plural = "axis" if axes == 1 else "axes"
        raise Refusal(f"{name} must be a finite array with {axes} {plural}, not of shape {array.shape}")
    array.flags.writeable = False
    return array


def _range(low: Any, high: Any) -> tuple[float, float]:
    low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise Refusal(f"a range needs finite low < high, not [{low:g}, {high:g}]")
    return low, high
