"""headsmith solve --with network=...: the forward pass beside autograd; one sentence for each kind of bad request."""

import json

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import headsmith as hs
from headsmith.cli import main
from headsmith.cli.training import Asked, columns, hidden, train


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
    found = train(["size", "rooms"], X, y, "price", Asked((5,), steps=40, rate=0.1))
    W = [torch.tensor(w, dtype=torch.float64) for w in found["weights"]]
    z = torch.from_numpy((X - X.mean(0)) / X.std(0))
    guess = y.mean() + y.std() * (torch.relu(z @ W[0].T) @ W[1].T)[:, 0].numpy()
    score = 1 - ((guess - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert found["R^2"]["forward pass"] == pytest.approx(score, abs=1e-9) and score > 0.8


OPTIONS = {
    "huber": ["--loss", "huber(0.5)"],
    "logistic": ["--loss", "logistic", "--rate", "0.2"],
    "decay": ["--decay", "0.3"],
    "momentum": ["--optimizer", "momentum", "--decay", "0.1"],
    "adam": ["--optimizer", "adam", "--loss", "huber", "--rate", "0.01"],
    "tanh": ["--activation", "tanh", "--optimizer", "momentum", "--loss", "logistic"],
    "gelu": ["--activation", "GELU", "--biases"],
}


TORCHS = {
    "squared": lambda f, y: 0.5 * F.mse_loss(f, y),
    "huber": F.huber_loss,
    "huber(0.5)": lambda f, y: F.huber_loss(f, y, delta=0.5),
    "logistic": F.binary_cross_entropy_with_logits,
}


def by_torch(words, x, y):
    """Twelve steps of torch's own losses and optimizers, but for Adam, which has its constant behind the root."""
    told = dict(zip(words[::2], words[1::2], strict=False))
    curve = {"tanh": torch.tanh, "GELU": F.gelu}.get(told.get("--activation"), torch.relu)
    start = hs.target.Training([2, 6, 5, 1], biases="--biases" in words).start(0)
    W = [torch.nn.Parameter(w) for w in start]
    rate, decay = float(told.get("--rate", 0.05)), float(told.get("--decay", 0))
    optimizer = torch.optim.SGD(W, rate, 0.9 * (told.get("--optimizer") == "momentum"), weight_decay=decay)
    m = v = [torch.zeros_like(w) for w in W]
    for t in range(1, 13):
        p = x
        for j, w in enumerate(W):
            p = F.linear(p, w[:, :-1], w[:, -1]) if "--biases" in words else p @ w.T
            p = p if j == 2 else curve(p)
        loss = TORCHS[told.get("--loss", "squared")](p, y)
        optimizer.zero_grad()
        loss.backward()
        if told.get("--optimizer") == "adam":
            m = [0.9 * a + 0.1 * w.grad for a, w in zip(m, W, strict=True)]
            v = [0.999 * a + 0.001 * w.grad**2 for a, w in zip(v, W, strict=True)]
            for w, a, b in zip(W, m, v, strict=True):
                w.data -= rate * (a / (1 - 0.9**t)) / (b / (1 - 0.999**t) + 1e-4).sqrt()
        else:
            optimizer.step()
    return [w.detach()[:, : w.shape[1] - ("--biases" in words)] for w in W]


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_that_of_torch(table, capsys, name):
    X, y = rows()
    y, words = (y > 2.5e5).astype(float) if "logistic" in OPTIONS[name] else y, OPTIONS[name]
    path = table("size,rooms,price\n" + "\n".join(f"{a},{b},{c}" for (a, b), c in zip(X, y, strict=True)) + "\n")
    assert network(path, *words, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    z = y if "logistic" in words else (y - y.mean()) / y.std()
    expected = by_torch(words, *(torch.from_numpy(part) for part in ((X - X.mean(0)) / X.std(0), z[:, None])))
    most = 1e-8 if name in ("adam", "gelu") else 1e-13  # those that need tables
    for w, other in zip(found["weights"], expected, strict=True):
        assert torch.allclose(torch.tensor(w, dtype=torch.float64), other, rtol=0, atol=most)
    assert max(found["weight gaps"]) <= most and max(found["perturbations"]) <= found["certified"] <= 1e-6


def test_of_classes_the_share_that_is_right(table, capsys):
    X, y = rows()
    path = table("size,price\n" + "\n".join(f"{a},{int(b > 2.5e5)}" for (a, _), b in zip(X, y, strict=True)) + "\n")
    assert network(path, "--loss", "logistic", "--optimizer", "momentum", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    V, W, U = (np.array(w) for w in found["weights"])
    f = np.maximum(np.maximum((X[:, :1] - X[:, 0].mean()) / X[:, 0].std() @ V.T, 0) @ W.T, 0) @ U.T
    right = float(((f[:, 0] > 0) == (y > 2.5e5)).mean())
    assert found["share right"] == {"forward pass": right, "autograd": right} and 0.5 < right < 1
    assert network(path, "--loss", "logistic") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "share right on these rows" in out and "the labels as they are" in out


def test_what_an_optimizer_promises_is_about_its_step(prices, capsys):
    assert network(prices, "--optimizer", "adam", "--rate", "0.01") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "of Adam (betas 0.9 and 0.999, root 0.0001), from the moments that the tokens hold" in out


def test_large_gradients_have_room_in_adam(table, capsys):
    """One row far away: the square of a gradient is far beyond 4, for which a training has a table unless told."""
    path = table("a,price\n" + "\n".join(f"{k % 7},{k % 5}" for k in range(60)) + "\n400,90\n")
    assert network(path, "--optimizer", "adam", "--rate", "0.001", "--eps", "1e-4", "--json") == 0
    assert max(json.loads(capsys.readouterr().out)["weight gaps"]) <= 1e-7


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
    inputs, labels = columns(["a", "b", "y"], X, y, "squared")
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
        (["--loss", "hinge"], "no loss is called 'hinge'; there are squared, huber(delta) and logistic"),
        (["--loss", "huber(-1)"], "the delta of the Huber loss must be a number below 1e6 and positive"),
        (["--loss", "logistic"], "--loss logistic takes labels 0 and 1, which are not standardised; 'price' holds"),
        (["--optimizer", "sgd"], "no optimizer is called 'sgd'; there are gd, momentum, adam"),
        (["--decay", "-1"], "the decay must be a number below 1e6 and not negative"),
        (["--decay", "much"], "'much' is not a number"),
        (["--optimizer", "momentum", "--rate", "40"], "a weight leaves [-8, 8]"),
        (["--optimizer", "adam", "--eps", "1e-14"], "take a larger root or eps"),
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


@pytest.mark.parametrize("option", [["--steps", "3"], ["--biases"], ["--rate", "1"], ["--plot", "a.png"],
                                    ["--loss", "logistic"], ["--optimizer", "adam"], ["--decay", "0.1"]])  # fmt: skip
def test_options_of_networks_mean_nothing_to_regressions(prices, capsys, option):
    assert main(["solve", prices, "--target", "price", "--with", "ols", *option]) == 1
    assert f"{option[0]} is for networks" in capsys.readouterr().err
