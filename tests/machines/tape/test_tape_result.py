"""What a run hands back: a value at once, and its certificate on request, about that very run."""

import copy

import pytest
import torch

from headsmith.machines.tape.instruction import Instruction, Rows
from headsmith.proof.certificate import StaleCertificate

from .exact import instruction, program, small, state


def run():
    return small()(program(instruction(1, "gelu"), instruction(2, view="heads")), state()[:, :-1])


def test_the_certificate_is_worked_out_when_it_is_asked_for():
    result = run()
    assert "worked out when it is asked for" in str(result) and "certified" not in str(result)
    assert len(result.bounds) == result.passes == 2
    worst = max(result.bounds, key=lambda bound: bound.total)
    assert result.certificate.bound == pytest.approx(1.002 * worst.total)
    assert "each of the 2 passes of this run of example, executed as the rows that each names" in str(result)
    assert "(certified) a pass" in result.title() and result.certificate.weights == small().weight_hash


def test_its_picture_has_a_bar_for_each_pass():
    result = run()
    fig = result.plot()
    [axes] = fig.axes
    assert [bar.get_height() for bar in axes.patches] == [bound.with_slack().total for bound in result.bounds]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["gelu self", "identity heads"]
    assert "example: what each of 2 passes" in axes.get_title(loc="left")


def test_a_value_that_was_edited_is_void():
    result = run()
    assert result.certificate
    result.value[0, 0] += 1.0
    assert str(result).splitlines()[0].endswith("void: the value changed after the proof")
    assert "certified" not in str(result)


def test_a_program_that_was_changed_behind_the_run_is_not_certified():
    weight = torch.eye(8, dtype=torch.float64)
    made = program(Instruction("copy", (Rows("V", {0: weight}, torch.zeros(8).double()),), put={1: "set"}))
    result = small()(made, state()[:, :-1])
    weight *= 2.0
    with pytest.raises(StaleCertificate, match="changed after the run"):
        _ = result.certificate


def test_the_state_that_was_entered_is_kept():
    x = state()[:, :-1].clone()
    result = small()(program(instruction(1)), x)
    x += 1.0
    assert result.certificate.bound > 0


def test_a_run_without_passes_costs_nothing():
    result = small()(program(), state()[:, :-1])
    assert result.passes == 0 and result.certificate.exact
    assert torch.equal(result.value, state()[:, :-1])


def test_bounds_of_a_machine_that_changed_are_refused():
    vm = copy.deepcopy(small())
    result = vm(program(instruction(1, "gelu")), state()[:, :-1])
    with torch.no_grad():
        next(vm.network.parameters()).add_(1e-3)
    with pytest.raises(StaleCertificate, match="the machine was changed"):
        assert result.bounds
