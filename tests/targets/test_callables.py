"""Functions given as code: conditional on the constants, asked twice, not stored."""

import math

import pytest
import torch
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import headsmith as hs
from headsmith.proof import conditional
from headsmith.refusal import Refusal
from headsmith.targets.callables import Code


@pytest.fixture(scope="module")
def erf():
    return hs.compile(torch.erf, domain=(-3, 3), eps=1e-3, derivative_bounds=(1.13, 0.97))


def test_conditional_on_the_constants(erf):
    certificate = erf.certificate
    assert certificate.kind == "conditional" and "certified" not in certificate.title()
    assert certificate.statement == (
        "|network(x) - erf(x)| <= bound for every float64 x in [-3, 3], if |f'| <= 1.13 and |f''| <= 0.97 there"
    )
    assert certificate.assumptions[0] == "|f'| <= 1.13 and |f''| <= 0.97"
    x = torch.linspace(-3, 3, 20001, dtype=torch.float64)
    assert float((erf(x) - torch.erf(x)).abs().max()) <= certificate.bound <= 1e-3
    assert float(erf.certify(x[::4000]).max()) <= certificate.bound


def test_constants_are_printed_exactly():
    assert Code("f", lipschitz=1.0000004).condition == "|f'| <= 1.0000004"


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


@settings(max_examples=5)
@given(rate=st.floats(0.2, 2), digits=st.integers(1, 2), dtype=st.sampled_from(["float64", "float32"]))
def test_any_exponential(rate, digits, dtype):
    net = hs.compile(
        lambda x: torch.exp(-rate * x), domain=(0, 1), eps=10.0**-digits, derivative_bounds=(rate, rate**2), dtype=dtype
    )
    x = torch.linspace(0, 1, 501).to(net.dtype)
    assert float((net(x).double() - torch.exp(-rate * x.double())).abs().max()) <= net.certificate.bound


def test_a_constant_function_with_constant_zero():
    net = hs.compile(lambda x: 0 * x + 0.25, domain=(-1, 1), eps=1e-6, lipschitz=0)
    assert abs(float(net(0.3)) - 0.25) <= net.certificate.bound < 1e-14


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({}, "give lipschitz=L"),
        ({"lipschitz": 0.5}, "no Lipschitz constant"),
        ({"derivative_bounds": (1.13, 0.1)}, "bends with"),
        ({"lipschitz": -1}, "finite and not negative"),
        ({"lipschitz": math.nan}, "finite and not negative"),
        ({"derivative_bounds": (1, 2, 3)}, "finite and not negative"),
        ({"derivative_bounds": ()}, "finite and not negative"),
        ({"lipschitz": "1"}, "finite and not negative"),
        ({"lipshitz": 1}, "no option 'lipshitz' for erf: did you mean lipschitz"),
        ({"lipschitz": 1.13, "domain": None}, "erf needs a domain"),
    ],
)
def test_constants_that_will_not_do(constants, words):
    with pytest.raises(Refusal, match=words):
        hs.compile(torch.erf, **({"domain": (-3, 3), "eps": 0.1} | constants))


def test_the_slope_that_a_refusal_names_is_accepted():
    with pytest.raises(Refusal, match="give at least") as found:
        hs.compile(torch.erf, domain=(-1, 1), eps=0.05, lipschitz=0.5)
    named = float(str(found.value).rsplit(" ", 1)[1])
    assert hs.compile(torch.erf, domain=(-1, 1), eps=0.05, lipschitz=named).certificate.bound <= 0.05


def test_too_many_samples_are_refused_with_an_eps_that_can_be_had(monkeypatch):
    monkeypatch.setattr(conditional, "SAMPLES", 1000)
    with pytest.raises(Refusal, match="samples, more than") as found:
        hs.plan(torch.tanh, domain=(-1, 1), eps=1e-3, lipschitz=1)
    eps = float(str(found.value).split("eps = ")[1].split()[0])
    assert hs.plan(torch.tanh, domain=(-1, 1), eps=eps, lipschitz=1).bound <= eps <= 0.5


# functions that are none


class Counter:
    """Adds a little more each time it is asked."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return torch.sin(x) + 1e-9 * self.calls


def drifting(x):
    return torch.sin(x) + 1e-12 * torch.rand_like(x)


def mutating(x):
    return x.mul_(0.5)


def broken(x):
    raise ZeroDivisionError("no\nluck")


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (torch.log, "not finite at -1"),
        (lambda x: x.sum(), "same shape"),
        (lambda x: 3.0, "same shape"),
        (lambda x: x[:, None], "same shape"),
        (lambda x: x.float(), "in float64"),
        (lambda x: x.cfloat(), "in float64"),
        (lambda x: x.tolist(), "same shape"),
        (lambda x: x / 0, "not finite"),
        (drifting, "drifting answers differently"),
        (Counter(), "Counter answers differently"),
        (lambda x: x - x.mean(), "mixes the numbers"),
        (lambda x: x.cumsum(0) / len(x), "mixes the numbers"),
        (lambda x: x.sort().values, "mixes the numbers"),
        (mutating, "mutating changes the tensor"),
        (broken, "broken fails on a tensor of float64 .ZeroDivisionError: no luck"),
        (int, "not the class int"),
        (hs.target.Product, "not"),
    ],
)
def test_functions_that_will_not_do(f, words):
    with pytest.raises(Refusal, match=words) as refusal:
        hs.compile(f, domain=(-1, 1), eps=1e-2, lipschitz=1)
    assert "\n" not in str(refusal.value)


def test_a_function_that_is_random_now_and_then():
    """What the search sees is honest; the proof asks again."""

    class Sometimes:
        seen = 0

        def __call__(self, x):
            self.seen += 1
            return torch.sin(x) + (1e-3 * torch.rand_like(x) if self.seen > 6 else 0)

    with pytest.raises(Refusal, match="answers differently"):
        hs.compile(Sometimes(), domain=(-1, 1), eps=1e-2, lipschitz=2)


def test_a_function_may_return_its_input_or_keep_a_buffer():
    buffer = torch.empty(10_000_000, dtype=torch.float64)

    def lazy(x):
        return torch.mul(x, 0.5, out=buffer[: len(x)])

    for f in (lambda x: x, lazy):
        assert hs.plan(f, domain=(-1, 1), eps=1e-2, lipschitz=1).bound <= 1e-2


def test_a_value_is_a_ball_of_eight_ulps():
    ball = Code("f", lipschitz=1.0, function=lambda x: x + 1).exact(1.0)
    for ulps in (-8, 0, 8):
        assert ball.contains(arb(2.0 + ulps * 2.0**-51))
    assert not ball.contains(arb(2.0 + 9 * 2.0**-51))


def test_formulas_take_no_constants_and_other_things_are_no_targets():
    with pytest.raises(Refusal, match="no option 'lipschitz'"):
        hs.compile("sin(x)", domain=(-1, 1), eps=1e-2, lipschitz=1)
    with pytest.raises(Refusal, match="not int"):
        hs.compile(3, domain=(-1, 1), eps=1e-2)
    with pytest.raises(Refusal, match=r"one that hs\.target makes, Clip, Descent, .*, Training; not the class Clip"):
        hs.compile(hs.target.Clip, domain=(-1, 1), eps=1e-2)


def test_saved_without_the_function(erf, tmp_path):
    path = erf.save(tmp_path / "erf.safetensors")
    again = hs.load(path)
    x = torch.linspace(-3, 3, 101, dtype=torch.float64)
    assert torch.equal(again(x), erf(x)) and again.certificate == erf.certificate
    assert again.plan.anchors == erf.plan.anchors
    with pytest.raises(Refusal, match="the file does not hold the function erf"):
        again.certify(x)
    verdict = hs.certify(path)
    assert verdict.status == 2 and "does not hold" in verdict.reason and not verdict.statement
    assert again.explain(0.5).error is None and erf.explain(0.5).error <= erf.certificate.bound
