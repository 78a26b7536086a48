"""How far sums can go: never further than proved, whatever tokens come, and as far where they are chosen for it."""

import math
from functools import cache

import pytest
import torch
from torch import nn

import headsmith as hs
from headsmith.machines.tape.instruction import Instruction, Rows
from headsmith.machines.tape.ranges import sizes_of
from headsmith.machines.tape.reach import reach
from headsmith.refusal import Refusal

from ..data import random
from .exact import program, small

NOTHING = {"self": 0.0, "unit": 0.0, "heads": 0.0, "whole": 0.0}


def table(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def reached(tape, **more):
    return reach(tape, small().ranges, NOTHING, **more).lines


def measured(vm, tape, X):
    """(largest |value|, largest sum of terms) of every pass of a run."""
    for done in vm.running.passes(tape, tape.enter(X), "named"):
        sums = [float(sizes_of(rows, done.before, vm.sizes).max()) for rows in done.instruction.rows]
        yield max(float(z.abs().max()) for z in done.sums.values()), max(sums)


@cache
def wide():
    return hs.machine.Tape(slot=8, slots=4, heads=2)


def encoder(first, activation="gelu", seed=0):
    torch.manual_seed(seed)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation=activation, batch_first=True, norm_first=first)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double().eval().requires_grad_(False)


@pytest.mark.parametrize(("first", "activation"), [(False, "gelu"), (False, "relu"), (True, "gelu")])
def test_no_run_goes_further(first, activation):
    vm = wide()
    tape = vm.host(encoder(first, activation), tokens=8)
    found = vm.reach(tape, 4.0 if first else None)
    for seed in range(4):
        X = random(8, 8, seed=seed).clamp(-4, 4)
        for (value, sums), line in zip(measured(vm, tape, X), found.lines, strict=True):
            assert (value <= line.value and sums <= line.sums) or "tokens as they came" in line.reason


def test_all_behind_the_first_norm_is_proved_whatever_tokens_come():
    vm = wide()
    tape = vm.host(hs.prompt.chain(hs.prompt.norm([1.0] * 8), *vm.host(encoder(False)).source.stages))
    found = vm.reach(tape)
    assert [bool(line.reason) for line in found.lines] == [True] + [False] * (len(tape) - 1)
    assert not found.proved and vm.reach(tape, 4.0).proved and "never left: sums of at most" in str(vm.reach(tape, 4.0))
    assert f"not left by {len(tape) - 1} of {len(tape)} instructions" in str(found)
    assert "0 (norm) reads slot 0, the tokens as they came" in str(found)


@pytest.mark.parametrize("centred", [True, False])
def test_a_row_behind_a_norm_is_reached(centred):
    theta = table([3.0, 4.0, 0.0, 1.0, 1.0])
    vm = small()
    tape = vm.host(
        hs.prompt.chain(hs.prompt.norm([1.0] * 5, [0.5] * 5, centred=centred), hs.prompt.linear(theta, [2.0]))
    )
    line = vm.reach(tape).lines[1]
    [(_, _), (value, _)] = measured(vm, tape, (theta - theta.mean() if centred else theta) * 0.5)
    wanted = math.sqrt(5) * float((theta - theta.mean() * centred).norm()) + 0.5 * 9 + 2
    assert line.value == pytest.approx(wanted, rel=1e-5) and 0.999 * line.value <= value <= line.value


def test_constant_rows_behind_an_rms_norm_are_not_0():
    vm, ones = small(), table([1.0] * 5)
    layers = hs.prompt.linear(ones)
    plain = vm.host(hs.prompt.chain(hs.prompt.norm([1.0] * 5, centred=False), layers))
    [_, (value, sums)] = measured(vm, plain, ones)
    line = vm.reach(plain).lines[1]
    assert 0.999 * line.value <= value <= line.value and 0.999 * line.sums <= sums <= line.sums
    assert vm.reach(vm.host(hs.prompt.chain(hs.prompt.norm([1.0] * 5), layers))).lines[1].value < 1e-5


def read(*slots):
    return Instruction("read", (Rows("V", {k: table([1.0] * 8) for k in slots}, table(0.25)),))


def copy(weight, activation="identity", put=None):
    return Instruction(
        "copy", (Rows("V", {0: weight}, table(*[0.0] * len(weight))),), activation, put=put or {1: "set"}
    )


def test_sums_are_those_of_sizes_and_not_of_signs():
    lines = reached(program(copy(table([1.0, -2.0])), read(1)), largest=3.0)
    assert lines[0].sums == pytest.approx(9.0) and lines[1].sums == pytest.approx(9.25)


@pytest.mark.parametrize(("activation", "most"), [("identity", 6), ("relu", 6), ("gelu", 6), ("silu", 6), ("tanh", 2)])
def test_activations_are_no_longer_than_what_they_bend(activation, most):
    tape = program(copy(torch.eye(8).double()[:2], activation), read(1))
    assert reached(tape, largest=3.0)[1].sums == pytest.approx(most + 0.25)
    X = torch.full((1, 24), 3.0, dtype=torch.float64)
    [_, (value, _)] = measured(small(), tape, X)
    assert 0.9 * most < value <= most + 0.25


def test_slots_add_up():
    line = reached(program(copy(torch.eye(8).double(), put={2: "add"}), read(2)), largest=2.0)[1]
    assert line.sums == pytest.approx(8 * 4 + 0.25)


@pytest.mark.parametrize("view", ["heads", "whole"])
def test_heads_look_at_different_tokens(view):
    """Of two unit vectors one head takes the first number of one, the other that of the other: longer than 1."""
    eye = 20 * torch.eye(8).double()
    none = table(*[0.0] * 8)
    turned = torch.zeros(8, 8).double()
    turned[0, 0] = turned[4, 4] = 20.0
    unit = Instruction(
        "unit", (Rows("K", {0: turned}, none), Rows("Q", {}, none + 20), Rows("V", {0: eye / 20}, none)),
        unit=True, view=view, put={1: "set"},
    )  # fmt: skip
    last = Instruction("read", (Rows("V", {1: table([1.0, 0, 0, 0, 1.0, 0, 0, 0])}, table(0.0)),))
    tape, X = program(unit, last), torch.zeros(2, 24).double()
    X[0, 0] = X[1, 4] = 1.0
    line = reached(tape)[1]
    [_, (value, _)] = measured(small(), tape, X)
    assert line.value == pytest.approx(2.0 if view == "heads" else math.sqrt(2), rel=1e-6)
    assert value <= line.value and (view == "whole" or value > 1.99)


@pytest.mark.parametrize(
    ("sort", "made"),
    [
        ("self", Instruction("a", (Rows("V", {}, table(1.0)),), put={1: "set"})),
        ("unit", Instruction("a", (Rows("V", {}, table(1.0)),), unit=True, put={1: "set"})),
        ("heads", Instruction("a", (Rows("V", {}, table(1.0)),), view="causal", put={1: "set"})),
        ("whole", Instruction("a", (Rows("V", {}, table(1.0)),), view="whole", put={1: "set"})),
    ],
)
def test_what_a_pass_is_off_by_is_added(sort, made):
    """All eight numbers are wrong by a half, all the same way."""
    exact = reached(program(made, read(1)))[1]
    found = reach(program(made, read(1)), small().ranges, {**NOTHING, sort: 0.5}).lines[1]
    assert exact.sums == pytest.approx(1.25, rel=1e-6) and found.sums == pytest.approx(5.25, rel=1e-6)
    assert found.value == pytest.approx(5.25, rel=1e-6)


def test_a_norm_of_nothing_is_nothing():
    one = Instruction("unit", (), unit=True, put={1: "set"})
    assert reached(program(one, read(1)))[1].sums == pytest.approx(0.25)
    assert reach(program(one, read(1)), small().ranges, {**NOTHING, "unit": 0.5}).lines[1].value == pytest.approx(4.25)


def test_looking_ahead_changes_no_program():
    vm = wide()
    tape = vm.host(encoder(False), tokens=8)
    before = [w.clone() for line in tape for rows in line.rows for w in (rows.bias, *rows.weights.values())]
    vm.reach(tape, 2.0)
    after = [w for line in tape for rows in line.rows for w in (rows.bias, *rows.weights.values())]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_promise_lengthens_a_unit_vector():
    rows = (Rows("V", {0: torch.eye(8).double()}, table(*[0.0] * 8)),)
    one = Instruction("unit", rows, unit=True, put={1: "set"})
    line = reach(program(one, read(1)), small().ranges, {**NOTHING, "unit": 0.125}).lines[1]
    assert line.sums == pytest.approx(math.sqrt(8) * (1 + math.sqrt(8) / 8) + 0.25)


def test_what_is_not_proved_says_why_and_is_taken_as_checked_from_then_on():
    eye = torch.eye(8).double()
    far = reached(program(copy(100 * eye), read(1)), largest=3.0)
    assert far[0].reason == "may reach sums of 300.1, as far as is known" and far[0].sums > 256
    assert far[1].sums == pytest.approx(8 * 256 + 0.25)
    add = copy(80 * eye, put={1: "add"})
    *fine, last = reached(program(copy(80 * eye), add, add), largest=3.0)
    assert not any(line.reason for line in fine)
    assert last.reason == "adds to slot 1, which may hold 480.1, as far as is known"
    raw = reached(program(copy(eye, put={2: "add"}), read(1), read(2)))
    assert raw[0].reason == "reads slot 0, the tokens as they came" and raw[1].reason == raw[0].reason.replace("0", "1")
    assert (
        reached(program(Instruction("add", (), put={2: "add"})))[0].reason == "adds to slot 2, the tokens as they came"
    )
    assert raw[2].reason == "may reach sums of 4097, as far as is known"  # a slot and what is added to it, both checked


def test_many_that_are_not_proved_are_counted():
    shown = str(small().reach(program(*[read(0)] * 9)))
    assert "domain 256  checked in every run" in shown and "checked     and 5 more" in shown and "norms" not in shown


def test_a_program_with_its_own_data_starts_from_them():
    lasso = hs.prompt.descent([[1.0, 0.5], [2.0, -1.0], [0.5, 1.0]], [2.0, 4.0, 1.0], l1=0.1, steps=1)
    found = small().reach(lasso)
    assert found.proved and found.inputs == "on its own data" and len(found.lines) == 2
    path = hs.prompt.descent([[1.0, 0.5], [2.0, -1.0], [0.5, 1.0]], [2.0, 4.0, 1.0], l1=[0.1, 0.3], steps=1)
    more = [line.sums for line in small().reach(path).lines]
    assert more[1] >= max(sums for _, sums in measured(small(), small().host(path), None)) > 0
    with pytest.raises(Refusal, match="carries its own data: leave largest out"):
        small().reach(lasso, 1.0)


@pytest.mark.parametrize("largest", [-1.0, math.inf, math.nan, True, "3"])
def test_no_size(largest):
    with pytest.raises(Refusal, match="must be a number from 0 on"):
        small().reach(program(read(0)), largest)


def test_who_jumps_is_not_followed():
    jump = Instruction("again", (Rows("jump", {}, table(1.0)), Rows("target", {}, table(0.0))))
    with pytest.raises(Refusal, match="again says itself what comes next"):
        small().reach(program(jump))
