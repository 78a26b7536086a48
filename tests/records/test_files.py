import os
import stat

import pytest

from headsmith.records import atomic_write, files, sha256


def test_text_and_bytes_arrive_whole_and_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b.txt"
    assert atomic_write(path, "täst") == path
    assert path.read_text(encoding="utf-8") == "täst"
    atomic_write(path, b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"
    assert [p.name for p in path.parent.iterdir()] == ["b.txt"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing):
    path = tmp_path / "f"
    atomic_write(path, "old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, failing, interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic_write(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_permissions_follow_the_umask(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    written = atomic_write(tmp_path / "written", "")
    assert stat.S_IMODE(os.stat(written).st_mode) == stat.S_IMODE(os.stat(plain).st_mode)


def test_sha256():
    assert sha256(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
