"""What all designs share: a name for files, a size in words, and errors that carry what was had."""

import pytest

from headsmith.constructions.design import Altered, Design, Short, Tally, many
from headsmith.refusal import Refusal


class Plain(Design):
    tally = Tally(keys=40_001, heads=1, layers=2)

    def network(self, target, dtype):
        return None

    def prove(self, target, request):
        return None

    @classmethod
    def stored(cls, target, network, request, record):
        return cls()


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 keys"),
        (1, "1 key"),
        (2, "2 keys"),
        (40_001, "40 001 keys"),
        (2.5e12, "2.5e12 keys"),
        (float("inf"), "∞ keys"),
    ],
)
def test_counts_are_shown_with_their_plural(n, text):
    assert many(n, "key") == text


def test_the_size_is_a_sentence():
    assert Plain().size() == "40 001 keys, 1 head, 2 layers"


def test_a_name_registers_a_design_for_files(monkeypatch):
    monkeypatch.setattr(Design, "kinds", dict(Design.kinds))
    assert Plain not in Design.kinds.values()

    class Named(Plain):
        name = "named"

    class Heir(Named):
        pass

    assert Design.kinds["named"] is Named and Heir not in Design.kinds.values()
    assert Heir().method(None) == "named" and Heir().promises and Heir().record() == {}


def test_every_registered_design_goes_by_its_own_name():
    assert "heads" in Design.kinds
    assert all(cls.name == name for name, cls in Design.kinds.items())


def test_what_is_short_says_why_and_how_near_it_came():
    short = Short("too steep", 0.25)
    assert (str(short), short.reason, short.best) == ("too steep", "too steep", 0.25)
    assert Short("none").best == float("inf") and not isinstance(short, Refusal)
    assert issubclass(Altered, Refusal)
