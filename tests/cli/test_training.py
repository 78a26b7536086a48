"""headsmith solve --with network=...: the forward pass beside autograd; one sentence for each kind of bad request."""

import json

import numpy as np
import pytest
import torch

from headsmith.cli import main
from headsmith.cli.training import Asked, hidden, standardised, train


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "data.csv"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def rows(count=30):
    rng = np.random.default_rng(0)
    size, rooms = rng.uniform(40, 200, count), rng.integers(1, 6, count)
    return np.column_stack([size, rooms]), 2000 * size + 5000 * rooms**2


@pytest.fixture
def prices(table):
    X, y = rows()
    return table("size,rooms,price\n" + "\n".join(f"{a},{b},{c}" for (a, b), c in zip(X, y, strict=True)) + "\n")


def network(path, *words):
    return main(["solve", path, "--target", "price", "--with", "network=6,5", "--steps", "12", *words])


@pytest.mark.parametrize("words", [[], ["--biases", "--activation", "leaky"], ["--activation", "hard tanh"]])
def test_it_is_autograd(prices, capsys, words):
    assert network(prices, *words, "--seed", "3", "--rate", "0.1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    one, other = (found["losses"][who] for who in ("forward pass", "autograd"))
    assert len(one) == 13 and one == pytest.approx(other, rel=1e-12) and one[-1] < 0.6 * one[0]
    assert max(found["weight gaps"]) <= 1e-13 and len(found["perturbations"]) == 12
    assert max(found["perturbations"]) <= found["certified"] <= 1e-6
    assert [np.shape(w) for w in found["weights"]] == [(6, 2), (5, 6), (1, 5)]
    assert len(found["biases"]) == (3 if "--biases" in words else 0)


def test_the_weights_are_those_of_the_reported_score():
    X, y = rows()
    found = train(["size", "rooms"], X, y, "price", Asked((5,), "relu", 40, 0.1, False, 0, 1e-6))
    W = [torch.tensor(w, dtype=torch.float64) for w in found["weights"]]
    z = torch.from_numpy((X - X.mean(0)) / X.std(0))
    guess = y.mean() + y.std() * (torch.relu(z @ W[0].T) @ W[1].T)[:, 0].numpy()
    score = 1 - ((guess - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert found["R^2"]["forward pass"] == pytest.approx(score, abs=1e-9) and score > 0.8


def test_tables_and_a_picture(prices, capsys, tmp_path):
    picture = tmp_path / "losses.png"
    assert network(prices, "--plot", str(picture)) == 0
    out = capsys.readouterr().out
    for words in ("2-6-5-1 relu network", "loss, autograd", "R^2 on these rows", "perturbed by at most", "43 tokens"):
        assert words in " ".join(out.split())
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_columns_are_standardised_whatever_their_size():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 2)) * [1e200, 1e-200] + [1e200, 0], rng.normal(size=50)
    inputs, labels = standardised(["a", "b", "y"], X, y)
    both = torch.cat([inputs, labels], 1)
    assert both.mean(0).abs().max() < 1e-12 and (both.var(0, correction=0) - 1).abs().max() < 1e-12


def test_hidden_layers_are_read():
    assert hidden("16, 8") == (16, 8)


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--with", "network"], "such as network=16,16, not ''"),
        (["--with", "network=16,x"], "such as network=16,16, not '16,x'"),
        (["--with", "network=0"], "1 to 128 units each"),
        (["--with", "network=4,4,4,4,4,4,4"], "up to 6 hidden layers"),
        (["--with", "network=16,ridge=1"], "not '16,ridge=1'"),
        (["--with", "networks=16"], "no program is called 'networks'"),
        (["--activation", "sine"], "no activation is called 'sine'; there are"),
        (["--steps", "0"], "steps"),
        (["--steps", "1000000"], "would take many minutes"),
        (["--rate", "fast"], "'fast' is not a number"),
        (["--rate", "-1"], "rate"),
        (["--rate", "40"], "try --rate 1e+01"),
        (["--eps", "1e-20"], "eps"),
        (["--intercept"], "a network takes --biases"),
        (["--plot", "nowhere/a.png"], "there is no folder"),
    ],
)
def test_a_bad_request_in_one_sentence(prices, capsys, words, sentence):
    assert network(prices, *words) == 1
    error = capsys.readouterr().err
    assert sentence in error and len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("a,b,price\n1,2,3\n2,,5\n", "column 'b' has no value in line 3"),
        ("a,b,price\n1,x,3\n2,1,5\n", "column 'b' has 'x', which is not a number, in line 2"),
        ("a,b,price\n1,2,3\n2,2,5\n", "column 'b' is constant: leave it out, and use --biases"),
        ("a,b,price\n1,2,3\n2,3,3\n", "column 'price' is constant"),
        ("a,price\n" + "1,2\n" * 1001, "has 1001 rows; up to 1000 are taken by a network"),
    ],
)
def test_bad_data_in_one_sentence(table, capsys, text, sentence):
    assert network(table(text)) == 1
    error = capsys.readouterr().err
    assert sentence in error and len(error.strip().splitlines()) == 1


def test_wide_networks_that_do_not_fit_are_refused(table, capsys):
    wide = ["--with", "network=128,128,128,128,128", "--steps", "1"]
    assert network(table("a,price\n" + "\n".join(f"{k},{k * k}" for k in range(400)) + "\n"), *wide) == 1
    assert "would hold more than 1 GB" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--steps", "3"], ["--biases"], ["--rate", "1"], ["--plot", "a.png"]])
def test_options_of_networks_mean_nothing_to_regressions(prices, capsys, option):
    assert main(["solve", prices, "--target", "price", "--with", "ols", *option]) == 1
    assert f"{option[0]} is for networks" in capsys.readouterr().err
