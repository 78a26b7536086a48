"""A function that is code: what is known of it is what it answers when it is asked, so it is asked twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from headsmith.refusal import Refusal

ULPS = 8  # two answers may differ so much: vectorised code rounds by where in the batch a sample lies


def asked(f: Callable[[Tensor], Any], X: Tensor, name: str = "f") -> Tensor:
    """f of every sample in a batch, the second time in reverse order; refused unless both answers agree.

    >>> asked(torch.relu, torch.tensor([[-1.0], [2.0]], dtype=torch.float64))
    tensor([[0.],
            [2.]], dtype=torch.float64)
    """
    with torch.no_grad():
        answers = [_each(f, X.clone()), _each(f, X.flip(0))]
    for y in answers:
        if not isinstance(y, Tensor) or y.shape != X.shape or y.dtype != X.dtype:
            shape = ", ".join(map(str, X.shape[1:]))
            raise Refusal(f"{name} must send a tensor ({shape}) to one of the same shape, in float64")
    first, again = answers[0], answers[1].flip(0)
    if not bool(torch.isfinite(first).all()):
        raise Refusal(f"{name} is not finite near {float(X[~first.isfinite()][0]):g}: choose another domain")
    if not bool(((first - again).abs() <= ULPS * 2.0**-52 * first.abs().amax()).all()):
        raise Refusal(f"{name} answers differently when it is asked twice: it is no function of its input")
    return first


def _each(f: Callable[[Tensor], Any], X: Tensor) -> Any:
    """f of every sample in X (batch, ...), one by one: X.flip(0) then turns a sample round, not the batch.

    Code that only knows batches, and fails on one sample, is given the batch.
    """
    try:
        alone = f(X[0].clone())
    except Exception:
        return f(X)
    if not isinstance(alone, Tensor) or alone.shape != X.shape[1:]:
        return f(X)
    try:
        return torch.vmap(f)(X)
    except Exception:  # code that asks for numbers, as `if X[0] > 0` does
        return torch.stack([f(x) for x in X])
