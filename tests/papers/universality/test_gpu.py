"""The driver of the universality figures: tries all of them, in two calls, and reports from a file."""

import json

from headsmith.papers.universality import gpu


def test_figures_run_dry_in_two_calls(tmp_path, capsys):
    call = ["--dry", "--only", "figure-3", "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    assert gpu.main([*call, "--minutes", "0"]) == 0
    path = tmp_path / "out" / "figure-3.json"
    assert not path.exists() and "figure-3: call again" in capsys.readouterr().out
    assert gpu.main(call) == 0
    found = json.loads(path.read_text())
    assert found["preset"] == "full" and found["precision"] == "float32" and found["measurements"]["seeds"] == 2
    assert gpu.main(["--report", str(path), "--out", str(tmp_path / "docs")]) == 0
    text = (tmp_path / "docs" / "full-figure-3.md").read_text()
    assert (
        "6 steps, 2 seeds" in text
        and "too short to tell" in text
        and (tmp_path / "docs" / "full-figure-3.png").exists()
    )


def test_a_probe_names_every_setting(capsys, tmp_path):
    assert gpu.main(["--probe", "--dry", "--only", "figure-3", "--work", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("steps/s") == 6
