from dataclasses import replace

import pytest

from headsmith.proof.certificate import SLACK, Bound, Certificate, StaleCertificate
from headsmith.proof.domain import Domain
from headsmith.refusal import Refusal


@pytest.fixture(scope="module")
def certificate(forged) -> Certificate:
    return forged("sin(3*x)", -2, 2, 1e-6).certificate


def test_bound_is_the_sum_rounded_up(certificate):
    assert certificate.bound >= certificate.approximation + certificate.rounding
    assert certificate.least <= certificate.approximation / SLACK * (1 + 1e-12)
    assert certificate.approximation <= 1.05 * certificate.least


@pytest.mark.parametrize(("kind", "word"), [("proved", True), ("conditional", False), ("measured", False)])
def test_only_proofs_are_called_certified(certificate, kind, word):
    assert ("certified" in str(replace(certificate, kind=kind))) is word


def test_shown_bound_is_never_below_the_bound(certificate):
    shown = float(str(certificate).split("at most ")[1].split(" ")[0])
    assert shown >= certificate.bound


def test_stale_is_a_refusal():
    assert issubclass(StaleCertificate, Refusal) and issubclass(Refusal, ValueError)


def test_exact_heads_leave_only_rounding(forged):
    certificate = forged("tanh(x)", -3, 3, 1e-10).certificate
    assert certificate.approximation <= 1e-4 * certificate.rounding and certificate.bound <= 1e-14


def test_slack_is_added_to_both_parts():
    bound = Bound(1e-3, 1e-6).with_slack()
    assert bound.approximation == SLACK * 1e-3 and bound.rounding == SLACK * 1e-6
    assert bound.total > SLACK * (1e-3 + 1e-6) * (1 - 1e-15)


def test_where_there_is_no_error_it_says_so():
    bound = Bound(0.0, 0.0, min_gap=1.25e-9)
    assert bound.total == 0.0 and bound.with_slack() == bound
    certificate = Certificate.of(bound, "net = labels", Domain({"x": (0.0, 1.0)}), "float64", "")
    assert certificate.exact and certificate.bound == 0.0 and certificate.min_gap == 1.25e-9
    text = str(certificate)
    assert text.startswith("Certificate: no error (certified)") and "approximation" not in text
    assert "1.25e-9 between executed ids with different labels" in text
    assert "certified" not in str(replace(certificate, kind="measured"))
    some = Certificate.of(Bound(0.0, 5e-324), "", Domain({"x": (0.0, 1.0)}), "float64", "")
    assert not some.exact and some.bound > 5e-324 and "smallest gap" not in str(some)
