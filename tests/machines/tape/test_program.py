"""Where the numbers of a tape program go in and come out, and how it shows itself."""

from types import SimpleNamespace

import pytest
import torch

from headsmith.machines.tape.instruction import Instruction, Rows, Sizes
from headsmith.machines.tape.program import Stretch, TapeProgram
from headsmith.refusal import Refusal

SIZES = Sizes(slot=4, slots=3, heads=2)
TWICE = Instruction(
    "twice", (Rows("V", {0: 2 * torch.eye(3).double()}, torch.zeros(3).double()),), "relu", put={1: "set", 0: "add"}
)


def program(**more):
    given = {
        "instructions": (TWICE,),
        "inputs": (Stretch(0, 0, 0, 3),),
        "outputs": (Stretch(1, 0, 1, 2), Stretch(1, 2, 0, 1)),
    }
    return TapeProgram(SIZES, SimpleNamespace(name="example"), **{**given, **more})


def test_numbers_enter_with_a_one_and_leave_in_order():
    state = program().enter([[1.0, -2.0, 3.0]])
    assert state.tolist() == [[1.0, -2.0, 3.0, 0.0, *[0.0] * 8, 1.0]]
    assert program().reference([[1.0, -2.0, 3.0]]).tolist() == [[6.0, 2.0, 0.0]]
    assert program(unit=4.0, pooled=True).reference([[1.0, -2.0, 3.0]]).tolist() == [24.0, 8.0, 0.0]


def test_a_loop_is_run_between_its_beginning_and_its_end():
    looped = program(instructions=(), loop=(TWICE,), times=3, closing=(TWICE,), outputs=(Stretch(0, 0, 0, 3),))
    assert len(looped) == len(list(looped)) == 4 and looped.written == (TWICE, TWICE)
    assert looped.reference([[1.0, 0.0, -1.0]]).tolist() == [[81.0, 0.0, -1.0]]
    assert "* 3 times" in str(looped.listing()) and "2 of them" not in str(looped)


def test_a_program_with_its_own_data_takes_no_tokens():
    own = program(start=torch.ones(1, 13).double())
    assert own.reference().shape == (1, 3)
    with pytest.raises(Refusal, match="carries its own data"):
        own.enter([[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("X", [None, [1.0, 2.0, 3.0], [[1.0, 2.0]], torch.zeros(0, 3), torch.zeros(0, 2, 3)])
def test_other_tokens_are_refused(X):
    with pytest.raises(Refusal, match="3 features"):
        program().enter(X)


def test_the_listing_names_slots_activation_and_size():
    lines = str(program().listing()).splitlines()
    assert lines[0] == "Tape program example: 1 pass"
    assert lines[2].split() == ["0", "twice", "0", "+0,", "1", "relu", "12"]
    assert "<th" in program().listing()._repr_html_()


def test_no_sequence_at_all_is_refused():
    with pytest.raises(Refusal, match=r"not \(0, 3, 3\)"):
        program().enter(torch.zeros(0, 3, 3))


def test_a_program_says_where_there_is_a_picture():
    with pytest.raises(Refusal, match=r"list of prompts: listing\(\) shows it, and vm\(program, X\).plot\(\) a run"):
        program().plot()
