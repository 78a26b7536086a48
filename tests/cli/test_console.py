"""What the commands share: tables on the terminal, JSON for machines, files that can be written or not."""

import json
import math
import os

import pytest

from headsmith.cli.console import Properties, show, show_json, working, writable
from headsmith.records.shown import Shown
from headsmith.refusal import Refusal
from headsmith.views.tables import Table


class Plain(Shown):
    def title(self):
        return "a plan"

    def rows(self):
        return [("keys", 8), ("bound", None)]


def test_tables_properties_objects_and_lines_are_shown_one_below_another(capsys):
    show(Table("numbers", ("n",), [(1 / 3,)]), Properties("pairs", [("a", 2)]), Plain(), "[bold]a line[/bold]")
    shown = capsys.readouterr().out
    order = [shown.index(text) for text in ("numbers", "0.333", "pairs", "a plan", "keys", "[bold]a line[/bold]")]
    assert order == sorted(order)


def test_properties_may_have_columns(capsys):
    show(Properties("two", [("error", 0.5, None)], ("", "before", "after")))
    shown = capsys.readouterr().out
    assert "before" in shown and "after" in shown and "None" not in shown


def test_json_has_null_for_what_is_no_number(capsys):
    show_json({"bound": math.inf, "rows": [1.5, (math.nan, "x")]})
    assert json.loads(capsys.readouterr().out) == {"bound": None, "rows": [1.5, [None, "x"]]}


def test_a_spinner_writes_nothing_to_stdout(capsys):
    with working("thinking"):
        pass
    assert capsys.readouterr().out == ""


def test_a_path_is_asked_for_before_the_work(tmp_path):
    assert writable(tmp_path / "f.json") == tmp_path / "f.json"
    with pytest.raises(Refusal, match="there is no folder"):
        writable(tmp_path / "none" / "f.json")
    foreign = tmp_path / "notes.txt"
    foreign.write_text("mine")
    with pytest.raises(Refusal):
        writable(foreign)
    assert foreign.read_text() == "mine"
    assert os.listdir(tmp_path) == ["notes.txt"]
