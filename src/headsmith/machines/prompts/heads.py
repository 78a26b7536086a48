"""Programs for the attention machine: weights as prompts.

    head(W_K, W_Q, W_V)      any attention head          V softmax(scale K^T Q), K = W_K X + b_K, ...
    linear(Theta)            any linear layer            f(Theta x + b), f an activation that the machine holds
    mean(), kernel_regression(tau), nearest_neighbour()   textbook estimators that are attention heads

The last three run on tokens made by `samples(x, y, query)`: (x, |x|^2, y, is_data, is_query). A query token q
scores a data token i with -tau |x_i - x_q|^2 (up to a constant that all data tokens share), and other query
tokens with -big. (algorithm-emulation Sec 4.3 and Cor 4.2.1.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.functions import parse
from headsmith.functions.jets import constant
from headsmith.functions.values import nearest
from headsmith.machines.prompts.listable import Listable
from headsmith.proof.ball_matrix import BallMatrix, Number, attention
from headsmith.records.shown import Shown, exactly
from headsmith.refusal import Refusal

Biases = tuple[Any, Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class HeadProgram(Listable):
    """An attention head, its scale folded into the queries: three matrices (head_dim, features), three biases.

    The activation bends V; in a causal head a token sees itself and what stands before it. Folding rounds: `queries`
    are W_Q and b_Q as they were given, which with the exact `scale` are what was asked for.
    """

    name: str
    weights: tuple[Tensor, Tensor, Tensor]
    biases: tuple[Tensor, Tensor, Tensor]
    activation: str = "identity"
    causal: bool = False
    scale: float | str = 1.0
    queries: tuple[Tensor, Tensor] | None = None

    @property
    def features(self) -> int:
        """Features of the tokens it reads."""
        return self.weights[0].shape[-1]

    @property
    def head_dim(self) -> int:
        """Rows of K, Q and V."""
        return self.weights[0].shape[-2]

    def title(self) -> str:
        count = self.weights[0].shape[:-2].numel()
        said = [f"{count} of them"] * (count > 1) + ["causal"] * self.causal + _unless_plain(self.activation)
        return f"{self.name} {self.features} -> {self.head_dim}" + (f" ({', '.join(said)})" if said else "")

    def on(self, x: Tensor, rows: int = 0) -> HeadProgram:
        """The program for these tokens, on a machine whose heads have this many rows."""
        return self

    def reference(self, x: Tensor) -> Tensor:
        """What the head computes, by plain attention in the dtype of its weights: (..., tokens, head_dim)."""
        x = x.to(self.weights[0].dtype)
        k, q, v = (x @ w.mT + b.unsqueeze(-2) for w, b in zip(self.weights, self.biases, strict=True))
        scores = q @ k.mT
        if self.causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        return torch.softmax(scores, -1) @ FUNCTIONS[self.activation](v)

    def enclosed(self, x: BallMatrix) -> BallMatrix:
        """The exact head of the numbers that were given, in balls; the heads of a batch side by side."""
        given = list(zip(self.weights, self.biases, strict=True))
        given[1] = self.queries or given[1]
        k, q, v = (x.linear(w.reshape(-1, w.shape[-1]), b.reshape(-1)) for w, b in given)
        count = self.weights[0].shape[:-2].numel()
        return attention(q, k, v.bent(self.activation), count, ball_of(self.scale), self.causal)

    @property
    def formula(self) -> str:
        """What is enclosed, in words."""
        scale = "" if self.scale == 1 else f"{exactly(self.scale) if isinstance(self.scale, float) else self.scale} "
        sees = "the tokens up to its own" if self.causal else "all tokens"
        value = "v" if self.activation == "identity" else _bent("v", self.activation)
        return f"heads softmax({scale}q.k) {value} over {sees}, each of k, q, v an affine map of x"


@dataclass(frozen=True, eq=False, repr=False)
class SampleProgram(Shown):
    """An estimator on tokens of `samples`; its head depends on how many inputs they have and how far apart they lie."""

    name: str
    tau: float

    def title(self) -> str:
        return f"{self.name}: a head for tokens of hs.prompt.samples"

    def on(self, x: Tensor, rows: int = 0) -> HeadProgram:
        flags = x[..., -2:]
        if x.shape[-1] < 5 or bool(((flags != 0) & (flags != 1)).any() | (flags.sum(-1) != 1).any()):
            raise Refusal(
                f"{self.name} runs on tokens made by hs.prompt.samples(x, y, query), which have 5 features or more, "
                "the last two (is_data, is_query)"
            )
        return _smoother(x.double(), self.tau, rows)

    def reference(self, x: Tensor) -> Tensor:
        return self.on(x).reference(x)


@dataclass(frozen=True, eq=False, repr=False)
class LinearProgram(Listable):
    """f(Theta x + bias), token by token."""

    name: str
    weight: Tensor
    bias: Tensor
    activation: str = "identity"

    def title(self) -> str:
        rows, features = self.weight.shape
        return " ".join(
            [f"{self.name} {features} -> {rows}", *(f"({bent})" for bent in _unless_plain(self.activation))]
        )

    def reference(self, x: Tensor) -> Tensor:
        return FUNCTIONS[self.activation](x.to(self.weight.dtype) @ self.weight.mT + self.bias)

    def enclosed(self, x: BallMatrix) -> BallMatrix:
        """The same in exact arithmetic, in balls."""
        return x.linear(self.weight, self.bias).bent(self.activation)

    @property
    def formula(self) -> str:
        """What is enclosed, in words."""
        return "linear maps W x + b" if self.activation == "identity" else _bent("W x + b", self.activation)


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda z: z,
    "tanh": torch.tanh,
    "silu": nn.functional.silu,
    "relu": torch.relu,
    "gelu": nn.functional.gelu,
}
MEANT = {"silu": "t/(1 + exp(-t))", "gelu": "t (1 + erf(t/sqrt(2)))/2"}
"""What is not clear from the name."""


def head(
    W_K: Any,
    W_Q: Any,
    W_V: Any,
    scale: float | str = 1.0,
    biases: Biases | None = None,
    *,
    activation: str = "identity",
    causal: bool = False,
) -> HeadProgram:
    """V softmax(scale K^T Q): W_* are (head_dim, features), biases = (b_K, b_Q, b_V); leading axes batch heads.

    activation bends V. In a chain the outputs of several heads stand side by side. The scale is a number, or the
    formula of one: "1/sqrt(32)" is proved as the number that no float is.

    >>> head([[1.0]], [[2.0]], [[3.0]]).reference(torch.tensor([[1.0]]))
    tensor([[3.]], dtype=torch.float64)
    """
    k, q, v = (matrix(w, name) for w, name in ((W_K, "W_K"), (W_Q, "W_Q"), (W_V, "W_V")))
    if not k.shape == q.shape == v.shape:
        shapes = ", ".join(str(tuple(w.shape)) for w in (k, q, v))
        raise Refusal(
            f"W_K, W_Q and W_V must have one shape (head_dim, features), not {shapes}; pad the smaller ones with zeros"
        )
    factor = _scale(scale)
    given = (None, None, None) if biases is None else biases
    if not (isinstance(given, tuple | list) and len(given) == 3):
        raise Refusal("the biases of a head are three, (b_K, b_Q, b_V); None stands for zeros")
    b_k, b_q, b_v = (bias_of(b, w, f"b_{n}") for b, w, n in zip(given, (k, q, v), "KQV", strict=True))
    kept = scale if isinstance(scale, str) else factor
    folded = (k, q * factor, v), (b_k, b_q * factor, b_v)
    return HeadProgram("head", *folded, _held(activation), bool(causal), kept, (q, b_q))


def linear(Theta: Any, bias: Any = None, activation: str = "identity") -> LinearProgram:
    """f(Theta x + bias) for every token x; Theta (rows, features).

    >>> linear([[1.0, 2.0]]).reference(torch.tensor([[1.0, 1.0]]))
    tensor([[3.]], dtype=torch.float64)
    """
    weight = matrix(Theta, "Theta")
    if weight.dim() != 2:
        raise Refusal(f"Theta must have shape (rows, features), not {tuple(weight.shape)}")
    return LinearProgram("linear", weight, bias_of(bias, weight, "the bias"), _held(activation))


def samples(x: Any, y: Any, query: Any) -> Tensor:
    """Tokens (x, |x|^2, y, is_data, is_query): the data, x (n, inputs), then where to predict, query (m, inputs)."""
    x, y, query = (numbers(v, name) for v, name in ((x, "x"), (y, "y"), (query, "query")))
    if x.dim() != 2 or query.dim() != 2 or y.shape != x.shape[:1] or query.shape[1] != x.shape[1]:
        raise Refusal("samples needs x (n, inputs), y (n,) and query (m, inputs)")
    data = torch.cat(
        [x, x.square().sum(-1, keepdim=True), y[:, None], torch.ones(len(x), 1), torch.zeros(len(x), 1)], -1
    )
    asked = torch.zeros(len(query), data.shape[1], dtype=torch.float64)
    asked[:, : x.shape[1]], asked[:, x.shape[1]], asked[:, -1] = query, query.square().sum(-1), 1.0
    return torch.cat([data, asked])


def kernel_regression(tau: float) -> SampleProgram:
    """sum_i y_i exp(-tau |x_i - x_q|^2) / sum_i exp(-tau |x_i - x_q|^2), the Nadaraya-Watson estimator."""
    if not (isinstance(tau, int | float) and 0 <= tau < math.inf):
        raise Refusal(f"tau must be a number that is not negative, not {tau!r}")
    return SampleProgram(f"kernel regression, tau = {exactly(tau)}", float(tau))


def nearest_neighbour(tau: float = 300.0) -> SampleProgram:
    """The label of the nearest sample: kernel regression so sharp that one sample takes all."""
    return SampleProgram("nearest neighbour", kernel_regression(tau).tau)


def mean() -> SampleProgram:
    """The mean of the labels: tau = 0."""
    return SampleProgram("mean", 0.0)


def _smoother(tokens: Tensor, tau: float, rows: int) -> HeadProgram:
    """K = (2 tau x, -tau |x|^2, -big is_query), Q = (x, is_query, is_query), V = y in its first row.

    Each product is split evenly between K and Q, and big over all the rows that are left: small entries, small domain.
    """
    inputs = tokens.shape[-1] - 4
    square, label, asked = inputs, inputs + 1, inputs + 3
    spare = max(1, rows - inputs - 1)
    most = float(tokens[..., :inputs].square().sum(-1).max())
    k, q, v = (torch.zeros(inputs + 1 + spare, tokens.shape[-1], dtype=torch.float64) for _ in range(3))
    k[:inputs, :inputs] = q[:inputs, :inputs] = math.sqrt(2 * tau) * torch.eye(inputs)
    q[inputs, asked] = math.sqrt(tau * max(most, 1e-300))
    k[inputs, square] = -tau / max(float(q[inputs, asked]), 1e-300)
    q[inputs + 1 :, asked] = math.sqrt((tau * _gap(tokens, inputs) + 40.0) / spare)
    k[inputs + 1 :, asked] = -q[inputs + 1 :, asked]
    v[0, label] = 1.0
    return head(k, q, v)


def _gap(tokens: Tensor, inputs: int) -> float:
    """The largest squared distance of a query from its nearest sample: other queries must score less than that one."""
    x, data, asked = tokens[..., :inputs], tokens[..., -2] == 1, tokens[..., -1] == 1
    far = torch.cdist(x, x).square().masked_fill(~data.unsqueeze(-2), math.inf).amin(-1)
    return float(far[asked & far.isfinite()].amax()) if bool((asked & far.isfinite()).any()) else 0.0


def _scale(scale: Any) -> float:
    """A number, or a formula of one rounded to the nearest float."""
    try:
        number = nearest(parse(scale)) if isinstance(scale, str) and not parse(scale).variables else float(scale)
    except (Refusal, TypeError, ValueError):
        number = math.nan
    if isinstance(scale, bool) or not math.isfinite(number):
        raise Refusal(
            f"the scale of a head must be a finite number or the formula of one, as 1/sqrt(64), not {scale!r}"
        )
    return number


def ball_of(scale: float | str) -> Number:
    """A scale as the exact number it is, in the present precision."""
    return constant(parse(scale)) if isinstance(scale, str) else scale


def _unless_plain(activation: str) -> list[str]:
    return [] if activation == "identity" else [activation]


def _bent(inner: str, activation: str) -> str:
    meant = f" with {activation}(t) = {MEANT[activation]}" if activation in MEANT else ""
    return f"{activation}({inner}){meant}"


def _held(activation: Any) -> str:
    if activation not in FUNCTIONS:
        raise Refusal(f"the machine holds no {activation!r}; it holds {', '.join(FUNCTIONS)}")
    return activation


def matrix(value: Any, name: str) -> Tensor:
    """A matrix of finite numbers in float64, or a refusal that names it; leading axes are a batch."""
    found = numbers(value, name)
    if found.dim() < 2 or not found.numel() or not bool(torch.isfinite(found).all()):
        raise Refusal(f"{name} must be a matrix of finite numbers (head_dim, features)")
    return found


def numbers(value: Any, name: str) -> Tensor:
    """Real numbers in float64, never rounded to float32 on the way, and a copy: theirs may be edited later."""
    try:
        given = torch.as_tensor(
            value, dtype=None if hasattr(value, "dtype") else torch.float64
        )  # no float32 on the way
        if given.is_complex():  # a cast would drop the imaginary parts
            raise TypeError
        found = given.detach().to("cpu", torch.float64, copy=True)
    except (TypeError, ValueError, RuntimeError):
        raise Refusal(f"{name} must hold numbers only") from None
    if not given.is_floating_point() and not torch.equal(found.to(given.dtype), given.cpu()):
        raise Refusal(f"{name} holds integers that float64 cannot represent exactly")
    return found


def bias_of(value: Any, weight: Tensor, name: str) -> Tensor:
    """One finite number a row of the weight; None stands for zeros."""
    rows = weight.shape[:-1]
    bias = torch.zeros(rows, dtype=torch.float64) if value is None else numbers(value, name)
    if bias.shape != rows or not bool(torch.isfinite(bias).all()):
        raise Refusal(f"{name} must be {tuple(rows)} finite numbers, one a row")
    return bias
