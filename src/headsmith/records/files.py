"""Files that are whole or absent, and nothing lost that was not ours.

A reader must never meet half a file, whether the writer was interrupted, killed, or racing another writer.
POSIX and Windows both rename atomically within a folder, so everything is written beside its destination
under a name of its own and moved over it at the end. A rename replaces whatever bears the name, a link or a
device as well as a file, so the destination is looked at first: links are followed to the file they lead to,
and what is no file is refused. A name that a user chose may be that of a treasure; `write_output` replaces
only what Headsmith wrote.
"""

import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path

from headsmith.records.authorship import ours
from headsmith.refusal import Refusal

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def write_output(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """`atomic_write` to a name that a user chose: a file that Headsmith did not write is kept, and said so.

    >>> _ = Path("thesis.txt").write_text("ten years of work")
    >>> write_output("thesis.txt", "measured twice")
    Traceback (most recent call last):
    ...
    headsmith.refusal.Refusal: thesis.txt was not written by headsmith: delete it or choose another name
    """
    replaceable(path)
    return atomic_write(path, content)


def atomic_write(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """Write ``content`` so that ``path`` holds either all of it or what it held before.

    >>> atomic_write("out/note.txt", "measured twice")
    PosixPath('out/note.txt')
    """
    data = content.encode() if isinstance(content, str) else content
    target = destination(path)
    try:
        if not os.path.islink(path):
            target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, data)
    except OSError as error:
        raise _unwritable(path, error) from None
    return Path(path)


def replaceable(path: str | os.PathLike[str]) -> Path:
    """The file that `write_output` would write, or its refusal: long work asks before it starts.

    >>> replaceable("new.txt").name
    'new.txt'
    """
    target = destination(path)
    try:
        foreign = target.exists() and not ours(target)
    except OSError as error:
        raise _unwritable(path, error) from None
    if foreign:
        raise Refusal(f"{path} was not written by headsmith: delete it or choose another name")
    return target


def destination(path: str | os.PathLike[str]) -> Path:
    """The regular file, there or not yet, at the end of the links that ``path`` may be."""
    if not isinstance(path, str | os.PathLike):
        raise Refusal(f"a file is named by a path, not by {path!r}")
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except FileNotFoundError:
        kind = stat.S_IFREG
    except OSError as error:
        raise _unwritable(path, error) from None
    except ValueError:
        raise Refusal(f"no file is called {os.fspath(path)!r}: its name holds what names do not") from None
    if kind != stat.S_IFREG:
        raise Refusal(f"{path} is {KINDS.get(kind, 'no regular file')}: give the name of a file")
    return Path(os.path.realpath(path))


def sha256(data: bytes) -> str:
    """The SHA-256 of ``data`` in hexadecimal.

    >>> sha256(b"")[:12]
    'e3b0c44298fc'
    """
    return hashlib.sha256(data).hexdigest()


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")  # short: the target's name may have all 255 bytes
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, "the file is read-only")
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _unwritable(path: str | os.PathLike[str], error: OSError) -> Refusal:
    reason = (error.strerror or type(error).__name__).lower()
    return Refusal(f"{os.fspath(path)} cannot be written: {reason}")
