"""`headsmith lab`: train, diagnose and sweep at toy sizes, and the sentences of refusals."""

from dataclasses import replace
from pathlib import Path

import pytest
import typer

from headsmith.cli import execute
from headsmith.cli.lab import register
from headsmith.lab.train.presets import PRESETS


@pytest.fixture(scope="module")
def app():
    made = typer.Typer(add_completion=False)
    register(made)
    return typer.main.get_command(made)


@pytest.fixture
def say(app, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> tuple[int, str]:
        status = execute(app, line.split())
        seen = capsys.readouterr()
        return status, seen.out + seen.err

    return run


def test_train_then_diagnose_what_it_saved(say, tmp_path, monkeypatch):
    monkeypatch.setitem(PRESETS, "smoke", replace(PRESETS["smoke"], steps=30))
    status, text = say("lab train --features 3 --length 12 --preset smoke --save model.safetensors")
    assert status == 0 and "O1" in text and "seed 0: runs" in text
    assert (tmp_path / "model.safetensors").exists() and list((tmp_path / "out" / "lab").iterdir())
    status, text = say("lab diagnose model.safetensors --length 12")
    assert status == 0 and "off-diagonal" in text and "risk" in text


@pytest.mark.parametrize(
    "line, why",
    [
        ("lab train --heads 0", "choose between"),
        ("lab train --activation relu", "no activation"),
        ("lab train --device cuda", "no GPU"),
        ("lab sweep --heads two", "whole numbers"),
        ("lab train --device tpu", "choose cpu or cuda"),
        ("lab sweep --processes 0", "give at least 1"),
        ("lab diagnose nothing.safetensors", "no such file"),
        ("lab diagnose .", "is no model file"),
        ("lab train --preset enormous", "enormous"),
    ],
)
def test_refusals_are_one_sentence(say, line, why):
    import torch

    if "cuda" in line and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    status, text = say(line)
    assert status != 0 and why in text and "Traceback" not in text
    assert len(text.strip().splitlines()) <= 2
    assert not Path("out").exists()


def test_a_file_of_other_bytes_is_no_model(say, tmp_path):
    (tmp_path / "bytes.safetensors").write_bytes(b"no tensors here, only words")
    status, text = say("lab diagnose bytes.safetensors")
    assert status == 1 and "is not a safetensors file" in text and text.count("\n") == 1
    (tmp_path / "bytes").write_bytes(b"")
    assert "would end in .safetensors" in say("lab diagnose bytes")[1]
