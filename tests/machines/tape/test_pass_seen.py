"""One pass, looked at."""

import pytest

from headsmith.refusal import Refusal

from .exact import instruction, program, small, state


def test_a_pass_shows_what_it_read_and_the_room_it_left():
    x = state()[:, :-1]
    made = program(instruction(1, "tanh"), instruction(2, "gelu", "heads", True))
    seen = small().explain(made, x, at=1)
    assert seen.title() == "example, pass 1: gelu heads" and seen.reads == (0, 2)
    first = small()(program(instruction(1, "tanh")), x).value
    assert [before for before, _ in seen.slots] == [float(first[:, 8 * k : 8 * k + 8].abs().max()) for k in range(3)]
    assert seen.slots[2][0] == seen.slots[2][1] and 0 < seen.room < 1 and seen.norm[0] <= seen.norm[1]
    shown = str(seen)
    for words in (
        "set slot 1, add slot 0",
        "gelu, unit vectors, view heads",
        "|c|^2 + g from",
        "room 9",
        "(certified, for this",
    ):
        assert words in shown
    assert "norm" not in str(small().explain(made, x))


@pytest.mark.parametrize("at", [2, -1, True, 1.0])
def test_a_pass_that_there_is_not(at):
    with pytest.raises(Refusal, match="example has the passes 0 to 1, not"):
        small().explain(program(instruction(1), instruction(2)), state()[:, :-1], at=at)
