"""Every machine: frozen, hashed, void when it was changed, saved and proved again; no forged file is taken for it."""

import copy
import pickle
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
from tests.compiler.forgery import sampled, texts, wirings

import headsmith as hs
from headsmith import Refusal, StaleCertificate
from headsmith.compiler.compiled import VOID
from headsmith.compiler.files import read, seal, write
from headsmith.machines.bending import ACTIVATIONS
from headsmith.machines.machine import Machine
from headsmith.network import from_config

from .examples import EXAMPLES

FEW = 4  # mutants of each sort and example in make test
WIRINGS, TEXTS = 100, 20  # of each kind, in make test-all, that change the function or a sentence

made = cache(lambda name: EXAMPLES[name]())
every_machine = pytest.mark.parametrize("name", EXAMPLES)


def values(machine, arguments):
    found = machine(*arguments)
    return found.value, found.certificate.bound


@every_machine
def test_its_file_runs_and_is_proved_again(name, tmp_path):
    machine, arguments = made(name)
    path = machine.save(tmp_path / "machine.safetensors")
    verdict = hs.certify(path)
    assert (verdict.status, verdict.bound) == (0, machine.certificate.bound), verdict
    assert verdict.statement == machine.certificate.statement
    again = hs.load(path)
    assert type(again) is type(machine) and again.weight_hash == machine.weight_hash
    assert again.certificate == machine.certificate and again.parameters == machine.parameters
    assert values(again, arguments)[1] == values(machine, arguments)[1]
    assert torch.equal(values(again, arguments)[0], values(machine, arguments)[0])
    assert again.save(tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def changes(machine):
    """Everything that can be changed in a machine, by name: a function that does it to a copy."""
    yield "a weight", lambda m: next(m.network.parameters()).data.mul_(1.5)
    yield "every weight", lambda m: [p.data.mul_(1.5) for p in m.network.parameters()]
    yield "a hook", lambda m: next(iter(m.network.layers.values())).register_forward_hook(lambda *_: None)
    yield "half precision", lambda m: m.network.half()
    yield "a compiled call", lambda m: setattr(m.network, "_compiled_call_impl", torch.zeros_like)
    yield "a class", lambda m: _idle(next(iter(m.network.layers.values())))
    yield "a method", lambda m: vars(m).__setitem__("prove", lambda: None)
    plain = [
        (path, name)
        for path, layer in machine.network.named_modules()
        for name, value in vars(layer).items()
        if isinstance(value, bool | int) and name not in vars(torch.nn.Module())
    ]
    for path, name in plain[:: max(1, len(plain) // 3)]:
        yield f"{path}.{name}", lambda m, p=path, n=name: _raise(vars(m.network.get_submodule(p)), n)
    buffers = list(machine.network.named_buffers())
    for k in range(0, len(buffers), max(1, len(buffers) // 6)):
        name = buffers[k][0]
        yield f"the index {name}", lambda m, k=k: _turn(list(m.network.buffers())[k])
    for name in machine.tables:
        yield f"the table {name}", lambda m, n=name: _rewrite(m.tables[n].values)
    for name, value in machine.parameters.items():
        if isinstance(value, int | float):
            yield f"the number {name}", lambda m, n=name, v=value: vars(m).__setitem__(n, 2 * v)


def _idle(layer: torch.nn.Module) -> None:
    """The class of a layer, but for what it computes."""
    layer.__class__ = type(type(layer).__name__, (type(layer),), {"forward": lambda self, x, *rest: x})


def _raise(attributes: dict[str, int], name: str) -> None:
    attributes[name] += 1


def _turn(index: torch.Tensor) -> None:
    index.logical_not_() if index.dtype == torch.bool else index.add_(1)


def _rewrite(column: np.ndarray) -> None:
    column.setflags(write=True)
    column += 1.5


@pytest.mark.parametrize("name", ["solver: ols", "attention: head", "neurons: tanh", "gradients: tanh", "tape: views"])
def test_a_changed_machine_promises_nothing(name, tmp_path):
    _, arguments = made(name)
    for what, change in changes(made(name)[0]):
        machine = pickled(made(name)[0])
        assert "certified" in repr(machine.certificate) and VOID not in repr(machine)
        change(machine)
        assert not machine.valid, f"{what} changed, and it does not notice"
        with pytest.raises(StaleCertificate):
            machine(*arguments)
        with pytest.raises(StaleCertificate):
            _ = machine.certificate
        with pytest.raises(StaleCertificate):
            machine.save(tmp_path / "f")
        for shown in (repr(machine), str(machine), machine._repr_html_()):
            assert VOID in shown and "certified" not in shown and "error at most" not in shown


@every_machine
def test_a_copy_is_the_same_machine_and_the_copy_of_a_changed_one_is_void(name):
    machine, arguments = made(name)
    for twin in (copy.deepcopy(machine), pickle.loads(pickle.dumps(machine))):
        assert twin.valid and twin.certificate == machine.certificate
        assert torch.equal(twin(*arguments).value, machine(*arguments).value)
        with pytest.raises(ValueError, match="read-only"):
            next(iter(twin.tables.values())).values[0] = 9.0
        next(twin.network.parameters()).data.mul_(1.5)
        assert machine.valid and not twin.valid and not copy.deepcopy(twin).valid


def pickled(machine: Machine) -> Machine:
    """A copy of its own, tables and all."""
    twin = type(machine).__new__(type(machine))
    for name, value in vars(machine).items():
        vars(twin)[name] = (
            dict(copy.deepcopy(dict(value))) if name in ("tables", "parameters") else copy.deepcopy(value)
        )
    return twin


@every_machine
def test_nothing_can_be_set(name):
    machine, _ = made(name)
    for attribute in (*machine.parameters, "network", "tables", "eps", "domain"):
        with pytest.raises(Refusal, match="frozen"):
            setattr(machine, attribute, 9)
    with pytest.raises(ValueError, match="read-only"):
        next(iter(machine.tables.values())).values[0] = 9.0
    with pytest.raises(TypeError):
        machine.parameters["features"] = 9


def deviates(name, manifest, tensors) -> bool:
    """Whether the forged network computes something else on the prompt of the example, beyond every bound."""
    machine, arguments = made(name)
    network = machine.network
    try:
        twin = from_config(manifest["network"], tensors)
        vars(machine)["network"] = twin
        with torch.no_grad():
            out = _run(machine, arguments)
    except Exception:
        return True
    finally:
        vars(machine)["network"] = network
    true, bound = answer(name)
    return out.shape != true.shape or not bool(((out - true).abs().double() <= 2 * bound + 1e-12).all())


@cache
def answer(name):
    """What the honest machine answers, and its bound."""
    return _run(*made(name)), values(*made(name))[1]


def _run(machine, arguments):
    """The machine without its checks: what the forged network would answer."""
    frozen = vars(machine)["_frozen"]
    vars(machine)["_frozen"] = machine._digest()
    try:
        if machine.kind == "solver":  # a few steps: what a forged block does to its state, not where it ends
            return machine.path(*arguments, loops=3)
        if machine.kind == "tape":  # the network alone, its whole program in one prompt
            return machine(*arguments, looped=True).value
        outputs = [machine(*arguments).value]
        if machine.kind == "attention":
            x = torch.full((1, 2), 0.7, dtype=machine.dtype)
            outputs += [machine(hs.prompt.linear(torch.eye(2), activation=f), x).value for f in ACTIVATIONS]
        return torch.cat([out.reshape(-1) for out in outputs])
    finally:
        vars(machine)["_frozen"] = frozen


def rejected(name, mutants, path, wiring):
    """How many of the mutants changed something; fails for the first that is proved all the same."""
    machine, changed = made(name)[0], 0
    for what, manifest, tensors in mutants:
        try:
            write(path, seal(manifest, tensors), tensors)
        except (KeyError, TypeError, AttributeError, ValueError):
            continue
        verdict = hs.certify(path)
        if verdict.status == 0:
            same = (verdict.statement, verdict.bound) == (machine.certificate.statement, machine.certificate.bound)
            assert same, f"{what}: {verdict}"
            assert not deviates(name, manifest, tensors), f"{what}: proved, and false"
            continue
        assert not verdict.statement and verdict.bound is None, what
        changed += not wiring or deviates(name, manifest, tensors)
    return changed


@every_machine
def test_a_sample_of_the_forgeries(name, tmp_path):
    manifest, tensors = read(made(name)[0].save(tmp_path / "honest.safetensors"))
    rejected(name, sampled(wirings(manifest, tensors), FEW), tmp_path / "forged.safetensors", True)
    assert rejected(name, sampled(texts(manifest, tensors), FEW), tmp_path / "forged.safetensors", False)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_of_the_forgeries_of_every_machine(tmp_path):
    found = Counter()
    for name in EXAMPLES:
        machine = made(name)[0]
        manifest, tensors = read(machine.save(tmp_path / "honest.safetensors"))
        forged = tmp_path / "forged.safetensors"
        found[machine.kind, "wirings"] += rejected(name, sampled(wirings(manifest, tensors), 150), forged, True)
        found[machine.kind, "texts"] += rejected(name, sampled(texts(manifest, tensors), 60), forged, False)
    few = {key: n for key, n in found.items() if n < (WIRINGS if key[1] == "wirings" else TEXTS)}
    assert not few, found


def test_a_consistent_lie_about_the_sizes_is_another_proof(tmp_path):
    """A larger domain than the table reads: the promise is proved anew, and fails."""
    machine, _ = made("attention: head")
    manifest, tensors = read(machine.save(tmp_path / "honest.safetensors"))
    manifest["parameters"]["domain"] = {"float": (1.5).hex()}
    manifest["certificate"]["statement"] = machine.certificate.statement.replace("[-1, 1]", "[-1.5, 1.5]")
    assert hs.certify(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors)).status == 1


@pytest.mark.parametrize("name", ["solver: ols", "attention: head", "neurons: tanh", "gradients: tanh"])
def test_a_size_that_no_memory_holds_is_a_verdict(name, tmp_path):
    machine, _ = made(name)
    manifest, tensors = read(machine.save(tmp_path / "honest.safetensors"))
    for size in (field for field, value in machine.parameters.items() if isinstance(value, int)):
        lie = {**manifest, "parameters": {**manifest["parameters"], size: 10**9}}
        verdict = hs.certify(write(tmp_path / "forged.safetensors", seal(lie, tensors), tensors))
        assert verdict.status == 1 and "network reads others" in verdict.reason


def test_activations_from_a_file_are_proved_again(tmp_path):
    """The promise for heads does not speak of GELU; a file whose GELU is another function is rejected all the same."""
    machine, _ = made("attention: gelu")
    manifest, tensors = read(machine.save(tmp_path / "honest.safetensors"))
    tensors["bend.tables.4"][3, 20] += 1e-6
    assert hs.certify(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors)).status == 1


def test_numbers_that_are_none_are_a_verdict(tmp_path):
    """NaN compares with nothing, so a table of the identity that holds one was taken for the identity."""
    machine, _ = made("attention: head")
    manifest, tensors = read(machine.save(tmp_path / "honest.safetensors"))
    tensors["bend.tables.0"][0] = float("nan")
    verdict = hs.certify(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors))
    assert verdict.status == 1 and "nothing is proved of numbers that are NaN" in verdict.reason


def test_a_promise_of_infinity_is_none(tmp_path):
    """A table that reads nothing, in a file that says of itself what the prover finds: no bound at all."""
    machine, _ = made("attention: head")
    manifest, tensors = read(machine.save(tmp_path / "honest.safetensors"))
    tensors["read.anchors"] *= 1e290
    said = Machine.restored("attention", manifest["parameters"], from_config(manifest["network"], tensors)).promise
    lie = {name: getattr(said, name).hex() for name in ("approximation", "rounding")}
    manifest["certificate"] |= {**lie, "bound": said.total.hex()}
    verdict = hs.certify(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors))
    assert verdict.status == 1 and "says nothing" in verdict.reason


def test_a_run_of_which_nothing_is_known_is_refused():
    """What is read may lie beyond the range in which activations are proved: no bound of infinity is certified."""
    sizes = {"features": 2, "head_dim": 2, "tokens": 3, "domain": 2.0}
    program, x = hs.prompt.linear([[0.7, 0.2]], [0.0], "tanh"), torch.tensor([[2.0, 1.9]]).double()
    with pytest.raises(Refusal, match=r"nothing is proved of this prompt: .* build it with a smaller eps"):
        hs.machine.Attention(**sizes, eps=1.0)(program, x)
    assert hs.machine.Attention(**sizes, eps=1e-3)(program, x).certificate.bound < 1e-2


def test_the_rooms_list_their_public_names():
    assert dir(hs.machine) == ["Attention", "Gradients", "Neurons", "Result", "Solver", "Tape", "host"]
    assert dir(hs.prompt) == sorted(hs.prompt.__all__) and "lasso" in dir(hs.prompt)
    assert set(Machine.kinds) >= {"attention", "gradients", "neurons", "solver", "tape"}


def test_an_unknown_machine_is_a_sentence(tmp_path):
    manifest, tensors = read(made("neurons: tanh")[0].save(tmp_path / "honest.safetensors"))
    path = write(tmp_path / "f.safetensors", seal({**manifest, "kind": "machine: perpetual"}, tensors), tensors)
    with pytest.raises(Refusal, match="no machine is called 'perpetual'; this version knows attention, gradients"):
        hs.load(path)


@every_machine
def test_what_it_cannot_do_is_a_sentence(name):
    machine, arguments = made(name)
    with pytest.raises(Refusal, match="without a picture of its own: call it with a program"):
        machine.plot()
    if type(machine).explain is Machine.explain:
        with pytest.raises(Refusal, match="a machine that tells no keys apart"):
            machine.explain(*arguments)
