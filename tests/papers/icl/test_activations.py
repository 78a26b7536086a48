import pytest

from headsmith.papers.icl import activations
from headsmith.papers.icl.frame import TOY, checked

ITEMS = ("figure-9", "figure-10", "figure-11", "table-1")


@pytest.mark.parametrize("name", ITEMS)
def test_the_known_answer_is_read_as_it_is(check, name):
    assert check(name)


@pytest.mark.parametrize("name", ITEMS)
def test_untrained_heads_are_noticed(check, untrained, name):
    assert not check(name)


def test_a_wrong_printed_parameter_is_noticed(check, monkeypatch):
    monkeypatch.setitem(activations.TABLE_1, "square:0.5", (0.2882, 2.0, 1.0122))
    assert not check("table-1")


def test_the_rates_of_table_1_are_the_printed_ones():
    m = checked(activations.table_1.run, TOY)
    for name, (_, _, rate) in activations.TABLE_1.items():
        assert m["rates"][name] == pytest.approx(rate, abs=0.02)
