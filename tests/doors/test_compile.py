"""One door: formulas, lists, code, modules and targets are told apart; a word that means nothing is named."""

import pytest
import torch
from torch import nn

import headsmith as hs
from headsmith.doors.compile import read_target

ASKED = {"eps": 1e-2, "domain": (-1, 1)}


@pytest.mark.parametrize(
    ("given", "options", "kind"),
    [
        ("sin(x)", {}, "formula"),
        (hs.parse("x^2"), {}, "formula"),
        (["sin(x)", "x^2"], {}, "formula"),
        (torch.sin, {"lipschitz": 1.0}, "callable"),
        (nn.Tanh(), {"lipschitz": 1.0}, "callable"),
        (nn.Sequential(nn.Linear(1, 2), nn.ReLU()), {}, "mlp"),
        (hs.target.Clip([[1.0]], [0.0]), {"heads": 2}, "clip"),
    ],
)
def test_each_kind_of_target_is_read(given, options, kind):
    target = read_target(given, (-1, 1), options)
    assert target.kind == kind
    assert all(getattr(target, name) == value for name, value in options.items())


@pytest.mark.parametrize("given", [3.0, None, hs.target.Clip, torch.nn.Linear])
def test_what_is_no_target_is_refused(given):
    with pytest.raises(hs.Refusal, match="a target is a formula"):
        hs.plan(given, **ASKED)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"epz": 1}, "did you mean eps"), ({"lipschitz": 1}, "it takes none"), ({"heads": 2}, "none")],
)
def test_options_that_the_target_does_not_have_are_named(options, words):
    with pytest.raises(hs.Refusal, match=words):
        hs.plan("sin(x)", **ASKED, **options)


def test_compile_builds_the_plan():
    plan, net = hs.plan("sin(x)", **ASKED), hs.compile("sin(x)", **ASKED)
    assert str(net.plan) == str(plan) and net.certificate.statement == plan.build().certificate.statement
