"""Whether Headsmith wrote a file, told from the file alone.

Every format we write has a place for a word about its writer, and ours stands there: the metadata of a safetensors
file, the ``Software`` text of a PNG, the first key of a JSON object, the name inside a gzip header. The names inside
an ``.npz`` archive of ours carry a dtype, ``float32:weight``, as nobody else's do.
"""

import json
import re
import zipfile
from pathlib import Path

MARK = "headsmith"

_OPENINGS = re.compile(
    rb"\x89PNG\r\n\x1a\n.{0,200}?tEXtSoftware\x00headsmith"  # text stands right behind the 25 bytes of the header
    rb"|\x1f\x8b\x08\x08.{6}headsmith"  # gzip with a file name
    rb'|\{\s*"headsmith"',
    re.DOTALL,
)
_HEADER = 100_000_000  # bytes; safetensors refuses longer ones


def ours(path: Path) -> bool:
    """Whether replacing this file loses nothing that somebody else made: it is empty, or carries our mark.

    >>> Path("result.json").write_text('{"headsmith": "0.1.0", "loss": 0.25}') > 0 and ours(Path("result.json"))
    True
    """
    with open(path, "rb") as file:
        start = file.read(400)
        if not start or _OPENINGS.match(start):
            return True
        length = int.from_bytes(start[:8], "little")
        file.seek(8)
        header = file.read(length) if 2 <= length <= _HEADER else b""
    return _marked(header) or (start.startswith(b"PK") and _named_by_dtype(path))


def _marked(header: bytes) -> bool:
    """Whether the header of a safetensors file names us, in its metadata or, as in a lab model, as a tensor."""
    try:
        told = json.loads(header)
        return MARK in told.get("__metadata__", {}) or f"{MARK}.lab" in told
    except (ValueError, AttributeError, TypeError, RecursionError):
        return False


def _named_by_dtype(path: Path) -> bool:
    try:
        names = zipfile.ZipFile(path).namelist()
    except zipfile.BadZipFile:
        return False
    return bool(names) and all(re.match(r"(bool|u?int\d+|b?float\d+):", name) for name in names)
