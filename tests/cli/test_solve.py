"""headsmith solve: coefficients beside the reference's, one hash, and one sentence for each kind of bad data."""

import json

import numpy as np
import pytest

from headsmith.cli import main


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "data.csv"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def prices(table):
    rng = np.random.default_rng(0)
    size, rooms = rng.uniform(40, 200, 30), rng.integers(1, 6, 30)
    price = 2000 * size + 5000 * rooms + rng.normal(size=30) * 1e4
    rows = [f"{s},{r},{p},{int(p > 250000)}" for s, r, p in zip(size, rooms, price, strict=True)]
    return table("size,rooms,price,dear\n" + "\n".join(rows) + "\n")


def test_tables(prices, capsys):
    assert main(["solve", prices, "--target", "price", "--with", "ols,ridge=0.1,lasso=0.05,huber=9000"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("size", "rooms", "reference", "ridge 0.1: certified within", "frozen numbers"))
    assert "before, between and after" in out


def test_json(prices, capsys):
    words = ["solve", prices, "--target", "price", "--with", "ols,elastic_net=1:0.01", "--intercept", "--json"]
    assert main(words) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["unchanged"] and len(record["weights"]) == 64
    for program in record["programs"]:
        assert set(program["coefficients"]) == {"size", "rooms", "dear", "(constant)"}
        largest = max(map(abs, program["reference"].values()))
        for name, value in program["coefficients"].items():
            assert abs(value - program["reference"][name]) <= program["certified"] + 1e-9 * largest


@pytest.mark.parametrize(
    "text, words, sentence",
    [
        ("a,b,y\n1,2,3\n2,,5\n", [], "column 'b' has no value in line 3"),
        ("a,b,y\n1,x,3\n2,1,5\n", [], "column 'b' has 'x', which is not a number, in line 2"),
        ("a,b,y\n1,nan,3\n2,1,5\n", [], "column 'b' has nan in line 2"),
        ("a,b,y\n1,2,3\n2,2,5\n", [], "column 'b' is constant"),
        ("a,b,z\n1,2,3\n2,1,5\n", [], "has no column 'y'; there are a, b, z"),
        ("a,a,y\n1,2,3\n", [], "names the column 'a' twice"),
        ("a,b,y\n1,2\n", [], "line 2 of"),
        ("a,b,y\n", [], "holds no data"),
        ("y\n1\n", [], "nothing to predict it from"),
        ("a,y\n1,2\n2,3\n", ["--with", "svm"], "no program is called 'svm'"),
        ("a,y\n1,2\n2,3\n", ["--with", "ridge"], "ridge takes one number, as in ridge=0.1"),
        ("a,y\n1,2\n2,3\n", ["--with", "ridge=x"], "'x' is not a number"),
        ("a,y\n1,2\n2,3\n", ["--with", "logistic"], "must be 0 or 1"),
        ("a,b,c,y\n1,2,5,3\n2,1,7,5\n", [], "condition number of these data is infinite"),
    ],
)
def test_bad_data_in_one_sentence(table, capsys, text, words, sentence):
    assert main(["solve", table(text), "--target", "y", *words]) == 1
    error = capsys.readouterr().err
    assert sentence in error and len(error.strip().splitlines()) == 1


def test_too_many_rows(table, capsys, monkeypatch):
    monkeypatch.setattr("headsmith.cli.solve.ROWS", 2)
    assert main(["solve", table("a,y\n1,2\n2,3\n3,4\n"), "--target", "y"]) == 1
    assert "has 3 rows; up to 2 are taken" in capsys.readouterr().err
