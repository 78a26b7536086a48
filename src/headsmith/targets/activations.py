"""Which activations become heads: torch modules read as formulas.

    ReLU, LeakyReLU, Hardtanh, ReLU6     gates: attend to yourself or to a null token, any range, any eps
    SiLU, QuickGELU                      one gate each, exactly
    Tanh, Sigmoid                        two keys, exactly
    GELU, Softplus                       one table of searched keys

(softmax-universality App. H; App. I, layer 3, repaired.)
"""

from __future__ import annotations

import math
from decimal import Decimal

import torch
from torch import nn

from headsmith.proof.stack import Activation
from headsmith.refusal import Refusal

NAMES = {
    "ReLU": "relu(x)",
    "ReLU6": "clip(x, 0, 6)",
    "SiLU": "silu(x)",
    "QuickGELU": "x*sigmoid(1.702*x)",
    "Tanh": "tanh(x)",
    "Sigmoid": "sigmoid(x)",
    "GELU": "gelu(x)",
    "GELUTanh": "gelu_tanh(x)",
    "Softplus": "softplus(x)",
    "Hardtanh": "clip(x, -1, 1)",
    "LeakyReLU": "relu(x) - 0.01*relu(-x)",
    "Identity": "x",
}
THRESHOLD = 20.0
BOTTOMS = {"silu(x)": -0.2784646, "x*sigmoid(1.702*x)": -0.1636103, "gelu(x)": -0.1699713, "gelu_tanh(x)": -0.1700410}


def exact(x: float) -> str:
    """The float in decimal, digit for digit."""
    return f"{Decimal(x):f}" if x >= 0 else f"(-{Decimal(-x):f})"


def named(name: str) -> Activation:
    """The activation that a file calls by this name, however it is capitalised."""
    found = {key.lower(): key for key in NAMES}.get(name.lower().replace("_", ""))
    if found is None:
        raise Refusal(f"no activation is called {name!r}; there are {', '.join(NAMES)}")
    return of_formula(NAMES[found])


def of_formula(formula: str) -> Activation:
    if formula == "softplus(x)":  # torch returns x itself beyond its threshold
        return Activation(formula, gap=math.exp(-THRESHOLD), cut=THRESHOLD)
    return Activation(formula, BOTTOMS.get(formula))


def of_module(module: nn.Module) -> Activation | None:
    """The activation of a torch module; None for modules that do nothing at inference."""
    name = type(module).__name__
    if isinstance(module, nn.Dropout):
        if module.training and module.p > 0:
            raise Refusal("the network is in training mode, in which its Dropout is random: call .eval() first")
        return None
    if isinstance(module, nn.LeakyReLU):
        return of_formula(f"relu(x) - {exact(module.negative_slope)}*relu(-x)")
    if isinstance(module, nn.Hardtanh):
        return of_formula(f"clip(x, {exact(module.min_val)}, {exact(module.max_val)})")
    if isinstance(module, nn.GELU):
        return of_formula("gelu(x)" if module.approximate == "none" else "gelu_tanh(x)")
    if isinstance(module, nn.Softplus):
        if module.beta != 1 or module.threshold < THRESHOLD:
            raise Refusal(
                "Softplus is compiled with beta = 1 and threshold = 20 (or more); scale the layers around it instead"
            )
        return of_formula("softplus(x)")
    if isinstance(module, nn.ReLU | nn.SiLU | nn.Tanh | nn.Sigmoid):
        return of_formula(NAMES[name])
    if name in ("QuickGELU", "QuickGELUActivation"):
        return _vouched(module, of_formula(NAMES["QuickGELU"]))
    raise Refusal(
        f"{name} is neither Linear nor an activation that is compiled ({', '.join(NAMES)}); "
        "replace it, or compile the part of the network without it"
    )


def _vouched(module: nn.Module, activation: Activation) -> Activation:
    """A module known by its class name alone must do what the name says."""
    x = torch.linspace(-8, 8, 401, dtype=torch.float64)
    with torch.no_grad():
        if not torch.allclose(module(x), activation.expression(x), rtol=1e-6, atol=1e-6):
            raise Refusal(f"{type(module).__name__} does not compute {activation.formula}, so it is not compiled")
    return activation
