"""What a network says of one input adds up to what it does with it."""

import math

import pytest
import torch

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


def test_each_component_of_a_value_is_told():
    net = hs.compile(["sin(x)", "cos(x)"], domain=(-1, 1), eps=1e-3)
    told = net.explain(0.5)
    assert [(r.output, pytest.approx(r.result)) for r in told.readings] == [
        ("out.0", float(net(0.5)[0])),
        ("out.1", float(net(0.5)[1])),
    ]


def test_all_that_a_head_reads_is_named():
    [told] = hs.compile("x*y", domain=(-1, 1), eps=1e-2).explain(0.5, -0.25).readings
    assert told.input == "x, y"


def test_a_layer_that_copies_tells_the_products_that_it_adds():
    rule = hs.compile(hs.target.ResidualRule("tanh(t)", features=1, samples=1), domain=2.0, eps=1e-6)
    [told] = rule.explain([[0.5]], [0.25], [1.0]).readings
    assert sorted(value for _, _, value in told.keys) == [-0.5, 0.5]


def test_a_copy_bears_the_name_of_its_token_and_what_nobody_reads_is_left_out():
    rule = hs.target.ResidualRule("t", features=1, samples=2)
    told = hs.compile(rule, domain=1.0, eps=1e-2, method="dense").explain([[0.5], [0.25]], [0.0, 0.0], [1.0])
    assert {r.token for r in told.readings} == {"sample.0", "sample.1"}
    assert {"sample.1", "sample.1 copy 1"} <= {name for name, *_ in told.readings[1].keys}


def test_what_is_left_out_is_counted():
    f = hs.target.SequenceMap(["x1/4", "x2/2"], tokens=2, features=1)
    told = hs.compile(f, domain=(-1, 1), eps=0.3, method="bumps").explain([[0.5], [0.25]])
    assert told.left_out and told.rows()[-1] == ("...", f"{told.left_out} readings more")


def test_one_input_is_explained_and_not_a_batch(forged):
    with pytest.raises(Refusal, match=r"explain takes one input: net\.explain\(x\), without a batch"):
        forged("relu(x)", -1, 1, 1e-3).explain([0.1, 0.2])


def test_long_inputs_are_shortened_and_the_error_is_shown():
    told = hs.compile(hs.target.Product([[1.0]], [[1.0]] * 40), eps=1e-6).explain([[0.125] * 40])
    assert " ..." in told.title() and "off by at most" in told.title() and len(told.title()) < 250


def test_a_memory_tells_the_id_of_each_token_the_step_it_is_on_and_the_label_there():
    net = hs.compile(hs.target.Recall([[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]))
    told = net.explain([3, 1, 4])
    assert [table.level for table in told.tables] == [(0.0,), (1.0,), (2.0,)]
    steps = net.plan.design.steps
    ends = sorted(end for left, slope in zip(steps.left, steps.slope, strict=True) for end in (left, left + 1 / slope))
    for head, table in zip(told.readings, told.tables, strict=True):
        low, high = table.ends
        assert low <= table.number <= high and table.risen == 1.0 and table.behind and table.output == "label"
        assert {low, high} <= {-math.inf, *ends, math.inf} and table.steps == 5
        assert head.token == table.token and head.layer < table.layer
    assert "[3, 1, 4]: [0, 1, 2], off by at most 0" in told.title()
    first = dict(told.rows())["layer 2 table at token.0"]
    assert first == "x.0 -> label  id -0.618608 is on step 1 of 5, from -∞ to -0.561879: 0"


def test_a_table_tells_how_far_a_ramp_has_risen():
    mean = hs.target.EquivariantMap(lambda X: X / 2, tokens=2, features=1, lipschitz=1)
    net = hs.compile(mean, domain=(0, 1), eps=0.1)
    [cells] = net.plan.design.cells
    half = float(cells.left[1] + 0.5 / cells.slope[1])
    told = net.explain(torch.tensor([[half], [0.9]], dtype=torch.float64)).tables[0]
    assert told.risen == pytest.approx(0.5, abs=0.1) and not told.behind and told.step == 3
    assert (
        told.ends == (cells.left[1], cells.left[1] + 1 / cells.slope[1]) and " up the ramp to step 3 of" in told.told()
    )
