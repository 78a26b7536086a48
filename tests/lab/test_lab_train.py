import json
import subprocess
import sys

import pytest
import torch
from torch import nn

from headsmith import lab
from headsmith.lab.activations import activation
from headsmith.lab.gpu import main as gpu_main
from headsmith.lab.presets import PRESETS, recipe
from headsmith.lab.trainer import Trainer, log_steps
from headsmith.lab.training import fit, fit_seeds
from headsmith.records import Run as Record
from headsmith.reference import risks
from headsmith.refusal import Refusal


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    return lab.train(2, preset="smoke", seeds=[0], out=tmp_path_factory.mktemp("runs"))


def test_two_heads_learn_debiased_descent(smoke):
    found = smoke.diagnoses[0]
    assert sorted(found.head_classes) == ["+", "-"] and found.sign_match
    assert found.effective_rate == pytest.approx(0.8791, abs=0.02)
    assert found.zero_sum < 0.02 and found.off_diagonal < 0.01 and found.manifold_distance < 0.05
    assert found.risk == pytest.approx(risks.debiased_gd(5, 40, 0.1), rel=0.03)
    assert found.nearest_algorithm == "debiased_gd"
    report = smoke.report()
    assert report.passed and {c.observation for c in report.checks} == {"O1", "O2", "O3", "O4"}
    assert "O3" in str(report)


def test_a_report_can_fail():
    run = lab.train(2, preset="smoke", steps=60, seeds=[1], out=None)
    assert not run.report().passed


def test_a_sweep_in_one_process(tmp_path):
    found = lab.sweep([1, 2], ["exp"], seeds=1, steps=30, processes=1, out=tmp_path)
    assert set(found.runs) == {(1, "exp"), (2, "exp")} and "1 exp" in str(found)


def test_a_finished_run_is_read_back(smoke):
    folder = smoke.folders[0]
    assert (folder / "done").exists()
    again = lab.train(2, preset="smoke", seeds=[0], out=folder.parent)
    assert torch.equal(again.kq, smoke.kq) and torch.equal(again.steps, smoke.steps)


@pytest.mark.parametrize("model", ["full", "reduced"])
def test_an_interrupted_run_continues_to_the_same_bits(tmp_path, model, monkeypatch):
    options = {"heads": 2, "preset": "smoke", "steps": 300, "batch": 16, "seeds": [3], "model": model}
    whole = lab.train(**options, out=None)
    note = Trainer.note

    def interrupt(self):
        note(self)
        if self.step > 150:
            raise KeyboardInterrupt

    original = Trainer.run
    monkeypatch.setattr(Trainer, "run", lambda self, **kw: original(self, **(kw | {"every": 0.0})))
    monkeypatch.setattr(Trainer, "note", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lab.train(**options, out=tmp_path)
    monkeypatch.setattr(Trainer, "note", note)
    resumed = lab.train(**options, out=tmp_path)
    assert torch.equal(resumed.kq, whole.kq) and torch.equal(resumed.ov, whole.ov)
    assert torch.equal(resumed.steps, whole.steps)
    assert torch.equal(resumed.loss.nan_to_num(), whole.loss.nan_to_num())


def test_replicas_are_independent_runs_with_their_own_rates_and_heads():
    f = activation("exp")
    trainer = Trainer(
        lab.tasks.isotropic(3, 10), [1, 3], [5, 6], recipe("smoke", steps=30, batch=32), f, rates=[1.0, 0.0]
    )
    start = trainer.flat.clone()
    trainer.run()
    moved = [(a - b).abs().amax((-2, -1)) for a, b in zip(trainer.weights, trainer.layout.split(start), strict=True)]
    assert all(float(change[3:].max()) == 0 for change in moved)  # rate 0: the second replica stays
    assert float(moved[0][0]) > 0
    assert not trainer.weights.o[1:3].any()  # the first replica has one head


def test_the_reduced_model_finds_the_valley():
    run = lab.train(2, preset="smoke", steps=800, seeds=2, model="reduced", out=None)
    for found in run.diagnoses:
        assert found.manifold_distance < 0.06
        assert found.risk == pytest.approx(0.2429, rel=0.15)
    with pytest.raises(Refusal, match="isotropic"):
        lab.train(2, task=lab.tasks.correlated(), model="reduced", preset="smoke", out=None)


def test_log_steps_hold_the_ends():
    steps = log_steps(2000)
    assert steps[0] == 0 and steps[-1] == 2000 and len(steps) < 140


def test_recipes():
    assert PRESETS["paper"].steps == 500_000 and PRESETS["paper"].rate_at(499_999) == 1e-3
    assert PRESETS["quick"].rate_at(7_999) < 2e-5
    for wrong in ({"preset": "huge"}, {"steps": 0}, {"rate": -1.0}, {"init": "zero"}, {"schedule": "step"}):
        with pytest.raises(Refusal):
            recipe(**{"preset": "quick", **wrong})


@pytest.mark.parametrize(
    "wrong", [{"heads": 0}, {"seeds": 0}, {"seeds": [1, 1]}, {"model": "tiny"}, {"activation": "relu"}, {"features": 0}]
)
def test_bad_requests_are_refused(wrong):
    with pytest.raises(Refusal):
        lab.train(**{"preset": "smoke", "out": None, **wrong})


@pytest.mark.slow
def test_a_sweep_over_processes(tmp_path):
    found = lab.sweep([1, 2], ["exp"], seeds=1, steps=40, processes=2, out=tmp_path)
    assert set(found.runs) == {(1, "exp"), (2, "exp")}
    assert len(list(tmp_path.glob("lab-*"))) == 2
    assert "1 exp" in str(found)
    with pytest.raises(Refusal, match="no activation"):
        lab.sweep([1, 2], ["foo"], seeds=1, processes=2, out=tmp_path)


def test_the_general_loop_fits_and_resumes(tmp_path):
    def data(g):
        x = torch.rand(64, 1, generator=g)
        return x, 2 * x - 1

    def build():
        return nn.Linear(1, 1)

    torch.manual_seed(0)
    [whole] = fit_seeds(build, data, [4], steps=200, rate=0.05, evaluate=lambda m: float(m.bias.detach()))
    assert whole.losses[-1] < 1e-2 and len(whole.scores) == 20 and whole.steps[-1] == 200
    record = Record(tmp_path, {"kind": "fit"})
    calls = {"n": 0}

    def failing(g):
        calls["n"] += 1
        if calls["n"] > 120:
            raise KeyboardInterrupt
        return data(g)

    from headsmith.lab import training

    clock = iter(range(0, 100_000, 11))
    original = training.time.monotonic
    training.time.monotonic = lambda: next(clock)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit_seeds(
                build, failing, [4], steps=200, rate=0.05, record=record, evaluate=lambda m: float(m.bias.detach())
            )
    finally:
        training.time.monotonic = original
    [again] = fit_seeds(
        build, data, [4], steps=200, rate=0.05, record=record, evaluate=lambda m: float(m.bias.detach())
    )
    assert torch.equal(again.model.weight, whole.model.weight)
    assert again.losses == whole.losses and again.scores == whole.scores
    with pytest.raises(Refusal):
        fit(build(), data, steps=0)


def test_the_gpu_script_runs_dry(tmp_path):
    assert gpu_main(["--dry", "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / "results.json").read_text())
    assert [run["heads"] for run in result["runs"]] == [2, 1, 4]
    assert len(result["throughput"]) == 2 and len(result["runs"][0]["seeds"]) == 2


BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {'rich', 'scipy', 'safetensors', 'typer', 'flint', 'pydantic', 'matplotlib'}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
from headsmith import lab
lab.train(2, preset='smoke', steps=5, out=sys.argv[1])
"""


@pytest.mark.slow
def test_the_lab_trains_with_torch_and_numpy_alone(tmp_path):
    subprocess.run([sys.executable, "-c", BLOCKED, str(tmp_path)], check=True)
    assert list(tmp_path.glob("lab-*/checkpoint.npz"))


@pytest.mark.slow
def test_floors_of_the_quick_preset():
    run = lab.train(2, preset="quick", seeds=3, out=None)
    for found in run.diagnoses:
        assert found.zero_sum < 2e-3 and found.off_diagonal < 2e-3
        assert 0.86 < found.effective_rate < 0.90
        assert found.risk < 1.02 * risks.debiased_gd(5, 40, 0.1)
    assert run.report().passed


@pytest.mark.slow
def test_one_head_four_heads_correlated_and_superposed():
    one = lab.train(1, preset="quick", out=None).diagnoses[0]
    assert float(one.omega.abs()) == pytest.approx(0.52, abs=0.02)
    two, four = (lab.train(h, preset="quick", out=None).diagnoses[0] for h in (2, 4))
    assert four.mu_plus == pytest.approx(two.mu_plus, rel=0.1) and four.zero_sum < 2e-3
    task = lab.tasks.correlated(0.5)
    skewed = lab.train(2, task=task, preset="quick", out=None).diagnoses[0]
    best = risks.preconditioner(task.sigma, 40, 0.1)
    assert float((skewed.preconditioner - best).norm() / best.norm()) < 0.02
    three = lab.train(3, task=lab.tasks.multi_task(), preset="quick", rate=5e-3, out=None).diagnoses[0]
    rates = three.rates()
    assert torch.cat([rates[0, :4], rates[1, 2:]]).tolist() == pytest.approx([0.90] * 8, abs=0.02)
    assert float(torch.cat([rates[0, 4:], rates[1, :2]]).abs().max()) < 0.04
