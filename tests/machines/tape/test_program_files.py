"""Programs through files: lowered again from what was asked for, and nothing that a file adds is believed."""

import copy

import pytest
import torch

import headsmith as hs
from headsmith import Refusal, prompt
from headsmith.compiler.files import read, seal_program, write
from headsmith.constructions.design import Altered
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.lowering import lower

from ..data import random
from .test_lowering import WIDE, layer, normed

X, Y = random(12, 3, seed=1), random(12, seed=2)
PROGRAMS = {
    "encoder": prompt.chain(layer(24, 4, 40, pre=True, causal=True, seed=3), prompt.pool(), normed(24, 5)),
    "unit": prompt.norm([1.0, 2.0], eps=0.0, centred=False),
    "heads": prompt.head(random(4, 24, seed=1), random(4, 24, seed=2), random(4, 24, seed=3), activation="tanh"),
    "pool": prompt.chain(prompt.linear(random(5, 24, seed=1), None, "silu"), prompt.pool()),
    "ols": prompt.descent(X, Y, steps=5),
    "path": prompt.descent(X, Y, "huber", delta=0.7, l1=[0.1, 0.2], l2=0.01, rate=0.1, momentum=0.25, steps=5),
    "lasso": prompt.descent(X, Y, l1=0.1, steps=5),
    "rule": prompt.rule("tanh(2*t)", X, Y, 0.1, 5),
}


def tape_of(name):
    return lower(PROGRAMS[name], WIDE, domain=128.0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_comes_back_as_it_was(name, tmp_path):
    tape = tape_of(name)
    found = hs.load(tape.save(tmp_path / "p.safetensors"))
    X = random(6, tape.features, seed=9) if tape.features else None
    assert torch.equal(found.reference(X), tape.reference(X))
    assert str(found.listing()) == str(tape.listing()) and found.scales == tape.scales
    assert torch.equal(found.source.reference(X), tape.source.reference(X))
    again = found.save(tmp_path / "q.safetensors")
    assert again.read_bytes() == (tmp_path / "p.safetensors").read_bytes()


@pytest.fixture
def written(tmp_path):
    path = tape_of("encoder").save(tmp_path / "p.safetensors")
    return path, *read(path)


def test_a_changed_number_is_seen(written):
    path, manifest, tensors = written
    name = next(name for name in tensors if name.endswith("weight"))
    tensors[name] = tensors[name] * 2
    write(path, manifest, tensors)
    with pytest.raises(Altered, match="does not match its own hash"):
        hs.load(path)


FORGERIES = {
    "swapped": lambda m: m["instructions"].reverse(),
    "dropped": lambda m: m["instructions"].pop(),
    "view": lambda m: m["instructions"][1].__setitem__(5, "heads"),
    "slots": lambda m: m["block"].__setitem__("slots", 1),
    "heads": lambda m: m["block"].__setitem__("heads", 7),
    "scales": lambda m: m["scales"].pop(),
    "spelling": lambda m: m["scales"].__setitem__(0, "nan"),
    "stages": lambda m: m["program"]["chain"]["stages"].pop(),
    "kind": lambda m: m["program"].__setitem__("eval", m["program"].pop("chain")),
    "tensor": lambda m: m["program"]["chain"]["stages"][-1]["norm"].__setitem__("gamma", {"tensor": "nowhere"}),
    "features": lambda m: m.__setitem__("features", 23),
    "more": lambda m: m.__setitem__("comment", "trust me"),
    "text": lambda m: m["program"]["chain"]["stages"][-1]["norm"].__setitem__("eps", "0"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_is_refused_though_its_hash_is_right(written, forgery):
    path, manifest, tensors = written
    forged = copy.deepcopy(manifest)
    FORGERIES[forgery](forged)
    write(path, seal_program({k: v for k, v in forged.items() if k != "hash"}, tensors), tensors)
    with pytest.raises(Refusal) as refusal:
        hs.load(path)
    assert str(path) in str(refusal.value) and "\n" not in str(refusal.value)
    assert forgery not in ("swapped", "view") or "of the file is not the one" in str(refusal.value)


@pytest.mark.parametrize("tensor", [torch.tensor(float("nan")), torch.zeros(2, 2).double()])
def test_tensors_that_are_no_weights_are_refused(written, tensor):
    path, manifest, tensors = written
    name = next(name for name in tensors if name.endswith("weight"))
    tensors[name] = tensor if tensor.dim() else torch.full_like(tensors[name], float("nan"))
    write(path, seal_program({k: v for k, v in manifest.items() if k != "hash"}, tensors), tensors)
    with pytest.raises(Refusal):
        hs.load(path)


def test_a_program_is_no_proof(written):
    verdict = hs.certify(written[0])
    assert verdict.status == 2 and "a tape program" in verdict.reason


def test_a_hash_that_was_made_right_makes_another_program(written):
    path, manifest, tensors = written
    name = next(name for name in tensors if name.endswith("beta"))
    tensors[name] = tensors[name] + 1
    write(path, seal_program({k: v for k, v in manifest.items() if k != "hash"}, tensors), tensors)
    other, x = hs.load(path), random(6, 24, seed=9)
    assert float((other.reference(x) - other.source.reference(x)).abs().max()) < 1e-12
    assert float((other.reference(x) - tape_of("encoder").reference(x)).abs().max()) > 0.1


def test_a_small_block_stays_small(tmp_path):
    tape = lower(prompt.linear([[1.0]]), Sizes(2, 2, 1))
    assert hs.load(tape.save(tmp_path / "p.safetensors")).sizes == Sizes(2, 2, 1)


def forged(name, tmp_path, edit):
    """The file of a program, edited, with the hash made right."""
    path = tape_of(name).save(tmp_path / "p.safetensors")
    manifest, tensors = read(path)
    edit(manifest)
    return write(path, seal_program({k: v for k, v in manifest.items() if k != "hash"}, tensors), tensors)


def field(kind, name, value):
    return lambda m: m["program"][kind].__setitem__(name, value)


BLOCKS = {
    "domain": ("inf", "nan", "-0x1p3", "0x0p0", "0x1p60"),
    "norm": (["nan", "nan"], ["inf", "inf"], ["0x1p6", "0x1p-6"], ["0x0p0", "0x1p0"]),
    "heads": (0, -1, True, 10**12),
    "slot": (10**9, 48.0, "48"),
    "slots": (0, -1, 12.0),
}


@pytest.mark.parametrize("name", ["ols", "encoder"])
@pytest.mark.parametrize(("key", "value"), [(key, value) for key, row in BLOCKS.items() for value in row])
def test_a_block_that_cannot_be_built_is_refused(key, value, name, tmp_path):
    path = forged(name, tmp_path, lambda m: m["block"].__setitem__(key, value))
    with pytest.raises(Refusal) as refusal:
        hs.load(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("name", "kind"), [("ols", "descent"), ("rule", "rule")])
def test_a_file_has_no_say_in_the_name_of_a_descent(name, kind, tmp_path):
    path = forged(name, tmp_path, field(kind, "steps", 7))  # the name still says 5 steps
    with pytest.raises(Altered, match="says something else than its program"):
        hs.load(path)


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[2J", 5, None])
def test_a_name_stands_on_one_line(name, tmp_path):
    with pytest.raises(Altered, match="cannot be shown"):
        hs.load(forged("encoder", tmp_path, field("chain", "name", name)))


@pytest.mark.parametrize(("name", "kind"), [("ols", "descent"), ("rule", "rule")])
def test_steps_that_nobody_lives_to_see_are_refused_at_once(name, kind, tmp_path):
    path = forged(name, tmp_path, field(kind, "steps", 10**12))
    with pytest.raises(Refusal, match="up to 1048576, not 1000000000000"):
        hs.load(path)


@pytest.mark.parametrize("count", [-1, 0, True, 4.0, None, "4", 2**11, 10**12])
def test_tokens_that_the_program_does_not_read_are_not_made(count, tmp_path):
    def edit(m):
        m["program"]["chain"]["stages"] = [{"pool": {"name": "pool"}}]
        m["features"] = count

    def other(m):
        m["features"] = count

    for change in (edit, other):
        with pytest.raises(Altered, match=r"its program reads tokens of .* numbers, not of "):
            hs.load(forged("encoder", tmp_path, change))


def test_a_mean_alone_comes_back(tmp_path):
    tape = lower(prompt.pool(), Sizes(4, 6, 1), sample=random(3, 9, seed=0))
    x = random(5, 9, seed=1)
    assert torch.equal(hs.load(tape.save(tmp_path / "p.safetensors")).reference(x), tape.reference(x))


def test_what_the_user_edits_later_is_not_in_the_program(tmp_path):
    weight = random(3, 3, seed=0)
    tape = lower(prompt.linear(weight), WIDE)
    x = random(4, 3, seed=1)
    before = tape.reference(x)
    weight += 1
    assert torch.equal(hs.load(tape.save(tmp_path / "p.safetensors")).reference(x), before)
    assert torch.equal(tape.source.reference(x), before)
