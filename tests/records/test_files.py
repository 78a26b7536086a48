"""Whole files, and nothing of anybody else's lost. No test names a device of the machine: each makes its own."""

import errno
import os
import socket
import stat

import pytest

from headsmith.records import atomic_write, files, replaceable, sha256, write_output
from headsmith.refusal import Refusal

OWN = '{"headsmith": "a test", "value": 1}'
WRITERS = pytest.mark.parametrize("write", [atomic_write, write_output])


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def kind(path):
    return stat.S_IFMT(os.lstat(path).st_mode)


@WRITERS
def test_text_and_bytes_arrive_whole_and_folders_are_made(tmp_path, write):
    path = tmp_path / "a" / "b.txt"
    assert write(path, "täst") == path
    assert path.read_text(encoding="utf-8") == "täst"
    assert names(path.parent) == ["b.txt"]


def test_a_record_is_replaced(tmp_path):
    path = tmp_path / "f"
    atomic_write(path, "old")
    atomic_write(path, b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01" and names(tmp_path) == ["f"]


def test_an_output_replaces_what_headsmith_wrote_and_what_is_empty(tmp_path):
    path = tmp_path / "f"
    path.touch()
    write_output(path, OWN)
    write_output(path, "new")
    assert path.read_text() == "new"


def test_a_file_of_somebody_else_is_kept_byte_for_byte(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"ten years \x00 of work")
    before = os.stat(path)
    with pytest.raises(Refusal, match="f was not written by headsmith: delete it or choose another name"):
        write_output(path, OWN)
    assert path.read_bytes() == b"ten years \x00 of work" and names(tmp_path) == ["f"]
    assert (os.stat(path).st_ino, os.stat(path).st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing):
    path = tmp_path / "f"
    atomic_write(path, "old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, failing, interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic_write(path, "new")
    assert path.read_text() == "old" and names(tmp_path) == ["f"]


@pytest.mark.parametrize(("code", "reason"), [(errno.ENOSPC, "no space left"), (errno.EROFS, "read-only file system")])
def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(tmp_path, monkeypatch, code, reason):
    path = tmp_path / "f"
    atomic_write(path, "old")

    def full(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(Refusal, match=f"f cannot be written: {reason}"):
        atomic_write(path, "new")
    assert path.read_text() == "old" and names(tmp_path) == ["f"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_or_file_is_one_sentence(tmp_path):
    path = tmp_path / "f"
    atomic_write(path, OWN)
    path.chmod(0o444)
    with pytest.raises(Refusal, match="f cannot be written: the file is read-only"):
        atomic_write(path, "new")
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(Refusal, match="g cannot be written: permission denied"):
            atomic_write(tmp_path / "g", "new")
    finally:
        tmp_path.chmod(0o755)
    assert path.read_text() == OWN and names(tmp_path) == ["f"]


@WRITERS
def test_a_folder_that_is_a_file_is_one_sentence(tmp_path, write):
    (tmp_path / "f").write_text("a file")
    with pytest.raises(Refusal, match="f/g cannot be written: not a directory"):
        write(tmp_path / "f" / "g", "new")
    assert (tmp_path / "f").read_text() == "a file"


def test_permissions_follow_the_umask_and_stay_as_they_were_set(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    written = atomic_write(tmp_path / "written", "")
    assert stat.S_IMODE(os.stat(written).st_mode) == stat.S_IMODE(os.stat(plain).st_mode)
    written.chmod(0o640)
    atomic_write(written, "again")
    assert stat.S_IMODE(os.stat(written).st_mode) == 0o640 and written.read_text() == "again"


@WRITERS
def test_a_link_stays_a_link_and_the_file_it_leads_to_is_written(tmp_path, write):
    (tmp_path / "elsewhere").mkdir()
    real, middle, link = tmp_path / "elsewhere" / "real", tmp_path / "elsewhere" / "middle", tmp_path / "link"
    real.write_text(OWN)
    middle.symlink_to("real")
    link.symlink_to(middle)
    assert write(link, "new") == link
    assert link.is_symlink() and middle.is_symlink() and not real.is_symlink() and real.read_text() == "new"
    assert names(tmp_path / "elsewhere") == ["middle", "real"]


def test_a_link_to_somebody_elses_file_does_not_give_it_away(tmp_path):
    (tmp_path / "real").write_text("theirs")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(Refusal, match="link was not written by headsmith"):
        write_output(tmp_path / "link", "new")
    assert (tmp_path / "real").read_text() == "theirs"


@WRITERS
def test_a_dangling_link_is_filled_where_its_folder_exists(tmp_path, write):
    (tmp_path / "link").symlink_to("later")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "later").read_text() == "new"
    (tmp_path / "lost").symlink_to("no/such/file")
    with pytest.raises(Refusal, match="lost cannot be written: no such file or directory"):
        write(tmp_path / "lost", "new")
    assert (tmp_path / "lost").is_symlink() and names(tmp_path) == ["later", "link", "lost"]


@WRITERS
def test_links_in_a_circle_are_refused(tmp_path, write):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(Refusal, match="a cannot be written: too many levels of symbolic links"):
        write(tmp_path / "a", "new")
    assert (tmp_path / "a").is_symlink() and (tmp_path / "b").is_symlink()


def _device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # the numbers of the null device
    except PermissionError:
        pytest.skip("only root makes devices")


def _socket(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))


@WRITERS
@pytest.mark.parametrize(
    ("make", "word"), [(os.mkdir, "folder"), (os.mkfifo, "pipe"), (_socket, "socket"), (_device, "device")]
)
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_file_is_refused_and_stays(tmp_path, monkeypatch, write, make, word, linked):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    make("special")
    os.symlink("special", "link")
    before = kind("special")
    with pytest.raises(Refusal, match=f"is a {word}: give the name of a file"):
        write("link" if linked else "special", "new")
    assert kind("special") == before and names(tmp_path) == ["link", "special"]


@WRITERS
def test_names_may_be_as_long_as_the_file_system_allows(tmp_path, write):
    longest = tmp_path / ("n" * 255)
    assert write(longest, OWN).read_text() == OWN
    with pytest.raises(Refusal, match="file name too long"):
        write(tmp_path / ("n" * 256), OWN)


@WRITERS
def test_a_name_that_is_none_is_refused(tmp_path, write):
    with pytest.raises(Refusal, match="no file is called"):
        write("a\0b", OWN)


def test_replaceable_says_beforehand_what_would_be_written(tmp_path):
    (tmp_path / "link").symlink_to("later")
    assert replaceable(tmp_path / "link") == (tmp_path / "later").resolve() and names(tmp_path) == ["link"]


def test_sha256():
    assert sha256(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
