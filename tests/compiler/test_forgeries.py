"""No forgery is proved: whatever changes the function beyond its bound, or a sentence, is rejected, for every kind.

A mutant is allowed to pass only if nothing that is claimed of it is false: the statement, the bound and the kind are
those of the honest file, and on samples the mutant stays within the bound. `make test` takes a sample of the mutants,
`make test-all` all of them, and counts them.
"""

from collections import Counter
from itertools import permutations
from unittest.mock import ANY

import pytest
import torch

import headsmith as hs
from headsmith.compiler import files
from headsmith.compiler.compiled import Compiled
from headsmith.compiler.files import Verdict, read, seal, write
from headsmith.network import from_config

from .examples import EACH, EXAMPLES
from .forgery import agreeing, mixtures, sampled, texts, wirings

FEW = 6  # mutants of each sort and example in make test
WIRINGS, TEXTS = 100, 20  # of each kind, in make test-all, that change the function or a sentence


def verdict_of(mutant, tmp_path):
    """(verdict, what load says) of a mutant with every hash made right; None where it cannot even be written."""
    _, manifest, tensors = mutant
    try:
        path = write(tmp_path / "forged.safetensors", seal(manifest, tensors), tensors)
    except (KeyError, TypeError, AttributeError, ValueError):
        return None
    return hs.certify(path)


def deviates(net: Compiled, manifest, tensors) -> bool:
    """Whether the mutant network is out of the bound on samples, or no network at all."""
    own = {key: tensor for key, tensor in tensors.items() if not key.startswith("target/")}
    generator = torch.Generator().manual_seed(0)
    inputs = [x.to(net.dtype) for x in net.target.sample(net.certificate.domain, 24, generator)]
    tokens = net.encode(*inputs)
    try:
        with torch.no_grad():
            network, domain = from_config(manifest["network"], own), net.certificate.domain
            out = net.decode(net.plan.design.run(net.target, network, tokens, domain))
    except Exception:
        return True
    true = net(*inputs)
    if out.shape != true.shape or not bool(torch.isfinite(out).all()):
        return True
    return bool(((out - true).abs().double() > 2 * net.certificate.bound + 1e-300).any())


def check(name, mutants, tmp_path, wiring: bool):
    """How many of the mutants changed something; fails for the first that is proved all the same."""
    net, changed = EXAMPLES[name](), 0
    for mutant in mutants:
        found = verdict_of(mutant, tmp_path)
        if found is None:
            continue
        if found.status == 0:
            same = (found.statement, found.bound) == (net.certificate.statement, net.certificate.bound)
            assert same, f"{mutant[0]}: {found}"
            assert not deviates(net, mutant[1], mutant[2]), f"{mutant[0]}: proved, and false"
            continue
        assert not found.statement and found.bound is None, mutant[0]
        changed += not wiring or deviates(net, mutant[1], mutant[2])
    return changed


@pytest.mark.parametrize("name", EACH)
def test_a_sample_of_the_forgeries(name, tmp_path):
    manifest, tensors = read(EXAMPLES[name]().save(tmp_path / "honest.safetensors"))
    changed = check(name, sampled(wirings(manifest, tensors), FEW), tmp_path, True)
    assert changed or not EXAMPLES[name]().plan.design.promises  # a bound as wide as the range hides what changed
    assert check(name, sampled(texts(manifest, tensors), FEW), tmp_path, False)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_of_the_forgeries_of_every_kind(tmp_path):
    found: Counter[tuple[str, str]] = Counter()
    for name in EXAMPLES:
        manifest, tensors = read(EXAMPLES[name]().save(tmp_path / "honest.safetensors"))
        kind = EXAMPLES[name]().kind
        found[kind, "wirings"] += check(name, sampled(wirings(manifest, tensors), 150), tmp_path, True)
        found[kind, "texts"] += check(name, sampled(texts(manifest, tensors), 60), tmp_path, False)
    few = {key: n for key, n in found.items() if n < (WIRINGS if key[1] == "wirings" else TEXTS)}
    assert not few, found


def proved(mutant, tmp_path):
    """The network of a mutant whose every sentence is what the prover finds, if it is proved."""
    _, manifest, tensors = mutant
    try:
        mutant = ("", agreeing(manifest, tensors), tensors)
    except Exception:
        return None
    found = verdict_of(mutant, tmp_path)
    return hs.load(tmp_path / "forged.safetensors") if found is not None and found.status == 0 else None


def stays_within(net: Compiled) -> bool:
    """Whether it does on samples; a run that is refused claims nothing."""
    inputs = net.target.sample(net.certificate.domain, 16, torch.Generator().manual_seed(0))
    try:
        return float(net.certify(*[x.to(net.dtype) for x in inputs]).max()) <= net.certificate.bound
    except hs.Refusal:
        return True


MIXED = {name.split(":")[0] for name in EXAMPLES} - {"callables", "equivariant"}  # no file of code is proved


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "family", [pytest.param(f, marks=[] if f == "product" else pytest.mark.slow) for f in sorted(MIXED)]
)
def test_what_is_proved_of_a_mixture_of_two_files_is_true(family, tmp_path):
    """Each part of it is honest, and it says of itself what the prover says."""
    names = [name for name in EXAMPLES if name.split(":")[0] == family]
    honest = [(name, read(EXAMPLES[name]().save(tmp_path / "honest.safetensors"))) for name in names]
    true = 0
    for k, ((name, first), (other, second)) in enumerate(permutations(honest, 2)):
        if first[0]["kind"] != second[0]["kind"]:
            continue
        for mutant in mixtures(first, second, 6, seed=k):
            net = proved(mutant, tmp_path)
            assert net is None or stays_within(net), f"{name} with {mutant[0]} of {other}"
            true += net is not None
    assert true, "nothing that was put together makes sense"


def test_the_forger_finds_a_gap(tmp_path, monkeypatch):
    """The suite can fail: without the comparison of fingerprints a network that only reads otherwise is proved."""
    name = "formulas: analytic"
    manifest, tensors = read(EXAMPLES[name]().save(tmp_path / "honest.safetensors"))
    said = files._said
    monkeypatch.setattr(files, "fingerprint", lambda network: "")
    monkeypatch.setattr(files, "check", lambda path: Verdict(2, "asleep"))
    monkeypatch.setattr(files, "_said", lambda certificate: {**said(certificate), "weights": ANY})
    with pytest.raises(AssertionError, match="proved, and false"):
        check(name, wirings(manifest, tensors), tmp_path, True)
