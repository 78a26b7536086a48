"""What a run leaves behind: folders addressed by content, whole files, floats that survive.

A number that was measured once must be readable years later, bit for bit, by a program that knows nothing of
the one that measured it. So records are plain JSON with hexadecimal floats, tensors lie in safetensors files,
nothing is ever half written, and a run is found again by *what was asked* (the hash of its configuration)
rather than by when it ran. Long work saves what it has, and a second start continues from there.

>>> from headsmith.records import Record
>>> run = Record("out", {"kind": "lab", "seed": 0, "rate": 0.1})
>>> slope = run.once("slope", lambda: 2.5)      # computed the first time, read back afterwards
>>> run.mark_done()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headsmith.records.files import atomic_write, replaceable, sha256, write_output
from headsmith.records.progress import progress

if TYPE_CHECKING:
    from headsmith.records.canonical import content_hash, from_json, to_json
    from headsmith.records.run import Record
    from headsmith.records.tensors import load_tensors, save_tensors

__all__ = [
    "Record",
    "atomic_write",
    "content_hash",
    "from_json",
    "load_tensors",
    "progress",
    "replaceable",
    "save_tensors",
    "sha256",
    "to_json",
    "write_output",
]

_HOMES = {
    "Record": "run",
    "content_hash": "canonical",
    "from_json": "canonical",
    "load_tensors": "tensors",
    "save_tensors": "tensors",
    "to_json": "canonical",
}


def __getattr__(name: str) -> Any:
    """What needs torch is imported when it is first used: a list of experiments needs none."""
    if name in _HOMES:
        return getattr(import_module(f"headsmith.records.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'headsmith.records' has no attribute {name!r}")
