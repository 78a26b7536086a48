"""Numbers typed, piped or in a CSV file; a wrong one is named with its place."""

import io
import math
import sys

import pytest

from headsmith.cli.inputs import Given, numbers, read_inputs, read_rows, written
from headsmith.refusal import Refusal


def values(given, dtype="float64", domain=(-2.0, 2.0)):
    return numbers(given, domain, dtype)


def test_words_of_the_command_line_have_no_place():
    assert read_inputs(["1", "-0.5"], None, "x") == [Given("1", ""), Given("-0.5", "")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x\n1\n2\n", ["1", "2"]),
        ("1\n\n2\n", ["1", "2"]),
        ("a,x\n9,1\n8,2\n", ["1", "2"]),
        ("\ufeffx\n1\n", ["1"]),
    ],
)
def test_a_csv_file_gives_the_column_of_the_variable(tmp_path, text, found):
    path = tmp_path / "in.csv"
    path.write_text(text, encoding="utf-8")
    assert [given.text for given in read_inputs([], path, "x")] == found


def test_stdin_gives_its_words_with_their_lines(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("1, 2\n3\n"))
    assert read_inputs([], None, "x") == [
        Given("1", "stdin line 1"),
        Given("2", "stdin line 1"),
        Given("3", "stdin line 2"),
    ]


def test_what_cannot_be_read_is_refused(tmp_path, monkeypatch):
    empty, binary, ragged = (tmp_path / name for name in ("empty.csv", "binary.csv", "ragged.csv"))
    empty.write_text("")
    binary.write_bytes(b"\xff\xfe\x00x")
    ragged.write_text("a,x\n1,2\n3\n")
    for path, reason in (
        (empty, "holds no numbers"),
        (binary, "not a CSV file"),
        (ragged, "line 3: there is no column 2"),
    ):
        with pytest.raises(Refusal, match=reason):
            read_inputs([], path, "x")
    with pytest.raises(Refusal, match="not both"):
        read_inputs(["1"], empty, "x")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(Refusal, match="give numbers"):
        read_inputs([], None, "x")


def test_numbers_are_rounded_to_the_dtype():
    [narrow] = values([Given("0.1", "")], "float32")
    assert narrow == pytest.approx(0.1, abs=2e-9) and narrow != 0.1
    assert values([Given("0.1", ""), Given("-2", "")]) == [0.1, -2.0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("two", "'two' is not a number"),
        ("1_0", "not a number"),
        ("nan", "not a finite number"),
        ("3", r"outside .*\[-2, 2\]"),
    ],
)
def test_a_wrong_number_is_named_with_its_place(text, reason):
    with pytest.raises(Refusal, match=f"in.csv line 7: .*{reason}|in.csv line 7: {reason}"):
        values([Given(text, "in.csv line 7")])
    with pytest.raises(Refusal, match="not a finite number in float32"):
        values([Given("1e39", "")], "float32", (-math.inf, math.inf))


def test_the_domain_is_named_exactly():
    low = 1.00000000000001
    with pytest.raises(Refusal, match=r"outside the certified domain \[1.00000000000001, 2\]"):
        values([Given("1", "")], "float64", (low, 2.0))


def test_floats_are_written_with_their_own_digits():
    assert written(0.1, "float64") == "0.1" and float(written(1 / 3, "float64")) == 1 / 3
    assert written(float.fromhex("0x1.99999ap-4"), "float32") == "0.100000001"


def test_rows_are_the_numbers_of_each_line(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("\ufeff1, 2e-3\n\n -1,0.5\n", encoding="utf-8")
    assert read_rows(path) == [[1.0, 2e-3], [-1.0, 0.5]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"a,b\n", "x.csv line 1: 'a' is not a finite number; commas go between numbers"),
        (b"1,2\n1 2,3\n", "line 2: '1 2' is not"),
        (b"1,\n", "line 1: '' is not"),
        (b"1,nan\n", "line 1: 'nan' is not"),
        (b"1,2\n\n3\n", "line 3 holds 1 numbers, the first 2"),
        (b"\n \n", "holds no numbers"),
        (b"\xff\xfe\x00", "is not a CSV file of text"),
    ],
)
def test_rows_of_anything_else_are_refused(tmp_path, text, sentence):
    path = tmp_path / "x.csv"
    path.write_bytes(text)
    with pytest.raises(Refusal, match=sentence):
        read_rows(path)
