"""Files that are whole or absent.

A reader must never meet half a file, whether the writer was interrupted, killed, or racing another writer.
POSIX and Windows both rename atomically within a folder, so everything is written beside its destination
under a name of its own and moved over it at the end.
"""

import hashlib
import os
import secrets
from pathlib import Path


def atomic_write(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """Write ``content`` so that ``path`` holds either all of it or what it held before.

    >>> atomic_write("out/note.txt", "measured twice")
    PosixPath('out/note.txt')
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def sha256(data: bytes) -> str:
    """The SHA-256 of ``data`` in hexadecimal.

    >>> sha256(b"")[:12]
    'e3b0c44298fc'
    """
    return hashlib.sha256(data).hexdigest()
