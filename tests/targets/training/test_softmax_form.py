"""Networks trained by softmax attention alone: torch's numbers, a certificate that holds, and what is refused."""

import pytest
import torch

import headsmith as hs
from headsmith.constructions.training.multiplying import slip
from headsmith.functions.smooth import SMOOTH
from headsmith.reference.autograd import descended


def case(activation="relu", eps=1e-6, dtype="float64", widths=(3, 6, 6, 2), n=20, steps=20, size=1.0, **options):
    """(network, prompt), data of this size."""
    target = hs.target.Training(list(widths), activation=activation, samples=n, steps=steps, rate=0.1, **options)
    net = hs.compile(target, eps=eps, dtype=dtype, method="softmax")
    g = torch.Generator().manual_seed(0)
    X, Y = ((size * torch.randn(n, k, generator=g)).clamp(-4, 4).to(net.dtype) for k in (widths[0], widths[-1]))
    return net, hs.prompt.training(X, (Y > 0).to(Y) if target.squashed else Y, X[0], init=0)


def gap(net, prompt):
    """The largest difference of a weight to autograd's after the last step; and the result."""
    r, task = net(prompt), net.task
    rows = task.matrices.split(r.path[0])
    path, _ = descended(rows, prompt.X, prompt.Y, task.activation, task.steps, task.rate, task.biases, loss=task.value)
    return float((r.path[-1] - path[-1]).abs().max()), r


SLOW = pytest.param("gelu", marks=pytest.mark.slow)  # the search for its tables


@pytest.mark.parametrize("dtype, eps, floor", [("float64", 1e-9, 1e-13), ("float32", 1.0, 1e-4)])
@pytest.mark.parametrize("widths", [(5, 8, 2), (5, 8, 8, 2), (5, 8, 8, 8, 2)])
def test_relu_is_within_rounding_of_autograd(widths, dtype, eps, floor):
    """The floor is 1e-11: a prototype with element-wise multiplication layers was at 2.7e-12."""
    net, prompt = case(eps=eps, dtype=dtype, widths=widths, n=50)
    error, r = gap(net, prompt)
    assert error <= floor and r.certificate.bound <= eps
    assert dtype == "float32" or not r.kinks


@pytest.mark.parametrize("activation", [*[name for name in SMOOTH if name != "gelu"], SLOW])
def test_smooth_activations_are_within_what_their_tables_are(activation):
    error, r = gap(*case(activation, 1e-3))
    assert error <= (1e-6 if activation in ("softplus", "gelu") else 1e-14) and r.certificate.bound <= 1e-3


OPTIONS = [{}, {"biases": True}, {"project": 0.6}, {"output": "activation"}, {"loss": "huber(0.5)"},
           {"loss": "logistic", "decay": 0.25}]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ", ".join(map(str, options)) or "plain")
@pytest.mark.parametrize("activation", ["relu", "leaky", "hard tanh", "identity", "tanh"])
def test_no_step_is_further_off_than_is_proved(activation, options):
    net, prompt = case(activation, steps=4, n=8, **options)
    measured, r = net.certify(prompt), net(prompt)
    assert bool((measured <= r.perturbations).all()) and float(measured.max()) <= 1e-12
    assert r.certificate.bound <= 1e-9 and r.certificate.approximation <= r.certificate.bound / 10


@pytest.mark.parametrize("size", [0.3, 2.0])
@pytest.mark.parametrize("dtype, eps", [("float64", 1e-3), ("float32", 4.0)])
@pytest.mark.parametrize("activation", ["relu", *[name for name in SMOOTH if name != "gelu"]])
def test_neither_is_any_in_either_format(activation, dtype, eps, size):
    net, prompt = case(activation, eps, dtype, (3, 4, 4, 2), 8, 2, size, biases=True)
    measured, r = net.certify(prompt), net(prompt)
    assert r.kinks or bool((measured <= r.perturbations).all())
    assert float(r.perturbations.max()) <= eps and (dtype == "float32" or not r.kinks)


def test_neither_is_the_worst_prompt_of_the_domain():
    """Numbers as large as they may be, as far as heads multiply them."""
    target = hs.target.Training([2, 2, 1], samples=2, rate=2.0**-12)
    net = hs.compile(target, eps=1e-3, method="softmax")
    for sign in (1.0, -1.0):
        V = [torch.tensor([[7.9, 7.9], [7.9, 7.0 * sign]]).double(), torch.tensor([[0.8, 0.1 * sign]]).double()]
        prompt = hs.prompt.training([[4.0, 4.0], [4.0, -3.9]], [[-4.0], [4.0]], [1.0, 1.0], init=V)
        measured, r = net.certify(prompt), net(prompt)
        assert bool((measured <= r.perturbations).all()) and float(measured.max()) > 1e-13


def test_the_query_changes_nothing_but_the_prediction():
    net, prompt = case("tanh", steps=3)
    one, other = net(prompt), net(hs.prompt.training(prompt.X, prompt.Y, -prompt.query, init=0))
    assert torch.equal(one.path, other.path) and not torch.equal(one.prediction, other.prediction)
    tokens = net.encode(*net.read(prompt))
    labelled = tokens.clone()
    labelled[-1, net.form.stream(net.task).slices["y"]] = 7.0
    weights = [net.form.stream(net.task).weights(net.network(given)) for given in (tokens, labelled)]
    assert all(map(torch.equal, *weights))


def test_the_order_of_samples_changes_rounding_only():
    net, prompt = case(steps=10)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(1))
    other = net(hs.prompt.training(prompt.X[order], prompt.Y[order], prompt.query, init=0))
    assert float((net(prompt).path - other.path).abs().max()) <= 1e-14


def test_rates_masks_and_batches():
    net, prompt = case(steps=3)
    g = torch.Generator().manual_seed(3)
    masks, rates = (torch.rand(3, 20, generator=g) > 0.5).double(), torch.tensor([0.5, 1e-6, 0.05]).double()
    told = hs.prompt.training(prompt.X, prompt.Y, prompt.query, init=0, rates=rates, masks=masks)
    measured, r = net.certify(told), net(told)
    assert bool((measured <= r.perturbations).all()) and float(measured[[0, 2]].max()) < 1e-12
    kept = masks[0].bool()
    small = hs.target.Training([3, 6, 6, 2], samples=int(kept.sum()), steps=1, rate=0.5)
    alone = hs.compile(small, eps=1e-6, method="softmax")
    other = alone(hs.prompt.training(prompt.X[kept], prompt.Y[kept], prompt.query, init=0))
    assert float((other.path[1] - r.path[1]).abs().max()) <= 1e-14
    X, Y = torch.stack([prompt.X, prompt.X / 2, -prompt.X]), torch.stack([prompt.Y] * 3)
    whole = net(hs.prompt.training(X, Y, prompt.query, init=0, rates=rates, masks=masks))
    for k in range(3):
        one = net(hs.prompt.training(X[k], Y[k], prompt.query, init=0, rates=rates, masks=masks))
        assert float((whole.path[k] - one.path).abs().max()) <= 1e-14


def test_who_is_absent_changes_nothing():
    net, prompt = case(steps=2)
    masks = torch.ones(2, 20).double()
    masks[:, 7] = 0
    X, Y = prompt.X.clone(), prompt.Y.clone()
    X[7], Y[7] = 3.9, -3.9
    paths = [net(hs.prompt.training(x, y, prompt.query, init=0, masks=masks)).path for x, y in
             ((prompt.X, prompt.Y), (X, Y))]  # fmt: skip
    assert torch.equal(*paths)


def test_who_is_absent_has_no_kinks():
    """In float32 a product with 0 is not 0 to the last bit: what the absent hand back is read by nobody."""
    target = hs.target.Training([2, 2, 1, 1], samples=2)
    net = hs.compile(target, eps=1.0, dtype="float32", method="softmax")
    V = [torch.eye(2), torch.ones(1, 2), torch.ones(1, 1)]
    told = {"query": torch.ones(2), "init": V}
    data = torch.tensor([[1.0, 1.0], [1.0, 1e-6]]), torch.tensor([[0.0], [3.0]])
    masks = torch.tensor([[1.0, 0.0]])
    assert net(hs.prompt.training(*data, **told)).kinks == 1
    assert float(net.trace(hs.prompt.training(*data, **told, masks=masks))["step 1 / layer 2 / delta"][1]) != 0
    assert net(hs.prompt.training(*data, **told, masks=masks)).kinks == 0


def test_a_unit_that_is_dead_because_all_below_are_is_no_kink():
    """z = 0 is the sum of no products, and that is known."""
    net, _ = case(widths=(1, 1, 1, 1), n=1, steps=1)
    dead = [torch.tensor([[v]]).double() for v in (-1.0, 1.0, 1.0)]
    r = net(hs.prompt.training([[1.0]], [[1.0]], [1.0], init=dead))
    assert r.kinks == 0 and "since no slope was taken near a kink" in r.certificate.statement
    near = net(hs.prompt.training([[1e-14]], [[1.0]], [1.0], init=[-v for v in dead[:1]] + dead[1:]))
    assert near.kinks and "a subgradient" in near.certificate.statement


def test_the_trace_and_the_variables_have_the_names_of_the_compact_form():
    net, prompt = case(steps=3)
    trace, r = net.trace(prompt), net(prompt)
    assert trace["step 3 / layer 2 / delta"].shape == (20, 6)
    assert trace["step 3 / layer 2 / gradient"].shape == (20, 36)
    assert torch.equal(trace["step 3 / layer 2 / weights"], r.weights[1].flatten())
    assert torch.equal(trace["prediction"], r.prediction)
    mean = trace["step 1 / layer 2 / gradient"].mean(0)
    moved = trace["step 1 / layer 2 / weights"] - r.initial[1].flatten()
    assert float((moved + 0.1 * mean).abs().max()) <= 1e-15


@pytest.mark.parametrize("options, words", [({"optimizer": "adam"}, "plain gradient descent: leave out optimizer="),
                                            ({"optimizer": "momentum"}, "method='auto'")])  # fmt: skip
def test_optimizers_are_refused(options, words):
    with pytest.raises(hs.Refusal, match=words):
        hs.compile(hs.target.Training([2, 3, 1], samples=4, **options), eps=1e-3, method="softmax")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_eps_below_what_a_product_is_off_by_is_refused_with_one_that_can_be_had(dtype):
    target = hs.target.Training([2, 3, 1], samples=4)
    with pytest.raises(hs.Refusal, match="a product of numbers up to 64 alone may be off by") as refused:
        hs.compile(target, eps=1e-13, method="softmax", dtype=dtype)
    eps = float(str(refused.value).split("eps = ")[-1].split(" can")[0])
    assert hs.plan(target, eps=eps, method="softmax", dtype=dtype).bound <= eps
    with pytest.raises(hs.Refusal):  # half of it is for rounding
        hs.plan(target, eps=1.9 * slip(64.0, dtype).fixed, method="softmax", dtype=dtype)


def test_numbers_that_no_head_multiplies_are_refused():
    """A pre-activation, a residual, what is handed back, and the answer to a query."""
    net, _ = case(eps=1e-3, widths=(1, 1, 1), n=1, steps=1)

    def run(x, first, second, query=0.0):
        V = [torch.tensor([[v]]).double() for v in (first, second)]
        return net(hs.prompt.training([[x]], [[4.0]], [query], init=V))

    for given in ((2.5, 8.0, 8.0), (3.0, 5.0, 8.0), (4.0, 7.0, -2.2)):
        with pytest.raises(hs.Refusal, match="beyond 64, which its heads do not multiply: scale the data"):
            run(*given)
    wide, _ = case(eps=1e-3, widths=(3, 1, 1), n=1, steps=1)
    V = [torch.full(size, w).double() for size, w in (((1, 3), 8.0), ((1, 1), 0.5))]
    with pytest.raises(hs.Refusal, match="the answer needs numbers beyond 64, which its heads do not multiply"):
        wide(hs.prompt.training([[0.1] * 3], [[1.0]], [4.0] * 3, init=V))


def test_a_rate_that_is_no_share_of_attention_is_refused():
    net, prompt = case(steps=2)
    with pytest.raises(hs.Refusal, match=r"a rate is a share of attention.*compile for a rate that is nearer"):
        net(hs.prompt.training(prompt.X, prompt.Y, prompt.query, init=0, rates=[0.1, 2.0]))


@pytest.mark.parametrize("activation", ["relu", "leaky"])
def test_numbers_that_no_gate_shuts_out_are_refused(activation):
    """The gate of a unit at z = 0 hands back what is beyond 2^40, where heads could multiply more."""
    for far, words in ((2.0**39, ""), (2.0**44, "numbers beyond 1099511627776")):
        target = hs.target.Training([1, 1, 1], activation=activation, samples=1, steps=1, rate=2.0**-40)
        net = hs.compile(target, domain={"x": 1.0, "y": far, "w": 8.0}, eps=far, method="softmax")
        one = torch.ones(1, 1, dtype=torch.float64)
        prompt = hs.prompt.training(one, far * one, one[0], init=[0 * one, one])
        if words:
            with pytest.raises(hs.Refusal, match=words):
                net(prompt)
        else:
            assert bool((net.certify(prompt) <= net(prompt).perturbations).all())
