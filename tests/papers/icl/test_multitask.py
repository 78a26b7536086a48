import pytest

from headsmith.papers.icl import multitask

ITEMS = ("figure-16", "figure-17", "figure-18", "figure-19", "table-2")


@pytest.mark.parametrize("name", ITEMS)
def test_the_known_answer_is_read_as_it_is(check, name):
    assert check(name)


@pytest.mark.parametrize("name", ITEMS)
def test_untrained_heads_are_noticed(check, untrained, name):
    assert not check(name)


def test_a_wrong_printed_parameter_is_noticed(check, monkeypatch):
    (first, *others) = multitask.TABLE_2
    monkeypatch.setattr(multitask, "TABLE_2", ((tuple(-w for w in first[0]), first[1]), *others))
    assert not check("table-2")
