import numpy as np
import pytest

from headsmith.papers.ours import anchors, float32
from headsmith.papers.ours.functions import BY_FORMULA, CASES, FEW
from headsmith.papers.registry import registry
from headsmith.records import Run


@pytest.mark.parametrize(
    ("f", "eps", "points"), [(np.square, 1e-9, 3), (lambda z: 0 * z + 1, 1e-9, 1), (np.abs, 1e-5, None)]
)
def test_chebyshev_points(f, eps, points):
    assert anchors.chebyshev_points(f, (-2.0, 2.0), eps) == points


def test_chebyshev_points_of_the_sine_as_in_the_notes():
    assert anchors.chebyshev_points(lambda z: np.sin(3 * z), (-2.0, 2.0), 1e-6) == 16


def test_every_function_has_a_count_for_every_eps():
    assert all(len(case.prototype) == 5 for case in CASES) and set(FEW) <= set(BY_FORMULA)


def test_the_experiment_counts_keys_and_survives_an_interruption(tmp_path):
    settings = {"formulas": ["tanh(x)", "relu(x)"], "eps": [1e-4]}
    record = Run(tmp_path, settings)
    outcome = anchors.anchors.run(settings, record)
    assert [row.ours for row in outcome.rows] == [2, 2]
    assert all(claim.verdict(outcome.measurements) != "fails" for claim in anchors.anchors.claims)
    assert anchors.anchors.run(settings, record) == outcome
    assert len(anchors.draw(outcome.measurements).axes) == 2


def test_claims_fail_when_they_should():
    point = {"formula": "f", "eps": 1e-6, "polynomial": False, "chebyshev": 5, "prototype": 5, "printed": 1e3}
    bad = {"points": [{**point, "keys": 9, "bound": 2e-6}, {**point, "keys": None}]}
    assert [claim.verdict(bad) for claim in anchors.anchors.claims] == ["fails"] * 5


def test_the_smallest_eps_in_single_precision_is_certified():
    found = float32.smallest("relu(x)", (-1.0, 1.0), 3)
    assert found["eps"] <= 1e-5 and found["method"] == "gate"
    claim = float32.float32.claims[-2]
    assert claim.verdict({"points": [{"formula": "relu(x)", **found}]}) == "holds"
    assert claim.verdict({"points": [{"formula": "relu(x)", "eps": 1e-4}]}) == "fails"
    assert claim.verdict({"points": []}) == "too short to tell"


def test_self_checks():
    assert registry.find("ours/anchors").self_check() and registry.find("ours/float32").self_check()
