"""What a network says of one input adds up to what it does with it."""

import pytest

import headsmith as hs
from headsmith.refusal import Refusal


def test_explain_adds_up(forged):
    net = forged("relu(x)", -1, 1, 1e-3)
    told = net.explain(0.5)
    assert sum(r.result for r in told.readings) == pytest.approx(told.value, abs=1e-12)
    assert told.error <= net.certificate.bound and "relu(x)" in str(told)


def test_weights_of_a_grid_add_up_to_the_output_the_largest_first():
    net = hs.compile("x*y", domain=(-1, 1), eps=1e-2)
    [told] = net.explain(0.5, -0.25).readings
    assert sum(weight * value for _, weight, value in told.keys) == pytest.approx(float(net(0.5, -0.25)), abs=1e-12)
    weights = [w for _, w, _ in told.keys]
    assert weights == sorted(weights, reverse=True) and sum(weights) == pytest.approx(1.0, abs=1e-12)


def test_each_layer_of_a_composition_reads_what_the_one_before_wrote(forged):
    told = forged("abs(sin(3*x))", -1, 1, 0.1, method="composition").explain(0.25)
    wires = [(r.input, r.output) for r in sorted(told.readings, key=lambda r: r.layer)]
    assert wires[0][0] == "x" and ("x", "mid1") in wires and ("mid1", "out") in wires
    assert sum(r.result for r in told.readings if r.output == "mid1") == pytest.approx(0.6816, abs=0.1)


def test_a_gate_is_told_as_itself(forged):
    [told] = forged("relu(x)", -1, 1, 1e-3).explain(0.5).readings
    (name, weight, value), *_ = told.keys
    assert name == "itself" and weight == pytest.approx(1.0) and value == pytest.approx(0.5)


def test_several_tokens_are_told_apart():
    told = hs.compile(hs.target.Product([[1.0]], [[1.0, 2.0], [0.5, 1.0]]), eps=1e-6).explain([[0.5, -0.25]])
    assert len({r.token for r in told.readings}) == 2 and " at " in told.rows()[0][0]
    assert told.inputs == {"X": [[0.5, -0.25]]} and told.error <= 1e-6


def test_one_input_is_explained_and_not_a_batch(forged):
    with pytest.raises(Refusal, match=r"explain takes one input: net\.explain\(x\), without a batch"):
        forged("relu(x)", -1, 1, 1e-3).explain([0.1, 0.2])


def test_long_inputs_are_shortened_and_the_error_is_shown():
    told = hs.compile(hs.target.Product([[1.0]], [[1.0]] * 40), eps=1e-6).explain([[0.125] * 40])
    assert " ..." in told.title() and "off by at most" in told.title() and len(told.title()) < 250
