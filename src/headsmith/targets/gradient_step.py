"""One step of gradient descent as two layers on tokens (x, y, w, -1, delta).

rule      delta_i += f(w . x_i - y_i) x_i        copies of the token, or gates: yourself or a null token
average   w += -rate mean(delta) - rate l2 w,  delta = 0          uniform attention, and a head that sees itself
"""

from __future__ import annotations

import math

import torch

from headsmith.network import Attention, Dense, Layer, Network, Select, Sparse
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal
from headsmith.targets.kinds import Descent
from headsmith.targets.residual import RuleTable, rule_layer


def block(task: Descent, table: RuleTable, dtype: torch.dtype, method: str) -> Network:
    """rule, average: one step of gradient descent on tokens (x, y, w, -1, delta)."""
    d, width = task.features, 3 * task.features + 2
    x, y, w, minus = range(d), d, range(d + 1, 2 * d + 1), 2 * d + 1
    delta = range(2 * d + 2, width)
    write = Select.writing([[*delta]] * (len(table.heads) if method == "gate" else 1), width)
    if method == "gate":
        rule: Layer = _gates(table.heads, [*w, minus], [*x, y], write, width, dtype)
    else:
        query, key = Select([[*w, minus]], width), Select([[*x, y]], width)
        rule = rule_layer(table.head, query, key, Select([[*x]], width), write, dtype, residual=True)
    names = [f"{name}.{k}" for name in ("x",) for k in range(d)] + ["y", *(f"w.{k}" for k in range(d)), "minus"]
    mean, own = (1.0, -1.0) if method == "printed" else (-task.rate, -task.rate * task.l2)
    layers = {"rule": rule, "average": _average(d, mean, own, dtype)}
    tokens = [f"sample.{i}" for i in range(task.samples)]
    return Network(layers, tokens=tokens, features=[*names, *(f"delta.{k}" for k in range(d))])


def _average(d: int, mean: float, own: float, dtype: torch.dtype) -> Attention:
    """w += mean * average(delta) by uniform attention; w += own * w and delta = 0 by a head that sees itself only."""
    width = 3 * d + 2
    w, delta = range(d + 1, 2 * d + 1), range(2 * d + 2, width)
    output = torch.zeros(2, width, 2 * d, dtype=torch.float64)
    for k in range(d):
        output[0, w[k], k], output[1, w[k], d + k], output[1, delta[k], k] = mean, own, -1.0
    return Attention(
        query=Select([[-1], [-1]], width),
        key=Select([[-1], [-1]], width),
        value=Select([[*delta, *[-1] * d], [*delta, *w]], width),
        output=Dense(output.to(dtype)),
        visible=["all", "self"],
        residual=True,
    )


def _gates(
    heads: tuple[Head, ...], asks: list[int], keys: list[int], write: Select, width: int, dtype: torch.dtype
) -> Attention:
    """value sigmoid(slope query . key) x for each head: attend to yourself, or to a null token."""
    slopes = [[[float(head.slopes[0])]] * len(keys) for head in heads]
    values = [[[float(head.values[0])]] * (len(keys) - 1) for head in heads]
    return Attention(
        query=Select([asks] * len(heads), width),
        key=Sparse([[[k] for k in keys]] * len(heads), torch.tensor(slopes, dtype=dtype), width),
        value=Sparse([[[k] for k in keys[:-1]]] * len(heads), torch.tensor(values, dtype=dtype), width),
        output=write,
        visible="self",
        memory=torch.zeros(1, width, dtype=dtype),
        residual=True,
    )


def gate_heads(loss: str, residual: float, eps: float, count: int) -> list[Head]:
    """Heads value sigmoid(slope z) that sum to loss': one for the logistic loss, 2 or 4 for the squared one.

    (2/a)(sigmoid(a z) - sigmoid(-a z)) = z - a^2 z^3/12 + ...; Richardson's 4/3 and -1/3 with a/2 and a remove it.
    """
    if loss == "logistic":
        return [Head.table([1.0, 0.0], [0.0, 0.0], [1.0, 0.0])]
    if loss == "huber":
        raise Refusal("the Huber loss has no gate heads: its slope is no sum of sigmoids; use method='auto'")
    a = math.sqrt(12 * eps / residual**3) if count == 2 else (480 * eps / residual**5) ** 0.25
    pairs = [(a, 1.0)] if count == 2 else [(a / 2, 4 / 3), (a, -1 / 3)]
    return [
        Head.table([sign * slope, 0.0], [0.0, 0.0], [sign * share * 2 / slope, 0.0])
        for slope, share in pairs
        for sign in (1.0, -1.0)
    ]
