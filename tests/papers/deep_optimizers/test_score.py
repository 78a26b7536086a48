"""Claims that can fail, a self-check that can fail, and a small run whose numbers are what they are called."""

import copy

import pytest
import torch

from headsmith.papers.deep_optimizers import mixture, score
from headsmith.papers.deep_optimizers.mixture import NoisyMixture
from headsmith.papers.registry import contents
from headsmith.reference.autograd import outputs

TINY = {"steps": 30, "examples": {"1-D": 20, "2-D": 20}, "width": {"1-D": 6, "2-D": 6}}


@pytest.fixture(scope="module")
def measured():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score, "SAMPLES", 600)
        patch.setattr(mixture, "FLOWS", 20)
        return score.measure(TINY)


def sound():
    case = {
        "R^2": {"network": 0.98, "linear least squares": 0.9, "one Gaussian": 0.9},
        "distance": {"network": 0.1, "one Gaussian": 0.3},
        "gap": 1e-13,
        "perturbed": 1e-12,
        "read out": 1e-15,
    }
    return {"steps": 1_000, "cases": {"1-D": case, "2-D": copy.deepcopy(case)}}


def test_all_claims_hold_of_a_sound_run():
    assert [claim.verdict(sound()) for claim in score.CLAIMS] == ["holds"] * 6


@pytest.mark.parametrize(
    "broken, case, key, value",
    [
        (0, "1-D", "R^2", {"network": 0.969}),
        (0, "2-D", "R^2", {"network": 0.969}),
        (1, "2-D", "R^2", {"network": 0.8, "linear least squares": 0.9, "one Gaussian": 0.7}),
        (2, "2-D", "distance", {"network": 0.2, "one Gaussian": 0.3}),
        (3, "1-D", "gap", 1e-9),
        (4, "2-D", "perturbed", 1e-8),
        (5, "1-D", "read out", 1e-6),
    ],
)
def test_each_claim_can_fail(broken, case, key, value):
    m = sound()
    m["cases"][case][key] = value
    assert [claim.verdict(m) for claim in score.CLAIMS][broken] == "fails"


def test_short_runs_say_nothing_of_what_is_learnt(measured):
    verdicts = [claim.verdict(measured) for claim in score.CLAIMS]
    assert verdicts == ["too short to tell"] * 3 + ["holds"] * 3


def test_the_self_check_can_fail(monkeypatch):
    assert score.self_check()
    monkeypatch.setattr(NoisyMixture, "log_density", lambda self, x, t: x.square().sum(-1))
    assert not score.self_check()
    monkeypatch.undo()
    monkeypatch.setattr(score, "descended", lambda rows, *_, **__: (torch.zeros(5, sum(r.numel() for r in rows)),))
    assert not score.self_check()


def test_the_r_squared_is_of_the_weights_in_the_tokens(monkeypatch):
    monkeypatch.setattr(mixture, "FLOWS", 20)
    plane = score.MIXTURES["2-D"]
    found = score.trained(plane, 30, 20, 6)
    about = score.learnt(plane, found, 20)
    x, t, y = plane.labelled(score.TESTS, score.SEED + 1)
    rows = [torch.tensor(w, dtype=torch.float64) for w in found["weights"][-1]]
    guess = outputs(rows, torch.cat([x, t[:, None], torch.ones(len(t), 1).double()], 1), "relu")
    expected = 1 - ((guess - y) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()
    assert about["R^2 over steps"][-1] == about["R^2"]["network"] == pytest.approx(float(expected), abs=1e-12)
    assert found["steps"] == [0, 10, 30] and found["blocks"] == 30 * 7 + 3
    assert about["distance"]["mixture"] < 0.1 < about["distance"]["network"]


def test_the_picture_is_drawn_from_the_record(measured):
    fig = score.score_networks(measured)
    titles = [ax.get_title() for ax in fig.axes]
    assert len(titles) == 6 and titles[0] == "1-D: score" and titles[3] == "2-D: score"
    line = fig.axes[0].get_lines()[1]
    assert line.get_ydata().tolist() == [y for [y] in measured["cases"]["1-D"]["field"]["learnt"][0]]


def test_it_is_listed_as_it_is():
    listed = {id: (claim, count) for id, _, claim, count, _ in contents()}
    assert listed["deep-optimizers/score"] == (score.CLAIMS[0].text, len(score.CLAIMS))
