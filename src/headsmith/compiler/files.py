"""Networks on disk: one safetensors file with the tensors, and a manifest that says what they are.

    {"format": 2, "kind": "formula",
     "target":      the fields of the target: numbers in hexadecimal, formulas as trees, arrays by tensor name
     "request":     {"eps", "domain", "dtype", "method"}
     "design":      {"name", ...}      the construction, and choices that its tensors do not show
     "network":     the wiring (`network.files` documents it)
     "certificate": {"approximation", "rounding", "bound", "kind", "statement", "assumptions", "weights"}
     "hash":        SHA-256 of all of it and of every tensor}

A machine has the kind "machine: solver" (or another), and instead of target, request and design

     "parameters":  its sizes, as they are given when it is made

A tape program (`machines.tape.program_files`) is lowered again from what was asked for, and promises nothing by itself.
Tensors of the network keep their names; those of the target start with "target/". Hashes are no secret: whoever wants
to forge a file has `read`, `seal` and `write`. That is why nothing a file *says* is believed. Loading reads the
numbers, builds the network again from them, compares the two bit for bit, proves the bound anew and derives every
sentence; the file must then agree with all of it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled
from headsmith.compiler.plan import Plan
from headsmith.compiler.request import Request
from headsmith.compiler.target import Target
from headsmith.constructions.design import Altered, Design, Short
from headsmith.network import Network, digest, fingerprint, from_config, load_tensors, save_tensors
from headsmith.network.files import canonical
from headsmith.proof.certificate import Bound, Certificate
from headsmith.proof.checker import check
from headsmith.refusal import Refusal

MANIFEST, FORMAT, TARGET, MACHINE, PROGRAM = "headsmith", 2, "target/", "machine: ", "tape program"
KEYS = {"format", "kind", "target", "request", "design", "network", "certificate", "hash"}
PROGRAM_KEYS = {"format", "kind", "program", "block", "scales", "features", "instructions", "hash"}
MACHINE_KEYS = KEYS - {"target", "request", "design"} | {"parameters"}

Manifest = dict[str, Any]
Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Verdict:
    """status 0: proved, and `statement` is what was proved with `bound`; 1: altered or false; 2: cannot be repeated."""

    status: int
    reason: str
    statement: str = ""
    bound: float | None = None


def read(path: str | Path) -> tuple[Manifest, Tensors]:
    """(manifest, tensors) of a file, as they are: nothing is checked but that the manifest has its one spelling."""
    tensors, metadata = load_tensors(path)
    try:
        manifest = json.loads(metadata[MANIFEST])
        spelled = canonical(manifest) == metadata[MANIFEST]
    except (KeyError, TypeError, ValueError, RecursionError):
        if metadata.get(MANIFEST) == "tensors":
            raise Refusal(
                f"{path} holds tensors without a proof: 'headsmith lab diagnose' reads a trained layer, 'headsmith "
                "compile' an MLP"
            ) from None
        raise Refusal(f"{path} is not a file that Headsmith wrote: it has no readable manifest") from None
    if not isinstance(manifest, dict):
        raise Refusal(f"{path} is not a file that Headsmith wrote: its manifest is no record")
    if not spelled:  # an entry that stands twice says two things
        raise Refusal(f"{path} was altered: its manifest is not spelled as Headsmith spells it")
    return manifest, tensors


def seal(manifest: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Manifest:
    """The manifest with every hash right for these tensors."""
    own = {name: tensor for name, tensor in tensors.items() if not name.startswith(TARGET)}
    sealed = dict(manifest)
    sealed["certificate"] = {**manifest["certificate"], "weights": digest(manifest["network"], own)}
    sealed["hash"] = _hash(sealed, tensors)
    return sealed


def seal_program(manifest: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Manifest:
    """The manifest of a tape program with the hash right for these tensors."""
    return {**manifest, "hash": _hash(manifest, tensors)}


def write(path: str | Path, manifest: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Path:
    """A file with this manifest and these tensors, whole or not at all."""
    save_tensors(path, tensors, {MANIFEST: canonical(manifest)})
    return Path(path)


def _hash(manifest: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    return digest({key: value for key, value in manifest.items() if key != "hash"}, tensors)


def save(net: Compiled, path: str | Path) -> Path:
    """A file of a compiled network; refused where its certificate is stale."""
    plan, certificate = net.plan, net.certificate
    target, arrays = plan.target.record()
    manifest = {
        "format": FORMAT,
        "kind": plan.target.kind,
        "target": target,
        "request": plan.request.record(),
        "design": {"name": plan.design.name, **plan.design.record()},
        "network": net.network.config(),
        "certificate": _said(certificate),
    }
    tensors = {**net.network.tensors(), **{TARGET + name: array for name, array in arrays.items()}}
    return write(path, seal(manifest, tensors), tensors)


def save_machine(machine: Any, path: str | Path) -> Path:
    """A file of a machine; refused where its certificate is stale, or is no proof."""
    certificate = machine.certificate
    if certificate.kind != "proved" or not math.isfinite(certificate.bound):
        kind = certificate.kind if certificate.kind != "proved" else "infinite"
        raise Refusal(f"{machine.title()} is not saved: an {kind} certificate promises nothing for a file")
    manifest = {
        "format": FORMAT,
        "kind": MACHINE + machine.kind,
        "parameters": machine.record(),
        "network": machine.network.config(),
        "certificate": _said(certificate),
    }
    tensors = machine.network.tensors()
    return write(path, seal(manifest, tensors), tensors)


def _said(certificate: Certificate) -> dict[str, Any]:
    return {
        "approximation": certificate.approximation.hex(),
        "rounding": certificate.rounding.hex(),
        "bound": certificate.bound.hex(),
        "kind": certificate.kind,
        "statement": certificate.statement,
        "assumptions": list(certificate.assumptions),
        "weights": certificate.weights,
    }


def load(path: str | Path) -> Any:
    """A network or machine that `save` wrote, proved again, or a tape program. Files are data, never code."""
    manifest, tensors = read(path)
    _check_envelope(path, manifest, tensors)
    rebuild = _machine if _is_machine(manifest) else _loaded
    try:
        if manifest["kind"] == PROGRAM:
            return import_module("headsmith.machines.tape.program_files").loaded(manifest, tensors)
        found = rebuild(manifest, tensors)
        if _said(found.certificate) != manifest["certificate"]:
            raise Altered("the file claims something else than what is proved of its weights")
        return found
    except Refusal as refusal:
        raise type(refusal)(f"{path}: {refusal}") from None
    except Exception as error:  # a forged manifest may fail anywhere; nothing it does counts as a proof
        raise Altered(f"{path} is damaged: it cannot be read ({type(error).__name__}: {_line(error)})") from None


def _line(error: Exception) -> str:
    """What it says, on one line."""
    return (str(error).splitlines() or [""])[0]


def _check_envelope(path: str | Path, manifest: Manifest, tensors: Tensors) -> None:
    version = manifest.get("format")
    if type(version) is not int:
        raise Refusal(f"{path} is not a file that Headsmith wrote: its format is no number")
    if version != FORMAT:
        raise Unreadable(
            f"{path} has file format {version}{' of Headsmith 0.1.0' if version == 1 else ''}, this version reads "
            f"format {FORMAT}: compile it again, or use the version of Headsmith that wrote it"
        )
    try:
        own = _hash(manifest, tensors)
    except RecursionError:  # it nests a little less deep than what can be read, and deeper than what can be written
        own = None
    if own is None or manifest.get("hash") != own:
        raise Altered(f"{path} was altered: it does not match its own hash")
    keys = PROGRAM_KEYS if manifest.get("kind") == PROGRAM else MACHINE_KEYS if _is_machine(manifest) else KEYS
    if set(manifest) != keys:
        raise Altered(f"{path} was altered: its manifest has other entries than a file of Headsmith")


def _is_machine(manifest: Manifest) -> bool:
    return str(manifest.get("kind")).startswith(MACHINE)


class Unreadable(Refusal):
    """A file of another format."""


def _loaded(manifest: Manifest, tensors: Tensors) -> Compiled:
    """Read the numbers, build, compare, and only then prove."""
    import_module("headsmith.targets")  # kinds register themselves when they are imported
    arrays = {name.removeprefix(TARGET): t for name, t in tensors.items() if name.startswith(TARGET)}
    own = {name: t for name, t in tensors.items() if not name.startswith(TARGET)}
    target = Target.from_record(manifest["kind"], manifest["target"], arrays)
    request = Request.from_record(target, manifest["request"])
    again = target.record()[0], request.record()
    if canonical(again) != canonical([manifest["target"], manifest["request"]]):
        raise Altered("the file spells its target or request in another way than Headsmith writes them")
    network = _network(manifest, own)
    record = manifest["design"]
    design = _design(target, network, request, record)
    same = fingerprint(design.network(target, request.dtype)) == fingerprint(network)
    if not same or {"name": design.name, **design.record()} != record:
        raise Altered("the stored network is not the construction that its numbers make: nothing is proved of it")
    bound = _proved(target, request, design, manifest["certificate"])
    return Plan(target, request, design, bound, asked=False).build()


def _network(manifest: Manifest, tensors: Tensors) -> Network:
    """The network as the file describes it, which says each thing in one way, and nothing else."""
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values()):
        raise Altered("nothing is proved of numbers that are NaN or infinite")
    network = from_config(manifest["network"], tensors)
    if canonical(network.config()) != canonical(manifest["network"]):
        raise Altered("the file spells its network in another way than Headsmith writes it")
    return network


def _check_sizes(target: Target, network: Network, kind: type[Design]) -> None:
    """The network must read as many tokens and features as are made of inputs: asked before any of them is built."""
    inputs = [torch.empty(wanted.shape, device="meta") for wanted in target.inputs.values() if not wanted.optional]
    made, read = kind.encode(target, *inputs).shape, (len(network.inputs), next(iter(network.layers.values())).width_in)
    if made[-2] != read[0] or read[1] not in (None, made[-1]):
        raise Altered(f"the target makes {made[-2]} tokens of {made[-1]} features, the network reads others")


def _machine(manifest: Manifest, tensors: Tensors) -> Any:
    """The same for a machine: tables from the network, the network from sizes and tables, the promise from both."""
    machines = import_module("headsmith.machines.machine").Machine
    import_module("headsmith.machines")
    network = _network(manifest, tensors)
    machine = machines.restored(manifest["kind"].removeprefix(MACHINE), manifest["parameters"], network)
    return machine.promising(_agreed(machine.prove, _stated(manifest["certificate"])))


def _design(target: Target, network: Any, request: Request, record: Mapping[str, Any]) -> Design:
    kind = Design.kinds.get(record["name"])
    if kind is None:
        raise Refusal(f"no construction is called {record['name']!r}")
    if kind.serves != target.kind:
        raise Altered(f"the construction {kind.name!r} makes nothing of kind {target.kind!r}")
    _check_sizes(target, network, kind)
    return kind.stored(target, network, request, dict(record))


def _stated(said: Mapping[str, Any]) -> Bound:
    stated = Bound(float.fromhex(said["approximation"]), float.fromhex(said["rounding"]), kind="conditional")
    if not (0 <= stated.approximation < math.inf and 0 <= stated.rounding < math.inf):
        raise Altered(f"a bound of {stated.approximation} + {stated.rounding} says nothing")
    return stated


def _proved(target: Target, request: Request, design: Design, said: Mapping[str, Any]) -> Bound:
    """What the file states, if it is what is proved from its numbers."""
    stated = _stated(said)
    if design.promises and stated.total > request.eps:
        raise Altered(f"the bound {stated.total:.3e} is more than the eps that the file was made for")
    if not target.known:
        return replace(stated, norm=target.norm)
    return _agreed(lambda: design.prove(target, request), stated)


def _agreed(prove: Callable[[], Bound], stated: Bound) -> Bound:
    """The stated bound, if it is the proved one, up to the slack and a cell's resolution."""
    try:
        found = prove()
    except (ArithmeticError, Short) as failure:
        raise Altered(f"the proof fails ({failure})") from None
    most = found.with_slack()
    for part in ("approximation", "rounding"):
        least, claimed = getattr(found, part), getattr(stated, part)
        if not least <= claimed <= 1.01 * getattr(most, part):
            raise Altered(f"the file claims an {part} error of {claimed:.3e}, what is proved is {least:.3e}")
    return replace(found, approximation=stated.approximation, rounding=stated.rounding)


def certify(path: str | Path) -> Verdict:
    """Proves a file again: by the pipeline and, where it knows the kind, by the independent checker too.

    >>> path = hs.compile("tanh(x)", domain=(-2, 2), eps=1e-6).save("tanh.safetensors")
    >>> certify(path).status
    0
    """
    if not isinstance(path, str | Path) or not os.path.exists(path):
        raise Refusal(f"{path} is not a file")
    try:
        net = load(path)
        if not hasattr(net, "certificate"):
            return Verdict(2, "it holds a tape program: a bound is proved of what a machine computes with it")
        certificate = net.certificate
    except Unreadable as refusal:
        return Verdict(2, str(refusal))
    except Refusal as refusal:
        return Verdict(1, str(refusal))
    except Exception as error:
        return Verdict(1, f"{path} cannot be read ({type(error).__name__}: {error})")
    if certificate.kind != "proved":
        return Verdict(2, f"a {certificate.kind} certificate: the file does not hold what it rests on")
    second = check(path)
    if second.status == 1:
        return Verdict(1, f"the independent checker rejects it: {second.reason}")
    how = "by the prover and by the independent checker" if second.status == 0 else "by the prover"
    return Verdict(0, f"proved again from the stored weights, {how}", certificate.statement, certificate.bound)
