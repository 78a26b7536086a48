import pytest

from headsmith import lab
from headsmith.reference import regression, risks


def test_compare_measures_known_risks_to_three_digits():
    model = lab.AttentionModel.from_reduced([0.05, -0.05], [8.79, -8.79], 5)

    def own(X, y, x):
        return regression.vanilla_gd(X, y, x, risks.vanilla_rate(5, 40, 0.1))

    found = lab.compare(model, "debiased_gd", "ridge", own, "zero", prompts=4000, lengths=[20, 40])
    assert list(found.risks) == ["model", "debiased_gd", "ridge", "own", "zero"]
    assert found.risks["debiased_gd"][1] == pytest.approx(risks.debiased_gd(5, 40, 0.1), abs=1e-12)
    assert found.risks["model"][1] == pytest.approx(0.2428, abs=5e-4)
    for name, value in (("own", risks.vanilla_gd(5, 40, 0.1)), ("ridge", 0.1145), ("zero", 1.1)):
        assert abs(found.risks[name][1] - value) < 4 * found.errors[name][1]
    assert found.distances["model"]["debiased_gd"] < 1e-3 < found.distances["ridge"]["debiased_gd"]
    assert "ridge" in str(found)
