import numpy as np
import pytest

from headsmith.papers.ours import anchors
from headsmith.records import Record

POINT = {"formula": "f", "eps": 1e-6, "polynomial": False, "chebyshev": 5, "prototype": 5, "printed": 1e3}


@pytest.mark.parametrize(
    ("f", "eps", "points"),
    [
        (np.square, 1e-9, 3),
        (lambda z: 0 * z + 1, 1e-9, 1),
        (np.abs, 1e-5, None),
        (lambda z: np.sin(3 * z), 1e-6, 16),
    ],
)
def test_chebyshev_points(f, eps, points):
    assert anchors.chebyshev_points(f, (-2.0, 2.0), eps) == points


def test_the_experiment_counts_keys_and_survives_an_interruption(tmp_path):
    settings = {"formulas": ["tanh(x)", "relu(x)"], "eps": [1e-4]}
    record = Record(tmp_path, settings)
    outcome = anchors.anchors.run(settings, record)
    assert [row.ours for row in outcome.rows] == [2, 2]
    assert all(claim.verdict(outcome.measurements) != "fails" for claim in anchors.anchors.claims)
    assert anchors.anchors.run(settings, record) == outcome
    assert len(anchors.draw(outcome.measurements).axes) == 2


def test_claims_fail_when_they_should():
    bad = {"points": [{**POINT, "keys": 9, "bound": 2e-6}, {**POINT, "keys": None}]}
    assert [claim.verdict(bad) for claim in anchors.anchors.claims] == ["fails"] * 5


def test_the_self_check_sees_a_wrong_count_and_a_loose_bound(monkeypatch):
    assert anchors.self_check()
    for wrong in ({"keys": 3, "bound": 1e-7}, {"keys": 2, "bound": 2e-6}):
        with monkeypatch.context() as patched:
            patched.setattr(anchors, "one", lambda case, eps, wrong=wrong: {**POINT, **wrong})
            assert not anchors.self_check()
    monkeypatch.setattr(anchors.chebyshev, "chebval", lambda z, c: np.zeros_like(z))
    assert not anchors.self_check()
