import math

import pytest
import torch

import headsmith as hs
from headsmith.refusal import Refusal


@pytest.fixture(scope="module")
def erf():
    return hs.compile(torch.erf, domain=(-3, 3), eps=1e-3, derivative_bounds=(1.13, 0.97))


def test_conditional_on_the_constants(erf):
    certificate = erf.certificate
    assert certificate.kind == "conditional" and "|f'| <= 1.13" in certificate.statement
    assert "certified" not in certificate.title()
    x = torch.linspace(-3, 3, 20001, dtype=torch.float64)
    assert float((erf(x) - torch.erf(x)).abs().max()) <= certificate.bound <= 1e-3


@pytest.mark.slow
def test_a_lipschitz_constant_alone():
    net = hs.compile(torch.erf, domain=(-3, 3), eps=1e-3, lipschitz=1.13)
    x = torch.linspace(-3, 3, 20001, dtype=torch.float64)
    assert float((net(x) - torch.erf(x)).abs().max()) <= net.certificate.bound <= 1e-3


def test_float32():
    net = hs.compile(torch.sin, domain=(-1, 1), eps=1e-2, derivative_bounds=(1, 1), dtype="float32")
    x = torch.linspace(-1, 1, 5001)
    assert net(x).dtype == torch.float32
    assert float((net(x).double() - torch.sin(x.double())).abs().max()) <= net.certificate.bound <= 1e-2


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({}, "give lipschitz=L"),
        ({"lipschitz": 0.5}, "no Lipschitz constant"),
        ({"derivative_bounds": (1.13, 0.1)}, "bends with"),
        ({"lipschitz": -1}, "finite and not negative"),
        ({"lipschitz": math.nan}, "finite and not negative"),
        ({"derivative_bounds": (1, 2, 3)}, "finite and not negative"),
    ],
)
def test_constants_that_will_not_do(constants, words):
    with pytest.raises(Refusal, match=words):
        hs.compile(torch.erf, domain=(-3, 3), eps=0.1, **constants)


def test_the_slope_that_a_refusal_names_is_accepted():
    with pytest.raises(Refusal, match="give at least") as found:
        hs.compile(torch.erf, domain=(-1, 1), eps=0.05, lipschitz=0.5)
    named = float(str(found.value).rsplit(" ", 1)[1])
    assert hs.compile(torch.erf, domain=(-1, 1), eps=0.05, lipschitz=named).certificate.bound <= 0.05


@pytest.mark.parametrize(
    ("f", "words"), [(torch.log, "not finite"), (lambda x: x.sum(), "same shape"), (lambda x: 3.0, "same shape")]
)
def test_functions_that_will_not_do(f, words):
    with pytest.raises(Refusal, match=words):
        hs.compile(f, domain=(-1, 1), eps=1e-2, lipschitz=1)


def test_formulas_take_no_constants_and_other_things_are_no_targets():
    with pytest.raises(Refusal, match="takes no lipschitz"):
        hs.compile("sin(x)", domain=(-1, 1), eps=1e-2, lipschitz=1)
    with pytest.raises(Refusal, match="not int"):
        hs.compile(3, domain=(-1, 1), eps=1e-2)


def test_saved_without_the_function(erf, tmp_path):
    again = hs.load(erf.save(tmp_path / "erf.safetensors"))
    x = torch.linspace(-3, 3, 101, dtype=torch.float64)
    assert torch.equal(again(x), erf(x)) and again.certificate.kind == "conditional"
    assert again.plan.anchors == erf.plan.anchors
