"""What a token saw of its program."""

import pytest

from headsmith import Refusal
from headsmith.machines.attention import Attention

from .data import filled


def test_explain_shows_room_and_attention():
    vm = Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=1e-3)
    program, x = filled(2)
    shown = vm.explain(program, x, query=3)
    assert len(shown.entries) == 12 and all(0 <= room <= 1 for *_, room in shown.entries)
    value = {name: value for name, value, *_ in shown.entries}
    assert value["K[0]"] == pytest.approx(float((x @ program.weights[0].T)[3, 0]), abs=1e-4)
    assert sum(w for _, w in shown.attended) + shown.leak == pytest.approx(1.0)
    with pytest.raises(Refusal, match=r"0\.\.11"):
        vm.explain(program, x, query=12)
