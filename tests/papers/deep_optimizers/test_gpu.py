"""The driver: stops in time, goes on, writes measurements, and makes a table and a picture of them."""

import json

import pytest

from headsmith.papers.deep_optimizers import gpu, measured


@pytest.fixture
def quick(monkeypatch):
    """Few prompts, one epoch, one process."""
    monkeypatch.setenv("HEADSMITH_DEVICE", "cpu")
    monkeypatch.setattr(measured.os, "cpu_count", lambda: 1)  # no processes of their own
    monkeypatch.setattr("headsmith.papers.deep_optimizers.controls.EPOCHS", 1)
    monkeypatch.setattr("headsmith.papers.deep_optimizers.controls.POINTS", 8)
    monkeypatch.setattr(gpu, "DRY", gpu.DRY | {"prompts": 12, "far": [0.0], "literal": [-0.5], "depths": [1]})


def test_the_driver_runs_dry_in_two_calls(tmp_path, quick):
    call = ["--dry", "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work"), "--attention", "relu"]
    assert gpu.main([*call, "--minutes", "0"]) == 0
    path = tmp_path / "out" / "figure-1.json"
    assert "measurements" not in json.loads(path.read_text())
    assert gpu.main(call) == 0
    found = json.loads(path.read_text())["measurements"]
    assert found["steps"] == 3 and set(found["training"]) == {"relu, 1 blocks, N = 3"}
    assert set(found["scores"]["N = 3, w2 = 0"]) >= {"ReLU attention", "ridge", "context mean", "trained, oracle"}


def test_a_training_that_diverges_is_stopped(tmp_path, quick, capsys):
    """At a rate of 1000 the loss passes that of who answers 0; it had been below."""
    call = ["--dry", "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work"), "--attention", "relu"]
    assert gpu.main([*call, "--steps", "40", "--rate", "1000"]) == 0
    said, found = capsys.readouterr().out, json.loads((tmp_path / "out" / "figure-1.json").read_text())
    [notes] = found["losses"].values()
    assert "diverged, take a smaller --rate" in said and "call again" in said
    assert len(notes["steps"]) < 40 and not notes["losses"][-1] <= 1 and "measurements" not in found


def test_a_report_is_a_table_a_picture_and_the_measurements(tmp_path):
    line = {"pooled": [0.5, 0.9], "pooled_error": [0.1, 0.1], "within": [0.1, 0.2], "within_error": [0.1, 0.1]}
    names = ("ReLU attention, 1 block", "ridge", "context mean")
    found = {
        "id": "deep-optimizers/figure-5", "preset": "good", "date": "2026-11-19", "device": "a card", "torch": "2",
        "precision": "tf32", "settings": {"nets": [3], "depths": [1]},
        "measurements": {
            "examples": [5, 20], "length": 20, "layout": "pairs", "steps": 7, "targets": {"N = 3": {"flag": ""}},
            "cases": ["N = 3"], "scores": {"N = 3": dict.fromkeys(names, line)},
        },
    }  # fmt: skip
    path = tmp_path / "figure-5.json"
    path.write_text(json.dumps(found))
    assert gpu.main(["--report", str(path), "--out", str(tmp_path / "docs")]) == 0
    made = {file.name for file in (tmp_path / "docs").iterdir()}
    assert made == {"good-figure-5.json", "good-figure-5.md", "good-figure-5.png"}
    text = (tmp_path / "docs" / "good-figure-5.md").read_text()
    assert "2026-11-19, a card, torch 2, tf32; 7 steps, one seed" in text and "too short to tell" in text
    assert "0.900 ± 0.100, within prompts 0.200" in text


@pytest.mark.parametrize(
    "figure, learners, case",
    [
        (2, {"softmax, 1 blocks, N = 3"}, "N = 3, w2 = 0"),
        (4, {"softmax, 1 blocks, N = 4"}, "N(0.5/√K, I)"),
        (5, {"softmax, 1 blocks, N = 3", "relu, 1 blocks, N = 3"}, "N = 3"),
    ],
)
def test_every_figure_has_its_learners_and_cases(tmp_path, quick, monkeypatch, figure, learners, case):
    monkeypatch.setattr(measured, "trained_networks", lambda *_: {})
    call = ["--dry", "--figure", str(figure), "--out", str(tmp_path), "--work", str(tmp_path / "work")]
    assert gpu.main(call) == 0
    found = json.loads((tmp_path / f"figure-{figure}.json").read_text())
    assert found["id"] == f"deep-optimizers/figure-{figure}" and set(found["losses"]) == learners
    assert case in found["measurements"]["scores"]
