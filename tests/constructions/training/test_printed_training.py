"""The paper's own layers one by one, and the numbers that a file gives back."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.constructions.design import Altered
from headsmith.constructions.training.printed_training import PrintedTraining
from headsmith.proof.approximation import Unprovable


def stepped(eps=1e-4, dtype="float64", **options):
    """(network, tokens) with random data."""
    asked = {"widths": [3, 4, 4, 2], "samples": 5, "rate": 0.25, "steps": 3, **options}
    net = hs.compile(hs.target.Training(**asked), eps=eps, dtype=dtype, method="printed")
    g = torch.Generator().manual_seed(0)
    data = [
        torch.randn(*size, generator=g).to(net.dtype)
        for size in ((5, net.task.widths[0]), (5, net.task.widths[-1]), (net.task.widths[0],))
    ]
    return net, net.encode(*data, net.task.matrices.flat(net.task.start(0)).to(net.dtype))


@pytest.mark.parametrize("widths", [[3, 2], [3, 4, 2], [3, 4, 4, 2], [2, 3, 3, 3, 1]])
def test_a_step_is_2n_and_4_layers(widths):
    net, _ = stepped(widths=widths)
    layers, depth = [*net.network.layers.values()], len(widths) - 1
    assert len(layers) == 2 * depth + 4 and f"{2 * depth + 4} layers a step" in net.plan.method
    kinds = ["attention"] * (depth + 1) + ["feedforward"] + ["attention"] * (depth + 1) + ["feedforward"]
    assert [layer.kind for layer in layers] == kinds
    attending = [layer for layer in layers if layer.kind == "attention"]
    assert {layer.weights for layer in attending} == {"relu"}
    assert [layer.visible for layer in attending] == ["all"] * (depth + 1) + ["self"] * depth + ["all"]
    assert sum(layer.heads for layer in attending) == net.plan.heads
    assert net.plan.layers == len(attending) * 3 + depth


@pytest.mark.parametrize(
    "options", [{}, {"activation": "identity"}, {"biases": True}, {"activation": "tanh", "eps": 1.0, "project": 0.4}]
)
def test_scratch_is_0_after_a_step_and_nothing_else_changes(options):
    net, tokens = stepped(**options)
    sheet, after = net.form.stream(net.task), net.network(tokens)
    assert not after[:, sheet.scratch()].any()
    moved = {row for row in range(sheet.width) if not torch.equal(after[:, row], tokens[:, row])}
    assert moved <= set(sheet.rows("w")) and len(moved) > 10
    w = after[:, sheet.rows("w")]
    assert float((w - w[:1]).abs().max()) <= 1e-15


def test_layers_hold_what_they_are_called():
    """Against plain back-propagation, variable by variable."""
    net, tokens = stepped(biases=True)
    states = dict(zip(net.network.layers, net.network.states(tokens), strict=True))
    names, V = list(net.network.layers), net.form.stream(net.task).weights(tokens)
    x, y = tokens[:5, :3], tokens[:5, 3:5]
    p, z = [x], []
    for j, W in enumerate(V):
        z.append(p[-1] @ W[:, :-1].T + W[:, -1])
        p.append(torch.relu(z[-1]) if j < 2 else z[-1])
    delta = [p[-1] - y]
    for j in (1, 0):
        delta.insert(0, (delta[0] @ V[j + 1][:, :-1]) * (z[j] > 0))

    def variable(name):
        at, where, rows = net.network.variables[name]
        return states[names[at]][where, rows]

    for j in (1, 2, 3):
        assert float((variable(f"layer {j} / activation")[:5] - p[j]).abs().max()) <= 1e-14
        slope = (z[j - 1] > 0).double() if j < 3 else torch.ones(5, 2).double()
        assert float((variable(f"layer {j} / slope")[:5] - slope).abs().max()) <= 1e-8
        assert float((variable(f"layer {j} / delta") - delta[j - 1]).abs().max()) <= 1e-7
        grad = torch.cat([delta[j - 1].T @ p[j - 1], delta[j - 1].sum(0)[:, None]], 1) / 5
        assert float((variable(f"layer {j} / weights") - (V[j - 1] - 0.25 * grad).flatten()).abs().max()) <= 1e-8


def test_the_query_hands_nothing_back():
    net, tokens = stepped()
    sheet, states = net.form.stream(net.task), [*net.network.states(tokens)]
    known = states[list(net.network.layers).index("backward1")]
    assert not known[5, sheet.rows("delta 1") + sheet.rows("delta 3") + sheet.rows("q 3")].any()
    assert known[5, sheet.rows("p 3")].any() and known[4, sheet.rows("delta 3")].any()


def test_there_are_no_dense_matrices():
    """Heads gather a few features each: hardly more numbers than there are, against D x D in each of four maps."""
    net, _ = stepped(activation="tanh", eps=1.0)
    numbers = sum(p.numel() for p in net.network.parameters())
    assert numbers < 0.02 * net.network.cost().dense_parameters


@pytest.mark.parametrize("activation, eps", [("tanh", 1.0), ("gelu", 1.0), ("relu", 1e-4), ("identity", 1e-4)])
@pytest.mark.parametrize("output", ["identity", "activation"])
def test_what_is_stored_is_read_back(activation, eps, output):
    net, _ = stepped(activation=activation, eps=eps, output=output)
    again = PrintedTraining.stored(net.task, net.network, net.plan.request, {})
    for name in ("value", "slope"):
        ours, theirs = (getattr(design.sums, name) for design in (net.form, again))
        assert all(
            np.array_equal(a, b) for a, b in zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True)
        )


def test_layers_that_hold_no_sums_are_altered():
    net, _ = stepped(activation="tanh", eps=1.0)
    other, _ = stepped(activation="tanh", eps=1.0)
    del other.network.layers["slopes"]
    with pytest.raises(Altered, match="holds no sums"):
        PrintedTraining.stored(net.task, other.network, net.plan.request, {})


FILED = hs.target.Training(widths=[1, 2, 1], samples=2, rate=0.25)


@pytest.fixture(scope="module")
def printed():
    """A step on a ReLU network."""
    return hs.compile(FILED, domain={"x": 1.0, "y": 1.0, "w": 2.0}, eps=1e-3, method="printed").plan


@pytest.mark.parametrize(
    ("word", "options"),
    [
        ("optimizer=", {"optimizer": "momentum"}),
        ("optimizer=", {"optimizer": "adam"}),
        ("decay=", {"decay": 0.5}),
        ("loss='logistic'", {"loss": "logistic"}),
    ],
)
def test_nothing_is_proved_of_what_the_paper_has_not(printed, word, options):
    """The same layers would otherwise pass for those of an optimizer."""
    target = replace(FILED, **options)
    with pytest.raises(Altered, match=f"without {word}"):
        printed.design.prove(target, replace(printed.request, domain=target.domain(None, "float64")))
    with pytest.raises(hs.Refusal, match=f"leave out {word}"):
        hs.plan(target, eps=1e-3, method="printed")


def test_no_sentence_names_the_gap_of_another_method(printed):
    """Ramps are wider than gates: |z| = 2^-30 is on one and beyond the other."""
    with pytest.raises(Altered, match="method='auto' makes no printed training"):
        printed.design.prove(FILED, replace(printed.request, method="auto"))
    compact = hs.plan(FILED, eps=1e-3)
    with pytest.raises(Altered, match="method='printed' makes no compact training"):
        compact.design.prove(FILED, replace(compact.request, method="printed"))


def test_sums_are_proved_for_the_activation_before_a_prompt_is_seen(printed):
    with pytest.raises(Unprovable):
        printed.design.prove(replace(FILED, activation="tanh"), printed.request)
