"""Where a command may write: over nothing but its own, through links, and never onto what is no file."""

import os
import stat
from types import SimpleNamespace

import pytest
import torch

import headsmith.lab
from headsmith.cli import main
from headsmith.doors.compile import compile
from headsmith.lab import AttentionModel
from headsmith.records.authorship import ours
from headsmith.refusal import Refusal


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    net = compile("tanh(x)", domain=(-2, 2), eps=1e-3)
    return str(net.save(tmp_path_factory.mktemp("network") / "tanh.safetensors"))


@pytest.fixture(params=["compile", "show", "lab"])
def write(request, network, monkeypatch):
    """write(path): a command that writes this file; of the lab, without the training."""
    model = AttentionModel.from_reduced([0.1], [1.0], features=2)
    trained = SimpleNamespace(report=lambda: "trained", seeds=(), diagnoses=(), models=[model])
    monkeypatch.setattr(headsmith.lab, "train", lambda *_, **__: trained)
    commands = {
        "compile": ["compile", "x^2", "--domain", "-1", "1", "--eps", "1e-2", "--out"],
        "show": ["show", network, "--out"],
        "lab": ["lab", "train", "--save"],
    }
    return lambda path: main([*commands[request.param], str(path)])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.safetensors"


def test_a_file_of_the_users_is_kept(write, path, capsys):
    path.write_bytes(b"ten years of work")
    assert write(path) == 1
    error = capsys.readouterr().err
    assert "was not written by headsmith: delete it or choose another name" in error and error.count("\n") == 1
    assert path.read_bytes() == b"ten years of work" and [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_file_of_ours_is_replaced(write, path):
    assert write(path) == 0
    inode = path.stat().st_ino
    assert write(path) == 0
    assert ours(path) and path.stat().st_ino != inode


def test_a_link_stays_and_what_it_leads_to_is_written(write, path, tmp_path):
    real = tmp_path / "real"
    path.symlink_to(real)
    assert write(path) == 0 and write(path) == 0
    assert path.is_symlink() and ours(real) and real.stat().st_size > 100


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_stays(write, path, capsys, make):
    make(path)
    kind = stat.S_IFMT(path.lstat().st_mode)
    assert write(path) == 1
    assert "give the name of a file" in (error := capsys.readouterr().err) and error.count("\n") == 1
    assert stat.S_IFMT(path.lstat().st_mode) == kind


@pytest.mark.parametrize(
    ("command", "work"),
    [
        (["lab", "train", "--save"], "headsmith.lab.train"),
        (["compile", "x", "--domain", "0", "1", "--eps", "0.1", "--out"], "headsmith.doors.compile.compile"),
        (["show", "no such file", "--out"], "headsmith.compiler.files.load"),
    ],
)
def test_a_command_asks_before_it_works(path, capsys, monkeypatch, command, work):
    path.write_text("theirs")

    def never(*_, **__):
        raise AssertionError("worked for nothing")

    monkeypatch.setattr(work, never)
    assert main([*command, str(path)]) == 1
    assert main([*command, "."]) == 1
    assert capsys.readouterr().err.count("\n") == 2


def test_a_saved_model_leaves_the_arrays_beside_it_alone(path):
    arrays = path.with_suffix(".npz")
    arrays.write_bytes(b"PK, the user's own measurements")
    AttentionModel.from_reduced([0.1], [1.0], features=2).save(path)
    assert arrays.read_bytes() == b"PK, the user's own measurements"
    model = headsmith.lab.load_model(path)
    assert torch.equal(model.products()[1], AttentionModel.from_reduced([0.1], [1.0], features=2).products()[1])


def test_a_model_does_not_replace_a_file_of_the_users(path):
    path.write_text("theirs")
    with pytest.raises(Refusal, match="was not written by headsmith"):
        AttentionModel.from_reduced([0.1], [1.0], features=2).save(path)
    assert path.read_text() == "theirs"
