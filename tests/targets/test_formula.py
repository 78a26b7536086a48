"""From a formula to a certified network: the promise, the floors, and what is refused."""

import math
import re

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.functions import precision
from headsmith.proof.approximation import value
from headsmith.refusal import Refusal

SMOOTH = [
    ("sin(3*x)", -2, 2, 11),
    ("1/(1+25*x^2)", -1, 1, 13),
    ("exp(-x^2)*cos(4*x)", -3, 3, 18),
    ("x^2", -2, 2, 5),
    ("softplus(x)", -6, 6, 9),
    ("gelu(x)", -5, 5, 11),
    ("1/(1+1000*x^2)", -1, 1, 18),
]
SQRT = ("sqrt(x)", 0, 1, 28)
GATES = [("relu(x)", -1, 1, 2), ("abs(x)", -1, 1, 4), ("clip(x, -1, 1)", -2, 2, 4), ("max(x, 0.1*x)", -3, 3, 4)]


def points(net, random: int, seed: int = 0) -> np.ndarray:
    """Random inputs, ends, kinks, ties of neighbouring keys and their midpoints, each with its two neighbours."""
    rng, (lo, hi) = np.random.default_rng(seed), net.certificate.domain
    kind = np.dtype(net.plan.dtype).type
    special = [lo, hi, *net.target.formulas[0].places(lo, hi).kinks]
    for part in net.plan.design.parts:
        for head in part.heads if part.input == net.plan.design.parts[0].input else ():
            gap = np.diff(head.slopes)
            ties = -np.diff(head.offsets)[gap != 0] / gap[gap != 0]
            special += [*ties, *((ties[1:] + ties[:-1]) / 2)]
    x = np.concatenate([rng.uniform(lo, hi, random), special]).astype(kind)
    x = np.concatenate([x, np.nextafter(x, kind(np.inf)), np.nextafter(x, kind(-np.inf))])
    return np.clip(x, kind(lo), kind(hi))


def true_error(net, x: np.ndarray, keep: int) -> tuple[float, float]:
    """(largest |net - f| at 200 bits among the `keep` suspects that float64 finds, where)."""
    y = net(torch.from_numpy(x)).double().numpy()
    rough = np.abs(y - net.target.formulas[0](x.astype(np.float64)))
    best, place = 0.0, float(x[0])
    for i in np.argsort(-rough)[:keep].tolist():
        error = float(abs(net.target.formulas[0].at(float(x[i]), prec=200) - float(y[i])))
        if error > best:
            best, place = error, float(x[i])
    return best, place


def worst(net, random: int = 1500, rounds: int = 3, keep: int = 12) -> float:
    """Then a local search from the worst input."""
    rng, (lo, hi) = np.random.default_rng(1), net.certificate.domain
    best, place = true_error(net, points(net, random), keep)
    for _ in range(rounds):
        near = place + rng.normal(size=200) * 10 ** rng.uniform(-9, -2, 200) * (hi - lo)
        error, at = true_error(net, np.clip(near.astype(net.plan.dtype), *np.array([lo, hi], net.plan.dtype)), keep)
        if error > best:
            best, place = error, at
    return best


PROMISES = [
    ("sin(3*x)", -2, 2, 1e-6, "float64"),
    ("relu(x)", -1, 1, 1e-10, "float64"),
    ("clip(x, -1, 1)", -2, 2, 1e-10, "float64"),
    ("tanh(x)", -3, 3, 1e-10, "float64"),
    ("x*sigmoid(1.702*x)", -4, 4, 1e-10, "float64"),
    ("x^2", -2, 2, 1e-6, "float64"),
    ("exp(x)", 0, 1e-6, 1e-8, "float64"),
    ("sin(x)", 1e6, 1e6 + 1, 1e-5, "float64"),
    ("abs(sin(3*x)) + x^2", -1, 1, 1e-6, "float64"),
    ("abs(sin(3*x)) + x^2", -1, 1, 1e-3, "float32"),
    ("relu(x)", -1, 1, 1e-5, "float32"),
    ("max(x, 0.1*x)", -3, 3, 1e-5, "float32"),
    ("clip(x, -1, 1)", -2, 2, 1e-5, "float32"),
    ("sin(x)/x", -3, 3, 1e-3, "float32"),
    ("1000*x + 5", -1, 1, 1e-2, "float32"),
    ("5", -1, 1, 1e-10, "float64"),
    ("x - x", -1, 1, 1e-10, "float64"),
]
LONGER = [
    ("sqrt(x)", 0, 1, 1e-6, "float64"),
    ("x*log(x)", 0, 1, 1e-6, "float64"),
    ("gelu(x)", -5, 5, 1e-8, "float64"),
    ("1/(1+25*x^2)", -1, 1, 1e-8, "float64"),
    ("abs(x - pi/4)*x", -1, 1, 1e-6, "float64"),
    ("exp(-1000*x^2)", -1, 1, 1e-6, "float64"),
    ("exp(sin(2*x))", -2, 2, 1e-8, "float64"),
    ("sin(3*x)", -2, 2, 1e-10, "float64"),
    *((f, lo, hi, 1e-4, "float32") for f, lo, hi, _ in SMOOTH[:1] + SMOOTH[2:6]),
    ("1e6*sin(x)", -1, 1, 1.0, "float64"),
    ("1e-6*sin(x)", -1, 1, 1e-12, "float64"),
]


@pytest.mark.parametrize("request_", PROMISES, ids=str)
def test_executed_error_stays_within_the_bound(forged, request_):
    net = forged(*request_)
    assert worst(net) <= net.certificate.bound <= request_[3]


@pytest.mark.slow
@pytest.mark.parametrize("request_", LONGER, ids=str)
def test_executed_error_stays_within_the_bound_at_length(forged, request_):
    net = forged(*request_)
    assert worst(net, 20000, 8, 40) <= net.certificate.bound <= request_[3]


@pytest.mark.slow
@pytest.mark.parametrize(
    "request_",
    [
        ("sin(3*x)", -2, 2, 1e-6, "float64"),
        ("sin(3*x)", -2, 2, 1e-4, "float32"),
        ("abs(sin(3*x)) + x^2", -1, 1, 1e-6, "float64"),
        ("relu(x)", -1, 1, 1e-5, "float32"),
    ],
    ids=str,
)
def test_a_million_points(forged, request_):
    net = forged(*request_)
    assert worst(net, 340_000, 5, 60) <= net.certificate.bound


def approximation_ratio(net) -> float:
    """approximation bound / largest error of the exact heads found at 200 bits."""
    (part,) = net.plan.design.parts
    lo, hi = part.domain
    rough = np.linspace(lo, hi, 4001)
    place = float(rough[np.abs(part(rough) - part.target(rough)).argmax()])
    best, rng = net.certificate.least, np.random.default_rng(0)
    with precision(200):
        for width in (0.0, 1e-3, 1e-4, 1e-5):
            for z in np.clip(place + width * (hi - lo) * rng.normal(size=8), lo, hi).tolist():
                best = max(best, float(abs(value(part, z) - part.target.at(z, prec=200)).lower()))
    return net.certificate.approximation / best


@pytest.mark.parametrize(
    "request_",
    [("sin(3*x)", -2, 2, 1e-6), ("x^2", -2, 2, 1e-6), ("relu(x)", -1, 1, 1e-10), ("clip(x, -1, 1)", -2, 2, 1e-10)],
    ids=str,
)
def test_bound_is_between_1_and_105_per_cent_of_the_error(forged, request_):
    assert 1.0 <= approximation_ratio(forged(*request_)) <= 1.05


@pytest.mark.slow
@pytest.mark.parametrize("eps", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize(
    "f", [*SMOOTH[:6], ("abs(x - pi/4)*x", -1, 1, 0), ("abs(x)", -1, 1, 0), ("sqrt(x)", 0, 1, 0)], ids=lambda f: f[0]
)
def test_bound_is_between_1_and_105_per_cent_everywhere(forged, f, eps):
    assert 1.0 <= approximation_ratio(forged(*f[:3], eps)) <= 1.05


# Floors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [SMOOTH[0], SMOOTH[3]], ids=lambda f: f[0])
def test_keys_at_a_millionth(forged, f):
    net = forged(*f[:3], 1e-6)
    assert net.plan.anchors <= f[3] and net.plan.heads == 1 and net.certificate.bound <= 1e-6


def test_other_variables_and_signs(forged):
    assert float(forged("-t^2", -1, 1, 1e-3)(0.5)) == pytest.approx(-0.25, abs=1e-3)


# A posteriori -----------------------------------------------------------------------------------------------------


def test_certify_these_inputs(forged):
    net = forged("sin(3*x)", -2, 2, 1e-6)
    x = torch.linspace(-2, 2, 7, dtype=torch.float64).reshape(1, 7)
    error = net.certify(x)
    assert error.shape == x.shape and float(error.max()) <= net.certificate.bound
    assert torch.all(error + 1e-15 >= (net(x) - torch.sin(3 * x)).abs())


# Refusals ---------------------------------------------------------------------------------------------------------


def refused(formula: str, **request) -> str:
    with pytest.raises(Refusal) as found:
        hs.plan(formula, **{"domain": (-1, 1), "eps": 1e-3, **request})
    text = str(found.value)
    assert "\n" not in text and not re.search("None|Traceback", text)
    return text


@pytest.mark.parametrize(("formula", "words"), [("1/x", "pole at 0"), ("exp(1000*x)", "beyond the range of float64")])
def test_misbehaviour_is_refused(formula, words):
    assert words in refused(formula)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"eps": 0}, "positive"),
        ({"eps": -1}, "positive"),
        ({"eps": math.nan}, "positive"),
        ({"domain": (1, 1)}, "empty"),
        ({"domain": (0, math.inf)}, "finite"),
        ({"domain": None}, "needs a domain"),
        ({"dtype": "float16"}, "float64 or float32"),
        ({"method": "magic"}, "there are auto"),
    ],
)
def test_bad_requests(request_, words):
    assert words in refused("sin(x)", **request_)


def test_high_powers_are_not_lines():
    assert hs.plan("x^8", domain=(-1, 1), eps=0.3).method == "analytic"


# The papers' rule ---------------------------------------------------------------------------------------------------


def test_printed_plan_knows_its_size_without_building():
    plan = hs.plan("sin(3*x)", domain=(-2, 2), eps=1e-6, method="printed")
    assert plan.anchors == pytest.approx(2.4e7, rel=0.02)
    with pytest.raises(Refusal, match="printed rule asks for"):
        plan.build()


def test_printed_is_certified_where_it_is_built():
    net = hs.compile("sin(x)", domain=(-1, 1), eps=0.1, method="printed")
    assert net.plan.method == "printed" and worst(net, 300, 1) <= net.certificate.bound <= 0.1
