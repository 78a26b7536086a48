"""The whole tape in the prompt: loops are counted, conditions are asked, and the last line halts, all by the block."""

import pytest
import torch

import headsmith as hs
from headsmith.machines.tape import looping
from headsmith.machines.tape.instruction import Instruction, Rows
from headsmith.machines.tape.looping import jumps, lines
from headsmith.machines.tape.program import Stretch, TapeProgram
from headsmith.refusal import Refusal

from ..data import random
from .exact import Example, instruction, program, small, state

HALVE = Rows("V", {0: 0.5 * torch.eye(8, dtype=torch.float64)}, torch.zeros(8, dtype=torch.float64))


def line(name, *rows, put=None):
    return Instruction(name, rows, put=put or {})


def vector(part, value, weights=None):
    return Rows(part, weights or {}, torch.tensor([value], dtype=torch.float64))


def loop(times, body=2, **more):
    """x <- x/2, `body` times a loop: slot 2 is free."""
    places = (Stretch(0, 0, 0, 8),)
    halves = (line("halve", HALVE, put={0: "set"}),) * body
    return TapeProgram(small().sizes, Example, (), places, places, loop=halves, times=times, **more)


@pytest.mark.parametrize("times", [1, 2, 3, 8, 33])
def test_loops_are_counted_in_the_state(times):
    x = 2.0**20 * state(3)[:, :8] / 2.0**20
    looped, outer = small()(loop(times), x, looped=True), small()(loop(times), x, rows="all")
    assert torch.equal(looped.value, outer.value)  # bit for bit
    assert (looped.passes, outer.passes) == (3 * times, 2 * times)


def test_a_straight_tape_runs_to_its_end_bit_for_bit():
    made = program(*(instruction(seed, "tanh", view) for seed, view in enumerate(("heads", "self", "causal", "whole"))))
    looped, outer = (small()(made, state()[:, :-1], **how) for how in ({"looped": True}, {"rows": "all"}))
    assert torch.equal(looped.value, outer.value) and looped.passes == 4
    assert [b.total for b in looped.bounds] == [b.total for b in outer.bounds]
    assert "4 passes of this run of example, executed as applications of the network to one prompt" in str(
        looped.certificate
    )


def test_gradient_descent_is_three_instructions_and_a_counter():
    X, y = random(6, 2, seed=1), random(6, seed=2)
    descent = hs.prompt.descent(X, y, steps=9)
    vm = hs.machine.Tape(slot=8, slots=4, heads=2)
    made = vm.host(descent)
    looped, outer = vm(made, looped=True), vm(made, rows="all")
    assert (looped.passes, outer.passes) == (27, 18) and torch.equal(looped.value, outer.value)
    assert float((looped.value - descent.reference()).abs().max()) < 1e-9
    assert looped.certificate.bound < 1e-10


def test_instructions_around_a_loop_run_once():
    double = line("double", Rows("V", {0: 2.0 * torch.eye(8).double()}, torch.zeros(8).double()), put={0: "set"})
    places = (Stretch(0, 0, 0, 8),)
    made = TapeProgram(
        small().sizes, Example, (double, double), places, places, loop=(line("halve", HALVE, put={0: "set"}),), times=5,
        closing=(double,),
    )  # fmt: skip
    assert [each.name for each in lines(made)] == ["double", "double", "halve", "count", "double", "halt"]
    x = state(2)[:, :8]
    assert torch.allclose(small()(made, x, looped=True).value, x * 4 / 32 * 2, atol=1e-10)


def whiling(threshold=0.011):
    """while x_0 > threshold: x <- x/2. The condition reads the state before the pass."""
    again = (vector("jump", 0.5 - threshold, {0: torch.tensor([[1.0]]).double()}), vector("target", 0.0))
    places = (Stretch(0, 0, 0, 8),)
    return TapeProgram(small().sizes, Example, (line("while", HALVE, *again, put={0: "set"}),), places, places)


@pytest.mark.parametrize("start", [3.0, 0.02, 0.005])
def test_a_while_asks_the_state(start):
    result = small()(whiling(), torch.full((2, 8), start).double(), looped=True)
    x, passes = start, 1
    while x > 0.011:
        x, passes = x / 2, passes + 1
    assert result.passes == passes and torch.allclose(result.value, torch.tensor(x / 2).double(), atol=1e-10)


def test_jumps_are_for_looped_runs():
    assert jumps(whiling().instructions[0]) and not jumps(instruction(1))
    with pytest.raises(Refusal, match=r"instruction 0 \(while\) jumps: run the program with looped=True"):
        small()(whiling(), torch.ones(1, 8))


def test_a_condition_on_the_edge_is_refused():
    with pytest.raises(Refusal, match="neither yes nor no"):
        small()(whiling(0.25), torch.ones(1, 8), looped=True)


def test_what_is_checked_of_an_outer_run_is_checked_of_a_looped_one():
    with pytest.raises(Refusal, match=r"V\[0\] of instruction 0 \(while\) adds terms of size 300"):
        small()(whiling(), torch.full((1, 8), 600.0), looped=True)


def test_a_jump_to_nowhere_and_a_loop_without_an_end(monkeypatch):
    places = (Stretch(0, 0, 0, 8),)
    away = TapeProgram(
        small().sizes, Example, (line("away", vector("jump", 1.0), vector("target", 7.0)),), places, places
    )
    with pytest.raises(Refusal, match="jumps to line 7, and has the lines 0 to 1"):
        small()(away, torch.ones(1, 8), looped=True)
    monkeypatch.setattr(looping, "PASSES", 10)
    stay = TapeProgram(
        small().sizes, Example, (line("stay", vector("jump", 1.0), vector("target", 0.0)),), places, places
    )
    with pytest.raises(Refusal, match="did not halt within 10 passes"):
        small()(stay, torch.ones(1, 8), looped=True)


def test_a_counter_needs_a_slot_of_its_own():
    full = TapeProgram(
        small().sizes, Example, (), (Stretch(0, 0, 0, 8), Stretch(1, 0, 8, 8)), (Stretch(2, 0, 0, 8),),
        loop=(line("halve", HALVE, put={0: "set"}),), times=3,
    )  # fmt: skip
    with pytest.raises(Refusal, match=r"uses all 3: make the program for a machine of slots=4"):
        lines(full)
    read = Instruction("read", (Rows("V", {k: torch.eye(8).double() for k in (1, 2)}, torch.zeros(8).double()),))
    with pytest.raises(Refusal, match="uses all 3"):
        lines(TapeProgram(small().sizes, Example, (), (Stretch(0, 0, 0, 8),), (), loop=(read,), times=2))


def test_a_program_that_carries_its_data_uses_its_slots():
    start = torch.zeros(2, 25, dtype=torch.float64)
    start[:, 16:] = 1.0
    made = TapeProgram(
        small().sizes, Example, (), (), (Stretch(0, 0, 0, 8),), loop=(line("halve", HALVE, put={0: "set"}),), times=3,
        start=start,
    )  # fmt: skip
    assert lines(made)[1].put == {1: "add"}


def test_too_many_loops_too_long_a_tape_and_a_batch(monkeypatch):
    with pytest.raises(Refusal, match="counts up to 32768 loops, not 40000"):
        lines(loop(40000))
    monkeypatch.setattr(looping, "NUMBERS", 1000)
    with pytest.raises(Refusal, match="run it without looped=True"):
        small()(loop(2), torch.ones(1, 8), looped=True)
    monkeypatch.undo()
    with pytest.raises(Refusal, match=r"not a batch of \(2,\)"):
        small()(loop(2), torch.ones(2, 1, 8), looped=True)


def test_one_hash_for_every_way_of_running():
    before = small().weight_hash
    x = state(2)[:, :8]
    for how in ({}, {"rows": "all"}, {"looped": True}):
        small()(loop(2), x, **how)
        assert small().weight_hash == before
    assert hs.machine.Tape.kind == "tape"


def test_the_loops_that_are_promised_are_counted_right():
    """As many as are allowed: the counter is off by less than a quarter of a step, without running them all."""
    step = 2.0**-15
    entry = small().errors.entry(1.0, True)
    assert looping.LOOPS * (entry + 2.0**-53) < step / 4 and step / 4 > 2.0**-24


def aimed(target):
    """Jumps over some lines that each write their number."""
    writes = [line(f"write {k}", vector("V", float(k)), put={0: "set"}) for k in range(1, 4)]
    return program(line("go", vector("jump", 1.0), vector("target", target)), *writes)


@pytest.mark.parametrize("target", [2.5, 2.4999, 2.3, 1.7])
def test_a_target_between_two_lines_is_refused(target):
    with pytest.raises(Refusal, match=f"jumps to {target:.3g}, between two lines"):
        small()(aimed(target), torch.zeros(1, 24), looped=True)


@pytest.mark.parametrize("target", [2.0, 2.2, 1.8])
def test_what_is_fetched_near_a_line_is_that_line(target):
    result = small()(aimed(target), torch.zeros(1, 24), looped=True)
    assert abs(float(result.value[0, 0]) - 3.0) < 1e-10 >= result.certificate.bound
