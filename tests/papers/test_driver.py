"""What the drivers share: a call ends in time, a lost training stops, a report says where its numbers are from."""

import json
import math
import os
import subprocess
import sys

import pytest
import torch

from headsmith.lab.train.learners import Learner
from headsmith.lab.train.networks import ReluNetworks
from headsmith.lab.train.training import Fit
from headsmith.lab.train.transformer import Shape
from headsmith.papers import driver
from headsmith.papers.registry import Outcome, Registry, Row

SMALL = Learner(Shape(1, 2, 8, 2), ReluNetworks(3, 2, 8), "pairs", length=5, steps=6, batch=4)


def never(need=0.0):
    return False


def reaching(*losses):
    """What trains in the place of `learn`: these losses, one note each, until told to stop."""

    def train(_, until):
        fit = Fit(torch.nn.Identity(), 0)
        for step, loss in enumerate(losses):
            fit.steps.append(step + 1)
            fit.losses.append(loss)
            if step + 1 < len(losses) and until(fit):
                return fit, False
        return fit, True

    return train


def test_all_are_trained_and_their_losses_kept():
    losses = {}
    assert driver.trained([("a", None), ("b", None)], reaching(0.9, 0.5), never, losses, worst=1.0)
    assert losses == {name: {"steps": [1, 2], "losses": [0.9, 0.5]} for name in "ab"}


def test_a_late_call_stops_and_says_so(capsys):
    losses = {}
    assert not driver.trained([("a", None), ("b", None)], reaching(0.9, 0.5), lambda need=0.0: True, losses, worst=1.0)
    assert set(losses) == {"a"} and "a: to be continued" in capsys.readouterr().out


@pytest.mark.parametrize(
    "losses, stops",
    [((0.5, 2.0, 0.4), True), ((2.0, 3.0, 0.4), False), ((0.5, math.nan, 0.4), True), ((0.5, 0.6, 0.4), False)],
)
def test_who_loses_what_was_learnt_stops(losses, stops, capsys):
    found = {}
    assert driver.trained([("a", None)], reaching(*losses), never, found, worst=1.0) != stops
    assert ("diverged, take a smaller --rate" in capsys.readouterr().out) == stops
    assert len(found["a"]["steps"]) == (2 if stops else 3)


def test_options_need_a_gpu_unless_it_is_a_trial_or_a_report(monkeypatch, capsys):
    monkeypatch.setenv("HEADSMITH_DEVICE", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    parser = driver.options("headsmith.papers.x", "text", ("good", "full"), "x")
    with pytest.raises(SystemExit):
        driver.begin(parser, [])
    assert "use --dry to try the script on the CPU" in capsys.readouterr().err
    assert driver.begin(parser, ["--dry"]).work == "out/x" and driver.device() == "cpu"
    assert driver.begin(parser, ["--cpu"]).cpu and driver.device() == "cpu"
    assert driver.device_name() == "CPU"


@pytest.mark.slow
def test_on_a_gpu_many_networks_may_be_compiled(monkeypatch):
    monkeypatch.setenv("HEADSMITH_DEVICE", "cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch._dynamo.config, "recompile_limit", 8)
    driver.begin(driver.options("headsmith.papers.x", "text", ("good", "full"), "x"), [])
    assert torch._dynamo.config.recompile_limit >= 36 and driver.device() == "cuda"


def test_a_probe_counts_steps(monkeypatch, capsys):
    monkeypatch.setenv("HEADSMITH_DEVICE", "cpu")
    driver.probe([("small", SMALL)], 2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[0].startswith("small, tf32: ") and "steps/s, eager" in lines[0]


def test_a_report_is_made_of_a_file_alone(tmp_path, monkeypatch):
    known = Registry()

    @known.experiment("deep-optimizers/figure-9", "loud", presets={"good": {}}, self_check=lambda: True)
    def run(settings, record): ...

    monkeypatch.setattr(driver, "registry", known)
    result = driver.opening("deep-optimizers/figure-9", "good", {"n": 2}, "tf32")
    assert driver.end(tmp_path / "raw.json", result) == 0
    result["measurements"] = {"steps": 7, "seeds": 3}
    driver.end(tmp_path / "raw.json", result)

    def outcome(id, m, settings):
        assert id == "deep-optimizers/figure-9" and settings == {"n": 2}
        return Outcome(m, [Row("a line", None, 0.5)])

    assert driver.report(tmp_path / "raw.json", tmp_path / "docs", outcome) == 0
    text = (tmp_path / "docs" / "good-figure-9.md").read_text()
    assert "tf32; 7 steps, 3 seeds" in text and "| a line | – | 0.5 |" in text and "| loud | not stated |" in text
    assert json.loads((tmp_path / "docs" / "good-figure-9.json").read_text())["measurements"]["steps"] == 7


def test_the_end_says_whether_to_call_again(tmp_path, capsys):
    result = driver.opening("x/figure-1", "good", {}, "tf32")
    driver.end(tmp_path / "raw.json", result)
    driver.end(tmp_path / "raw.json", result | {"measurements": {}})
    assert capsys.readouterr().out.split("\n")[:2] == ["call again", "finished"]


ALONE = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {'rich', 'scipy', 'safetensors', 'typer', 'flint', 'pydantic', 'matplotlib'}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
from headsmith.papers.PAPER.gpu import main
raise SystemExit(main(['--dry', '--preset', 'smoke', '--out', sys.argv[1], '--work', sys.argv[2], *sys.argv[3:]]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "paper, item, options",
    [
        ("low_rank_memorization", "figure-1", []), ("deep_optimizers", "figure-1", ["--attention", "relu"]),
        ("universality", "figure-4", []), ("emulation", "table-3", []),
    ],
)  # fmt: skip
def test_a_driver_needs_torch_and_numpy_alone(tmp_path, paper, item, options):
    command = [sys.executable, "-c", ALONE.replace("PAPER", paper), str(tmp_path / "out"), str(tmp_path / "work")]
    subprocess.run([*command, *options], check=True, env=os.environ | {"HEADSMITH_DEVICE": "cpu"})
    assert "measurements" in json.loads((tmp_path / "out" / f"{item}.json").read_text())
