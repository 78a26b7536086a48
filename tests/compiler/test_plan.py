"""The search: the first design that meets eps, or a refusal with an eps that can be had; and what a plan says."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

import headsmith as hs
from headsmith.compiler.plan import bound_text, first_design, make_plan
from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target
from headsmith.constructions.design import Design, Short, Tally
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import SLACK, Bound
from headsmith.proof.domain import Domain
from headsmith.refusal import Refusal

DOMAIN = Domain({"x": (-1.0, 1.0)})


@dataclass(frozen=True)
class Claim(Design):
    """A design with nothing behind it: `prove` returns what it is told."""

    total: Any
    promises: bool = True
    tally = Tally(1, 1, 1)

    def method(self, target):
        return "claimed"

    def network(self, target, dtype):
        raise AssertionError("a plan builds nothing")

    def prove(self, target, request):
        if isinstance(self.total, Exception):
            raise self.total
        return Bound(self.total, 0.0)

    @classmethod
    def stored(cls, target, network, request, record):
        raise AssertionError("a plan loads nothing")


@dataclass(frozen=True, eq=False)
class Toy(Target):
    """f, with designs that are functions of eps."""

    offers: Any

    def __str__(self):
        return "f"

    @property
    def inputs(self):
        return {"x": Input()}

    def claim(self):
        return "f"

    def exact(self, *inputs):
        return [0]

    def designs(self, request):
        for offer in self.offers:
            yield Claim(offer(request.eps) if callable(offer) else offer)

    def encode(self, *inputs):
        return inputs[0]

    def decode(self, tokens):
        return tokens


def planned(eps, *offers, dtype="float64"):
    return make_plan(Toy(offers), Request(eps, DOMAIN, dtype))


def refused(eps, *offers, dtype="float64"):
    with pytest.raises(Refusal) as found:
        planned(eps, *offers, dtype=dtype)
    text = str(found.value)
    assert "\n" not in text and text.startswith("f within ") and "nan" not in text and "inf " not in text
    return text


def test_the_first_design_that_meets_eps_is_taken_and_no_other_is_asked_for():
    def never(eps):
        raise AssertionError("it was found before")

    plan = planned(1e-3, 1e-2, Unprovable("no"), 9e-4, never)
    assert plan.design.total == 9e-4 and plan.bound == pytest.approx(9e-4 * SLACK)


def test_the_slack_of_the_certificate_is_part_of_the_promise():
    eps = 1e-3
    assert planned(eps, eps / SLACK * (1 - 1e-12), 1e-9).design.total > 9e-4
    assert planned(eps, eps / SLACK * (1 + 1e-12), 1e-9).design.total == 1e-9


def test_a_printed_version_may_miss_eps_and_says_so():
    class Printed(Toy):
        def designs(self, request):
            yield Claim(0.5, promises=False)

    plan = make_plan(Printed(()), Request(1e-3, DOMAIN))
    assert plan.bound > 0.5 and "misses" in dict(plan.rows())["asked"]
    assert "misses" not in dict(planned(1e-3, 1e-4).rows())["asked"]


def test_a_refusal_names_an_eps_near_the_best_that_can_be_had():
    text = refused(1e-6, 1e-3, 1e-4, dtype="float32")
    named = float(re.search(r"eps = (\S+) can be had, and less with dtype='float64'", text).group(1))
    assert 1e-4 < named < 1.3e-4 and planned(named, 1e-3, 1e-4).design.total == 1e-4
    assert "the proof gives 0.00011 in float32, most of it approximation" in text


def test_where_nothing_can_be_had_none_is_named():
    text = refused(1e-6, Unprovable("its slope has no bound"))
    assert "its slope has no bound; nor can any larger eps that was tried" in text


@pytest.mark.parametrize("eps", [1e300, 8.95e307])
@pytest.mark.parametrize("total", [1e308, lambda eps: 1.1 * eps, Short("no keys"), float("inf")])
def test_an_eps_near_the_largest_number_is_refused_like_any_other(eps, total):
    named = re.search(r"eps = (\S+) can be had", refused(eps, total))
    assert named is None or planned(float(named.group(1)), total).bound < float("inf")


def test_the_best_of_all_designs_goes_with_the_reason():
    with pytest.raises(Short) as short:
        first_design(Toy((1e-2, 1e-3, Unprovable("no"))), Request(1e-6, DOMAIN))
    assert short.value.best == pytest.approx(1e-3 * SLACK)


def test_shown_bounds_are_rounded_up():
    text = bound_text(1.0001e-3, 2.00001e-6, "conditional")
    assert text == "0.00101 = 0.00101 approximation + 2.01e-6 rounding (conditional)"


@pytest.mark.parametrize(
    ("formula", "domain", "dtype", "eps"),
    [
        ("tanh(x)", (-3, 3), "float32", 1e-12),
        ("relu(x)", (-1, 1), "float32", 1e-12),
        ("x", (-1, 1), "float32", 1e-12),
        pytest.param("clip(x, -1, 1)", (-2, 2), "float64", 1e-18, marks=pytest.mark.slow),
        pytest.param("sin(3*x)", (-2, 2), "float32", 1e-12, marks=pytest.mark.slow),
        pytest.param("gelu(x)", (-5, 5), "float32", 1e-6, marks=pytest.mark.slow),
        pytest.param("x^2", (1e6, 1e6 + 1), "float64", 1e-6, marks=pytest.mark.slow),
        pytest.param("sqrt(x)", (0, 1), "float32", 1e-6, marks=pytest.mark.slow),
    ],
)
def test_what_a_refusal_names_can_be_had(formula, domain, dtype, eps):
    with pytest.raises(Refusal) as found:
        hs.plan(formula, domain=domain, dtype=dtype, eps=eps)
    named = float(re.search(r"eps = ([0-9.e+-]+) can be had", str(found.value)).group(1))
    assert eps < named < 1
    assert hs.compile(formula, domain=domain, dtype=dtype, eps=named).certificate.bound <= named


def test_plan_promises_what_is_built(forged):
    net = forged("sin(3*x)", -2, 2, 1e-6)
    assert net.plan.bound == net.certificate.bound
    assert net.plan.printed_anchors > 1e7 and "printed rule" in str(net.plan)
