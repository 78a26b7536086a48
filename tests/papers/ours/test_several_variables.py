from headsmith.papers.ours import several_variables as ours
from headsmith.records import Record
from headsmith.views import several_variables as draw


def test_the_experiment_counts_tokens_and_draws(tmp_path):
    settings = {"formulas": ["exp(-x^2 - y^2)"], "eps": [1e-2, 1e-3]}
    outcome = ours.several_variables.run(settings, Record(tmp_path, settings))
    assert [claim.verdict(outcome.measurements) for claim in ours.several_variables.claims] == ["holds"] * 5
    assert all(row.ours <= row.baseline for row in outcome.rows)
    assert len(draw.sizes(outcome.measurements).axes) == 1
    assert len(draw.head(outcome.measurements).axes) == 6


def test_claims_fail_when_they_should():
    point = {"formula": "exp(-x^2 - y^2)", "eps": 1e-3, "prototype": 25, "printed": 10.0}
    bad = {"points": [{**point, "tokens": 99, "bound": 2e-3}, {**point, "tokens": None}]}
    assert [claim.verdict(bad) for claim in ours.several_variables.claims] == ["fails"] * 5


def test_the_self_check_sees_too_many_tokens_and_a_loose_bound(monkeypatch):
    assert ours.self_check()
    for wrong in ({"tokens": 12, "bound": 1e-4}, {"tokens": 9, "bound": 2e-3}):
        monkeypatch.setattr(ours, "one", lambda formula, eps, wrong=wrong: wrong)
        assert not ours.self_check()
