"""The budget: it counts, and it ends."""

import pytest

from headsmith.proof.checker.verdict import Budget, Rejected, need


def test_work_is_counted():
    budget = Budget(work=10)
    budget.spend(4)
    budget.spend(6)
    with pytest.raises(Rejected, match="within 10 steps"):
        budget.spend(1)


def test_time_ends_where_there_is_none():
    with pytest.raises(Rejected, match="within 0 seconds"):
        Budget(seconds=0.0).spend(1)


def test_what_is_needed_is_demanded():
    need(True, "all is well")
    with pytest.raises(Rejected) as rejected:
        need([], "nothing is there", 2)
    assert rejected.value.args == (2, "nothing is there")
