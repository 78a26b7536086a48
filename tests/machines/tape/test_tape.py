"""The tape machine: sizes, promise, and what it refuses."""

import math

import pytest
import torch

import headsmith as hs
from headsmith.compiler.files import read, seal, write
from headsmith.refusal import Refusal

from .exact import every_instruction, instruction, program, small, state


def test_it_runs_what_the_reference_says_by_all_rows_and_by_named_ones():
    lines = [*every_instruction(3)]
    for first in range(0, 40, 4):
        made = program(*lines[first : first + 4])
        x = 0.1 * state()[:, :-1]
        wanted = made.reference(x)
        for how in ({}, {"rows": "all"}):
            result = small()(made, x, **how)
            assert result.passes == 4 and float((result.value - wanted).abs().max()) < 1e-8


def test_its_promise_is_that_of_its_worst_pass():
    vm = small()
    assert set(vm.promises) == {"self", "unit", "heads", "whole"}
    assert vm.certificate.bound == pytest.approx(max(b.total for b in vm.promises.values()))
    said = vm.certificate.statement
    for words in ("|pass - instruction| <= bound", "every instruction", "4096 tokens of 3 slots of 8", "in [0, 256]"):
        assert words in said
    assert "|c|^2 + g of a norm in [0.015625, 64]" in said and "g in [0, 256]" in said


@pytest.mark.parametrize("domain", [1.0, 8.0, 16.0])
def test_a_machine_of_a_narrow_domain_has_a_certificate_and_a_file(domain, tmp_path):
    """ReLU errs by 2^-42 whatever the domain, which is no reason to doubt the table of a narrow one."""
    vm = hs.machine.Tape(slot=4, slots=2, heads=1, domain=domain)
    assert vm.certificate.bound < 1e-9
    assert hs.certify(vm.save(tmp_path / "narrow.safetensors")).status == 0


def test_its_numbers():
    vm = small()
    assert vm.keys["read"] == 23 and vm.keys["gelu"] == 41
    assert vm.numbers == 3 * (23 + vm.keys["norm"]) + 4 * 48
    assert f"{vm.numbers} numbers in tables; an instruction is 44 tokens" in str(vm)
    assert vm.network.cost().layers == 12


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"slot": 0}, "slot must be a positive whole number"),
        ({"heads": 3}, "3 heads do not share 8 numbers"),
        ({"domain": -1.0}, "domain, the largest sum"),
        ({"domain": 1030.0}, "domains are proved from 1 to 1024, not 1030: scale the program"),
        ({"domain": 0.5}, "domains are proved from 1"),
        ({"norm": (2.0, 1.0)}, "from below to above"),
        ({"norm": (0.0, 1.0)}, r"the least \|c\|\^2 \+ g"),
        ({"norm": 3.0}, "norm is the range"),
        ({"norm": (1e307, 1.7e308)}, r"norms lie between 2\^-500 and 2\^500"),
        ({"norm": (1e-320, 1e-319)}, r"norms lie between 2\^-500 and 2\^500"),
        ({"slot": 2**13 + 2}, "a slot holds up to 8192 numbers"),
    ],
)
def test_sizes_that_make_no_block(sizes, words):
    with pytest.raises(Refusal, match=words):
        hs.machine.Tape(**{"slot": 8, "slots": 3, "heads": 2, **sizes})


def test_programs_that_do_not_fit():
    made = program(instruction(1))
    with pytest.raises(Refusal, match=r"a tape runs the programs of hs.prompt, not int"):
        small()(3, torch.ones(1, 1))
    with pytest.raises(Refusal, match="rows is one of named, all, not 'some'"):
        small()(made, state()[:, :-1], rows="some")
    other = hs.machine.Tape(slot=8, slots=4, heads=2)
    with pytest.raises(Refusal, match="for 3 slots of 8 and 2 heads, this machine has 4 of 8 and 2: build it with"):
        other(made, state()[:, :-1])


def test_what_is_no_tape_yet_is_hosted_for_its_tokens():
    """Norms are measured on these very tokens, which no sample resembles."""
    x = 1e4 * torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    asked = hs.prompt.chain(hs.prompt.norm(torch.ones(4)), hs.prompt.linear(torch.eye(4), None, "tanh"))
    vm = hs.machine.Tape(slot=8, slots=3, heads=2, domain=512.0)
    assert float((vm(asked, x).value - asked.reference(x)).abs().max()) < 1e-9
    assert vm.explain(asked, x, at=0).at == 0
    with pytest.raises(Refusal, match=r"reaches .* on the samples, the domain of this machine ends at 512"):
        vm(hs.prompt.linear(torch.eye(4)), x)
    descent = hs.prompt.descent([[1.0], [2.0]], [2.0, 4.0], steps=50)
    assert float((vm(descent).value - descent.reference()).abs().max()) < 1e-11


def test_a_file_whose_sizes_are_lies(tmp_path):
    manifest, tensors = read(small().save(tmp_path / "honest.safetensors"))
    for size, value in (("slot", 10**9), ("slots", 10**9), ("heads", 10**9), ("slots", 4), ("heads", 4)):
        lie = {**manifest, "parameters": {**manifest["parameters"], size: value}}
        assert hs.certify(write(tmp_path / "forged.safetensors", seal(lie, tensors), tensors)).status == 1
    for size, value in (("domain", 512.0), ("low", 2.0**-8), ("high", 128.0), ("domain", 255.0), ("root", 1e-13)):
        lie = {**manifest, "parameters": {**manifest["parameters"], size: {"float": value.hex()}}}
        assert hs.certify(write(tmp_path / "forged.safetensors", seal(lie, tensors), tensors)).status == 1


def test_the_widest_domain_is_proved():
    vm = hs.machine.Tape(slot=2, slots=1, heads=1, domain=1024.0)
    assert vm.promises["self"].total < 1e-9


@pytest.mark.parametrize(
    ("name", "off"),
    [("read.anchors", 1e-9), ("normalise.levels", 1e-6), ("bend.tables.4", 1e-10), ("bend.tables.3", 1e-11)],
)
def test_tables_from_a_file_are_proved_again(name, off, tmp_path):
    """Also where the promise, that of wide heads, would not show the change."""
    manifest, tensors = read(small().save(tmp_path / "honest.safetensors"))
    keys = tensors[name].shape[-1]
    tensors[name].view(-1, keys)[-1, keys // 2] += off
    assert hs.certify(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors)).status == 1


def test_a_table_that_no_proof_resolves_proves_nothing(tmp_path):
    manifest, tensors = read(small().save(tmp_path / "honest.safetensors"))
    tensors["normalise.slopes"] *= 1e12
    assert hs.certify(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors)).status == 1


def test_a_table_as_long_as_nobody_proves_is_not_tried(tmp_path):
    """A hundred thousand keys would take the prover minutes."""
    manifest, tensors = read(small().save(tmp_path / "honest.safetensors"))
    [layer] = [layer for layer in manifest["network"]["layers"] if layer["name"] == "read"]
    for name in ("slopes", "offsets", "anchors"):
        tensors[f"read.{name}"] = torch.linspace(-300, 300, 1000, dtype=torch.float64)
    layer["keys"] = 1000
    verdict = hs.certify(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors))
    assert verdict.status == 1 and "up to 256 keys" in verdict.reason


def test_arithmetic_of_another_sort_is_refused():
    """Also where a program carries its data, so that no X is read."""
    start = state()
    made = program(instruction(1), start=start)
    assert small()(made).passes == 1
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(Refusal, match="autocast would change"):
        small()(made)
    with pytest.raises(Refusal, match="NaN or infinity"):
        small()(program(instruction(1), start=start * math.inf))


def test_it_runs_and_forgets_no_gradient():
    weight = torch.ones(1, 8, requires_grad=True)
    result = small()(program(instruction(1)), (state()[:, :-1] * weight.detach().repeat(1, 3)).requires_grad_())
    assert not result.value.requires_grad


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_transformer_of_384_features():
    """The block of a small language model: six layers on one hash, by named rows and by the network."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(384, 12, 1536, activation="gelu", batch_first=True)
    module = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).double().eval()
    vm = hs.machine.Tape()
    made = vm.host(module, tokens=12)
    x = torch.randn(12, 384, dtype=torch.float64)
    with torch.no_grad():
        wanted = module(x[None])[0]
    result = vm(made, x)
    assert float((result.value - wanted).abs().max()) < 1e-10 and result.certificate.bound < 1e-9
    whole = vm(made, x, rows="all")
    assert float((whole.value - result.value).abs().max()) < 1e-10


def test_a_promise_of_nothing_is_not_saved(tmp_path):
    vm = hs.machine.Tape(slot=2, slots=1, heads=1, norm=(2.0**-480, 2.0**-479))  # no row is read as finely as that
    assert vm.certificate.bound == math.inf
    with pytest.raises(Refusal, match="an infinite certificate promises nothing for a file"):
        vm.save(tmp_path / "vm.safetensors")
