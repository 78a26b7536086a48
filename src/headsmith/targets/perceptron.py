"""A multi-layer perceptron as a mathematical object, read from torch or from a file.

nn.Sequential of Linear and activations, nested or not; Dropout does nothing at inference
a safetensors file with the state dict of one (0.weight, 0.bias, 2.weight, ...), and metadata
{"layers": '["Linear", "ReLU", "Linear"]'}, or no metadata and the activation's name beside it
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from flint import arb, arb_mat
from torch import Tensor, nn

from headsmith.network import load_tensors, save_tensors
from headsmith.proof.stack import Activation, Linear
from headsmith.refusal import Refusal
from headsmith.targets.activations import named, of_formula, of_module

IDENTITY = "x"
METADATA = "layers"


@dataclass(frozen=True, eq=False)
class Stack:
    """Linear, activation, Linear, ..., Linear, as exact numbers."""

    linears: tuple[Linear, ...]
    activations: tuple[Activation, ...]

    @property
    def widths(self) -> list[int]:
        return [self.linears[0].weight.shape[1], *(len(linear.bias) for linear in self.linears)]

    def hash(self) -> str:
        """SHA-256 of the function: formulas, shapes and every weight."""
        digest = hashlib.sha256(repr([a.formula for a in self.activations]).encode())
        for linear in self.linears:
            digest.update(repr(linear.weight.shape).encode() + linear.weight.tobytes() + linear.bias.tobytes())
        return digest.hexdigest()

    def __str__(self) -> str:
        names = sorted({a.formula for a in self.activations})
        return f"MLP {'-'.join(map(str, self.widths))} with {', '.join(names) or 'no activation'}"

    def balls(self, x: np.ndarray) -> list[list[arb]]:
        """The exact function at each row of x, as balls."""
        rows = arb_mat(x.T.tolist())
        for layer, linear in enumerate(self.linears):
            rows = arb_mat(linear.weight.tolist()) * rows
            bias = linear.bias.tolist()
            for i in range(rows.nrows()):
                for j in range(rows.ncols()):
                    z = rows[i, j] + bias[i]
                    rows[i, j] = self.activations[layer].expression.at(z) if layer < len(self.activations) else z
        return [[rows[i, j] for i in range(rows.nrows())] for j in range(rows.ncols())]


def read_stack(model: nn.Module) -> Stack:
    """The mathematics of an nn.Sequential; refused where a module is neither Linear nor a known activation."""
    linears: list[Linear] = []
    activations: list[Activation] = []
    for module in _flat(model):
        if isinstance(module, nn.Linear):
            if len(linears) > len(activations):
                activations.append(of_formula(IDENTITY))
            bias = torch.zeros(module.out_features) if module.bias is None else module.bias
            linears.append(Linear(*(v.detach().cpu().double().numpy() for v in (module.weight, bias))))
        elif (found := of_module(module)) is not None:
            if not linears:
                raise Refusal(f"the network starts with {type(module).__name__}: the first module must be Linear")
            if len(activations) == len(linears):
                linears.append(_identity(len(linears[-1].bias)))
            activations.append(found)
    if linears and len(activations) == len(linears):
        linears.append(_identity(len(linears[-1].bias)))
    return checked(linears, activations)


def checked(linears: list[Linear], activations: list[Activation]) -> Stack:
    """The stack, refused where it holds no matrix, a number that is none, or shapes that do not fit."""
    if not linears:
        raise Refusal("there is no Linear in the network, so there is nothing to compile")
    for linear in linears:
        if not (np.isfinite(linear.weight).all() and np.isfinite(linear.bias).all()):
            raise Refusal("the network holds NaN or infinite weights")
        if len(linear.bias) != len(linear.weight):
            raise Refusal(f"a Linear of {len(linear.weight)} outputs has {len(linear.bias)} biases")
    for a, b in pairwise(linears):
        if len(a.bias) != b.weight.shape[1]:
            raise Refusal(f"a Linear of {b.weight.shape[1]} inputs follows one of {len(a.bias)} outputs")
    return Stack(tuple(linears), tuple(activations))


def _flat(model: nn.Module) -> list[nn.Module]:
    if isinstance(model, nn.Sequential):
        return [module for child in model for module in _flat(child)]
    return [] if isinstance(model, nn.Identity) else [model]


def _identity(units: int) -> Linear:
    return Linear(np.eye(units), np.zeros(units))


def write_mlp(path: str | Path, model: nn.Sequential) -> Path:
    """Save an nn.Sequential as `read_mlp` reads it: its state dict and the names of its layers."""
    read_stack(model)
    names = ["GELUTanh" if isinstance(m, nn.GELU) and m.approximate == "tanh" else type(m).__name__ for m in model]
    save_tensors(
        path, {name: v.detach().contiguous() for name, v in model.state_dict().items()}, {METADATA: json.dumps(names)}
    )
    return Path(path)


class NoActivation(Refusal):
    """A state dict holds weights, not what stands between them."""


def read_mlp(path: str | Path, activation: str | None = None) -> Stack:
    """The perceptron of a safetensors file.

    >>> read_mlp("digits.safetensors", "relu")      # doctest: +SKIP
    """
    tensors, metadata = load_tensors(path)
    if METADATA in metadata:
        try:
            names = json.loads(metadata[METADATA])
        except json.JSONDecodeError:
            raise Refusal(f"{path} lists its layers in a way that is no JSON") from None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Refusal(f'{path} must list its layers as names, such as ["Linear", "ReLU", "Linear"]')
        return _from_names(path, tensors, names)
    places = sorted({int(m[1]) for name in tensors if (m := re.fullmatch(r"(?:.*\.)?(\d+)\.weight", name))})
    if not places:
        raise Refusal(f"{path} holds no MLP: it needs tensors such as 0.weight, 0.bias, 2.weight")
    if activation is None and len(places) > 1:
        raise NoActivation(f"{path} does not say which activation stands between its layers: give one, such as relu")
    linears = [_linear(path, tensors, str(place)) for place in places]
    return checked(linears, [named(activation or "identity")] * (len(places) - 1))


def _from_names(path: str | Path, tensors: Mapping[str, Tensor], names: list[str]) -> Stack:
    linears: list[Linear] = []
    activations: list[Activation] = []
    for place, name in enumerate(names):
        if name == "Linear":
            if len(linears) > len(activations):
                activations.append(of_formula(IDENTITY))
            linears.append(_linear(path, tensors, str(place)))
        elif not name.startswith("Dropout") and name != "Identity":
            if len(activations) == len(linears):
                raise Refusal(f"{path} must alternate Linear and one activation, starting with Linear")
            activations.append(named(name))
    if linears and len(activations) == len(linears):
        linears.append(_identity(len(linears[-1].bias)))
    return checked(linears, activations)


def _linear(path: str | Path, tensors: Mapping[str, Tensor], place: str) -> Linear:
    found = {
        name.rpartition(".")[2]: v
        for name, v in tensors.items()
        if re.fullmatch(rf"(?:.*\.)?{place}\.(weight|bias)", name)
    }
    if "weight" not in found or found["weight"].dim() != 2:
        raise Refusal(f"{path} has no matrix {place}.weight")
    weight = found["weight"].double().numpy()
    return Linear(weight, found["bias"].double().numpy() if "bias" in found else np.zeros(len(weight)))
