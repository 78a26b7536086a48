"""Reading a sequence map: the request, the formulas or the callable, its constant, and the printed cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.requests import read_domain, read_dtype, read_eps
from headsmith.functions import Expression, parse
from headsmith.heads.gather import variable_names
from headsmith.refusal import Refusal
from headsmith.targets.kinds import SequenceMap

Domain = tuple[float, float]


def read_request(target: SequenceMap, eps: Any, domain: Any, dtype: Any) -> tuple[float, Domain, str]:
    """eps, domain and dtype, and sizes that make sense."""
    dtype = read_dtype(dtype)
    if domain is None:
        raise Refusal("a sequence map needs a domain for the entries of X, such as domain=(-1, 1)")
    n, d = target.tokens, target.features
    if not (isinstance(n, int) and isinstance(d, int) and n > 0 and d > 0):
        raise Refusal(f"a sequence map has a positive number of tokens and features, not {n!r} and {d!r}")
    return read_eps(eps), read_domain(domain, dtype), dtype


def formulas(target: SequenceMap) -> tuple[Expression, ...]:
    """One expression for each output number, token by token, in the variables x1, x2, ..."""
    assert not callable(target.f)
    count = target.tokens * target.features
    if not isinstance(target.f, list | tuple):
        raise Refusal(f"a sequence map is a list of {count} formulas, or a callable with lipschitz=, not {target.f!r}")
    given = [g for row in target.f for g in (row if isinstance(row, list | tuple) else [row])]
    if len(given) != count:
        raise Refusal(
            f"{target.tokens} tokens of {target.features} features need {count} formulas, {len(given)} are given"
        )
    found = tuple(parse(g) if isinstance(g, str) else g for g in given)
    allowed = set(variable_names(count))
    for f in found:
        if not set(f.variables) <= allowed:
            raise Refusal(f"{f} may use the variables {', '.join(sorted(allowed))}: the inputs, token by token")
    return found


def called(target: SequenceMap) -> Any:
    """The callable as (components, ...) of one array for each entry of X."""
    n, d = target.tokens, target.features

    def f(*points: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(*(p.shape for p in points))
        X = np.ascontiguousarray(np.stack(np.broadcast_arrays(*points), -1).reshape(-1, n, d), dtype=np.float64)
        with torch.no_grad():
            y = _each(target.f, torch.from_numpy(X))
        if not isinstance(y, Tensor) or y.shape != X.shape:
            raise Refusal(f"the map must send a tensor ({n}, {d}), tokens by features, to one of the same shape")
        return np.moveaxis(y.double().numpy().reshape(*shape, n * d), -1, 0)

    return f


def _each(f: Any, X: Tensor) -> Any:
    """f of every sequence in X (batch, tokens, features), sequence by sequence: X.flip(0) then turns the tokens round.

    Code that only knows batches, and fails on one sequence, is given the batch.
    """
    try:
        alone = f(X[0])
    except Exception:
        return f(X)
    if not isinstance(alone, Tensor) or alone.shape != X.shape[1:]:
        return f(X)
    try:
        return torch.vmap(f)(X)
    except Exception:  # code that asks for numbers, as `if X[0] > 0` does
        return torch.stack([f(x) for x in X])


def lipschitz_of(target: SequenceMap) -> float:
    """The constant a callable comes with."""
    L = target.lipschitz
    if not isinstance(L, int | float) or not 0 < L < math.inf:
        raise Refusal(
            "the map is code, so what it does between samples is unknown: give lipschitz=L with "
            "|f(X) - f(Y)| <= L max|X - Y|"
        )
    return float(L)


def printed_cells(f: Any, count: int, domain: Domain, eps: float) -> float:
    """g^(dn) with omega_f(B/g) <= eps/2, the slopes of f taken from samples."""
    rng = np.random.default_rng(0)
    x = rng.uniform(*domain, (count, 2000))
    step, rise = 1e-4 * (domain[1] - domain[0]), 0.0
    here = f(*x)
    for k in range(count):
        moved = x.copy()
        moved[k] += step
        rise += float(np.abs(f(*moved) - here).max()) / step
    return float(max(1, math.ceil(rise * (domain[1] - domain[0]) / eps))) ** count
