import numpy as np
import pytest

from headsmith.papers.ours import six_regressions

ROW = {"name": "ridge", "loops": 5, "error": 1e-10, "bound": 1e-9, "path": [1.0], "zeros": True, "same": True}


@pytest.mark.parametrize(
    ("change", "sound"),
    [
        ({}, True),
        ({"same": False}, False),
        ({"error": 1e-7}, False),
        ({"bound": 1e-11}, False),
        ({"zeros": False}, False),
    ],
)
def test_the_self_check_is_the_claims(monkeypatch, change, sound):
    measured = {"programs": [ROW | change], "hashes": 1}
    monkeypatch.setattr(six_regressions, "measure", lambda samples, chosen: measured)
    assert six_regressions.self_check() is sound


def test_the_self_check_runs_two_regressions():
    assert six_regressions.self_check()


def test_the_data_are_standardised():
    X, y = six_regressions.diabetes()
    assert X.shape == (442, 10) and abs(y.mean()) < 1e-9
    assert np.allclose(X.mean(0), 0) and np.allclose(X.std(0), 1)
