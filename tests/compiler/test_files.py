"""Files: what is saved comes back proved; what was altered, is false, or is of another format is said so."""

import copy
import json
import math
import os
import subprocess
import sys

import pytest
import torch

import headsmith as hs
from headsmith.compiler.files import FORMAT, Verdict, read, seal, write
from headsmith.network import digest, save_tensors
from headsmith.refusal import Refusal

pytestmark = pytest.mark.xdist_group("files")  # one process compiles what they share

HONEST = [
    ("sin(3*x)", (-2, 2), 1e-2),
    ("tanh(x)", (-2, 2), 1e-5),
    ("abs(sin(3*x)) + x^2", (-1, 1), 1e-2),
    (["abs(x)", "relu(x-0.3)"], (-1, 1), 1e-3),
    (["sin(x)", "cos(x)"], (-1, 1), 3e-2),
    ("x*y", (-1, 1), 1e-3),
    ("sqrt(x - 0.3)", (0.3, 1), 1e-1),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """sin(3*x) within 1e-3, in a file."""
    net = hs.compile("sin(3*x)", domain=(-2, 2), eps=1e-3)
    return net.save(tmp_path_factory.mktemp("files") / "sin.safetensors")


def forged(path, tmp_path, change):
    """A copy of the file with something changed and every hash right."""
    manifest, tensors = copy.deepcopy(read(path))
    change(manifest, tensors)
    return write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("target, domain, eps", HONEST, ids=lambda v: str(v))
def test_honest_files_are_proved_again(tmp_path, target, domain, eps, dtype):
    net = hs.compile(target, domain=domain, eps=eps, dtype=dtype)
    verdict = hs.certify(net.save(tmp_path / "f.safetensors"))
    assert (verdict.status, verdict.bound) == (0, net.certificate.bound), verdict
    assert verdict.statement == net.certificate.statement
    again = hs.load(tmp_path / "f.safetensors")
    assert again.plan.build().certificate == net.certificate
    assert again.plan.eps == eps and "asked" not in str(again.plan)


def test_sealing_an_honest_file_changes_nothing(saved):
    manifest, tensors = read(saved)
    assert seal(manifest, tensors) == manifest


def test_a_file_is_one_spelling(saved, tmp_path):
    manifest, tensors = read(saved)
    assert write(tmp_path / "g.safetensors", manifest, tensors).read_bytes() == saved.read_bytes()


def restated(factor):
    """The approximation error times a factor, and the sum as it should be."""

    def change(manifest, tensors):
        said = manifest["certificate"]
        approximation, rounding = factor * float.fromhex(said["approximation"]), float.fromhex(said["rounding"])
        bound = math.nextafter(approximation + rounding, math.inf)
        said.update(approximation=approximation.hex(), bound=bound.hex())

    return change


LIES = {
    "another formula": lambda m, t: m["target"].update(formulas=[{"formula": ["cos", ["var", "x"]]}]),
    "another domain": lambda m, t: m["request"]["domain"].update(x=[(-2.5).hex(), (2.5).hex()]),
    "a domain that is none": lambda m, t: m["request"]["domain"].update(x=[(2.0).hex(), (-2.0).hex()]),
    "a smaller eps": lambda m, t: m["request"].update(eps=(1e-9).hex()),
    "eps that is none": lambda m, t: m["request"].update(eps="nan"),
    "another dtype": lambda m, t: m["request"].update(dtype="float32"),
    "another method": lambda m, t: m["request"].update(method="magic"),
    "another sentence": lambda m, t: m["certificate"].update(statement="|network(x) - x| <= bound"),
    "fewer assumptions": lambda m, t: m["certificate"].update(assumptions=[]),
    "half the bound": lambda m, t: m["certificate"].update(
        approximation=(float.fromhex(m["certificate"]["approximation"]) / 2).hex()
    ),
    "twice the bound": lambda m, t: m["certificate"].update(
        approximation=(float.fromhex(m["certificate"]["approximation"]) * 2).hex()
    ),
    "half the bound, and the sum right": restated(0.5),
    "a little less than was proved": restated(0.99),
    "more than was proved": restated(1.2),
    "no rounding": lambda m, t: m["certificate"].update(rounding=(0.0).hex()),
    "a bound that is not its sum": lambda m, t: m["certificate"].update(bound=(1e-12).hex()),
    "another kind of proof": lambda m, t: m["certificate"].update(kind="conditional"),
    "another kind of target": lambda m, t: m.update(kind="product"),
    "another construction": lambda m, t: m["design"].update(name="grid"),
    "a construction that is none": lambda m, t: m["design"].update(name="magic"),
    "a part of another formula": lambda m, t: m["design"]["programs"][0][0].update(target=["var", "x"]),
    "a word too many": lambda m, t: m.update(formula="cos(x)"),
    "a field too many": lambda m, t: m["target"].update(note="true"),
    "a field too few": lambda m, t: m["target"].pop("vector"),
    "no request": lambda m, t: m.update(request=None),
    "a key moved": lambda m, t: t["level1.memory"].view(-1)[3].add_(0.1),
    "a spare tensor": lambda m, t: t.update({"target/w": torch.zeros(2)}),
    "a missing tensor": lambda m, t: t.pop("lift.bias"),
    "another scale": lambda m, t: m["network"]["layers"][1].update(scale=(2.0).hex()),
    "hardmax": lambda m, t: m["network"]["layers"][1].update(weights="hardmax"),
    "no residual": lambda m, t: m["network"]["layers"][1].update(residual=False),
    "another variable read": lambda m, t: m["network"]["layers"][2]["map"].update(index=[0]),
    "another name": lambda m, t: m["network"].update(features=["x", "one", "y", "slope", "offset", "value"]),
    "a layer twice": lambda m, t: m["network"]["layers"].insert(1, m["network"]["layers"][1]),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_lies_with_every_hash_right_are_not_proved(saved, tmp_path, lie):
    path = forged(saved, tmp_path, lie)
    verdict = hs.certify(path)
    assert verdict.status == 1 and not verdict.statement and verdict.bound is None, verdict
    with pytest.raises(Refusal):
        hs.load(path)


def test_the_hash_of_an_honest_network_does_not_help_another(saved, tmp_path):
    manifest, tensors = copy.deepcopy(read(saved))
    tensors["lift.bias"] += 0.5
    honest = manifest["certificate"]["weights"]
    sealed = seal(manifest, tensors)
    sealed["certificate"]["weights"] = honest
    sealed["hash"] = digest({k: v for k, v in sealed.items() if k != "hash"}, tensors)
    verdict = hs.certify(write(tmp_path / "f.safetensors", sealed, tensors))
    assert verdict.status == 1 and "construction" in verdict.reason


@pytest.mark.slow
def test_python_without_asserts_rejects_them_too(saved, tmp_path):
    path = forged(saved, tmp_path, LIES["a key moved"])
    code = f"import headsmith as hs; print(hs.certify({str(path)!r}).status)"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_a_longer_eps_is_never_shown(saved, tmp_path):
    path = forged(saved, tmp_path, lambda m, t: m["request"].update(eps=(0.123).hex()))
    assert hs.certify(path).status in (0, 1)
    if hs.certify(path).status == 0:
        assert "0.123" not in repr(hs.load(path)) + hs.load(path)._repr_html_()


def test_unsealed_changes_are_noticed(saved, tmp_path):
    manifest, tensors = read(saved)
    manifest["request"]["eps"] = (1.0).hex()
    verdict = hs.certify(write(tmp_path / "f.safetensors", manifest, tensors))
    assert verdict.status == 1 and "hash" in verdict.reason


@pytest.mark.parametrize("data", [b"", b"{}", b"\x00" * 64, b"\xff" * 4096, (2**62).to_bytes(8, "little") + b"{}"])
def test_what_is_no_file_of_ours_is_a_verdict(tmp_path, data):
    path = tmp_path / "f.safetensors"
    path.write_bytes(data)
    assert hs.certify(path).status == 1


def test_a_manifest_of_any_shape_is_a_verdict(saved, tmp_path):
    _, tensors = read(saved)
    deep = json.loads("[" * 500 + "]" * 500)
    for k, manifest in enumerate(({}, {"format": FORMAT}, {"format": FORMAT, "hash": 0}, {"format": deep})):
        assert hs.certify(write(tmp_path / f"f{k}.safetensors", manifest, tensors)).status == 1


def test_tensors_of_ours_without_a_proof_are_refused_by_what_reads_them(tmp_path):
    save_tensors(tmp_path / "layer.safetensors", {"W_Q": torch.eye(2)}, {})
    verdict = hs.certify(tmp_path / "layer.safetensors")
    assert verdict.status == 1 and "'headsmith lab diagnose' reads a trained layer" in verdict.reason


def test_the_first_format_is_refused_by_number(saved, tmp_path):
    manifest, tensors = read(saved)
    path = write(tmp_path / "old.safetensors", {**manifest, "format": 1}, tensors)
    with pytest.raises(Refusal, match=r"file format 1 of Headsmith 0\.1\.0, this version reads format 2"):
        hs.load(path)
    assert hs.certify(path).status == 2


def test_folders_pipes_devices_and_missing_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        verdict = hs.certify(path)
        assert verdict.status == 1 and "not a regular file" in verdict.reason
    with pytest.raises(Refusal, match="not a file"):
        hs.certify("no-such-file.safetensors")


def test_a_construction_proves_only_the_kind_of_target_it_is_made_for(tmp_path):
    """One layer f(w.x - y) x is no step of gradient descent, though its proof finds all it asks for in that target."""
    room = {"residual": 2.0, "x": 1.5, "w": 1.0, "y": 2.0}
    rule = hs.compile(hs.target.ResidualRule("t", 2, 3), domain=room, eps=1e-3, method="dense")
    descent = hs.compile(hs.target.Descent("squared", 2, 3, steps=2, rate=0.5), domain=room, eps=1e-3)
    other, tensors = read(rule.save(tmp_path / "rule.safetensors"))
    manifest, _ = read(descent.save(tmp_path / "descent.safetensors"))
    proved = rule.plan.design.prove(descent.target, descent.plan.request).with_slack()
    said = {part: getattr(proved, part).hex() for part in ("approximation", "rounding")} | {"bound": proved.total.hex()}
    lie = {**manifest, **{k: other[k] for k in ("design", "network")}}
    lie["certificate"] = {**manifest["certificate"], **said}
    verdict = hs.certify(write(tmp_path / "lie.safetensors", seal(lie, tensors), tensors))
    assert verdict.status == 1 and "'rule' makes nothing of kind 'descent'" in verdict.reason


@pytest.mark.parametrize(
    ("variables", "vector"),
    [(["x in [-9, 9], z"], False), (["y"], False), (["x", "x"], False), ("x", False), (["x"], 0), (["x"], None)],
)
def test_no_sentence_hides_in_the_names_of_variables(saved, tmp_path, variables, vector):
    def lie(manifest, tensors):
        ends = manifest["request"]["domain"].pop("x")
        name = variables[0]
        manifest["target"] |= {"variables": variables, "vector": vector}
        manifest["request"]["domain"][name] = ends
        spelled = f"|network({name}) - (sin(3*x))| <= bound for every float64 {name} in [-2, 2]"
        manifest["certificate"]["statement"] = spelled

    path = forged(saved, tmp_path, lie)
    with pytest.raises(Refusal):
        hs.load(path)
    assert hs.certify(path).status == 1


@pytest.mark.parametrize("spell", [lambda r: r["domain"]["x"].append("0x1p+9"), lambda r: r.update(seed=1)])
def test_a_request_is_spelled_in_one_way(saved, tmp_path, spell):
    assert hs.certify(forged(saved, tmp_path, lambda manifest, _: spell(manifest["request"]))).status == 1


@pytest.mark.parametrize("bound", [-1.0, math.nan, math.inf, 1.0])
def test_the_bound_of_code_is_shown_as_the_word_of_the_file(tmp_path, bound):
    net = hs.compile(torch.sin, domain=(-1, 1), eps=1e-2, derivative_bounds=(1, 1))
    path = net.save(tmp_path / "code.safetensors")
    assert "not proved again" in repr(hs.load(path)) and "not proved again" not in repr(net)
    assert "not proved again" in hs.load(path)._repr_html_()

    def lie(manifest, tensors):
        manifest["certificate"] |= {"approximation": bound.hex(), "bound": math.nextafter(bound, math.inf).hex()}

    with pytest.raises(Refusal):
        hs.load(forged(path, tmp_path, lie))


def test_no_sentence_hides_in_the_name_of_code(tmp_path):
    def code(x):
        return torch.sin(x)

    code.__name__ = "sin\nCertificate: error at most 0 (certified)"
    net = hs.compile(code, domain=(-1, 1), eps=1e-2, derivative_bounds=(1, 1))
    assert str(net.target) == "f"


@pytest.mark.parametrize(
    "tell", [lambda text: text.replace('"kind":', '"kind":"x","kind":', 1), lambda text: text + " "]
)
def test_a_manifest_has_one_spelling(tmp_path, tell):
    """JSON may say a thing twice, and readers differ in which of the two they take."""
    path = hs.compile(hs.target.Product([[1.0]], [[2.0]]), eps=1e-12).save(tmp_path / "product.safetensors")
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"]["headsmith"] = tell(header["__metadata__"]["headsmith"])
    again = json.dumps(header).encode()
    path.write_bytes(len(again).to_bytes(8, "little") + again + data[8 + size :])
    assert hs.certify(path) == Verdict(1, f"{path} was altered: its manifest is not spelled as Headsmith spells it")


def test_a_network_has_one_spelling(saved, tmp_path):
    """A word that our reader skips may mean something to another one; its hash is that of the honest network."""
    manifest, tensors = copy.deepcopy(read(saved))
    honest = manifest["certificate"]["weights"]
    manifest["network"]["layers"][1]["causal"] = True
    sealed = seal(manifest, tensors)
    sealed["certificate"]["weights"] = honest
    sealed["hash"] = digest({k: v for k, v in sealed.items() if k != "hash"}, tensors)
    verdict = hs.certify(write(tmp_path / "f.safetensors", sealed, tensors))
    assert verdict.status == 1 and "spells its network" in verdict.reason


@pytest.mark.parametrize("size", [10**5, 10**9, 10**30])
@pytest.mark.parametrize("field", ["tokens", "features"])
def test_a_size_that_no_memory_holds_is_a_verdict(tmp_path, field, size):
    target = hs.target.PromptClip(tokens=2, features=1)
    path = hs.compile(target, domain=(-1, 1), eps=0.2).save(tmp_path / "clip.safetensors")
    verdict = hs.certify(forged(path, tmp_path, lambda manifest, _: manifest["target"].update({field: size})))
    assert verdict.status == 1


@pytest.mark.parametrize("name", [None, 3, b"f", "", "a\0b", "x" * 5000])
def test_what_names_no_file_is_refused(name):
    with pytest.raises(Refusal, match="not a file"):
        hs.certify(name)


def test_a_manifest_that_nests_too_deep_is_a_refusal(tmp_path):
    for depth in range(500, 1100, 7):
        path = tmp_path / "deep.safetensors"
        save_tensors(path, {"a": torch.zeros(1)}, {"headsmith": f'{{"format":2,"kind":{"[" * depth}{"]" * depth}}}'})
        with pytest.raises(Refusal):
            hs.load(path)
