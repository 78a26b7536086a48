"""Modules are read by their exact types, and refused where anything could make them compute something else."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from headsmith.functions.modules import steps
from headsmith.refusal import Refusal


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).double()


def refuses(model, match):
    with pytest.raises(Refusal, match=match) as refusal:
        steps(model)
    assert "\n" not in str(refusal.value)


def test_steps_are_matrices_and_formulas():
    model = small()
    (weight, bias), relu, (_, last) = steps(nn.Sequential(nn.Sequential(*model[:2]), model[2]))
    assert np.array_equal(weight, model[0].weight.detach()) and np.array_equal(bias, model[0].bias.detach())
    assert str(relu) == "relu(x)" and np.array_equal(last, model[2].bias.detach())
    assert not steps(nn.Linear(2, 2, bias=False))[0][1].any()


class Res(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Swapped(nn.Linear):
    def forward(self, x):
        return -super().forward(x)


class Leak(nn.ReLU):
    pass


def test_subclasses_are_refused_by_name():
    refuses(Res(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)), "Res is a subclass of Sequential")
    refuses(nn.Sequential(Swapped(2, 2)), "Swapped is a subclass of Linear")
    refuses(nn.Sequential(nn.Linear(2, 2), Leak()), "Leak is a subclass of ReLU")
    refuses(nn.Sequential(nn.Linear(2, 2), Res(nn.ReLU())), "Res is a subclass")
    refuses(nn.Bilinear(2, 2, 1), "Bilinear is neither")


@pytest.mark.parametrize("place", ["whole", "part"])
@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
def test_forward_hooks_are_refused(register, place):
    model = small()
    handle = getattr(model if place == "whole" else model[1], register)(lambda *_: None)
    refuses(model, "(Sequential|ReLU) has forward hooks")
    handle.remove()
    assert len(steps(model)) == 3
    model.register_full_backward_hook(lambda *_: None)
    assert len(steps(model)) == 3


@pytest.mark.parametrize("register", ["register_module_forward_hook", "register_module_forward_pre_hook"])
def test_global_hooks_are_refused(register):
    handle = getattr(nn.modules.module, register)(lambda *_: None)
    try:
        refuses(small(), "global forward hooks")
    finally:
        handle.remove()


@pytest.mark.filterwarnings("ignore")
def test_parametrised_weights_are_refused():
    for wrap, words in (
        (nn.utils.parametrizations.weight_norm, "parametrised"),
        (nn.utils.parametrizations.spectral_norm, "parametrised"),
        (nn.utils.weight_norm, "hooks"),
        (nn.utils.spectral_norm, "hooks"),
        (lambda m: prune.l1_unstructured(m, "weight", 1), "hooks"),
    ):
        refuses(nn.Sequential(wrap(nn.Linear(3, 2)), nn.ReLU()), words)


def test_methods_of_an_instance_are_refused():
    for name in ("forward", "_call_impl", "__call__"):
        model = small()
        setattr(model[1], name, lambda x: x)
        refuses(model, f"this ReLU has a {name} of its own")
    model = small()
    model.forward = lambda x: x
    refuses(model, "this Sequential has a forward of its own")
    model = small()
    model._compiled_call_impl = lambda x: x
    refuses(model, "compiled call of its own")


def test_dropout_is_refused_where_it_is_at_work():
    refuses(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)), "training mode")
    assert len(steps(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0), nn.Identity()))) == 1
    assert len(steps(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)).eval())) == 1


def test_weights_that_are_no_real_numbers_are_refused():
    refuses(nn.Linear(2, 2, dtype=torch.complex64), "real numbers")
    refuses(nn.Linear(2, 2, device="meta"), "not real numbers")


def test_weights_that_are_no_parameters_are_refused():
    model = small()
    weight = model[0].weight.detach().clone()
    del model[0].weight
    model[0].weight = weight
    refuses(model, "no plain parameters")


class Scaled(torch.Tensor):
    """A tensor with arithmetic of its own, which may be other than at the points where a module is run."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_parameters_of_another_class_are_refused(name):
    model = small()
    setattr(model[0], name, nn.Parameter(getattr(model[0], name).detach().as_subclass(Scaled)))
    refuses(model, "no plain parameters")


def test_sparse_and_negated_weights():
    model = small()
    model[0].weight = nn.Parameter(model[0].weight.detach().to_sparse())
    refuses(model, "not real numbers in rows")
    model = small()
    model[0].weight.data = torch._neg_view(model[0].weight.data)
    assert np.array_equal(steps(model)[0][0], -small()[0].weight.detach().numpy())
