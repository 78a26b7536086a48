"""What the drivers of stacked trainings share."""

import json
import math

import pytest
import torch
from torch import nn

from headsmith.lab.train.stacked import Repeated, squared
from headsmith.papers import repeated
from headsmith.papers.registry import Outcome
from headsmith.papers.repeated import Study, main, means, spreads, steepness
from headsmith.records import Record


def test_means_and_spreads_are_over_seeds():
    assert means([[1.0, 2.0, 6.0]]) == [3.0] and spreads([[5.0]]) == [0.0]
    assert spreads([[0.0, 2.0]]) == [1.0]


def test_a_power_law_has_its_power():
    assert steepness([10, 20, 50], [10**-0.7, 20**-0.7, 50**-0.7]) == pytest.approx(-0.7)


def test_a_lost_seed_stops_nobody(tmp_path, capsys):
    """One seed has nonsense for samples: all are trained to the end, and it alone has no score."""

    def samples(seed):
        x = torch.rand(16, 1, generator=torch.Generator().manual_seed(seed))
        return x, x * (torch.nan if seed else 1.0)

    def lessons(settings):
        def score(stack):
            return [float(value.abs().sum()) for value in stack.values[0]]

        return {"a line": Repeated({}, (0, 1), lambda _: nn.Linear(1, 1), samples, squared, 4, score=score)}

    def measured(settings, fits):
        return {"steps": 4, "seeds": 2, "scores": fits["a line"].scores}

    study = Study({"full": {}}, {}, lessons, measured, lambda m, settings: Outcome(m))
    call = ["--dry", "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    assert main("headsmith.papers.x", "text", "ours", {"lines": study}, call) == 0
    found = json.loads((tmp_path / "out" / "lines.json").read_text())["measurements"]["scores"]
    assert "finished" in capsys.readouterr().out and len(found) == 4
    assert all(math.isfinite(good) and math.isnan(lost) for good, lost in found)
    assert study.here({}, Record(tmp_path, {"kind": "test"})).measurements["scores"][0][0] == found[0][0]


def test_a_call_that_is_late_begins_nothing_new(tmp_path, monkeypatch, capsys):
    """Time for one training of two: the other is put off, and the next call reads the first one back."""
    drawn = []

    def samples(seed):
        drawn.append(seed)
        return torch.ones(4, 1), torch.ones(4, 1)

    def lessons(settings):
        return {
            name: Repeated({"name": name}, (seed,), lambda _: nn.Linear(1, 1), samples, squared, 2)
            for seed, name in enumerate("ab")
        }

    study = Study({"full": {}}, {}, lessons, lambda settings, fits: {"trained": sorted(fits)}, Outcome)
    call = ["--dry", "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    monkeypatch.setattr(repeated.driver, "clock", lambda minutes: lambda need=0.0: need > 0 and drawn == [0])
    assert main("headsmith.papers.x", "text", "ours", {"lines": study}, call) == 0
    path = tmp_path / "out" / "lines.json"
    assert (
        drawn == [0] and "measurements" not in json.loads(path.read_text()) and "call again" in capsys.readouterr().out
    )
    monkeypatch.setattr(repeated.driver, "clock", lambda minutes: lambda need=0.0: False)
    assert main("headsmith.papers.x", "text", "ours", {"lines": study}, call) == 0
    assert drawn == [0, 1] and json.loads(path.read_text())["measurements"] == {"trained": ["a", "b"]}
