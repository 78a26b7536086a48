"""Reading a perceptron: from a torch module, which is then run and compared with what was read, or from a file.

nn.Sequential of Linear and activations, nested or not; Dropout does nothing at inference
a safetensors file with the state dict of one (0.weight, 0.bias, 2.weight, ...), and metadata
{"layers": '["Linear", "ReLU", "Linear"]'}, or no metadata and the activation's name beside it
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headsmith.functions import Expression
from headsmith.functions.activations import named, of_module, spelled
from headsmith.functions.modules import Step, parts, steps
from headsmith.network import load_tensors, save_tensors
from headsmith.proof.domain import Interval, read_domain
from headsmith.proof.rounding import gamma
from headsmith.refusal import Refusal
from headsmith.targets.perceptron import MLP

METADATA = "layers"
IDLE = ("Dropout", "Identity")  # what does nothing at inference
POINTS = 32  # random inputs, and as many corners, on which a module is run
ULPS = 16  # roundings that the code of an activation may make, relative to 1 + |input|


def compiled_module(module: nn.Module, domain: Any) -> MLP:
    """The perceptron that a module is by its types, if it also computes that when it is run."""
    target = read_module(module)
    if domain is not None:
        _run(module, target, read_domain(domain, ["x"], "float64", str(target))["x"])
    return target


def read_module(module: nn.Module) -> MLP:
    """The mathematics of an nn.Sequential; refused where anything but exact types and their options could matter.

    >>> print(read_module(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())))
    MLP 2-3-3 with tanh(x)
    """
    return _stacked(steps(module))


def _stacked(steps: Sequence[Step]) -> MLP:
    """Linear and activations in turn: two of a kind have an identity between them, an activation at the end behind."""
    linears: list[tuple[Any, Any]] = []
    activations: list[Expression] = []
    for step in (*steps, None):
        if isinstance(step, tuple):
            if len(linears) > len(activations):
                activations.append(named("Identity"))
            linears.append(step)
            continue
        if step is not None and not linears:
            raise Refusal(f"the network starts with {spelled(step)}: the first module must be Linear")
        if linears and len(activations) == len(linears):
            linears.append((np.eye(len(linears[-1][1])), np.zeros(len(linears[-1][1]))))
        if step is not None:
            activations.append(step)
    return MLP(tuple(w for w, _ in linears), tuple(b for _, b in linears), tuple(activations))


def _run(module: nn.Module, target: MLP, ends: Interval) -> None:
    """Runs the module, and a copy in float64, on points of the domain: is it what was read from it?"""
    x = _points(ends, target.widths[0])
    for run in (module, copy.deepcopy(module).double()):
        weight: Tensor = next(run.parameters())
        given = torch.tensor(x, dtype=weight.dtype, device=weight.device)
        answers = [_answer(run, given.clone()) for _ in range(2)]
        if not np.array_equal(answers[0], answers[1]):
            raise Refusal("the module answers differently when it is run twice: it is random, or it changes as it runs")
        values, room = _expected(target, given.cpu().double().numpy(), torch.finfo(weight.dtype).eps / 2)
        apart = np.abs(answers[0] - values) - room if answers[0].shape == values.shape else np.full((1, 1), np.nan)
        if not (apart <= 0).all():
            raise Refusal(
                f"the module was read as {target}, but run on {len(x)} inputs it computes something else: "
                "something beside its layers changes what it does"
            )
    if read_module(module).hash() != target.hash():
        raise Refusal("the weights of the module change while it is run")


def _answer(module: nn.Module, x: Tensor) -> np.ndarray:
    try:
        with torch.no_grad():
            return module(x).detach().clone().cpu().double().numpy()
    except Exception as error:
        raise Refusal(f"the module cannot be run on {tuple(x.shape)} numbers: {' '.join(str(error).split())}") from None


def _points(ends: Interval, features: int) -> np.ndarray:
    """The centre, random inputs and random corners, two of them on the diagonal."""
    (lo, hi), draw = ends, np.random.default_rng(0)
    inside = draw.uniform(lo, hi, (POINTS, features))
    corners = np.where(draw.random((POINTS, features)) < 0.5, lo, hi)
    return np.concatenate([[[x] * features for x in (lo / 2 + hi / 2, lo, hi)], inside, corners])


def _expected(target: MLP, x: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """mlp(x) in float64, and how far code of this roundoff may be from it, whatever the order of its additions."""
    values, room = x, np.zeros_like(x)
    for layer, linear in enumerate(target.linears):
        matrix = np.abs(linear.weight).T
        room = room @ matrix + gamma(len(matrix) + 2, unit) * (np.abs(values) @ matrix + np.abs(linear.bias))
        values = values @ linear.weight.T + linear.bias
        if layer < len(target.sigmas):
            sigma = target.sigmas[layer]
            room = sigma.steep * room + ULPS * unit * (1 + np.abs(values)) + sigma.apart(float(values.max()) + 1)
            values = sigma.expression(values)
    return values, 2 * room


def write_mlp(path: str | Path, model: nn.Module) -> Path:
    """Save an nn.Sequential as `read_mlp` reads it: its matrices and the names of its layers."""
    read_module(model)
    names, tensors = [], dict[str, Tensor]()
    for i, part in enumerate(parts(model)):
        if type(part) is nn.Linear:
            tensors |= {f"{i}.{name}": v.detach().contiguous() for name, v in part.named_parameters()}
        names.append("Linear" if type(part) is nn.Linear else spelled(of_module(part)))
    save_tensors(path, tensors, {METADATA: json.dumps(names)})
    return Path(path)


class NoActivation(Refusal):
    """A state dict holds weights, not what stands between them."""


def read_mlp(path: str | Path, activation: str | None = None) -> MLP:
    """The perceptron of a safetensors file.

    >>> mlp = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    >>> print(read_mlp(write_mlp("mlp.safetensors", mlp)))
    MLP 1-4-1 with relu(x)
    """
    tensors, metadata = load_tensors(path)
    if METADATA in metadata:
        names = [(place, name) for place, name in enumerate(_names(path, metadata[METADATA])) if name not in IDLE]
        return _stacked([_linear(path, tensors, i) if name == "Linear" else named(name) for i, name in names])
    places = sorted({int(m[1]) for name in tensors if (m := re.fullmatch(r"(?:.*\.)?(\d+)\.weight", name))})
    if not places:
        raise Refusal(f"{path} holds no MLP: it needs tensors such as 0.weight, 0.bias, 2.weight")
    if activation is None and len(places) > 1:
        raise NoActivation(f"{path} does not say which activation stands between its layers: give one, such as relu")
    steps = [step for place in places for step in (named(activation or "identity"), _linear(path, tensors, place))]
    return _stacked(steps[1:])


def _names(path: str | Path, text: str) -> list[str]:
    try:
        names = json.loads(text)
    except json.JSONDecodeError:
        raise Refusal(f"{path} lists its layers in a way that is no JSON") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refusal(f'{path} must list its layers as names, such as ["Linear", "ReLU", "Linear"]')
    return names


def _linear(path: str | Path, tensors: Mapping[str, Tensor], place: int) -> tuple[Any, Any]:
    found = [(name, v) for name, v in tensors.items() if re.fullmatch(rf"(?:.*\.)?{place}\.(weight|bias)", name)]
    own = {name.rpartition(".")[2]: v.double().numpy() for name, v in found}
    if len(own) < len(found):
        raise Refusal(f"{path} holds several networks: {', '.join(name for name, _ in found)}")
    if "weight" not in own or own["weight"].ndim != 2:
        raise Refusal(f"{path} has no matrix {place}.weight")
    return own["weight"], own.get("bias", np.zeros(len(own["weight"])))
