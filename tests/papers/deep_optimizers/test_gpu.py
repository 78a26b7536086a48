"""The driver: stops in time, goes on, writes measurements, and makes a table and a picture of them."""

import json

from headsmith.papers.deep_optimizers.gpu import main


def test_the_driver_runs_dry_in_two_calls_and_reports(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSMITH_DEVICE", "cpu")
    monkeypatch.setattr("headsmith.papers.deep_optimizers.controls.EPOCHS", 2)
    call = ["--dry", "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work"), "--attention", "relu"]
    assert main([*call, "--minutes", "0"]) == 0
    path = tmp_path / "out" / "figure-1.json"
    assert "measurements" not in json.loads(path.read_text())
    assert main(call) == 0
    measured = json.loads(path.read_text())["measurements"]
    assert measured["steps"] == 6 and len(measured["scores"]) == 2
    assert set(measured["scores"]["N = 3, w2 = 0"]) >= {"ReLU attention", "ridge", "context mean", "trained, oracle"}
    assert main(["--report", str(path), "--out", str(tmp_path / "docs")]) == 0
    assert {file.name for file in (tmp_path / "docs").iterdir()} == {"figure-1.json", "figure-1.md", "figure-1.png"}
    assert "too short to tell" in (tmp_path / "docs" / "figure-1.md").read_text()
