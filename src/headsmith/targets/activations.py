"""Which activations become heads: torch modules and names read as formulas.

    ReLU, LeakyReLU, Hardtanh, ReLU6     gates: attend to yourself or to a null token, any range, any eps
    SiLU, QuickGELU                      one gate each, exactly
    Tanh, Sigmoid                        two keys, exactly
    GELU, Softplus                       one table of searched keys

(softmax-universality App. H; App. I, layer 3, repaired.) A module is what its exact type says, with the options it
holds; a subclass may compute anything, and QuickGELU, which torch lacks, is known by the very code of its forward.
"""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import torch
from torch import nn

from headsmith.functions import Expression
from headsmith.functions.activations import NAMES, clipped, leaky, named, spelled
from headsmith.proof.stack import Nonlinearity
from headsmith.refusal import Refusal

BOTTOMS = {"SiLU": -0.2784646, "QuickGELU": -0.1636103, "GELU": -0.1699713, "GELUTanh": -0.1700410}
STEEPEST = 1.13  # the largest slope of those with a bottom
BARE = {"forward", "__init__", "__module__", "__doc__", "__annotations__", "__static_attributes__", "__firstlineno__"}
THRESHOLD = 20.0  # beyond which torch's Softplus returns its input


def activation(formula: Expression) -> Nonlinearity:
    """What the proof needs to know of it: where it turns, its steepest slope, and where its code departs from it.

    >>> activation(named("silu")).bottom
    -0.2784646
    """
    name = spelled(formula)
    if name.startswith("LeakyReLU"):
        slope = float(name[10:-1])
        return Nonlinearity(formula, 0.0 if slope < 0 else None, max(1.0, abs(slope)))
    if name == "Softplus":
        return Nonlinearity(formula, gap=math.exp(-THRESHOLD), cut=THRESHOLD)
    return Nonlinearity(formula, BOTTOMS.get(name), STEEPEST if name in BOTTOMS else 1.0)


def of_module(module: Any) -> Expression:
    """The activation that a torch module computes, by its exact type and options."""
    kind = type(module)
    if kind in (nn.ReLU, nn.SiLU, nn.Tanh, nn.Sigmoid):
        return named(kind.__name__)
    if kind is nn.LeakyReLU:
        return leaky(module.negative_slope)
    if kind in (nn.Hardtanh, nn.ReLU6):
        return clipped(module.min_val, module.max_val)
    if kind is nn.GELU and module.approximate in ("none", "tanh"):
        return named("GELU" if module.approximate == "none" else "GELUTanh")
    if kind is nn.Softplus:
        if module.beta == 1 and module.threshold >= THRESHOLD:
            return named("Softplus")
        raise Refusal(
            "Softplus is compiled with beta = 1 and threshold = 20 (or more); scale the layers around it instead"
        )
    if kind.__name__.startswith("QuickGELU"):
        if _is_quick_gelu(kind):
            return named("QuickGELU")
        raise Refusal(f"the class {kind.__name__} is not torch's, and its forward is not x * torch.sigmoid(1.702 * x)")
    for base in (nn.Sequential, nn.Linear, nn.ReLU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.Dropout):
        if isinstance(module, base):
            raise Refusal(f"{kind.__name__} is a subclass of {base.__name__}, which may compute anything")
    raise Refusal(
        f"{kind.__name__} is neither Linear nor an activation that is compiled ({', '.join(NAMES)}); "
        "replace it, or compile the part of the network without it"
    )


def _is_quick_gelu(kind: type) -> bool:
    """Whether a class is a bare nn.Module with this very code, on the same torch."""

    def quick_gelu(self: Any, x: Any) -> Any:
        return x * torch.sigmoid(1.702 * x)

    forward, ours = vars(kind).get("forward"), quick_gelu.__code__
    bare = type(kind) is type and kind.__bases__ == (nn.Module,) and vars(kind).keys() <= BARE
    if not bare or not isinstance(forward, FunctionType):
        return False
    theirs = forward.__code__
    same = (theirs.co_code, theirs.co_names) == (ours.co_code, ours.co_names)
    numbers = [value for value in theirs.co_consts if not isinstance(value, str | None)]
    return same and numbers == [1.702] and forward.__globals__.get("torch") is torch
