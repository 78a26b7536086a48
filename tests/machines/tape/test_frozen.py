"""The frozen block is the formula of its docstring: what is off adds nothing, what is kept keeps its bits."""

import pytest
import torch

from headsmith.machines.tape.frozen import count, encode, network, prompt, registers, stored, stream
from headsmith.machines.tape.instruction import Instruction, Rows, Sizes
from headsmith.network import fingerprint, from_config
from headsmith.refusal import Refusal

from ..data import random
from .exact import every_instruction, instruction, small, state


def one_pass(line, given):
    return small().network(prompt(line, given, small().sizes))


@pytest.mark.parametrize("line", [*every_instruction()], ids=lambda line: f"{line.name} {line.unit}")
def test_every_sort_of_instruction_is_what_its_reference_says(line):
    given = state()
    after = one_pass(line, given)
    assert float((after[:, :-2] - line.reference(given, small().sizes)).abs().max()) < 1e-10
    assert torch.equal(after[:, 16:24], given[:, 16:24])  # slot 2 is not named: it keeps its bits
    assert after[:, -3:].tolist() == [[1.0, 1.0, -1.0]] * 4  # the constant, the next place, the mark


def test_an_instruction_that_names_nothing_keeps_every_bit():
    given = state(spread=1e3)
    assert torch.equal(one_pass(Instruction("nothing", ()), given)[:, :-2], given)


def test_a_slot_is_set_or_added_to_with_one_rounding():
    line = instruction(3, put={0: "set", 1: "add"})
    given = state()
    after = one_pass(line, given)
    assert torch.equal(after[:, 8:16], given[:, 8:16] + after[:, :8])


def test_gates_have_weights_of_exactly_zero_or_one():
    trace = small().network.trace(prompt(instruction(5, "gelu", "causal", True), state(), small().sizes))
    names = [name for name in trace if name.endswith("hook_pattern")]
    layers = list(small().network.layers)
    for name in names:
        layer = layers[int(name.split(".")[1])]
        if layer in ("choose", "alone", "turn", "write"):
            assert set(trace[name].unique().tolist()) <= {0.0, 1.0}, layer
        if layer in ("heads", "whole"):
            assert torch.equal(trace[name][..., :-1], torch.zeros_like(trace[name][..., :-1])), layer  # all on null
        if layer == "causal":
            assert torch.equal(trace[name][..., -1], torch.zeros_like(trace[name][..., -1])), layer


def test_the_textbook_form_computes_the_same():
    sizes = Sizes(slot=2, slots=1, heads=1)
    block, given = network(sizes, small().tables), torch.tensor([[0.5, -1.0, 1.0]], dtype=torch.float64)
    rows = tuple(Rows(part, {0: random(2, 2, seed=k)}, random(2, seed=3 + k)) for k, part in enumerate("KQV"))
    for view, unit in (("heads", True), ("self", False)):
        line = Instruction("any", rows, "silu", unit, view, {0: "add"})
        near, far = (net(prompt(line, given, sizes)) for net in (block, block.dense()))
        assert float((near - far).abs().max()) < 1e-11
        assert float((near[:, :-2] - line.reference(given, sizes)).abs().max()) < 1e-10


def test_a_batch_is_its_sequences():
    line, given = instruction(9, "tanh", "heads"), torch.stack([state(), state(seed=5)])
    after = one_pass(line, given)
    assert torch.allclose(after[1], one_pass(line, given[1]), atol=1e-13)


def test_where_things_are():
    sizes = Sizes(slot=8, slots=3, heads=2)
    at = registers(sizes)
    assert at["K"] == range(8) and count(sizes) == 3 * 8 + 1 + 5 + 2 + 4 + 2 * 3 + 2
    assert [*at.values()][-1].stop == count(sizes)
    wide = stream(sizes)
    assert small().network.features[wide["slot.1"][0]] == "slot.1.0"
    tokens = encode(instruction(1, "relu", "whole", True), sizes)
    flags = {name: tokens[at[name][0], -1].item() for name in ("relu", "gelu", "unit", "plain", "whole", "self")}
    assert flags == {"relu": 1.0, "gelu": 0.0, "unit": 1.0, "plain": 0.0, "whole": 1.0, "self": 0.0}
    assert tokens[[*at["keep"], *at["put"]], -1].tolist() == [1.0, 0.0, 1.0, 1.0, 1.0, 0.0]


def test_rows_start_where_they_are_told_to():
    line = Instruction(
        "shifted", (Rows("V", {1: 2 * torch.eye(2).double()}, torch.ones(2).double(), first=3),), put={0: "set"}
    )
    given = state()
    after = one_pass(line, given)
    assert torch.allclose(after[:, 3:5], 2 * given[:, 8:10] + 1, atol=1e-11)
    assert float(after[:, :3].abs().max()) < 1e-12


def test_tables_are_read_back_out_of_the_network():
    found = stored(small().network)
    assert set(found) == set(small().tables)
    again = network(small().sizes, found)
    assert fingerprint(again) == small().weight_hash
    config = small().network.config()
    twin = from_config(config, small().network.tensors())
    assert torch.equal(twin(prompt(instruction(2), state(), small().sizes)), one_pass(instruction(2), state()))
    swapped = network(small().sizes, found)
    swapped.layers["bend"] = swapped.layers["lay"]
    with pytest.raises(Refusal, match="reads and bends before it normalises"):
        stored(swapped)
