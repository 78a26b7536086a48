"""The driver: stops in time, goes on, and makes a report of what it has written."""

import json

import pytest

from headsmith.papers.low_rank_memorization import gpu
from headsmith.papers.low_rank_memorization.figure_1 import PRESETS
from headsmith.refusal import Refusal


@pytest.fixture(autouse=True)
def cpu(monkeypatch):
    monkeypatch.setenv("HEADSMITH_DEVICE", "cpu")  # put back afterwards


def test_the_driver_runs_dry_in_two_calls_and_reports(tmp_path):
    call = ["--dry", "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    assert gpu.main([*call, "--minutes", "0"]) == 0
    path = tmp_path / "out" / "figure-1.json"
    first = json.loads(path.read_text())
    assert "measurements" not in first and list(first["losses"]) == ["rank-1 attention, 1 layer, seed 0"]
    assert gpu.main(call) == 0
    found = json.loads(path.read_text())
    assert found["id"] == "low-rank-memorization/figure-1" and len(found["losses"]) == 2 * 5
    assert found["measurements"]["steps"] == 9 and found["measurements"]["seeds"] == 2
    assert gpu.main(["--report", str(path), "--out", str(tmp_path / "docs")]) == 0
    assert {file.name for file in (tmp_path / "docs").iterdir()} == {
        f"good-figure-1.{end}" for end in ("json", "md", "png")
    }
    text = (tmp_path / "docs" / "good-figure-1.md").read_text()
    assert "9 steps, 2 seeds" in text and "ceiling of who sees word, position" in text and "too short to tell" in text


def test_options_change_the_preset(tmp_path):
    _, settings = gpu._asked(["--dry", "--preset", "full", "--rate", "0.5", "--seeds", "1"])
    assert settings == PRESETS["full"] | gpu.DRY | {"rate": 0.5, "seeds": 1}


def test_a_probe_asks_one_seed_of_each(capsys):
    assert gpu.main(["--dry", "--probe"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 * 5


def test_offline_without_the_corpus_the_refusal_comes_before_any_training(tmp_path, monkeypatch):
    def refuse(split="train", folder=None):
        raise Refusal(f"put it into {folder}")

    monkeypatch.setattr(gpu, "conll2003", refuse)
    monkeypatch.setattr(gpu.driver, "begin", lambda parser, argv: parser.parse_args(argv))
    with pytest.raises(Refusal, match=f"put it into {tmp_path}"):
        gpu.main(["--data", str(tmp_path), "--out", str(tmp_path / "out")])
    assert list(tmp_path.iterdir()) == []
