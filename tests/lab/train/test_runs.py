import pytest
import torch

from headsmith import lab
from headsmith.lab.train.trainer import Trainer
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


@pytest.mark.parametrize(
    "wrong", [{"heads": 0}, {"seeds": 0}, {"seeds": [1, 1]}, {"model": "tiny"}, {"activation": "relu"}, {"features": 0},
     {"heads": 2.0}, {"heads": "2"}, {"activation": 3}, {"length": 2.5}, {"features": "a"}, {"device": "tpu"}],
)  # fmt: skip
def test_bad_requests_are_refused(wrong, tmp_path):
    with pytest.raises(Refusal):
        lab.train(**{"preset": "smoke", "out": tmp_path, **wrong})
    assert not list(tmp_path.iterdir())


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
