"""The housing data: refused where they are not, and read as the paper reads them."""

import numpy as np
import pytest

from headsmith.papers.emulation import ames as module
from headsmith.papers.emulation.ames import Houses, ames, encoded, made_up, path
from headsmith.refusal import Refusal


def write(folder, sales=2930):
    lines = ["Street,Area,Sale_Price"] + [
        f"{'Pave' if i % 3 else 'Grvl'},{i % 7 or ''},{1000 + i}" for i in range(sales)
    ]
    file = folder / "houses.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_without_the_data_table_3_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSMITH_AMES", str(tmp_path / "nothing.csv"))
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        Refusal, match=r"Table 3 needs the Ames housing data and there is no .*nothing.csv: pip install"
    ):
        ames()


def test_a_file_is_read_and_another_table_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSMITH_AMES", str(write(tmp_path)))
    data = ames()
    assert data.x.shape == (2930, 2) and data.seen == 2344
    assert np.allclose(data.x[: data.seen].mean(0), 0) and np.allclose(data.x[: data.seen].std(0), 1)
    assert abs(data.y[: data.seen].mean()) < 1e-12 and data.y.max() < np.log(4)
    write(tmp_path, 100)
    with pytest.raises(Refusal, match="is not the table of 2930 sales"):
        ames()


def test_the_cache_is_filled_once(tmp_path, monkeypatch):
    monkeypatch.delenv("HEADSMITH_AMES", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = tmp_path / "headsmith" / "ames" / "ames.csv"
    kept.parent.mkdir(parents=True)
    kept.write_text("there\n")
    assert path() == kept and path().read_text() == "there\n"


def test_categories_are_one_hot_and_missing_numbers_medians():
    assert encoded(("b", "a", "c", "a")).tolist() == [[1, 0], [0, 0], [0, 1], [0, 0]]
    assert encoded(("3", "", "1")).tolist() == [[3], [2], [1]]


def test_a_column_that_others_add_up_to_is_left_out():
    x = np.random.default_rng(1).normal(size=(60, 3))
    data = Houses.of(np.hstack([x, x @ [[1.0], [2.0], [0.0]], np.ones((60, 1))]), x[:, 0])
    assert data.x.shape == (60, 3) and np.linalg.matrix_rank(data.x[: data.seen]) == 3
    assert made_up().seen == 96
