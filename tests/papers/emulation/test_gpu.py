"""The driver of the emulation tables: a trial of each, and a report from its file."""

import json

import pytest

from headsmith.papers.emulation import gpu


@pytest.mark.parametrize("item", ["table-2", "table-3"])
def test_a_trial_ends_in_a_report(tmp_path, item):
    call = ["--dry", "--only", item, "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    path = tmp_path / "out" / f"{item}.json"
    assert gpu.main(call) == 0
    assert gpu.main(["--report", str(path), "--out", str(tmp_path / "docs")]) == 0
    text = (tmp_path / "docs" / f"full-{item}.md").read_text()
    assert "6 steps, 2 seeds" in text and "too short to tell" in text and "holds" in text
    kept = json.loads((tmp_path / "docs" / f"full-{item}.json").read_text())["measurements"]
    assert {"table-2": "constructed", "table-3": "solved"}[item] in kept  # not to be computed again


def test_every_table_has_its_presets():
    assert {tuple(study.presets) for study in gpu.STUDIES.values()} == {("smoke", "full")}
    steps = {name: study.presets["full"]["steps"] for name, study in gpu.STUDIES.items()}
    assert steps == {"table-1": 78_125, "section-5.1": 78_125, "table-2": 468_750, "table-3": 21_975}
