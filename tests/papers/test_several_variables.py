from headsmith.papers.ours import several_variables as ours
from headsmith.records import Run
from headsmith.views import grids


def test_the_experiment_counts_tokens_and_draws(tmp_path):
    settings = {"formulas": ["exp(-x^2 - y^2)"], "eps": [1e-2, 1e-3]}
    outcome = ours.several_variables.run(settings, Run(tmp_path, settings))
    assert [claim.verdict(outcome.measurements) for claim in ours.several_variables.claims] == ["holds"] * 5
    assert all(row.ours <= row.baseline for row in outcome.rows)
    assert len(grids.sizes(outcome.measurements).axes) == 1
    assert len(grids.head(outcome.measurements).axes) == 6


def test_claims_fail_when_they_should():
    point = {"formula": "exp(-x^2 - y^2)", "eps": 1e-3, "prototype": 25, "printed": 10.0}
    bad = {"points": [{**point, "tokens": 99, "bound": 2e-3}, {**point, "tokens": None}]}
    assert [claim.verdict(bad) for claim in ours.several_variables.claims] == ["fails"] * 5


def test_self_check():
    assert ours.self_check()
