"""A network with the signature of its target, and the certificate that goes with its numbers.

The certificate speaks of the very numbers the module holds. Each time it is asked for, the weights are hashed again; if
anything changed (an edited weight, a cast to another dtype), `StaleCertificate` is raised instead of a false promise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from headsmith.network import Network, load_tensors, save_tensors
from headsmith.proof.certificate import Certificate, StaleCertificate
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.plan import Plan

MANIFEST = "headsmith"
FORMAT = 1


class Compiled(nn.Module):
    """encode -> network -> decode, for inputs inside the domain. `kind` names the target in files."""

    kind: str

    def __init__(self, network: Network, plan: Plan, certificate: Certificate) -> None:
        super().__init__()
        self.network, self.plan, self._certificate = network, plan, certificate

    @property
    def certificate(self) -> Certificate:
        """The certificate, as long as it is about these weights."""
        if fingerprint(self.network) != self._certificate.weights:
            raise StaleCertificate(
                "the weights, their dtype or the wiring changed after the proof: compile again, or load the saved file"
            )
        return self._certificate

    def verified(self) -> Self:
        """This network, once its certificate is known to be about its weights."""
        self.certificate  # noqa: B018  raises StaleCertificate
        return self

    @property
    def dtype(self) -> torch.dtype:
        return self.network.dtype

    def encode(self, *args: Any, **kwargs: Any) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not say how to encode its input")

    def decode(self, tokens: Tensor) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not say how to decode its output")

    def extra_manifest(self) -> dict[str, Any]:
        """What this target adds to the file."""
        return {}

    def save(self, path: str | Path) -> Path:
        """One safetensors file: the tensors, and the manifest with network, target and certificate as JSON."""
        manifest = {
            "format": FORMAT,
            "kind": self.kind,
            "network": self.network.config(),
            "certificate": self.certificate.record(),
            **self.extra_manifest(),
        }
        manifest["hash"] = manifest_hash(manifest)
        save_tensors(path, self.network.tensors(), {MANIFEST: canonical(manifest)})
        return Path(path)

    def __repr__(self) -> str:
        return f"{self.plan}\n{self._certificate.title()}"

    def _repr_html_(self) -> str:
        return self.plan._repr_html_() + self._certificate._repr_html_()


def accept(x: Any, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The input, promoted exactly to the network's dtype; wider, complex or non-finite input is refused."""
    if torch.is_autocast_enabled(device.type):
        raise Refusal("autocast would change the arithmetic that the certificate is about: call outside of it")
    if isinstance(x, np.ndarray | np.generic):
        x = torch.as_tensor(x)  # keeps its dtype, so that a wider one is noticed
    given = x if isinstance(x, Tensor) else _exactly(x, dtype)
    if given.is_complex() or given.dtype == torch.bool:
        raise Refusal(f"the input is {_name(given.dtype)}; give real numbers")
    if given.is_floating_point() and torch.promote_types(given.dtype, dtype) != dtype:
        raise Refusal(
            f"the input is {_name(given.dtype)} but the network holds {_name(dtype)}: round it yourself with "
            f".to(torch.{_name(dtype)}), or compile with dtype='{_name(given.dtype)}'"
        )
    promoted = given.to(device=device, dtype=dtype)
    if not given.is_floating_point() and not torch.equal(promoted.to(given.dtype).cpu(), given.cpu()):
        raise Refusal(f"the input holds integers that {_name(dtype)} cannot represent exactly")
    if promoted.numel() and not bool(torch.isfinite(promoted.detach()).all()):
        raise Refusal("the input holds NaN or infinity; every input must be a finite number in the domain")
    return promoted


def _exactly(x: Any, dtype: torch.dtype) -> Tensor:
    """Python numbers as a tensor of the dtype; one that the dtype does not hold is refused, not rounded in silence."""
    try:
        wide = torch.as_tensor(x, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise Refusal(f"the input must be numbers or a tensor, not {type(x).__name__}") from None
    narrow = wide.to(dtype)
    same = (narrow.double() == wide) | wide.isnan()
    if not bool(same.all()):
        bad, name = float(wide[~same].flatten()[0]), _name(dtype)
        raise Refusal(f"{bad!r} is not a {name} number: round it yourself, torch.tensor({bad!r}, dtype=torch.{name})")
    return narrow


def fingerprint(network: Network) -> str:
    """SHA-256 over the wiring and every tensor: name, dtype, shape and bytes."""
    digest = hashlib.sha256(canonical(network.config()).encode())
    for name, tensor in sorted(network.tensors().items()):
        data = tensor.detach().cpu().contiguous()
        digest.update(f"{name}|{_name(data.dtype)}|{list(data.shape)}|".encode())
        digest.update(data.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def canonical(obj: Any) -> str:
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def manifest_hash(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical({k: v for k, v in manifest.items() if k != "hash"}).encode()).hexdigest()


def read_manifest(path: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The manifest and tensors of a Headsmith file, refused if its hash does not fit."""
    tensors, metadata = load_tensors(path)
    try:
        manifest = json.loads(metadata[MANIFEST])
        if manifest["hash"] != manifest_hash(manifest):
            raise Refusal(f"{path} was altered: its manifest does not match its own hash")
        if manifest["format"] != FORMAT:
            raise Refusal(f"{path} has file format {manifest['format']!r}; this version reads {FORMAT}")
    except (KeyError, TypeError, json.JSONDecodeError):
        raise Refusal(f"{path} is not a file that Headsmith wrote: it has no readable manifest") from None
    return manifest, tensors


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
