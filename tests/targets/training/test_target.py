"""Training inside the forward pass: what is asked, what is refused, what is said."""

import pytest
import torch

import headsmith as hs

Training = hs.target.Training


def task(**options):
    return Training(**{"widths": [2, 3, 1], "samples": 4, "steps": 3, "rate": 0.1, **options})


@pytest.mark.parametrize(
    "options, words",
    [({"widths": [3]}, "two or more sizes"), ({"widths": [3, 0]}, "at least 1"), ({"widths": 3}, "two or more sizes"),
     ({"activation": "sine"}, "no activation"), ({"loss": "hinge"}, "no loss"), ({"loss": "huber(0)"}, "positive"),
     ({"loss": "huber(x)"}, "positive"), ({"output": "none"}, "identity or activation"), ({"rate": 0.0}, "positive"),
     ({"rate": "fast"}, "positive"), ({"decay": -1.0}, "not negative"), ({"project": (1, 2)}, "must hold 0"),
     ({"project": (1, 0)}, "low < high"), ({"biases": 1}, "True or False"), ({"steps": 0}, "at least 1"),
     ({"samples": 2.5}, "at least 1")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options, words):
    with pytest.raises(hs.Refusal, match=words):
        task(**options)


def test_the_domain_is_that_of_the_issue_unless_it_is_named():
    plain = hs.plan(task(), eps=1e-6)
    assert plain.domain == {"x": (-4.0, 4.0), "y": (-4.0, 4.0), "w": (-8.0, 8.0)}
    named = hs.plan(task(), eps=1e-6, domain={"x": 2.0, "w": (-3, 5)})
    assert named.domain == {"x": (-2.0, 2.0), "y": (-4.0, 4.0), "w": (-3.0, 5.0)}
    assert hs.plan(task(), eps=1e-6, domain=1.5).domain["y"] == (-1.5, 1.5)
    with pytest.raises(hs.Refusal, match="'z'"):
        hs.plan(task(), eps=1e-6, domain={"z": 1.0})
    assert hs.plan(task(loss="logistic"), eps=1e-6).request.domain.sets["y"].values == (0.0, 1.0)


def test_every_hypothesis_is_in_the_sentence():
    net = hs.compile(task(decay=0.5, project=2.0, biases=True, loss="huber(0.5)"), eps=1e-6, dtype="float64")
    for words in ("Proj_[-2, 2](w - rate (gradient + 0.5 w))", "3 steps", "2-3-1 relu network", "identity output",
                  "and biases", "huber(0.5)", "rate: 0.1", "subgradient", "refused"):  # fmt: skip
        assert words in net.certificate.statement
    linear = hs.compile(task(activation="identity"), eps=1e-6)
    assert "subgradient" not in linear.certificate.statement


@pytest.mark.parametrize("loss", ["huber(1_0)", "huber(\n10)", "huber(1e1)", "huber(\u0661\u0660)"])
def test_a_delta_has_one_spelling(loss):
    """Sentences and files hold this one, so that none reads as if it were about another number."""
    assert task(loss=loss).loss == "huber(10)" and task(loss="huber").loss == "huber(1)"


def test_a_small_domain_needs_nothing_enforced():
    """The worst step anywhere is below eps: the plan says so, and its bound does not grow with eps."""
    bounds = [hs.plan(task(), eps=eps, domain={"x": 1.0, "y": 1.0, "w": 1.0}).bound for eps in (1e-9, 1e-3)]
    assert bounds[0] == bounds[1] < 1e-12
    wide = hs.plan(task(widths=[5, 8, 8, 2]), eps=1e-6)
    assert 0.98e-6 < wide.bound <= 1e-6


def test_seeds_start_with_variance_2_over_fan_in():
    target = task(widths=[50, 100, 200], biases=True)
    first, second = target.start(3)
    assert first.shape == (100, 51) and second.shape == (200, 101) and not first[:, -1].any()
    assert float(first[:, :-1].var()) == pytest.approx(2 / 50, rel=0.05)
    assert torch.equal(first, target.start(3)[0]) and not torch.equal(first, target.start(4)[0])


def test_the_value_of_a_loss_is_that_of_torch():
    f, y = torch.randn(7, 2).double() * 2, torch.randn(7, 2).double()
    functional = torch.nn.functional
    assert float(task().value(f, y)) == pytest.approx(float(0.5 * ((f - y) ** 2).sum(-1).mean()))
    huber = 2 * functional.huber_loss(f, y, delta=0.5)
    assert float(task(loss="huber(0.5)").value(f, y)) == pytest.approx(float(huber))
    labels = (y > 0).double()
    logistic = 2 * functional.binary_cross_entropy_with_logits(f, labels)
    assert float(task(loss="logistic").value(f, labels)) == pytest.approx(float(logistic))


def test_exact_values_are_those_of_the_network():
    for options in ({}, {"project": 0.5, "biases": True}, {"loss": "logistic", "activation": "hard tanh"}):
        net = hs.compile(task(**options), eps=1e-6)
        given = [x[0] for x in net.target.sample(net.certificate.domain, 1, torch.Generator().manual_seed(2))]
        found = net(*given)
        exact = net.target.exact(*[x.tolist() for x in given])
        assert max(abs(float(ball.mid()) - value) for ball, value in zip(exact, found.tolist(), strict=True)) <= 1e-12


def test_activations_are_known_by_the_names_of_torch():
    names = ["hard_tanh", "Hardtanh", "leaky_relu", "LeakyReLU", "ReLU", "Identity"]
    assert [task(activation=name).activation for name in names] == [
        *["hard tanh"] * 2,
        *["leaky"] * 2,
        "relu",
        "identity",
    ]


def test_samples_lie_in_any_domain():
    """Also in one that leaves out 0."""
    net = hs.compile(task(), eps=1e-6, domain={"x": (1.0, 3.0), "y": (-9.0, -2.0), "w": (-3.0, 8.0)})
    x, y, query, w = net.target.sample(net.certificate.domain, 8, torch.Generator().manual_seed(0))
    net(x, y, query, w)
    assert float(x.min()) >= 1.0 and float(y.max()) <= -2.0 and x.std() > 0
