"""A pass with the rows that are named is the pass of the network, up to roundings; what is not named stays as it is."""

import pytest
import torch

from headsmith.machines.tape import passes
from headsmith.machines.tape.frozen import prompt
from headsmith.machines.tape.instruction import Instruction, Rows
from headsmith.machines.tape.passes import look_up, run, split

from ..data import random
from .exact import every_instruction, instruction, small, state


def named(line, given):
    return run(line, given, small().sizes, small().tables)


@pytest.mark.parametrize("line", [*every_instruction(100)], ids=lambda line: f"{line.name} {line.unit}")
def test_named_rows_do_what_the_network_does(line):
    given = state()
    network = small().network(prompt(line, given, small().sizes))[:, :-2]
    assert float((named(line, given).after - network).abs().max()) < 3e-11


def test_tables_are_looked_up_as_they_are_in_the_network(monkeypatch):
    z = torch.linspace(-200, 200, 1001).double()[:, None]
    for name, head in small().tables.items():
        x = z.abs() / 4 + 0.02 if name == "norm" else z
        whole = look_up(head, x)
        assert torch.allclose(whole, torch.from_numpy(head(x.numpy())), rtol=1e-12, atol=1e-12), name
        monkeypatch.setattr(passes, "AT_ONCE", 64)
        assert torch.allclose(look_up(head, x), whole, rtol=1e-14, atol=1e-12)
        monkeypatch.undo()


def test_rows_that_are_not_named_are_zeros_exactly():
    done = named(instruction(1, put={1: "set", 0: "add"}), state())
    assert float(done.after[:, 13:16].abs().max()) == 0.0
    assert torch.equal(done.after[:, 5:8], state()[:, 5:8]) and torch.equal(done.after[:, 16:], state()[:, 16:])


def test_rows_may_come_in_parts_and_from_several_slots():
    a, b = random(2, 8, seed=1), random(3, 4, seed=2)
    rows = (Rows("V", {0: a, 1: 2 * a}, torch.zeros(2).double(), first=4), Rows("V", {2: b}, torch.ones(3).double()))
    line = Instruction("parts", rows, put={1: "set"})
    given = state()
    assert torch.allclose(named(line, given).after, line.reference(given, small().sizes), atol=1e-11)


def test_keys_and_queries_that_are_not_named_give_the_mean():
    line = Instruction(
        "mean", (Rows("V", {0: torch.eye(8).double()}, torch.zeros(8).double()),), view="whole", put={1: "set"}
    )
    given = state()
    assert torch.allclose(named(line, given).after[:, 8:16], given[:, :8].mean(0).expand(4, 8), atol=1e-11)
    causal = Instruction("causal", line.rows, view="causal", put={1: "set"})
    assert torch.allclose(named(causal, given).after[2, 8:16], given[:3, :8].mean(0), atol=1e-11)


def test_heads_that_nobody_names_are_not_computed():
    few = Instruction("few", (Rows("V", {0: torch.ones(2, 8).double()}, torch.zeros(2).double()),), view="heads")
    done = named(few, state())
    assert split(few, done.read, done.value, small().sizes)[2].shape == (1, 4, 4)
    wide = Instruction(
        "wide", (*few.rows, Rows("K", {0: torch.ones(6, 8).double()}, torch.zeros(6).double())), view="heads"
    )
    done = named(wide, state())
    assert split(wide, done.read, done.value, small().sizes)[2].shape == (2, 4, 4)


def test_an_instruction_without_values_writes_zeros():
    line = Instruction("clear", (), put={0: "set", 1: "add"})
    after = named(line, state()).after
    assert float(after[:, :8].abs().max()) == 0.0 and torch.equal(after[:, 8:], state()[:, 8:])
