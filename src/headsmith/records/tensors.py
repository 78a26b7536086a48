"""Named tensors on disk: safetensors where it is installed, numpy's ``.npz`` where it is not.

A training run may happen on a machine that has torch and numpy and nothing else, and be read on another. Both
formats hold plain numbers and no code. The ``.npz`` names carry the torch dtype, so bfloat16 survives too.
"""

import io
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from headsmith.records.authorship import MARK, ours
from headsmith.records.files import atomic_write
from headsmith.refusal import Refusal


def save_tensors(stem: str | os.PathLike[str], tensors: Mapping[str, torch.Tensor]) -> Path:
    """Write ``{name: tensor}`` to ``stem.safetensors``, or to ``stem.npz`` without safetensors.

    >>> save_tensors("out/step-100", {"weight": torch.eye(2)})
    PosixPath('out/step-100.safetensors')
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    packed, archive = _with_suffix(stem, ".safetensors"), _with_suffix(stem, ".npz")
    try:
        from safetensors.torch import save
    except ImportError:
        atomic_write(archive, _to_npz(plain))
        _drop(packed)
        return archive
    atomic_write(packed, save({name: tensor.clone() for name, tensor in plain.items()}, {MARK: "tensors"}))
    _drop(archive)
    return packed


def load_tensors(stem: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """The tensors that ``save_tensors(stem, ...)`` wrote, on the CPU, here or on another machine.

    >>> path = save_tensors("out/step-100", {"weight": torch.eye(2)})
    >>> load_tensors("out/step-100")["weight"].shape
    torch.Size([2, 2])
    """
    packed, archive = _with_suffix(stem, ".safetensors"), _with_suffix(stem, ".npz")
    if archive.exists() and ours(archive):
        return _from_npz(archive.read_bytes())
    data = packed.read_bytes()
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load
    except ImportError:
        raise Refusal(f"{packed} cannot be read without safetensors; pip install safetensors") from None
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise Refusal(f"{packed} is not a safetensors file ({error})") from None


def _with_suffix(stem: str | os.PathLike[str], suffix: str) -> Path:
    return Path(f"{os.fspath(stem)}{suffix}")


def _drop(twin: Path) -> None:
    """Delete an earlier save in the other format, which would be read instead; a file of somebody else's stays."""
    if twin.is_file() and ours(twin):
        twin.unlink()


def _to_npz(tensors: Mapping[str, torch.Tensor]) -> bytes:
    buffer = io.BytesIO()
    arrays = {}
    for name, tensor in tensors.items():
        dtype = str(tensor.dtype).removeprefix("torch.")
        bits = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
        arrays[f"{dtype}:{name}"] = bits.numpy()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _from_npz(data: bytes) -> dict[str, torch.Tensor]:
    tensors = {}
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        for key in archive.files:
            dtype, name = key.split(":", 1)
            tensors[name] = torch.from_numpy(archive[key]).view(getattr(torch, dtype))
    return tensors
