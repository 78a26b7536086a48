"""Nothing saturates in silence: what leaves a range is refused by name, and asking for what is named succeeds."""

import re

import pytest
import torch

import headsmith as hs
from headsmith.machines.tape.instruction import Instruction, Rows
from headsmith.machines.tape.passes import run
from headsmith.machines.tape.ranges import sizes_of
from headsmith.refusal import Refusal

from ..data import random
from .exact import instruction, program, small, state


def rows(part="V", scale=1.0, slot=0, bias=0.0, count=8):
    return Rows(part, {slot: scale * torch.eye(8, dtype=torch.float64)[:count]}, torch.full((count,), bias).double())


def refused(line, given, **more):
    with pytest.raises(Refusal) as caught:
        small()(program(line, **more), given[..., :-1])
    return str(caught.value)


def test_a_row_beyond_the_domain_names_the_instruction_the_token_and_what_would_do():
    given = state()
    given[2, 5] = 300.0
    line = Instruction("scale", (rows(),), put={1: "set"})
    said = refused(line, given)
    assert said.startswith("V[5] of instruction 0 (scale) adds terms of size 300 at token 2, beyond the domain 256")
    domain = float(re.search(r"domain=(\S+) or more", said)[1])
    larger = hs.machine.Tape(slot=8, slots=3, heads=2, domain=domain)
    assert float((larger(program(line), given[:, :-1]).value[..., 8:16] - given[:, :8]).abs().max()) < 1e-11


def test_what_no_machine_holds_is_no_advice():
    given = state()
    given[0, 0] = 1e5
    assert "no machine reaches beyond 1024, so scale the program" in refused(Instruction("huge", (rows(),)), given)
    assert "so scale the program" in refused(Instruction("add", (), put={0: "add"}), given)


def test_terms_that_cancel_are_too_large_all_the_same():
    line = Instruction("cancel", (Rows("V", {0: torch.tensor([[200.0, -200.0]]).double()}, torch.zeros(1).double()),))
    given = state()
    given[:, :2] = 0.9
    assert "V[0] of instruction 0 (cancel) adds terms of size 360" in refused(line, given)


@pytest.mark.parametrize("part", ["K", "Q", "V", "g", "jump", "target"])
def test_every_part_is_checked(part):
    given = state()
    given[0, 0] = 300.0
    line = Instruction("part", (rows(part, count=1),), view="heads")
    with pytest.raises(Refusal, match=rf"{part}\[0\] of instruction 4 \(part\) adds terms of size 300 at token 0"):
        small().ranges.check(4, line, given)


def test_a_batch_is_told_apart():
    given = torch.stack([state(), state(seed=3)])
    given[1, 3, 0] = 999.0
    assert "at token 3 of sequence 1, beyond" in refused(Instruction("batch", (rows(),)), given)


def test_the_cheap_bound_is_never_less_than_the_sum():
    """Rows that pass it need no sum: a row at the very end of the domain fails it, and passes the sum."""
    given = torch.zeros(1, 25, dtype=torch.float64)
    given[0, :8] = 1.0
    line = Instruction(
        "edge", (Rows("V", {0: torch.diag(torch.tensor([255.0] * 8)).double()}, torch.zeros(8).double()),)
    )
    assert small().ranges.check(0, line, given) == pytest.approx(255.0, rel=1e-8)
    for seed in range(20):
        [k, *_], given = instruction(seed).rows, state(seed=seed)
        assert small().ranges.check(0, Instruction("k", (k,)), given) >= float(
            sizes_of(k, given, small().sizes).max()
        ) * (1 - 1e-12)


def test_a_slot_that_is_added_to_must_be_in_the_domain():
    given = state()
    given[1, 20] = -400.0
    line = Instruction("add", (rows(),), put={2: "add"})
    said = refused(line, given)
    assert "instruction 0 (add) adds to slot 2, where token 1 holds 400, beyond the domain 256" in said
    done = run(Instruction("set", (rows(),), put={2: "set"}), given, small().sizes, small().tables)
    assert float(done.after[1, 20].abs()) < 10


@pytest.mark.parametrize(("scale", "words"), [(0.01, "= 0.0001"), (10.0, "= 100")])
def test_a_norm_outside_of_its_table_says_which_table_would_do(scale, words):
    said = refused(*short_norm(scale))
    assert said.startswith(
        f"norm of instruction 0 (norm), token 1: |c|^2 + g {words}, the table of 1/sqrt reaches from"
    )
    low, high = (float(x) for x in re.search(r"norm=\((\S+), (\S+)\)", said).groups())
    assert low <= scale**2 <= high and low <= 2.0**-6 and high >= 64


def short_norm(scale):
    given = torch.zeros(2, 25, dtype=torch.float64)
    given[:, 0] = torch.tensor([1.0, scale])
    return Instruction("norm", (rows(),), unit=True, put={1: "set"}), given


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.01, 10.0])
def test_the_table_that_is_advised_does(scale):
    line, given = short_norm(scale)
    norm = tuple(float(x) for x in re.search(r"norm=\((\S+), (\S+)\)", refused(line, given)).groups())
    other = hs.machine.Tape(slot=8, slots=3, heads=2, norm=norm)
    assert other(program(line), given[:, :-1]).value[1, 8].item() == pytest.approx(1.0, abs=1e-8)


def test_a_norm_of_nothing_and_a_negative_eps_are_refused():
    given = torch.zeros(1, 25, dtype=torch.float64)
    unit = Instruction("norm", (rows(),), unit=True)
    assert "no table reaches so far" in refused(unit, given)
    negative = Instruction("norm", (rows(), Rows("g", {}, torch.tensor([-1.0]).double())), unit=True)
    given[0, 0] = 3.0
    assert "norm of instruction 0 (norm), token 0: g is negative" in refused(negative, given)


@pytest.mark.parametrize("size", [2.0**-6, 64.0])
def test_the_range_of_norms_ends_where_it_says(size):
    given, inwards = torch.zeros(1, 25, dtype=torch.float64), 1e-9 if size < 1 else -1e-9

    def norm(share):
        g = torch.tensor([size * (1 + share)], dtype=torch.float64)
        return Instruction("norm", (rows(), Rows("g", {}, g)), unit=True)

    small()(program(norm(inwards)), given[:, :-1])
    assert "the table of 1/sqrt reaches from" in refused(norm(-inwards), given)


@pytest.mark.parametrize(
    "line",
    [
        Instruction("rows", (Rows("V", {0: torch.eye(9, 8).double()}, torch.zeros(9).double()),)),
        Instruction("part", (rows("W"),)),
        Instruction("flag", (rows("heads", count=1),)),
        Instruction("slot", (rows(slot=3),)),
        Instruction("wide", (Rows("V", {0: torch.ones(1, 9).double()}, torch.zeros(1).double()),)),
        Instruction("shape", (Rows("V", {0: torch.ones(2, 8).double()}, torch.zeros(1).double()),)),
        Instruction("twice", (rows(count=2), Rows("V", {}, torch.zeros(1).double(), first=1))),
        Instruction("name", (rows(),), activation="sine"),
        Instruction("view", (rows(),), view="strict"),
        Instruction("put", (rows(),), put={0: "mul"}),
        Instruction("where", (rows(),), put={3: "set"}),
    ],
    ids=lambda line: line.name,
)
def test_what_the_block_does_not_have_is_a_sentence(line):
    with pytest.raises(Refusal, match=rf"instruction 7 \({line.name}\) .*: the block has 3 slots of 8"):
        small().ranges.check(7, line, state())


def test_a_condition_that_is_neither_yes_nor_no():
    line = Instruction("when", (Rows("jump", {0: torch.tensor([[1.0]]).double()}, torch.tensor([0.5]).double()),))
    given = state()
    given[:, 0] = torch.tensor([1.0, 1e-9, 1.0, 1.0])
    with pytest.raises(Refusal, match=r"the jump of instruction 2 \(when\) is neither yes nor no at token 1"):
        small().ranges.check(2, line, given)
    given[1, 0] = 1e-7
    assert small().ranges.check(2, line, given) > 0


def test_numbers_that_are_none_pass_no_check():
    line = Instruction("nan", (Rows("V", {0: torch.full((1, 1), torch.nan).double()}, torch.zeros(1).double()),))
    with pytest.raises(Refusal, match="beyond the domain"):
        small().ranges.check(0, line, state())
    assert random(1, seed=1).isfinite().all()
