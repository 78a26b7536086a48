"""A training set as a prompt: `hs.target.Training` is the network that trains on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headsmith.refusal import Refusal
from headsmith.targets.training.prompt import TrainingPrompt


def training(
    X: Any, Y: Any, query: Any, init: int | Sequence[Any] = 0, *, rates: Any = None, masks: Any = None
) -> TrainingPrompt:
    """Samples X (n, inputs) with labels Y (n, outputs), and a query (inputs,) whose label is asked for.

    init: a seed, or a list of matrices (out, in); for networks with biases pairs (matrix, bias). rates: one for each
    step, in place of the target's. masks (steps, n): which samples count in a step, 1 or 0. A leading axis of X, Y or
    query is a batch of independent prompts.

    >>> training([[1.0], [2.0]], [[2.0], [4.0]], [3.0], init=7).init
    7
    """
    if not isinstance(init, int | list | tuple) or isinstance(init, bool):
        raise Refusal(f"init must be a seed or a list of weight matrices (out, in), not {type(init).__name__}")
    return TrainingPrompt(X, Y, query, init, rates, masks)
