import pytest

from headsmith import lab
from headsmith.lab import tasks
from headsmith.lab.theory.risk import PREDICTORS
from headsmith.reference import risks
from headsmith.refusal import Refusal

NEEDS = {
    "preconditioned_gd": {"covariance": tasks.kms(5, 0.5)},
    "kernel_smoother": {"omega": 0.518, "mu": 1.49},
}


@pytest.mark.parametrize("name", PREDICTORS)
def test_every_predictor_has_a_risk_above_the_noise(name):
    assert 0.1 < lab.risk(name, **NEEDS.get(name, {})) < 1.2


@pytest.mark.parametrize(
    ("name", "value", "within"),
    [
        ("debiased_gd", risks.debiased_gd(5, 40, 0.1), 0.0),
        ("kernel_smoother", 0.404, 6e-3),
        ("preconditioned_gd", 0.2368, 1e-4),
        ("zero", 1.1, 1e-12),
    ],
)
def test_known_values(name, value, within):
    assert lab.risk(name, **NEEDS.get(name, {})) == pytest.approx(value, abs=within)


def test_linear_attention_gets_worse_on_longer_prompts():
    assert lab.risk("linear_attention", length=100, trained_length=40) > 1.0 > lab.risk("linear_attention")


def test_refusals():
    for name, word in (("preconditioned_gd", "covariance"), ("magic", "there are")):
        with pytest.raises(Refusal, match=word):
            lab.risk(name)
    for wrong in ({"noise": -1}, {"length": 1.5}, {"features": 0}):
        with pytest.raises(Refusal, match="prompts need whole numbers"):
            lab.risk("debiased_gd", **wrong)
