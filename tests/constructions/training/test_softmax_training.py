"""The layers of training by softmax attention alone, one by one, and the numbers that a file gives back."""

import pytest
import torch

import headsmith as hs
from headsmith.constructions.training.softmax_training import SoftmaxTraining
from headsmith.functions.smooth import SMOOTH
from headsmith.network import Attention, Copies, FeedForward


def stepped(eps=1e-6, dtype="float64", **options):
    """(network, tokens) with random data."""
    asked = {"widths": [3, 4, 4, 2], "samples": 5, "rate": 0.25, "steps": 3, **options}
    net = hs.compile(hs.target.Training(**asked), eps=eps, dtype=dtype, method="softmax")
    g, widths = torch.Generator().manual_seed(0), net.task.widths
    data = [torch.randn(*size, generator=g).to(net.dtype) for size in ((5, widths[0]), (5, widths[-1]), (widths[0],))]
    return net, net.encode(*data, net.task.matrices.flat(net.task.start(0)).to(net.dtype))


@pytest.mark.parametrize("widths", [[3, 2], [3, 4, 2], [3, 4, 4, 2], [2, 3, 3, 3, 1]])
def test_a_step_is_2n_and_1_blocks(widths):
    net, _ = stepped(widths=widths)
    depth = len(widths) - 1
    attending = [layer for layer in net.network.layers.values() if not isinstance(layer, FeedForward)]
    assert len(attending) == 2 * depth + 1 and f"{2 * depth + 1} blocks a step" in net.plan.method
    assert sum(layer.heads for layer in attending) == net.plan.heads
    assert net.plan.layers == len(attending) * 3 + depth and net.plan.design.tally.keys == 31


OPTIONS = [{"activation": name} for name in ("relu", "leaky", "hard tanh", "identity", *SMOOTH) if name != "gelu"]
OPTIONS += [{"loss": "logistic", "decay": 0.5}, {"biases": True, "project": 0.5, "loss": "huber(0.5)"}]


@pytest.mark.parametrize("output", ["identity", "activation"])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ", ".join(map(str, options.values())))
def test_all_attention_is_softmax(options, output):
    """Copies are softmax by what they are; no head has ReLU weights, and nothing else makes products."""
    net, _ = stepped(0.5, **options, output=output)
    for layer in net.network.layers.values():
        assert isinstance(layer, Attention | Copies | FeedForward)
        assert not isinstance(layer, Attention) or layer.weights == "softmax"


@pytest.mark.parametrize(
    "options",
    [{}, {"activation": "identity"}, {"biases": True}, {"activation": "softplus", "eps": 0.5, "output": "activation"},
     {"loss": "logistic"}, {"decay": 0.5, "project": 0.4}],
)  # fmt: skip
def test_scratch_is_0_after_a_step_and_nothing_else_changes(options):
    net, tokens = stepped(**options)
    sheet, after = net.form.stream(net.task), net.network(tokens)
    assert not after[:, sheet.scratch()].any()
    moved = {row for row in range(sheet.width) if not torch.equal(after[:, row], tokens[:, row])}
    assert moved <= set(sheet.rows("w")) and len(moved) > 10
    w = after[:, sheet.rows("w")]
    assert float((w - w[:1]).abs().max()) <= 1e-15


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_layers_hold_what_they_are_called(activation):
    """Against plain back-propagation, variable by variable."""
    net, tokens = stepped(biases=True, activation=activation)
    states = dict(zip(net.network.layers, net.network.states(tokens), strict=True))
    names, V = list(net.network.layers), net.form.stream(net.task).weights(tokens)
    r = getattr(torch, activation)
    x, y = tokens[:5, :3], tokens[:5, 3:5]
    p, z, slopes = [x], [], []
    for j, W in enumerate(V):
        z.append(p[-1] @ W[:, :-1].T + W[:, -1])
        p.append(r(z[-1]) if j < 2 else z[-1])
        slopes.append((1 - p[-1] ** 2 if activation == "tanh" else (z[-1] > 0).double()) if j < 2 else None)
    deltas = [p[3] - y]
    for j in (1, 0):
        deltas.insert(0, deltas[0] @ V[j + 1][:, :-1] * slopes[j])
    for j in (1, 2, 3):
        held = {"pre-activation": z[j - 1], "activation": p[j], "slope": slopes[j - 1], "delta": deltas[j - 1],
                "gradient": torch.einsum("ik,im->ikm", deltas[j - 1], p[j - 1])}  # fmt: skip
        for name, exact in held.items():
            if exact is None:
                continue
            at, rows, columns = net.network.variables[f"step 1 / layer {j} / {name}"]
            found = states[names[at]][rows, columns][:5]
            if name == "gradient":
                found = found.unflatten(-1, tuple(V[j - 1].shape))[..., :-1]
            assert float((found - exact).abs().max()) <= 1e-12, (j, name)


def test_attention_is_the_mean_over_who_is_there_times_the_rate():
    net, tokens = stepped()
    sheet = net.form.stream(net.task)
    present = torch.tensor([1.0, 0, 1, 1, 0]).double()
    sheet.instruct(tokens, torch.tensor(0.2, dtype=torch.float64), present, (1.0, 1.0))
    at = list(net.network.layers).index("descend")
    pattern = net.network.trace(tokens)[f"blocks.{at}.attn.hook_pattern"][0]
    shares = torch.cat([present * 0.2 / (sheet.most * 3), torch.tensor([0, 1 - 0.2 / sheet.most], dtype=torch.float64)])
    assert float((pattern - shares).abs().max()) <= 2e-16
    assert not pattern[:, [1, 4, 5]].any()  # exactly: the query and who is absent


def test_the_range_of_products_follows_the_data():
    wanted = {(4.0, 4.0, False): 64, (1.0, 1.0, False): 16, (5.0, 1.0, False): 128, (0.01, 0.01, True): 16}
    for (x, y, biases), limit in wanted.items():
        target = hs.target.Training([2, 3, 1], samples=4, biases=biases)
        net = hs.compile(target, eps=1e-6, domain={"x": x, "y": y}, method="softmax")
        assert net.plan.design.limit == limit and f"products up to {limit}" in net.plan.method


@pytest.mark.parametrize("options", [{}, {"activation": "softplus"}])
def test_numbers_come_back(options):
    net, _ = stepped(1e-3, **options)
    design = SoftmaxTraining.stored(net.task, net.network, net.plan.request, {})
    assert (design.limit, design.sizes, design.units) == (64.0, net.plan.design.sizes, (4, 4, 2))
    assert [table.keys for table in design.tables] == [table.keys for table in net.plan.design.tables]
