"""The independent checker accepts what we save and rejects forgeries whose forger fixed every hash."""

import ast
import copy
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import headsmith as hs
import headsmith.proof.checker
from headsmith.compiler.files import read, seal, write
from headsmith.proof.checker import check

from .helpers import RUBBISH, forged, leaves, say, scaled

HONEST = {
    "one head": lambda: hs.compile("x^2", domain=(-2, 2), eps=1e-6),
    "exact": lambda: hs.compile("silu(x)", domain=(-4, 4), eps=1e-5, dtype="float32"),
    "a constant": lambda: hs.compile("5", domain=(0, 1), eps=1e-9),
    "gates": lambda: hs.compile("abs(x - 0.3)", domain=(-1, 1), eps=1e-8),
    "clip, float32": lambda: hs.compile("clip(x,-1,1)", domain=(-2, 2), eps=1e-4, dtype="float32"),
    "0/0": lambda: hs.compile("sin(x)/x", domain=(-2, 2), eps=1e-3),
    "a composition": lambda: hs.compile("exp(-abs(x))", domain=(-1, 1), eps=1e-3),
    "side by side": lambda: hs.compile(["abs(x)", "relu(x-0.3)"], domain=(-1, 1), eps=1e-3),
    "two variables": lambda: hs.compile("x*y", domain=(-1, 1), eps=1e-6),
    "three variables": lambda: hs.compile("x*y*z", domain=(-1, 1), eps=1e-3),
    "a vector of two variables": lambda: hs.compile(["x*y", "x + y^2"], domain=(-1, 1), eps=1e-3, dtype="float32"),
}
SLOW = {
    "0 log 0": lambda: hs.compile("x*log(x)", domain=(0, 1), eps=1e-2),
    "an end": lambda: hs.compile("sqrt(x - 0.3)", domain=(0.3, 1), eps=1e-2),
    "a table": lambda: hs.compile("sqrt(x)", domain=(0, 1), eps=1e-6),
    "kinks in a curve": lambda: hs.compile("abs(sin(3*x))+x^2", domain=(-1, 1), eps=1e-6),
    "shared keys": lambda: hs.compile(["sin(x)", "cos(x)"], domain=(-1, 1), eps=1e-3),
    "of the README": lambda: hs.compile("sin(2*x)*cos(y) + x*y", domain=(-1, 1), eps=1e-6),
}


@pytest.mark.parametrize("name", [*HONEST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_accepts_what_we_save(tmp_path, name):
    net = {**HONEST, **SLOW}[name]()
    verdict = check(net.save(tmp_path / "net.safetensors"))
    assert verdict.status == 0, verdict.reason
    assert verdict.bound == net.certificate.bound


README = ("sin(3*x)", "1/(1+25*x^2)", "exp(-x^2)*cos(4*x)", "softplus(x)", "gelu(x)", "1/(1+1000*x^2)", "tanh(x)")


@pytest.mark.slow
@pytest.mark.parametrize("dtype, eps", [("float64", 1e-3), ("float64", 1e-6), ("float32", 1e-3)])
@pytest.mark.parametrize("formula", README)
def test_accepts_the_table_of_the_readme(tmp_path, formula, dtype, eps):
    reach = 5 if formula in ("softplus(x)", "gelu(x)") else 1
    net = hs.compile(formula, domain=(-reach, reach), eps=eps, dtype=dtype)
    assert check(net.save(tmp_path / "net.safetensors")).status == 0


# forgeries


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("checker") / "small.safetensors"
    return hs.compile("x^2", domain=(-1, 1), eps=1e-2).save(path)


@pytest.fixture(scope="module")
def composed(tmp_path_factory):
    path = tmp_path_factory.mktemp("checker") / "composed.safetensors"
    return hs.compile("exp(-abs(x))", domain=(-1, 1), eps=1e-2).save(path)


def test_a_forger_who_changes_nothing_passes(small, composed, tmp_path):
    for path in (small, composed):
        assert forged(path, tmp_path, lambda manifest, tensors: None).status == 0


@pytest.mark.parametrize("stride", [53, pytest.param(3, marks=pytest.mark.slow)])
def test_every_flipped_byte_is_noticed(small, tmp_path, stride):
    data, mutant = small.read_bytes(), tmp_path / "mutant.safetensors"
    for place in range(0, len(data), stride):
        for flip in (0x01, 0xFF):
            mutant.write_bytes(data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :])
            assert check(mutant).status != 0, f"byte {place} xor {flip:#x} went unnoticed"


def generous(manifest, factor=8.0):
    """A forger states more rounding than there was."""
    said = manifest["certificate"]
    said["rounding"] = scaled(said["rounding"], factor)
    said["bound"] = scaled(said["bound"], 1 + 1e-6)


def test_half_of_a_head_after_its_reader(composed, tmp_path):
    """As a sum over the whole file nothing is missing; the reader, one layer earlier, sees half of it."""

    def split(manifest, tensors):
        layers = manifest["network"]["layers"]
        first = layers[1]
        for key in [key for key in tensors if key.startswith(f"{first['name']}.")]:
            tensors[key.replace(first["name"], "late")] = tensors[key].clone()
        for name in (first["name"], "late"):
            tensors[f"{name}.memory"][..., -1] /= 2
            if f"{name}.value.coefficient" in tensors:
                tensors[f"{name}.value.coefficient"][..., 1:] /= 2
        layers.insert(3, {**first, "name": "late"})
        manifest["network"]["variables"] = {}
        generous(manifest)

    verdict = forged(composed, tmp_path, split)
    assert verdict.status == 1 and "has read" in verdict.reason


def test_the_same_split_before_the_reader_is_proved(composed, tmp_path):
    """What the test above relies on: two half heads are one head, if both come in time."""

    def split(manifest, tensors):
        layers = manifest["network"]["layers"]
        first = layers[1]
        for key in [key for key in tensors if key.startswith(f"{first['name']}.")]:
            tensors[key.replace(first["name"], "early")] = tensors[key].clone()
        for name in (first["name"], "early"):
            tensors[f"{name}.memory"][..., -1] /= 2
            if f"{name}.value.coefficient" in tensors:
                tensors[f"{name}.value.coefficient"][..., 1:] /= 2
        layers.insert(1, {**first, "name": "early"})
        manifest["network"]["variables"] = {}
        generous(manifest)

    assert forged(composed, tmp_path, split).status == 0


UNDEFINED = {
    "sqrt(x)": ["sqrt", ["var", "x"]],
    "log(x)": ["log", ["var", "x"]],
    "1/x": ["/", ["num", "1"], ["var", "x"]],
    "x^0.5": ["^", ["var", "x"], ["num", "0.5"]],
    "x^-1": ["^", ["var", "x"], ["num", "-1"]],
    "x^0": ["^", ["var", "x"], ["num", "0"]],
    "x^x": ["^", ["var", "x"], ["var", "x"]],
    "tan(2*x)": ["tan", ["*", ["num", "2"], ["var", "x"]]],
    "sqrt(-1)": ["sqrt", ["num", "-1"]],
    "log(0)": ["log", ["num", "0"]],
    "1/(1 - 1)": ["/", ["num", "1"], ["-", ["num", "1"], ["num", "1"]]],
    "0^0": ["^", ["num", "0"], ["num", "0"]],
    "0*sqrt(x)": ["*", ["num", "0"], ["sqrt", ["var", "x"]]],
    "x - 0/0*x": ["-", ["var", "x"], ["*", ["/", ["num", "0"], ["num", "0"]], ["var", "x"]]],
}


DEFINED = {
    "sin(x)": ["sin", ["var", "x"]],
    "sqrt(abs(x))": ["sqrt", ["abs", ["var", "x"]]],
}


def zero_for(text, tree, tmp_path):
    """The verdict on a network that is 0, said to be within 9 of this formula on [-1, 1]."""
    path = hs.compile("0*x", domain=(-1, 1), eps=1e-2).save(tmp_path / "zero.safetensors")
    manifest, tensors = read(path)
    manifest["target"]["formulas"] = [{"formula": tree}]
    manifest["design"]["programs"][0][0]["target"] = tree
    said = manifest["certificate"]
    said["statement"] = f"|network(x) - ({text})| <= bound for every float64 x in [-1, 1]"
    said |= {"approximation": (9.0).hex(), "bound": (19.0).hex()}
    return check(write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors), work=40_000)


@pytest.mark.parametrize("text", UNDEFINED)
def test_nothing_is_proved_where_a_formula_has_no_value(tmp_path, text):
    """An undefined target is neither 0 nor anything else."""
    verdict = zero_for(text, UNDEFINED[text], tmp_path)
    assert verdict.status in (1, 2) and "statement" not in verdict.reason, verdict


@pytest.mark.parametrize("text", DEFINED)
def test_but_where_it_has_one(tmp_path, text):
    """What the test above relies on."""
    verdict = zero_for(text, DEFINED[text], tmp_path)
    assert verdict.status == 0, verdict


def test_a_value_moved_by_twice_the_slack_is_false(small, tmp_path):
    def move(manifest, tensors):
        tensors["level1.memory"][0, :, -1] += 0.02

    verdict = forged(small, tmp_path, move)
    assert verdict.status == 1 and "false" in verdict.reason


def edit_part(key, value):
    def change(manifest, tensors):
        [[part]] = manifest["design"]["programs"]
        part[key] = value(part[key])

    return change


def edit_layer(key, value, layer=1):
    return lambda manifest, tensors: manifest["network"]["layers"][layer].update({key: value})


def other_domain(ends, told):
    def change(manifest, tensors):
        manifest["request"]["domain"]["x"] = [end.hex() for end in ends]
        if told:
            said = manifest["certificate"]
            said["statement"] = said["statement"].replace("[-1, 1]", "[" + ", ".join(f"{e:g}" for e in ends) + "]")

    return change


CUBE = ["^", ["var", "x"], ["num", "3"]]


def other_target(manifest, tensors):
    manifest["target"]["formulas"][0]["formula"] = CUBE


def other_target_told(manifest, tensors):
    other_target(manifest, tensors)
    edit_part("target", lambda old: CUBE)(manifest, tensors)
    said = manifest["certificate"]
    said["statement"] = said["statement"].replace("(x^2)", "(x^3)")


def spare_tensor(manifest, tensors):
    tensors["level1.spare"] = tensors["level1.memory"].clone()


LIES = {
    "smaller bound": say("bound", lambda text: scaled(text, 0.5)),
    "smaller approximation": say("approximation", lambda text: scaled(text, 0.5)),
    "smaller rounding": say("rounding", lambda text: (0.0).hex()),
    "negative rounding": say("rounding", lambda text: (-1.0).hex()),
    "a bound that is no number": say("bound", lambda text: "nan"),
    "another sentence": say("statement", lambda text: text.replace("x^2", "x")),
    "fewer assumptions": say("assumptions", lambda old: old[:2]),
    "another kind of proof": say("kind", lambda kind: "guessed"),
    "one more word": lambda m, t: m["certificate"].update(note="proved"),
    "wider domain": other_domain((-2.0, 2.0), told=False),
    "wider domain, told": other_domain((-2.0, 2.0), told=True),
    "empty domain": other_domain((1.0, -1.0), told=True),
    "other dtype": lambda m, t: m["request"].update(dtype="float32"),
    "other target": other_target,
    "other target, told twice": other_target_told,
    "a vector": lambda m, t: m["target"].update(vector=True),
    "no parts": lambda m, t: m["design"].update(programs=[[]]),
    "no programs": lambda m, t: m["design"].update(programs=[]),
    "other construction": lambda m, t: m["design"].update(name="grid"),
    "other output": edit_part("output", lambda name: "x"),
    "other input": edit_part("input", lambda name: "out"),
    "bias told": edit_part("bias", lambda text: (0.1).hex()),
    "scale": edit_layer("scale", (2.0).hex()),
    "no residual": edit_layer("residual", False),
    "relu weights": edit_layer("weights", "relu"),
    "hardmax": edit_layer("weights", "hardmax"),
    "sees other tokens": edit_layer("visible", "all"),
    "sees itself": edit_layer("visible", "self"),
    "a masked key": lambda m, t: m["network"]["layers"][1].update(
        memory_mask=[[0] + [1] * (m["network"]["layers"][1]["memory"][1] - 1)]
    ),
    "reads the input": lambda m, t: m["network"]["layers"][2]["map"].update(index=[0]),
    "a bias in the stream": lambda m, t: t["lift.bias"].__setitem__(3, 1.0),
    "a variable that begins elsewhere": lambda m, t: t["lift.bias"].__setitem__(2, 0.5),
    "one is two": lambda m, t: t["lift.bias"].__setitem__(1, 2.0),
    "a key that is a query": lambda m, t: t["level1.memory"].select(-1, 0).fill_(1.0),
    "spare tensor": spare_tensor,
    "names alike": lambda m, t: m["network"].update(features=["x"] * len(m["network"]["features"])),
    "a layer twice": lambda m, t: m["network"]["layers"].insert(1, m["network"]["layers"][1]),
    "no layer": lambda m, t: m["network"]["layers"].pop(1),
    "swapped values": lambda m, t: t["level1.memory"][0, :, -1].copy_(t["level1.memory"][0, :, -1].roll(1).clone()),
    "nothing finite": lambda m, t: t["level1.memory"].fill_(float("nan")),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_with_correct_hashes_are_rejected(small, tmp_path, lie):
    assert forged(small, tmp_path, LIES[lie]).status != 0


def test_numbers_that_are_none_are_named(small, tmp_path):
    assert "not finite" in forged(small, tmp_path, LIES["nothing finite"]).reason


GRID_LIES = {
    "a value": lambda m, t: t["grid.memory"].__setitem__((0, -1), t["grid.memory"][0, -1] + 1.0),
    "an offset": lambda m, t: t["grid.memory"].__setitem__((1, -2), t["grid.memory"][1, -2] + 0.1),
    "a slope": lambda m, t: t["grid.memory"].__setitem__((1, -4), t["grid.memory"][1, -4] + 0.1),
    "swapped variables": lambda m, t: m["network"]["layers"][1]["query"].update(index=[[1, 0, 2]]),
    "hardmax": edit_layer("weights", "hardmax"),
    "twice the scale": edit_layer("scale", (2.0).hex()),
    "a smaller error": say("approximation", lambda text: scaled(text, 0.7)),
    "a smaller rounding": say("rounding", lambda text: scaled(text, 0.1)),
    "a wider box": lambda m, t: m["request"]["domain"].update(x=[(-2.0).hex(), (2.0).hex()]),
    "another formula": lambda m, t: m["target"].update(formulas=[{"formula": ["+", ["var", "x"], ["var", "y"]]}]),
}


@pytest.mark.parametrize("lie", GRID_LIES)
def test_lies_about_grids_are_rejected(tmp_path, lie):
    path = hs.compile("x*y", domain=(-1, 1), eps=1e-3).save(tmp_path / "grid.safetensors")
    assert forged(path, tmp_path, lambda m, t: None).status == 0
    assert forged(path, tmp_path, GRID_LIES[lie]).status != 0


def test_an_offset_that_is_no_sum_is_no_grid(tmp_path):
    path = hs.compile("x*y", domain=(-1, 1), eps=1e-3).save(tmp_path / "grid.safetensors")
    verdict = forged(path, tmp_path, GRID_LIES["an offset"])
    assert verdict.status == 1 and "product" in verdict.reason


# whatever a file holds, there is an answer

TREES = {
    "arity": ["sin", ["var", "x"], ["var", "x"]],
    "no arguments": ["sin"],
    "unknown": ["system", ["var", "x"]],
    "not a list": "sin(x)",
    "empty": [],
    "a ball": ["num", "[1 +/- 1]"],
    "not a number": ["num", "nan"],
    "a huge number": ["num", "1e999999999"],
    "a huge power": ["^", ["var", "x"], ["num", "1000000"]],
    "a number that is one": ["num", 1],
    "a word that is a list": [["sin"], ["var", "x"]],
}


@pytest.mark.parametrize("name", TREES)
def test_malformed_formulas_are_rejected(small, tmp_path, name):
    def change(manifest, tensors):
        manifest["target"]["formulas"][0]["formula"] = TREES[name]
        manifest["design"]["programs"][0][0]["target"] = TREES[name]

    assert forged(small, tmp_path, change).status == 1


@pytest.mark.parametrize("depth", [400, 900])
def test_deep_formulas_are_rejected(small, tmp_path, depth):
    tree = ["var", "x"]
    for _ in range(depth):
        tree = ["sin", tree]
    verdict = forged(small, tmp_path, lambda m, t: m["target"].update(formulas=[{"formula": tree}]))
    assert verdict.status == 1


@pytest.mark.parametrize("count", [60, pytest.param(1500, marks=pytest.mark.slow)])
def test_fuzzed_manifests_are_answered(small, composed, tmp_path, count):
    """Any word or number replaced by anything: a verdict, soon, and never a proof of something else."""
    rng = random.Random(count)
    for path in (small, composed):
        honest, tensors = read(path)
        places = [p for p in leaves(honest) if p[0] not in ("hash", "format")]
        for _ in range(count // 2):
            manifest = copy.deepcopy(honest)
            *way, last = rng.choice(places)
            node = manifest
            for key in way:
                node = node[key]
            node[last] = rng.choice(RUBBISH)
            if not isinstance(manifest["certificate"], dict):
                continue
            changed = seal(manifest, tensors) if "network" in manifest else manifest
            verdict = check(write(tmp_path / "fuzzed.safetensors", changed, tensors), work=20_000)
            silent = changed == seal(honest, tensors) or way[:1] in (["request"], ["network"])
            assert verdict.status in (0, 1, 2) and (verdict.status or silent), (way, last, node[last])


def test_the_budget_ends_every_proof(tmp_path):
    path = hs.compile("x*y", domain=(-1, 1), eps=1e-3).save(tmp_path / "grid.safetensors")
    verdict = check(path, work=100)
    assert verdict.status == 2 and "within 100 steps" in verdict.reason
    assert "within 0 seconds" in check(path, seconds=0.0).reason


@pytest.mark.parametrize("content", [b"", b"not a network", b"\x08\0\0\0\0\0\0\0{}      ", b"\xff" * 4096])
def test_rubbish_is_a_verdict_not_a_crash(tmp_path, content):
    path = tmp_path / "rubbish.safetensors"
    path.write_bytes(content)
    assert check(path).status == 1


def test_a_folder_and_no_file_are_verdicts(tmp_path):
    assert check(tmp_path).status == 1 and check(tmp_path / "none").status == 1


@pytest.mark.timeout(20)
def test_nobody_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert check(tmp_path / "pipe") == (1, "it is not a regular file", None)


def test_brackets_without_end_are_a_verdict(small, tmp_path):
    """JSON that nests ten thousand lists exhausts its reader, not the checker."""
    data = small.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"]["headsmith"] = "[" * 10_000 + "]" * 10_000
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = tmp_path / "deep.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])
    assert check(path).status == 1


def test_other_formats_and_kinds_cannot_be_repeated(small, tmp_path):
    manifest, tensors = read(small)
    assert check(write(tmp_path / "old.safetensors", {**manifest, "format": 1}, tensors)).status == 2
    assert forged(small, tmp_path, lambda m, t: m.update(kind="product")).status == 2


def test_runs_on_its_own(small):
    done = subprocess.run([sys.executable, "-m", "headsmith.proof.checker", str(small)], capture_output=True, text=True)
    assert done.returncode == 0 and "proved again" in done.stdout and "headsmith certify" in done.stdout


def test_imports_nothing_of_headsmith():
    """It is an independent witness only as long as this holds."""
    folder = Path(headsmith.proof.checker.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            roots = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"flint", "safetensors"}
            assert not roots or (path.name, names) == ("__main__.py", ["headsmith.proof.checker"]), (path, names)
            assert not isinstance(node, ast.ImportFrom) or node.level < 2, path
