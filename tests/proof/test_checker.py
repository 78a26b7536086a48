"""The checker accepts what we save and rejects every mutant, even one whose forger fixed all the hashes."""

import json
import subprocess
import sys

import pytest
import torch

import headsmith as hs
from headsmith.compiler.compiled import MANIFEST, canonical, fingerprint, manifest_hash
from headsmith.network import from_config, load_tensors, save_tensors
from headsmith.proof.checker import check

ZOO = [
    ("tanh(2*x)", (-3, 3), 1e-9, "float64"),
    ("silu(x)", (-4, 4), 1e-5, "float32"),
    ("abs(x - 0.3)", (-1, 1), 1e-8, "float64"),
    ("clip(x,-1,1)", (-2, 2), 1e-4, "float32"),
    ("x^2", (-2, 2), 1e-6, "float64"),
    ("sin(x)/x", (-2, 2), 1e-4, "float64"),
    ("sqrt(x)", (0, 1), 1e-2, "float64"),
    ("x*log(x)", (0, 1), 1e-2, "float64"),
    ("exp(-abs(x))", (-1, 1), 1e-4, "float64"),
    ("abs(sin(2*x)) - x", (-1, 1), 1e-4, "float64"),
    ("5", (0, 1), 1e-9, "float64"),
]


@pytest.mark.parametrize(("formula", "domain", "eps", "dtype"), ZOO, ids=[z[0] for z in ZOO])
def test_accepts_what_we_save(tmp_path, formula, domain, eps, dtype):
    net = hs.compile(formula, domain=domain, eps=eps, dtype=dtype)
    verdict = check(net.save(tmp_path / "net.safetensors"))
    assert verdict.status == 0, verdict.reason
    assert verdict.bound == net.certificate.bound <= eps


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("checker") / "small.safetensors"
    hs.compile("x^2", domain=(-1, 1), eps=1e-2).save(path)
    return path


@pytest.mark.parametrize("stride", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_every_flipped_byte_is_noticed(small, tmp_path, stride):
    data, mutant = small.read_bytes(), tmp_path / "mutant.safetensors"
    for place in range(0, len(data), stride):
        for flip in (0x01, 0xFF):
            mutant.write_bytes(data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :])
            assert check(mutant).status != 0, f"byte {place} xor {flip:#x} went unnoticed"


def forged(path, out, change):
    """A file in which `change(manifest, tensors)` was made and every hash put right afterwards."""
    tensors, metadata = load_tensors(path)
    manifest = json.loads(metadata[MANIFEST])
    change(manifest, tensors)
    manifest["certificate"]["weights"] = fingerprint(from_config(manifest["network"], tensors))
    manifest["hash"] = manifest_hash(manifest)
    save_tensors(out, tensors, {MANIFEST: canonical(manifest)})
    return check(out)


def test_a_forger_who_changes_nothing_passes(small, tmp_path):
    assert forged(small, tmp_path / "same.safetensors", lambda manifest, tensors: None).status == 0


def test_a_value_moved_by_twice_the_slack_is_false(small, tmp_path):
    certificate = hs.load(small).certificate
    slack = certificate.bound - certificate.least

    def move(manifest, tensors):
        tensors["level1.memory"][0, :, -1] += 2 * slack

    verdict = forged(small, tmp_path / "moved.safetensors", move)
    assert verdict.status == 1 and "false" in verdict.reason


def halve(text):
    return (float.fromhex(text) / 2).hex()


def edit_certificate(key, value):
    def change(manifest, tensors):
        old = manifest["certificate"][key]
        manifest["certificate"][key] = value(old)

    return change


def edit_part(key, value):
    def change(manifest, tensors):
        part = manifest["certificate"]["proof"][0]
        part[key] = value(part[key])

    return change


def edit_layer(key, value):
    def change(manifest, tensors):
        manifest["network"]["layers"][1][key] = value

    return change


def edit_target(manifest, tensors):
    manifest["target"] = ["^", ["var", "x"], ["num", "3"]]


def edit_both_targets(manifest, tensors):
    edit_target(manifest, tensors)
    manifest["certificate"]["proof"][0]["target"] = manifest["target"]


LIES = {
    "smaller bound": edit_certificate("bound", halve),
    "smaller approximation": edit_certificate("approximation", halve),
    "smaller rounding": edit_certificate("rounding", lambda text: (0.0).hex()),
    "wider domain": edit_certificate("domain", lambda ends: [(-2.0).hex(), (2.0).hex()]),
    "other dtype": edit_certificate("dtype", lambda text: "float32"),
    "other target": edit_target,
    "other target, told twice": edit_both_targets,
    "wider part domain": edit_part("domain", lambda ends: [(-2.0).hex(), (2.0).hex()]),
    "missing cells": edit_part("cells", lambda edges: edges[:1] + edges[2:-1]),
    "missing rounding cells": edit_part("rounding", lambda edges: edges[1:]),
    "no parts": edit_certificate("proof", lambda parts: []),
    "other output": edit_part("output", lambda name: "x"),
    "bias told": edit_part("bias", lambda text: (0.1).hex()),
    "scale": edit_layer("scale", (2.0).hex()),
    "no residual": edit_layer("residual", False),
    "relu weights": edit_layer("weights", "relu"),
    "sees other tokens": edit_layer("visible", "all"),
    "nothing known": edit_certificate("kind", lambda kind: "guessed"),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_with_correct_hashes_are_rejected(small, tmp_path, lie):
    assert forged(small, tmp_path / "lie.safetensors", LIES[lie]).status != 0


def test_swapped_values_are_false(small, tmp_path):
    def swap(manifest, tensors):
        values = tensors["level1.memory"][0, :, -1].clone()
        tensors["level1.memory"][0, :, -1] = values.roll(1)

    assert forged(small, tmp_path / "swapped.safetensors", swap).status == 1


def test_code_cannot_be_proved_again(tmp_path):
    path = hs.compile(torch.erf, domain=(-2, 2), eps=1e-2, lipschitz=1.2).save(tmp_path / "erf.safetensors")
    assert check(path).status == 2


@pytest.mark.parametrize("content", [b"", b"not a network", b"\x08\0\0\0\0\0\0\0{}      "])
def test_rubbish_is_a_verdict_not_a_crash(tmp_path, content):
    path = tmp_path / "rubbish.safetensors"
    path.write_bytes(content)
    assert check(path).status == 1


def test_runs_on_its_own(small):
    done = subprocess.run([sys.executable, "-m", "headsmith.proof.checker", str(small)], capture_output=True, text=True)
    assert done.returncode == 0 and "proved again" in done.stdout
