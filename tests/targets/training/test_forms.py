"""Networks trained in the paper's own layers: torch's numbers, a certificate that holds, and what is refused."""

import math

import pytest
import torch

import headsmith as hs
from headsmith.functions.smooth import SMOOTH
from headsmith.proof.perturbation import perturbation
from headsmith.reference.autograd import descended


def case(activation, eps, method="printed", dtype="float64", widths=(3, 5, 5, 1), n=20, steps=20, size=1.0, **options):
    """(network, prompt), data of this size."""
    target = hs.target.Training(list(widths), activation=activation, samples=n, steps=steps, rate=0.1, **options)
    net = hs.compile(target, eps=eps, dtype=dtype, method=method)
    g = torch.Generator().manual_seed(0)
    X, Y = ((size * torch.randn(n, k, generator=g)).clamp(-4, 4).to(net.dtype) for k in (widths[0], widths[-1]))
    return net, hs.prompt.training(X, Y, X[0], init=0)


def gap(net, prompt):
    """|w - autograd's| after the last step, 2-norm; and the result."""
    r, task = net(prompt), net.task
    rows = task.matrices.split(r.path[0])
    path, _ = descended(rows, prompt.X, prompt.Y, task.activation, task.steps, task.rate, task.biases, loss=task.value)
    return float((r.path[-1] - path[-1]).norm()), r


@pytest.mark.parametrize("steps", [20, 100])
@pytest.mark.parametrize("widths", [(5, 8, 2), (5, 8, 8, 2)])
def test_the_identity_is_exact(widths, steps):
    net, prompt = case("identity", 1e-6, widths=widths, n=50, steps=steps)
    error, r = gap(net, prompt)
    assert error <= 1e-13 and r.certificate.bound <= 1e-10 and net.certificate.approximation == 0


@pytest.mark.parametrize("steps", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_tanh_with_some_257_knots(steps):
    """The floor: within 2e-4 of autograd after 20 steps, certified at most 50 times the measured perturbation."""
    net, prompt = case("tanh", 1.2e-2, steps=steps)
    assert 240 <= len(net.form.sums.value) <= 270
    error, r = gap(net, prompt)
    assert error <= 1e-5 * steps and float(r.loss_curve[-1]) < float(r.loss_curve[0])
    measured = net.certify(prompt)
    assert bool((measured <= r.perturbations).all()) and bool((r.perturbations <= 50 * measured).all())


def test_the_error_falls_with_the_square_of_the_knots():
    errors, counts = [], []
    for eps in (0.64, 0.16, 0.04):
        net, prompt = case("tanh", eps, steps=5)
        errors.append(gap(net, prompt)[0])
        counts.append(len(net.form.sums.value))
    slope = math.log(errors[0] / errors[-1]) / math.log(counts[0] / counts[-1])
    assert -2.5 <= slope <= -1.6 and 3.7 <= counts[-1] / counts[0] <= 4.3


@pytest.mark.parametrize("size", [0.3, 2.0])
@pytest.mark.parametrize("dtype, eps", [("float64", 0.2), ("float32", 2.0)])
@pytest.mark.parametrize("activation", SMOOTH)
def test_no_step_is_further_off_than_is_proved(activation, dtype, eps, size):
    net, prompt = case(activation, eps, dtype=dtype, widths=(3, 4, 4, 2), n=8, steps=2, size=size, biases=True)
    measured, r = net.certify(prompt), net(prompt)
    assert bool((measured <= r.perturbations).all()) and float(r.perturbations.max()) <= eps


@pytest.mark.parametrize(
    "options",
    [{}, {"biases": True}, {"project": 0.6}, {"output": "activation"}, {"loss": "huber(0.5)"}],
    ids=lambda options: ", ".join(map(str, options)) or "plain",
)
@pytest.mark.parametrize("activation", ["relu", "leaky", "hard tanh", "identity"])
def test_kinks_are_exact_but_for_rounding(activation, options):
    net, prompt = case(activation, 1e-5, widths=(3, 6, 6, 2), **options)
    measured, r = net.certify(prompt), net(prompt)
    assert not r.kinks and net.certificate.approximation == 0
    assert bool((measured <= r.perturbations).all()) and float(measured.max()) <= 1e-7


def test_a_pre_activation_on_a_ramp_is_said_to_be():
    """z = 2^-21, on the ramp of width 2^-20: the slope is a half, where torch takes 1."""
    net, _ = case("relu", 1e-3, widths=(1, 1, 1), n=1, steps=1)
    r = net(hs.prompt.training([[2.0**-21]], [[1.0]], [0.0], init=[[[1.0]], [[1.0]]]))
    assert r.kinks == 1 and "a subgradient" in r.certificate.statement
    trace = net.trace(hs.prompt.training([[2.0**-21]], [[1.0]], [0.0], init=[[[1.0]], [[1.0]]]))
    assert float(trace["step 1 / layer 1 / slope"][0]) == pytest.approx(0.5, abs=1e-6)
    assert "within 9.5367431640625e-07 of a kink of relu" in net.certificate.statement
    clear = net(hs.prompt.training([[1e-3]], [[1.0]], [0.0], init=[[[1.0]], [[1.0]]]))
    assert not clear.kinks and "since no slope was taken near a kink" in clear.certificate.statement


def test_the_query_changes_nothing_but_the_prediction():
    net, prompt = case("tanh", 0.5, steps=3)
    one, other = net(prompt), net(hs.prompt.training(prompt.X, prompt.Y, -prompt.query, init=0))
    assert torch.equal(one.path, other.path) and not torch.equal(one.prediction, other.prediction)
    tokens = net.encode(*net.read(prompt))
    labelled = tokens.clone()
    labelled[-1, net.form.stream(net.task).slices["y"]] = 7.0
    weights = [net.form.stream(net.task).weights(net.network(given)) for given in (tokens, labelled)]
    assert all(map(torch.equal, *weights))


def test_rates_masks_and_batches():
    net, prompt = case("relu", 1e-5, steps=3, widths=(3, 6, 6, 2))
    g = torch.Generator().manual_seed(3)
    masks, rates = (torch.rand(3, 20, generator=g) > 0.5).double(), torch.tensor([0.2, 0.01, 0.05]).double()
    told = hs.prompt.training(prompt.X, prompt.Y, prompt.query, init=0, rates=rates, masks=masks)
    assert bool((net.certify(told) <= net(told).perturbations).all()) and float(net.certify(told).max()) < 1e-7
    kept = masks[0].bool()
    small = hs.target.Training([3, 6, 6, 2], samples=int(kept.sum()), steps=1, rate=0.2)
    alone = hs.compile(small, eps=1e-5, method="printed")
    other = alone(hs.prompt.training(prompt.X[kept], prompt.Y[kept], prompt.query, init=0))
    assert float((other.path[1] - net(told).path[1]).abs().max()) <= 1e-8
    X, Y = torch.stack([prompt.X, prompt.X / 2, -prompt.X]), torch.stack([prompt.Y] * 3)
    whole = net(hs.prompt.training(X, Y, prompt.query, init=0))
    for k in range(3):
        one = net(hs.prompt.training(X[k], Y[k], prompt.query, init=0))
        assert float((whole.path[k] - one.path).abs().max()) <= 1e-8


def test_the_trace_and_the_variables_have_the_names_of_the_compact_form():
    net, prompt = case("relu", 1e-5, steps=3)
    trace, r = net.trace(prompt), net(prompt)
    at, tokens, rows = net.network.variables["step 3 / layer 2 / delta"]
    assert trace["step 3 / layer 2 / delta"].shape == (20, 5) and rows.stop - rows.start == 5 and tokens.stop == 20
    assert list(net.network.layers)[at] == "backward2"
    assert torch.equal(trace["step 3 / layer 2 / weights"], r.weights[1].flatten())
    assert torch.equal(trace["prediction"], r.prediction)


def test_tokens_that_disagree_on_w_are_charged():
    """As rounding may leave them behind a step: the bound knows of it."""
    net, prompt = case("tanh", 0.5, steps=1)
    form, task = net.form, net.task
    tokens, law = net.encode(*net.read(prompt)), form.law(task, net.plan.request)
    torn = tokens.clone()
    torn[1:, form.stream(task).rows("w")] += 1e-3
    bounds = []
    for given in (tokens, torn):
        [seen] = form.passes(task, net.network, given[None], net.certificate.domain)
        told = torch.tensor([[0.1]]).double(), torch.ones(1, 1, 20).double()
        held = form.held(task, tuple(part[:, None] for part in seen), told, range(1, 2))
        bounds.append(float(perturbation(held, law).bound))
    assert bounds[1] >= bounds[0] + 1e-3


@pytest.mark.parametrize(
    "options, words",
    [({"optimizer": "adam"}, "leave out optimizer="), ({"decay": 0.1}, "leave out decay="),
     ({"loss": "logistic"}, "loss='logistic'.*method='auto'")],
)  # fmt: skip
def test_what_the_paper_does_not_have_is_refused(options, words):
    with pytest.raises(hs.Refusal, match=words):
        hs.compile(hs.target.Training([2, 3, 1], samples=4, **options), eps=1e-3, method="printed")


def test_too_many_knots_are_refused_with_an_eps_that_can_be_had():
    target = hs.target.Training([2, 3, 1], activation="tanh", samples=4)
    with pytest.raises(hs.Refusal, match="ReLUs a unit stand for tanh") as refused:
        hs.compile(target, eps=1e-6, method="printed")
    eps = float(str(refused.value).split("eps = ")[-1].split(" can")[0])
    assert hs.plan(target, eps=eps, method="printed").bound <= eps


def test_a_prompt_that_magnifies_the_sums_is_refused():
    """Steep weights: another eps would have coarser sums."""
    net, prompt = case("gelu", 0.5, widths=(3, 4, 4, 4, 1), n=4, steps=1)
    steep = [3 * w for w in net(prompt).initial]
    with pytest.raises(hs.Refusal, match="take smaller weights or data, or method='auto'"):
        net(hs.prompt.training(prompt.X[:4], prompt.Y[:4], prompt.query, init=steep))
