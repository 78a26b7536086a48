import math

import pytest

from headsmith.lab.train.presets import PRESETS, recipe
from headsmith.refusal import Refusal


def test_the_paper_trains_at_one_rate_and_the_others_come_down():
    paper = PRESETS["paper"]
    assert paper.steps == 500_000 and paper.rate_at(0) == paper.rate_at(499_999) == 1e-3
    for name in ("smoke", "quick", "good"):
        made = PRESETS[name]
        rates = [made.rate_at(step) for step in range(0, made.steps, made.steps // 50)]
        assert rates == sorted(rates, reverse=True) and made.rate_at(made.steps - 1) < 0.02 * rates[0]


def test_a_recipe_changes_what_is_given_and_nothing_else():
    made = recipe("quick", steps=10, batch=8)
    assert (made.steps, made.batch) == (10, 8)
    assert (made.init, made.schedule) == (PRESETS["quick"].init, PRESETS["quick"].schedule)
    assert math.isclose(made.rate_at(0), PRESETS["quick"].rate_at(0))


@pytest.mark.parametrize(
    "wrong", [{"preset": "huge"}, {"steps": 0}, {"rate": -1.0}, {"init": "zero"}, {"schedule": "step"}]
)
def test_bad_recipes_are_refused(wrong):
    with pytest.raises(Refusal):
        recipe(**{"preset": "quick", **wrong})
