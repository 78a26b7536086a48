"""Claims that can fail, a self-check that can fail, and casts that are what they are called."""

import copy

import pytest
import torch

from headsmith.papers.deep_optimizers import low_precision
from headsmith.papers.registry import contents


@pytest.fixture(scope="module")
def measured():
    return low_precision.measure({"draws": 3})


def test_all_claims_hold(measured):
    assert [claim.verdict(measured) for claim in low_precision.CLAIMS] == ["holds"] * 6
    assert measured["loss"][1] < 0.5 * measured["loss"][0] and "loss" not in measured["casts"]["float16 as it is"]


@pytest.mark.parametrize(
    "broken, place, value",
    [
        (0, ("float64",), 1e-12),
        (1, ("casts", "float32", "share"), [1e-7, 1e-4]),
        (2, ("casts", "float16", "loss apart"), 0.03),
        (2, ("casts", "bfloat16", "loss apart"), 0.2),
        (3, ("casts", "float16", "share"), [1e-3, 1.0]),
        (3, ("casts", "bfloat16", "share"), [1e-2, 1.0]),
        (4, ("casts", "float16 as it is", "finite"), True),
        (5, ("casts", "float32", "void"), False),
    ],
)
def test_each_claim_can_fail(measured, broken, place, value):
    m = copy.deepcopy(measured)
    part = m
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    assert low_precision.CLAIMS[broken].verdict(m) == "fails"


def test_the_self_check_can_fail(monkeypatch):
    assert low_precision.self_check()
    monkeypatch.setattr(low_precision, "void", lambda net, dtype: False)
    assert not low_precision.self_check()
    monkeypatch.undo()
    drift = low_precision.descended
    monkeypatch.setattr(low_precision, "descended", lambda *a: tuple(1e-9 + part for part in drift(*a)))
    assert not low_precision.self_check()


def test_a_copy_is_cut_off_and_the_network_stays():
    net = low_precision.compiled()
    before = {name: value.clone() for name, value in net.network.state_dict().items()}
    found = low_precision.cast(net.network, torch.bfloat16, 2.0**20)
    largest = max(float(value.abs().max()) for value in found.state_dict().values() if value.is_floating_point())
    assert largest == 2.0**20 and found.dtype == torch.bfloat16
    assert all(torch.equal(value, before[name]) for name, value in net.network.state_dict().items())
    assert net.certificate.bound <= 1e-6 and low_precision.void(net, torch.bfloat16)
    assert not low_precision.void(net, torch.float64)


def test_float16_takes_the_same_slopes_beyond_its_gap():
    """A gate of gap 2^-8 is open where z is beyond it, and shut where z is not positive."""
    net = low_precision.compiled()
    tape = net.form.stream(net.task)
    found = low_precision.cast(net.network, torch.float16, 2.0**8)
    tokens = torch.zeros(2, tape.width, dtype=torch.float16)
    tokens[:, tape.slices["one"]] = 1.0
    tokens[0, tape.slices["z 1"]], tokens[1, tape.slices["z 1"]] = 2.0**-8, -3.0
    tokens[:, tape.slices["delta 1"]] = torch.tensor([[5.0], [-7.0]], dtype=torch.float16)
    after = found.layers["gate1"](found.layers["bend1"](tokens))
    assert (
        after[0, tape.slices["delta 1"]].tolist() == [5.0] * 8
        and after[0, tape.slices["slope 1"]].tolist() == [1.0] * 8
    )
    assert (
        after[1, tape.slices["delta 1"]].tolist() == [0.0] * 8
        and after[1, tape.slices["slope 1"]].tolist() == [0.0] * 8
    )


def test_the_table_has_a_row_for_each_cast():
    outcome = low_precision.run.run({"draws": 2}, None)
    assert [row.name.partition(":")[0] for row in outcome.rows] == ["float64", *low_precision.CASTS]
    assert outcome.rows[3].ours is None and outcome.rows[3].baseline == "no numbers"


def test_it_is_listed_as_it_is():
    listed = {id: (claim, count) for id, _, claim, count, _ in contents()}
    assert listed["deep-optimizers/precision"] == (low_precision.CLAIMS[0].text, len(low_precision.CLAIMS))
