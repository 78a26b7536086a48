"""What a torch module is, as a program: read by exact types and their options, nothing is run here.

    nn.Linear, nn.ReLU, nn.GELU(), nn.SiLU, nn.Tanh      linear(W, b, f)
    nn.LayerNorm, nn.RMSNorm                             norm(gamma, beta, eps)
    nn.Sequential of all that is listed                  chain
    nn.TransformerEncoderLayer, post- and pre-LN; nn.TransformerEncoder with a final norm or without one

Whether the module computes what its types say is asked in `host`, which runs it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import nn

from headsmith.functions.activations import of_module, spelled
from headsmith.functions.modules import check_plain, matrices, parts
from headsmith.machines.prompts.heads import FUNCTIONS, HeadProgram, LinearProgram, head, linear
from headsmith.machines.prompts.layers import ChainProgram, NormProgram, ResidualProgram, norm
from headsmith.refusal import Refusal

NAMED = (
    (nn.functional.relu, "relu"),
    (torch.relu, "relu"),
    (nn.functional.gelu, "gelu"),
    (nn.functional.silu, "silu"),
    (torch.tanh, "tanh"),
)
"""Functions that an encoder layer may hold as its activation."""
MADE_OF = (
    "a tape is made of nn.Linear, LayerNorm, RMSNorm, ReLU, GELU(), SiLU, Tanh, TransformerEncoder, "
    "TransformerEncoderLayer and nn.Sequential of these"
)


def program_of(module: nn.Module, causal: bool = False) -> ChainProgram:
    """The program of a module; `causal` is the mask that its encoder layers are run with.

    >>> [stage.name for stage in program_of(nn.Sequential(nn.Linear(2, 3), nn.GELU(), nn.LayerNorm(3))).stages]
    ['linear', 'norm']
    """
    for name, weight in module.named_parameters():
        if weight.is_meta or not weight.is_floating_point() or weight.layout is not torch.strided:
            raise Refusal(f"{name} is {weight.dtype} on {weight.device}, {weight.layout}, not real numbers in rows")
    stages: list[Any] = []
    for part in parts(module):
        found = _read(part, causal)
        bends = isinstance(found, str) and stages and isinstance(stages[-1], LinearProgram)
        if not isinstance(found, str):
            stages += found
        elif bends and stages[-1].activation == "identity":
            stages[-1] = replace(stages[-1], activation=found)
        else:
            stages.append(linear(torch.eye(_width(stages, part), dtype=torch.float64), None, found))
    if not stages:
        raise Refusal(f"{type(module).__name__} does nothing that a tape could hold: {MADE_OF}")
    return ChainProgram(type(module).__name__, tuple(stages))


def _width(stages: list[Any], part: nn.Module) -> int:
    """Numbers of a token behind the stages."""
    last = stages[-1] if stages else None
    if isinstance(last, ResidualProgram):
        return _width(list(last.stages), part)
    if isinstance(last, LinearProgram | NormProgram):
        return len(last.weight if isinstance(last, LinearProgram) else last.gamma)
    raise Refusal(f"the network starts with {type(part).__name__}: something before it must say how wide a token is")


def _read(part: Any, causal: bool) -> list[Any] | str:
    """The programs of one module, or the name of an activation."""
    kind: Any = type(part)
    if kind is nn.Linear:
        return [_linear(part)]
    if kind in (nn.LayerNorm, nn.RMSNorm):
        return [_norm(part)]
    if kind is nn.TransformerEncoderLayer:
        return _layer(part, causal, "")
    if kind is nn.TransformerEncoder:
        _layers(part)
        stages = [stage for i, layer in enumerate(part.layers) for stage in _layer(layer, causal, f"layer {i} ")]
        return stages + ([] if part.norm is None else [_norm(part.norm)])
    for base in (nn.LayerNorm, nn.RMSNorm, nn.TransformerEncoder, nn.TransformerEncoderLayer):
        if isinstance(part, base):
            raise Refusal(f"{kind.__name__} is a subclass of {base.__name__}, which may compute anything")
    return _activation(part)


def _activation(part: Any) -> str:
    """The name of an activation that the block holds, given as a module or as a function."""
    if not isinstance(part, nn.Module):
        name = next((name for function, name in NAMED if function is part), None)
        if name is None:
            raise Refusal(
                f"the activation {getattr(part, '__name__', part)} of an encoder layer is not one of {_held()}"
            )
        return name
    check_plain(part)
    try:
        name = spelled(of_module(part)).lower()
    except Refusal:
        raise Refusal(f"{type(part).__name__} is nothing that a tape holds: {MADE_OF}") from None
    if name not in FUNCTIONS:
        raise Refusal(f"the block does not hold {part}; it holds {_held()}")
    return name


def _held() -> str:
    return ", ".join(name for name in FUNCTIONS if name != "identity") + ", GELU in its exact form"


def _linear(part: Any, name: str = "linear") -> LinearProgram:
    check_plain(part)
    if type(part) not in (nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear):
        raise Refusal(f"a linear map of an encoder layer is a {type(part).__name__}, not nn.Linear")
    return replace(linear(*matrices(part)), name=name)


def _norm(part: Any, name: str = "norm") -> NormProgram:
    if type(part) not in (nn.LayerNorm, nn.RMSNorm):
        raise Refusal(f"a norm of an encoder is a {type(part).__name__}, not LayerNorm or RMSNorm")
    if len(part.normalized_shape) != 1:
        raise Refusal(f"a norm goes over the numbers of a token, not over shape {tuple(part.normalized_shape)}")
    check_plain(part)
    gamma, beta = part.weight, getattr(part, "bias", None)
    if gamma is None and part.eps is None:
        raise Refusal("an RMSNorm without weights and eps takes the eps of whatever dtype comes: give it an eps")
    if gamma is None:
        gamma = torch.ones(part.normalized_shape[0], dtype=torch.float64)
    eps = torch.finfo(gamma.dtype).eps if part.eps is None else part.eps  # what nn.RMSNorm(eps=None) takes
    return replace(norm(gamma, beta, eps, type(part) is nn.LayerNorm), name=name)


def _layers(encoder: Any) -> None:
    """An encoder of encoder layers and nothing else."""
    for layer in encoder.layers:
        if type(layer) is not nn.TransformerEncoderLayer:
            raise Refusal(f"a layer of the encoder is a {type(layer).__name__}, not a TransformerEncoderLayer")


def _layer(layer: Any, causal: bool, at: str) -> list[Any]:
    """post-LN  norm1(x + attention(x)), norm2(x + mlp(x));  pre-LN  x + attention(norm1(x)), x + mlp(norm2(x))"""
    check_plain(layer)
    for inner in (layer.dropout, layer.dropout1, layer.dropout2):
        parts(inner)  # refuses a dropout that is on
    one, two = _norm(layer.norm1, f"{at}norm1"), _norm(layer.norm2, f"{at}norm2")
    attention, out = _attention(layer.self_attn, causal, at)
    first = replace(_linear(layer.linear1, f"{at}linear1"), activation=_activation(layer.activation))
    second = _linear(layer.linear2, f"{at}linear2")
    if layer.norm_first:
        return [
            ResidualProgram(f"{at}attention", (one, attention, out)),
            ResidualProgram(f"{at}mlp", (two, first, second)),
        ]
    return [
        ResidualProgram(f"{at}attention", (attention, out)),
        one,
        ResidualProgram(f"{at}mlp", (first, second)),
        two,
    ]


def _attention(part: Any, causal: bool, at: str) -> tuple[HeadProgram, LinearProgram]:
    """The heads of nn.MultiheadAttention, and W_O."""
    if type(part) is not nn.MultiheadAttention:
        raise Refusal(f"the attention of an encoder layer is a {type(part).__name__}, not nn.MultiheadAttention")
    check_plain(part)
    if part.training and part.dropout > 0:
        raise Refusal("the network is in training mode, in which its Dropout is random: call .eval() first")
    if part.in_proj_weight is None or part.bias_k is not None or part.add_zero_attn:
        raise Refusal("the attention has keys of another size, bias_k or add_zero_attn: a tape holds plain attention")
    d, heads = part.embed_dim, part.num_heads
    shift = torch.zeros(3 * d) if part.in_proj_bias is None else part.in_proj_bias
    q, k, v = part.in_proj_weight.detach().cpu().double().reshape(3, heads, d // heads, d)
    b_q, b_k, b_v = shift.detach().cpu().double().reshape(3, heads, d // heads)
    program = head(k, q, v, f"1/sqrt({d // heads})", (b_k, b_q, b_v), causal=causal)
    return replace(program, name=f"{at}heads"), _linear(part.out_proj, f"{at}W_O")
