"""What a torch module does, one thing after another: matrices, and formulas of x.

nn.Sequential of Linear and activations, nested or not, by their exact types; Dropout does nothing at inference.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from headsmith.functions.activations import of_module
from headsmith.functions.expression import Expression
from headsmith.refusal import Refusal

Step = tuple[Any, Any] | Expression  # (weight, bias) of a Linear, or an activation


def steps(module: nn.Module) -> list[Step]:
    """What a module does, one thing after another: (weight, bias) of a Linear, or an activation."""
    return [_step(part) for part in parts(module)]


def parts(module: nn.Module) -> list[nn.Module]:
    """The modules that do something, in order."""
    check_plain(module)
    if type(module) is nn.Sequential:
        return [part for child in module._modules.values() if child is not None for part in parts(child)]
    if type(module) is nn.Dropout and module.training and module.p > 0:
        raise Refusal("the network is in training mode, in which its Dropout is random: call .eval() first")
    return [] if type(module) in (nn.Identity, nn.Dropout) else [module]


def check_plain(module: nn.Module) -> None:
    """Refuses what could make a module compute something else than its type says."""
    kind, every = type(module).__name__, nn.modules.module
    if torch.nn.utils.parametrize.is_parametrized(module):
        raise Refusal(f"{kind} has parametrised weights: call torch.nn.utils.parametrize.remove_parametrizations first")
    if module._forward_hooks or module._forward_pre_hooks:
        raise Refusal(f"{kind} has forward hooks (old weight_norm, spectral_norm or pruning): remove them first")
    if every._global_forward_hooks or every._global_forward_pre_hooks:
        raise Refusal("torch has global forward hooks, which may change what a module computes: remove them first")
    own = [name for name in vars(module) if callable(getattr(type(module), name, None))]
    if own or module._compiled_call_impl is not None:
        name = own[0] if own else "compiled call"
        raise Refusal(f"this {kind} has a {name} of its own, so its type does not say what it computes")


def _step(part: nn.Module) -> Step:
    return matrices(part) if type(part) is nn.Linear else of_module(part)


def matrices(part: Any) -> tuple[Any, Any]:
    """(weight, bias) of a Linear, which must be plain parameters of it."""
    held = [part._parameters.get(name) for name in ("weight", "bias")]
    plain = type(held[0]) is nn.Parameter and type(held[1]) in (nn.Parameter, type(None))
    if not plain or part.weight is not held[0] or part.bias is not held[1]:
        raise Refusal("a Linear has weights that are no plain parameters of it: copy them into a new nn.Linear")
    for v in (v for v in held if v is not None):
        if not v.is_floating_point() or v.is_meta or v.layout is not torch.strided:
            raise Refusal(f"the weights of a Linear are {v.dtype} on {v.device}, {v.layout}, not real numbers in rows")
    bias = torch.zeros(part.out_features) if part.bias is None else part.bias
    weight, shift = (v.detach().cpu().double().resolve_neg().numpy() for v in (part.weight, bias))
    return weight, shift
