import io
import sys

import pytest

from headsmith.records import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_silent_without_a_terminal(capsys):
    assert list(progress(3, "work")) == [0, 1, 2]
    assert list(progress(iter("ab"), "work")) == ["a", "b"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("with_rich", [True, False])
def test_a_terminal_sees_the_label(monkeypatch, with_rich):
    monkeypatch.setattr(sys, "stderr", Terminal())
    if not with_rich:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    assert list(progress("abc", "forging")) == ["a", "b", "c"]
    assert "forging" in sys.stderr.getvalue()


def test_an_error_inside_the_loop_passes_through(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ZeroDivisionError):
        for k in progress(3, "work"):
            1 / (k - 1)
