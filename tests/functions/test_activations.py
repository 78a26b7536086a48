"""Activations by name and by module: options kept, impostors refused, and what the proof assumes of each is true."""

import numpy as np
import pytest
import torch
from flint import arb
from torch import nn

from headsmith.functions import parse
from headsmith.functions.activations import NAMES, clipped, leaky, named, of_module, spelled
from headsmith.proof.stack import activation
from headsmith.refusal import Refusal

MODULES = [
    nn.ReLU(), nn.LeakyReLU(0.2), nn.LeakyReLU(-0.5), nn.LeakyReLU(3.0), nn.Hardtanh(-0.25, 7), nn.ReLU6(), nn.SiLU(),
    nn.Tanh(), nn.Sigmoid(), nn.GELU(), nn.GELU("tanh"), nn.Softplus(), nn.Softplus(threshold=25.0),
]  # fmt: skip
Z = np.concatenate([np.linspace(-40, 40, 20001), np.linspace(-2, 2, 20001)])


class QuickGELU(nn.Module):
    def forward(self, x: torch.Tensor):
        """As everyone writes it."""
        return x * torch.sigmoid(1.702 * x)


@pytest.mark.parametrize("module", [*MODULES, QuickGELU()], ids=str)
def test_a_module_is_its_formula(module):
    """Values, the bottom and the steepest slope; the code is apart from the formula by the gap at most."""
    found = activation(of_module(module))
    with torch.no_grad():
        code = module(torch.from_numpy(Z)).numpy()
    assert np.abs(code - found.expression(Z)).max() <= found.gap + 1e-15 * 40
    fall, rise = code.min(), np.abs(np.diff(code[:20001]) / np.diff(Z[:20001])).max()
    assert rise <= found.steep * (1 + 1e-9)
    monotone = (np.diff(code[:20001]) >= -1e-15).all()
    assert monotone if found.bottom is None else fall - 2e-6 <= found.bottom <= fall


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_names_and_formulas_are_one_another(module):
    formula = of_module(module)
    assert named(spelled(formula)) is formula


@pytest.mark.parametrize("formula", ["sin(x)", "x + 1", "clip(x, 1, 0)", "relu(x) - 0.5*relu(x)", "clip(x, 0, x)"])
def test_other_formulas_are_no_activations(formula):
    """A file may name any formula; one that falls and rises again would break the enclosures."""
    with pytest.raises(Refusal, match="not an activation"):
        activation(parse(formula))


def test_options_without_a_meaning_are_refused():
    for module in (nn.Softplus(beta=2.0), nn.Softplus(threshold=3.0), nn.LeakyReLU(float("inf")), nn.GELU("fast")):
        with pytest.raises(Refusal):
            of_module(module)


metaclass = type("metaclass", (type,), {})


class Impostor:
    """A callable that shows the code of another."""

    __code__, __globals__ = QuickGELU.forward.__code__, QuickGELU.forward.__globals__

    def __call__(self, x):
        return torch.sin(x)


def quick(forward, bases=(nn.Module,), **others):
    return type("QuickGELU", bases, {"forward": forward, **others})()


def test_a_quick_gelu_is_known_by_its_code_and_not_by_its_name():
    good = QuickGELU.forward
    assert of_module(quick(good)) is named("QuickGELU")
    for impostor in (
        quick(lambda self, x: x),
        quick(lambda self, x: x * torch.sigmoid(1.703 * x)),
        quick(lambda self, x: x * torch.tanh(1.702 * x)),
        quick(torch.nn.functional.gelu),
        quick(good, bases=(nn.Tanh,)),
        quick(good, __call__=lambda self, x: x),
        quick(good, __getattr__=lambda self, name: None),
        quick(good, __call__=property(lambda self: torch.sin)),
        quick(good, _call_impl=property(lambda self: torch.sin)),
        quick(Impostor()),
        metaclass("QuickGELU", (nn.Module,), {"forward": good})(),
    ):
        with pytest.raises(Refusal, match="its forward is not"):
            of_module(impostor)
    fake = {"torch": np}
    exec("def forward(self, x):\n    return x * torch.sigmoid(1.702 * x)", fake)
    with pytest.raises(Refusal, match="its forward is not"):
        of_module(quick(fake["forward"]))


def test_the_ball_of_softplus_holds_torch_beyond_its_threshold():
    sigma = activation(named("Softplus"))
    z = 20.0 + 2.0**-40
    code = float(nn.Softplus()(torch.tensor(z, dtype=torch.float64)))
    assert code == z and sigma.at(arb(z)).contains(arb(code)) and not sigma.expression.at(z).contains(arb(code))
    assert sigma.at(arb(19.0)).rad() < 1e-12


def test_every_name_is_known():
    for name in NAMES:
        assert spelled(named(name)) and named(name.lower()) is named(name.upper())
    assert named("leaky_relu") is leaky(0.01) and named("hardtanh(-2, 3)") is clipped(-2.0, 3.0)


@pytest.mark.parametrize("name", ["", "swish", "ReLU(1)", "LeakyReLU(1, 2)", "Hardtanh(1)", "LeakyReLU(x)", "ReLU6(1"])
def test_other_names_are_refused(name):
    with pytest.raises(Refusal, match="no activation is called"):
        named(name)


@pytest.mark.parametrize("slope", [0.01, -0.5, 0.0, 1e-300, 1e30, 1 / 3])
def test_options_are_exact(slope):
    assert named(spelled(leaky(slope))) is leaky(slope)
    [found] = [float(node.exact) for node in leaky(slope).order if node.op == "num"]
    assert found == slope
