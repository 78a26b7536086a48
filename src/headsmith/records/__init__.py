"""What a run leaves behind: folders addressed by content, whole files, floats that survive.

A number that was measured once must be readable years later, bit for bit, by a program that knows nothing of
the one that measured it. So records are plain JSON with hexadecimal floats, tensors lie in safetensors files,
nothing is ever half written, and a run is found again by *what was asked* (the hash of its configuration)
rather than by when it ran. Long work saves what it has, and a second start continues from there.

>>> run = Run("out", {"kind": "lab", "seed": 0, "rate": 0.1})
>>> slope = run.once("slope", lambda: 2.5)      # computed the first time, read back afterwards
>>> run.mark_done()
"""

from headsmith.records.canonical import content_hash, from_json, to_json
from headsmith.records.files import atomic_write, sha256
from headsmith.records.progress import progress
from headsmith.records.run import Run
from headsmith.records.tensors import load_tensors, save_tensors

__all__ = [
    "Run",
    "atomic_write",
    "content_hash",
    "from_json",
    "load_tensors",
    "progress",
    "save_tensors",
    "sha256",
    "to_json",
]
