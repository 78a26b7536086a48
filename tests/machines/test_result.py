"""What a machine hands back shows its value and the certificate of this prompt."""

import pytest
import torch

from headsmith.machines.result import Result
from headsmith.proof.certificate import Bound, Certificate
from headsmith.proof.domain import Domain

PROOF = Certificate.of(Bound(1e-7, 2e-9), "|w - w*| <= bound", Domain({"z": (-1.0, 1.0)}), "float64", "abc")


def test_the_title_is_the_program_and_its_bound():
    assert Result("ols", torch.zeros(2), PROOF).title() == "Result of ols: error at most 1.1e-7 (certified)"


def test_rows_hold_the_value_the_loops_and_the_certificate():
    result = Result("ols", torch.tensor([0.5, -2.0]), PROOF, loops=7)
    rows = dict(result.rows())
    assert rows["value"] == "0.5, -2" and rows["loops"] == "7" and rows["statement"] == "|w - w*| <= bound"
    assert "intercept" not in rows and result.weights is result.value


def test_an_intercept_is_shown_even_where_it_is_zero():
    rows = dict(Result("ols", torch.zeros(1), PROOF, intercept=torch.tensor(0.0)).rows())
    assert rows["intercept"] == "0"


@pytest.mark.parametrize(("count", "more"), [(12, False), (13, True)])
def test_long_values_are_shortened(count, more):
    shown = dict(Result("head", torch.ones(count, requires_grad=True), PROOF).rows())["value"]
    assert shown.count("1") == 12 and shown.endswith("...") == more


def test_a_value_that_was_edited_is_void():
    result = Result("ols", torch.zeros(2), PROOF, intercept=torch.tensor(0.0))
    for edited in (result.value, result.intercept):
        before = edited.clone()
        edited += 1
        for shown in (repr(result), str(result), result._repr_html_()):
            assert "void: the value changed after the proof" in shown and "certified" not in shown
            assert PROOF.statement not in shown
        edited.copy_(before)
        assert result.valid and "certified" in repr(result)
