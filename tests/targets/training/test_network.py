"""A prompt in, trained weights out: against autograd, and every promise of the result."""

import pytest
import torch
from torch.nn import functional as F

import headsmith as hs

ACTIVATIONS = {"relu": F.relu, "leaky": F.leaky_relu, "hard tanh": F.hardtanh, "identity": lambda z: z}
prompt = hs.prompt.training


def data(n=20, widths=(3, 6, 6, 2), dtype=torch.float64, labels=False):
    g = torch.Generator().manual_seed(1)
    X, Y, query = (torch.randn(*size, generator=g).clamp(-4, 4).to(dtype) for size in
                   ((n, widths[0]), (n, widths[-1]), (widths[0],)))  # fmt: skip
    return X, (Y > 0).to(dtype) if labels else Y, query


def network(widths=(3, 6, 6, 2), n=20, steps=20, rate=0.1, eps=1e-6, dtype="float64", **options):
    target = hs.target.Training(widths=list(widths), samples=n, steps=steps, rate=rate, **options)
    return hs.compile(target, eps=eps, dtype=dtype)


def loss_of(target, f, Y, mask):
    if target.loss == "squared":
        each = 0.5 * (f - Y) ** 2
    elif target.loss == "logistic":
        each = F.binary_cross_entropy_with_logits(f, Y, reduction="none")
    else:
        each = F.huber_loss(f, Y, reduction="none", delta=target.bend)
    return (each.sum(-1) * mask).sum() / mask.sum()


def descended(target, start, X, Y, rates=None, masks=None):
    """The same steps by torch autograd, from the matrices that the result started with."""
    W = [w.clone() for w in start]
    b = [w.new_zeros(len(w)) for w in W] if target.biases else []
    for t in range(target.steps):
        parameters = [v.detach().requires_grad_() for v in (*W, *b)]
        W, b, p = parameters[: len(W)], parameters[len(W) :], X
        for j, w in enumerate(W):
            z = p @ w.T + (b[j] if b else 0.0)
            p = ACTIVATIONS[target.activation](z) if j + 1 in target.matrices.bent else z
        mask = torch.ones(len(X), dtype=X.dtype) if masks is None else masks[t]
        slopes = torch.autograd.grad(loss_of(target, p, Y, mask), parameters)
        rate = target.rate if rates is None else rates[t]
        with torch.no_grad():
            moved = [v - rate * (g + target.decay * v) for v, g in zip(parameters, slopes, strict=True)]
            moved = moved if target.project is None else [v.clamp(*target.project) for v in moved]
        W, b = moved[: len(W)], moved[len(W) :]
    return [*W, *b]


def gap(net, given, **told):
    r = net(prompt(*given, **told))
    told.pop("init", None)
    expected = descended(net.target, r.initial, *given[:2], **told)
    return max(float((a - b).abs().max()) for a, b in zip((*r.weights, *r.biases), expected, strict=True)), r


@pytest.mark.parametrize("layers", [2, 3, 4])
@pytest.mark.parametrize("dtype, most, eps", [("float64", 1e-12, 1e-6), ("float32", 1e-5, 1e-2)])
def test_relu_is_autograd(layers, dtype, most, eps):
    widths = (5,) + (8,) * (layers - 1) + (2,)
    net = network(widths, 50, 20, 0.05, eps, dtype)
    error, r = gap(net, data(50, widths, getattr(torch, dtype)))
    assert error <= most and r.certificate.bound <= net.certificate.bound
    assert float(r.loss_curve[-1]) < 0.5 * float(r.loss_curve[0])


@pytest.mark.slow
@pytest.mark.parametrize("layers", [2, 3, 4])
@pytest.mark.parametrize("dtype, most, eps", [("float64", 1e-12, 1e-6), ("float32", 1e-5, 1e-2)])
def test_a_hundred_steps_are_autograd(layers, dtype, most, eps):
    widths = (5,) + (8,) * (layers - 1) + (2,)
    assert gap(network(widths, 50, 100, 0.05, eps, dtype), data(50, widths, getattr(torch, dtype)))[0] <= most


@pytest.mark.parametrize(
    "options",
    [{"activation": "identity"}, {"activation": "leaky", "biases": True}, {"activation": "hard tanh", "biases": True},
     {"loss": "huber(0.5)"}, {"loss": "logistic"}, {"project": 0.6}, {"project": (-0.5, 1.0), "biases": True},
     {"output": "activation"}, {"output": "activation", "activation": "hard tanh"}, {"decay": 0.3},
     {"loss": "logistic", "output": "activation", "activation": "leaky", "decay": 0.1, "biases": True}],
)  # fmt: skip
def test_every_option_is_autograd(options):
    net = network(**options)
    error, r = gap(net, data(labels=options.get("loss") == "logistic"), init=3)
    assert error <= 1e-13 and not r.kinks
    measured = net.certify(prompt(*data(labels=options.get("loss") == "logistic"), init=3))
    assert bool((measured <= r.perturbations).all()) and measured.shape == (20,)


def test_rates_and_masks_are_told_by_the_prompt():
    g = torch.Generator().manual_seed(3)
    masks, rates = (torch.rand(20, 20, generator=g) > 0.5).double(), torch.rand(20, generator=g).double() * 0.2 + 0.01
    for options in ({}, {"decay": 0.2, "biases": True}):
        assert gap(network(**options), data(), rates=rates, masks=masks)[0] <= 1e-13
        assert gap(network(**options), data(), rates=rates)[0] <= 1e-13
        assert gap(network(**options), data(), masks=masks)[0] <= 1e-13
    net, rates[7] = network(), 1e-5  # where rounding w is a large part of so small a step
    measured, r = (each(prompt(*data(), rates=rates, masks=masks)) for each in (net.certify, net))
    assert bool((measured <= r.perturbations).all())
    assert int(r.perturbations.argmax()) == 7 and r.certificate.bound >= float(r.perturbations.max())


def test_the_query_changes_nothing_but_the_prediction():
    net, (X, Y, query) = network(), data()
    one, other = net(prompt(X, Y, query)), net(prompt(X, Y, -query))
    assert torch.equal(one.path, other.path) and not torch.equal(one.prediction, other.prediction)
    W = one.weights
    expected = W[2] @ F.relu(W[1] @ F.relu(W[0] @ query))
    assert float((one.prediction - expected).abs().max()) <= 1e-14


def test_the_order_of_the_samples_is_rounding():
    net, (X, Y, query) = network(), data()
    order = torch.randperm(20, generator=torch.Generator().manual_seed(0))
    one, other = net(prompt(X, Y, query)), net(prompt(X[order], Y[order], query))
    assert float((one.path - other.path).abs().max()) <= 1e-14


def test_a_batch_is_its_prompts():
    net, (X, Y, query) = network(steps=5), data()
    X2, Y2 = torch.stack([X, X / 2, -X] * 4), torch.stack([Y, -Y, Y / 2] * 4)
    whole = net(prompt(X2, Y2, query, init=1))
    for k in (0, 1, 11):
        one = net(prompt(X2[k], Y2[k], query, init=1))
        assert float((whole.path[k] - one.path).abs().max()) <= 1e-14
        assert float((whole.loss_curve[k] - one.loss_curve).abs().max()) <= 1e-13
        assert float((whole.perturbations[k] / one.perturbations - 1).abs().max()) <= 1e-6
    assert [tuple(w.shape) for w in whole.weights] == [(12, 6, 3), (12, 6, 6), (12, 2, 6)]
    assert whole.prediction.shape == (12, 2) and whole.certificate.bound >= float(whole.perturbations.max())


def test_starts_are_seeds_or_matrices():
    net, given = network(biases=True), data()
    seeded = net(prompt(*given, init=5))
    again = net(prompt(*given, init=seeded.initial))
    paired = net(prompt(*given, init=[(w, torch.zeros(len(w)).double()) for w in seeded.initial]))
    assert torch.equal(seeded.path, again.path) and torch.equal(seeded.path, paired.path)
    shifted = net(prompt(*given, init=[(w, torch.ones(len(w)).double()) for w in seeded.initial]))
    assert torch.equal(shifted.path[0].split([24, 42, 14])[0].reshape(6, 4)[:, 3], torch.ones(6).double())
    for init, words in ((seeded.initial[:2], "3 matrices"), ([w.T for w in seeded.initial], r"\(6, 3\)")):
        with pytest.raises(hs.Refusal, match=words):
            net(prompt(*given, init=init))
    with pytest.raises(hs.Refusal, match="seed or a list"):
        prompt(*given, init=0.5)


def test_what_is_no_prompt_is_refused_with_one_that_would_be():
    net, (X, Y, _) = network(steps=1), data()
    for call in (net, net.certify, net.explain):
        for given in (None, X, hs.prompt.ols(X, Y[:, 0])):
            with pytest.raises(
                hs.Refusal, match=r"is called as net\(hs.prompt.training\(X, Y, query, init=0\)\), or net"
            ):
                call(given)


def test_zero_is_a_stationary_point_and_is_said_to_be():
    net, given = network(), data()
    with pytest.raises(hs.Refusal, match="stationary point"):
        net(prompt(*given, init=[torch.zeros_like(w) for w in net(prompt(*given)).weights]))
    single = network(widths=(3, 2), steps=2)
    zero = [torch.zeros(2, 3).double()]
    assert float(single(prompt(*data(widths=(3, 2)), init=zero)).path[-1].abs().max()) > 0


def test_the_domain_is_checked_on_every_step():
    (X, Y, query), net = data(), network(rate=20.0)
    with pytest.raises(hs.Refusal, match=r"after step [1-9]\d*, w .* smaller rate"):
        net(prompt(X, Y, query))
    for given, words in (((9 * X, Y, query), "x "), ((X, 9 * Y, query), "y "), ((X, Y, 99 * query), "x ")):
        with pytest.raises(hs.Refusal, match=words):
            network()(prompt(*given))
    with pytest.raises(hs.Refusal, match="rates"):
        network()(prompt(X, Y, query, rates=-torch.ones(20).double()))
    with pytest.raises(hs.Refusal, match="masks"):
        network()(prompt(X, Y, query, masks=torch.zeros(20, 20).double()))


def test_a_step_that_cannot_keep_the_promise_is_refused():
    net = network(dtype="float32", eps=2e-5)
    with pytest.raises(hs.Refusal, match=r"step \d+ of this prompt may perturb .* compile with eps=.*float64") as said:
        net(prompt(*data(dtype=torch.float32)))
    eps = float(str(said.value).split("eps=")[1].split(",")[0])
    assert network(dtype="float32", eps=eps)(prompt(*data(dtype=torch.float32))).certificate.bound <= eps


def test_numbers_that_no_gate_shuts_out_are_refused():
    target = hs.target.Training(widths=[1, 1], samples=1, rate=1e-20)
    net = hs.compile(target, eps=1e15, domain={"x": 1e13})
    with pytest.raises(hs.Refusal, match="no gate"):
        net(prompt([[5e12]], [[1.0]], [0.0], init=[[[1.0]]]))


def test_slopes_at_a_kink_are_said_and_never_silent():
    """A unit whose z is 1e-14, inside the gap: the slope is 0 where torch takes 1, and the certificate says so."""
    net = network(widths=(1, 1, 1), n=1, steps=1)
    r = net(prompt([[1e-14]], [[1.0]], [0.0], init=[[[1.0]], [[1.0]]]))
    assert r.kinks == 1 and "a subgradient" in r.certificate.statement and "near a kink: 1," in r.certificate.statement
    assert float(r.weights[0]) == 1.0
    clear = net(prompt([[1e-3]], [[1.0]], [0.0], init=[[[1.0]], [[1.0]]]))
    assert not clear.kinks and "since no slope was taken near a kink" in clear.certificate.statement


def test_the_trace_names_everything():
    net, (X, Y, query) = network(steps=3), data()
    r, trace = net(prompt(X, Y, query)), net.trace(prompt(X, Y, query))
    W = [w[1] for w in net.target.matrices.split(r.path)]
    z = X @ W[0].T
    assert float((trace["step 2 / layer 1 / pre-activation"][:20] - z).abs().max()) <= 1e-14
    assert torch.equal(trace["step 2 / layer 1 / slope"][:20], (z > 0).double())
    moved = r.path[2] - r.path[1]
    found = torch.cat([trace[f"step 2 / layer {j} / update"].flatten() for j in (1, 2, 3)])
    assert float((found - moved).abs().max()) <= 1e-15
    assert torch.equal(trace["step 3 / layer 2 / weights"], r.weights[1])
    assert torch.equal(trace["prediction"], r.prediction)
    assert set(trace) - {"prediction"} == {f"step {t} / {name}" for t in (1, 2, 3) for name in net.network.variables}


def test_loss_curves_start_and_end_where_they_should():
    net, (X, Y, query) = network(steps=4), data()
    r = net(prompt(X, Y, query))
    W = r.initial
    f = F.relu(F.relu(X @ W[0].T) @ W[1].T) @ W[2].T
    assert r.loss_curve.shape == (5,)
    assert float(r.loss_curve[0]) == pytest.approx(float(0.5 * ((f - Y) ** 2).sum(-1).mean()), rel=1e-12)
    longer = network(steps=5)(prompt(X, Y, query))
    assert float(longer.loss_curve[4]) == pytest.approx(float(r.loss_curve[4]), rel=1e-12)


def test_labels_of_one_output_need_no_last_axis():
    net, (X, Y, query) = network(widths=(3, 4, 1), steps=2), data(widths=(3, 4, 1))
    assert torch.equal(net(prompt(X, Y[:, 0], query)).path, net(prompt(X, Y, query)).path)


def test_a_result_shows_itself():
    text = str(network(steps=2)(prompt(*data())))
    for words in ("2 steps of gradient descent", "loss", "prediction", "perturbed by at most", "|w' - (w - rate"):
        assert words in text


def test_a_result_whose_weights_were_edited_is_void():
    result = network(n=2, widths=(1, 2, 1), steps=1)(prompt([[0.5], [1.0]], [[0.5], [0.25]], [0.5]))
    assert "certified" in repr(result)
    result.weights[0][0, 0] += 1e-6
    assert "void" in repr(result) and "certified" not in result._repr_html_() and "perturbed" not in str(result)


def test_a_prompt_is_explained_and_random_ones_are_drawn():
    net = network((2, 3, 1), 4, 3)
    prompt = hs.prompt.training(torch.ones(4, 2).double() / 4, torch.ones(4, 1).double() / 2, [0.5, 0.25], init=1)
    told = net.explain(prompt)
    assert told.readings and set(told.inputs) == {"x", "y", "query", "w"}
    assert "error of 200 random inputs" in [axes.get_title() for axes in net.plot().axes]


@pytest.mark.parametrize("size, refused", [(1.0, False), (1e12, False), (-1.2e12, True), (4e12, True)])
def test_a_query_whose_answer_the_mask_cannot_shut_out_is_refused(size, refused):
    """Beyond the lock relu(f - lock) is not 0: the query would be one more sample."""
    target = hs.target.Training([1, 1, 1], activation="identity", steps=1, rate=1e-12, samples=1)
    net = hs.compile(target, eps=1e20, domain={"x": 1e13, "w": 1e13})
    given = prompt([[1.0]], [[2.0]], [size], init=[[[1.0]], [[1.0]]])
    if refused:
        with pytest.raises(hs.Refusal, match="no gate shuts out"):
            net(given)
    else:
        assert net(given).weights[1] == net(prompt([[1.0]], [[2.0]], [0.0], init=given.init)).weights[1]
