import numpy as np
import pytest
import torch

from headsmith.doors.compile import compile
from headsmith.views.measurement import curves, measure, samples, ties


@pytest.fixture(scope="module", params=["float64", "float32"])
def gate(request):
    return compile("abs(x - 0.25)", domain=(-1, 1), eps=1e-4, dtype=request.param)


def test_the_measured_error_is_real_and_below_the_bound(gate):
    found = measure(gate)
    assert found.error == float(gate.certify(torch.tensor(found.at, dtype=gate.dtype)))
    assert 0.9 * gate.certificate.approximation <= found.error <= gate.certificate.bound


def test_samples_lie_in_the_domain_and_meet_kinks_and_ends(gate):
    x = samples(gate)
    assert x.dtype == np.dtype(gate.plan.dtype) and x.min() == -1 and x.max() == 1 and 0.25 in x
    assert len(np.unique(x)) == len(x) > 20_000


def test_two_keys_tie_where_their_scores_meet():
    net = compile("tanh(4*(x - 0.5))", domain=(-1, 1), eps=1e-6)
    assert list(ties(net)) == pytest.approx([0.5])


def test_curves_hold_the_formula_the_error_and_shares_that_sum_to_one(gate):
    drawn = curves(gate, points=101)
    assert np.abs(drawn.target - np.abs(drawn.x - 0.25)).max() < 1e-15
    assert np.abs(drawn.error).max() <= gate.certificate.bound
    assert [head.keys for head in drawn.heads] == [("itself",), ("itself", "null")]
    for head in drawn.heads:
        assert np.abs(head.weights.sum(1) - 1).max() < 1e-6
