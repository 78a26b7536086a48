"""Labelled files: each form, and what is wrong named with its line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headsmith.doors.labelled import Labelled, read_labelled
from headsmith.refusal import Refusal

EXPECTED = Labelled([["the", "cat"], ["it", "sat", "."]], [["D", "N"], ["P", "V", "O"]])
CONLL = "-DOCSTART- -X- O\n\nthe x D\ncat x N\n\n\nit x P\r\nsat x V\n. x O\n"
UNIVERSAL = """# text = the cat
1\tthe\tthe\tD\t_\t_\t2\tdet\t_\t_
2-3\tcats\t_\t_\t_\t_\t_\t_\t_\t_
2\tcat\tcat\tN\t_\t_\t0\troot\t_\t_
2.1\tgone\t_\tX\t_\t_\t_\t_\t_\t_

# sent_id = 2
1\tit\tit\tP\t_\t_\t2\tdet\t_\t_
2\tsat\tsat\tV\t_\t_\t0\troot\t_\t_
3\t.\t.\tO\t_\t_\t2\tpunct\t_\t_
"""
CSV = "Sentence,Word,Tag\n1,the,D\n1,cat,N\n2,it,P\n2,sat,V\n2,.,O\n"
BARE = "token,label\nthe,D\ncat,N\n,\nit,P\nsat,V\n.,O\n"
JSONL = '{"tokens": ["the", "cat"], "labels": ["D", "N"]}\n\n{"words": ["it", "sat", "."], "tags": ["P", "V", "O"]}\n'


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("conll", CONLL),
        ("conll", "\ufeff" + CONLL),
        ("conll", UNIVERSAL),
        ("csv", CSV),
        ("csv", BARE),
        ("jsonl", JSONL),
    ],
)
def test_each_form_is_read(tmp_path, form, text):
    (tmp_path / "file").write_bytes(text.encode())
    assert read_labelled(tmp_path / "file", form) == EXPECTED
    assert read_labelled(tmp_path / "file", form).tokens == 5


def test_a_hash_is_a_word_too(tmp_path):
    (tmp_path / "file").write_text("# SYM O\n1 CD O\n")
    assert read_labelled(tmp_path / "file").sequences == [["#", "1"]]


WORD = st.text("abcXYZ,\"'{}#-", min_size=1, max_size=5)


@given(st.lists(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=4), min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("labelled")
    expected = Labelled([[t for t, _ in row] for row in data], [[x for _, x in row] for row in data])
    rows = zip(expected.sequences, expected.labels, strict=True)
    (folder / "a.jsonl").write_text("\n".join(json.dumps({"tokens": s, "labels": y}) for s, y in rows))
    (folder / "a.txt").write_text("\n\n".join("\n".join(f"{t} {x}" for t, x in row) for row in data))
    assert read_labelled(folder / "a.jsonl", "jsonl") == expected
    assert read_labelled(folder / "a.txt") == expected


@pytest.mark.parametrize(
    ("form", "text", "says"),
    [
        ("conll", "the D\ncat\n", "line 2: a token and its label are wanted, and this is 'cat'"),
        ("conll", "\n\n", "holds no labelled sequence"),
        ("csv", "", "a header that names a column token and a column label"),
        ("csv", "a,b\nthe,D\n", "a header that names a column token and a column label"),
        ("csv", "sentence,token,label\n1,the\n", "line 2: 2 columns where the header has 3"),
        ("jsonl", "{}\n", "line 1: wanted is"),
        ("jsonl", '{"tokens": ["a"], "labels": ["b"]}\nnonsense\n', "line 2: wanted is"),
        ("jsonl", '{"tokens": ["a", "b"], "labels": ["c"]}\n', "as many labels as tokens"),
        ("jsonl", "[" * 100_000, "line 1: wanted is"),
        ("xml", "", "the forms of a labelled file are conll, csv, jsonl; not 'xml'"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, form, text, says):
    (tmp_path / "file").write_text(text)
    with pytest.raises(Refusal, match=says):
        read_labelled(tmp_path / "file", form)


def test_what_is_no_text_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Refusal, match="is not a file of text"):
        read_labelled(tmp_path / "file")
