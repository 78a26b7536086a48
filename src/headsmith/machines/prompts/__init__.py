"""Programs for the machines, written as prompts: hs.prompt.ols(X, y), hs.prompt.head(W_K, W_Q, W_V) and others."""

from headsmith.machines.prompts.descent import descent
from headsmith.machines.prompts.heads import (
    head,
    kernel_regression,
    linear,
    mean,
    nearest_neighbour,
    samples,
)
from headsmith.machines.prompts.layers import chain, mlp, norm, pool, residual, unit
from headsmith.machines.prompts.regression import elastic_net, huber, lasso, logistic, ols, ridge
from headsmith.machines.prompts.rule import rule
from headsmith.machines.prompts.sentence import minilm
from headsmith.machines.prompts.training import training

__all__ = [
    "chain",
    "descent",
    "elastic_net",
    "head",
    "huber",
    "kernel_regression",
    "lasso",
    "linear",
    "logistic",
    "mean",
    "minilm",
    "mlp",
    "nearest_neighbour",
    "norm",
    "ols",
    "pool",
    "residual",
    "ridge",
    "rule",
    "samples",
    "training",
    "unit",
]


def __dir__() -> list[str]:
    return sorted(__all__)
