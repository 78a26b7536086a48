"""Table 3: weights withheld, rows that nobody has seen, and a machine that finds the weights."""

import numpy as np
import pytest
import torch

from headsmith.lab.train.learners import learn
from headsmith.papers.emulation import table_3
from headsmith.papers.registry import registry


@pytest.fixture(scope="module")
def trained():
    lesson = table_3.lessons(table_3.DRY)["all models"]
    return learn(lesson, notes=1, score=lesson.score)[0]


def test_the_self_check_sees_other_weights(monkeypatch):
    assert table_3.self_check()
    other = 1.01 * table_3.fits_of("made up")
    monkeypatch.setattr(table_3, "fits_of", lambda name: other)
    assert not table_3.self_check()


def test_nobody_trains_on_what_is_asked():
    data = table_3.houses("made up")
    labelled, asked, algorithm = table_3.samples(data, (0, 2), 3, 40)
    assert int(asked.max()) < data.seen and algorithm[:4].tolist() == [0, 2, 0, 2]
    labelled, asked, _ = table_3.samples(data, (1,), 3, 40, unseen=True)
    assert int(labelled.max()) < data.seen <= int(asked.min()) and int(asked.max()) < len(data.x)


def test_the_weights_are_withheld(trained):
    """Other fits in the buffer change what is learnt from, and nothing that is answered."""
    part = trained.model.part(0)
    tests = table_3.samples(table_3.houses("made up"), (0,), 1, 5)
    with torch.no_grad():
        before, approximated, fit, response = part(*tests)
        part.fits.mul_(2)
        after = part(*tests)
    assert torch.equal(before, after[0]) and torch.equal(approximated, after[1])
    assert torch.allclose(2 * fit, after[2]) and response.shape == before.shape


def test_fits_are_those_of_their_penalties():
    data, fits = table_3.houses("made up"), table_3.fits_of("made up")
    x, y = data.x[: data.seen], data.y[: data.seen]
    assert np.allclose(fits[2], np.linalg.lstsq(x, y, rcond=None)[0])
    ridge = np.linalg.solve(x.T @ x / len(x) + 0.1 * np.eye(x.shape[1]), x.T @ y / len(x))
    assert np.allclose(fits[1], ridge)


def test_measurements_and_rows(trained):
    m = table_3.measured(table_3.DRY, {"all models": trained})
    assert len(m["scores"]) == 8 and max(m["own fit"]) < 0.3 * m["predict zero"][0]
    made = table_3.outcome(m, table_3.DRY)
    assert len(made.rows) == 12 and made.rows[0].printed == "– ± –"
    verdicts = [claim.verdict(made.measurements) for claim in table_3.CLAIMS]
    assert verdicts == ["too short to tell"] * 3 + ["holds"] * 2
    assert registry.find("algorithm-emulation/table-3").claims == table_3.CLAIMS


def test_claims_can_fail():
    predicts, head, machine = table_3.CLAIMS[2:]
    m = {"steps": 21_975, "enough": table_3.ENOUGH, "seeds": 5, "own fit": [1.0]}
    assert [predicts.verdict(m | {"frozen": [v]}) for v in (1.1, 1.3)] == ["holds", "fails"]
    assert [head.verdict({"apart": [v]}) for v in (1e-13, 1e-11)] == ["holds", "fails"]
    found = [{"bounds": [b], "apart": [a]} for b, a in ((1e-4, 1e-5), (1e-2, 1e-5), (1e-4, 1e-3))]
    assert [machine.verdict({"solved": one}) for one in found] == ["holds", "fails", "fails"]
