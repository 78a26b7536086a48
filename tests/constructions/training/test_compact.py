"""The blocks of a step one by one: what they promise is exact, whatever is 0 stays 0."""

from itertools import product

import pytest
import torch

import headsmith as hs
from headsmith.constructions.training.compact import CompactTraining, tape_of
from headsmith.proof.perturbation import LOCK


def stepped(**options):
    """(target, network, tokens) with random data."""
    asked = {"widths": [3, 4, 4, 2], "samples": 5, "rate": 0.25, "steps": 3, **options}
    target = hs.target.Training(**asked)
    g = torch.Generator().manual_seed(0)
    data = [torch.randn(*size, generator=g, dtype=torch.float64) for size in ((5, 3), (5, asked["widths"][-1]), (3,))]
    if target.squashed:
        data[1] = (data[1] > 0).double()
    tokens = CompactTraining.encode(target, *data, target.matrices.flat(target.start(0)))
    return target, CompactTraining.of(target, None).network(target, "float64"), tokens


def test_a_step_is_2n_blocks_of_attention_and_mlp():
    """N forward, N - 1 backward, one update: an MLP behind each but the last backward one."""
    _, network, _ = stepped()
    kinds = [layer.kind for layer in network.layers.values()]
    assert kinds == ["attention", "feedforward"] * 6
    assert {layer.weights for layer in network.layers.values() if layer.kind == "attention"} == {"relu"}
    assert {layer.visible for layer in network.layers.values() if layer.kind == "attention"} == {"all"}


@pytest.mark.parametrize(
    "options",
    [{}, {"activation": "identity"}, {"biases": True, "loss": "logistic", "decay": 0.1},
     {"activation": "hard tanh", "output": "activation", "project": 0.4}],
)  # fmt: skip
def test_scratch_is_0_after_a_step_and_nothing_else_changes(options):
    target, network, tokens = stepped(**options)
    tape, after = tape_of(target), network(tokens)
    assert not after[:, tape.scratch() + tape.rows("g")].any()
    moved = {row for row in range(tape.width) if not torch.equal(after[:, row], tokens[:, row])}
    assert moved <= set(tape.rows("w"))
    data = [*range(tape.samples + 1)]
    assert not after[data][:, tape.rows("w")].any()
    for j in tape.layers:
        spare = sorted(set(tape.rows("w")) - set(tape.row(j)))
        assert not after[tape.owners(j)][:, spare].any()


def test_the_query_hands_nothing_back():
    target, network, tokens = stepped()
    tape, last = tape_of(target), None
    for name, state in zip(network.layers, network.states(tokens), strict=True):
        if name == "descend":
            last = state
    assert not last[tape.samples, tape.rows("delta 1")].any() and last[0, tape.rows("delta 2")].any()


def test_gates_are_exact_to_the_bit():
    """q stays q where the unit is open, however small or large, and is 0 where it is shut."""
    target, network, tokens = stepped()
    tape, tokens = tape_of(target), torch.zeros_like(tokens)
    tokens[: tape.samples, tape.rows("one")] = 1.0
    z = torch.tensor([-1.0, 0.0, 2.0**-41, 1e-300, 3.0]).double()
    q = torch.tensor([LOCK, -LOCK, 0.75, -1e-30]).double()
    tokens[:5, tape.rows("z 1")] = z[:, None].expand(5, 4)
    tokens[:5, tape.rows("delta 1")] = q
    bent = network.layers["bend1"](tokens)
    assert torch.equal(bent[:5, tape.rows("p 1")], z.clamp(min=0)[:, None].expand(5, 4))
    gated = network.layers["gate1"](bent)[:5]
    slopes = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0]).double()
    assert torch.equal(gated[:, tape.rows("slope 1")], slopes[:, None].expand(5, 4))
    assert torch.equal(gated[[0, 1, 4]][:, tape.rows("delta 1")], slopes[[0, 1, 4], None] * q)
    inside = gated[[2, 3]][:, tape.rows("delta 1")] / q
    assert bool(((inside >= 0) & (inside <= 1)).all())  # between the slopes on both sides


@pytest.mark.parametrize("loss", ["squared", "huber(0.75)"])
def test_the_slope_of_the_loss_is_exact_for_those_who_are_present(loss):
    target, network, tokens = stepped(loss=loss)
    tape, tokens = tape_of(target), torch.zeros_like(tokens)
    f = torch.tensor([-2.0, -0.5, 0.0, 0.25, 4.0]).double()
    tokens[:5, tape.rows("z 3")], tokens[:5, tape.rows("one")] = f[:, None].expand(5, 2), 1.0
    tokens[4, tape.rows("absent")] = 1.0
    found = network.layers["loss"](tokens)[:5, tape.rows("delta 3")[0]]
    limit = 0.75 if "huber" in loss else 9.0
    assert found.tolist() == [*f[:4].clamp(-limit, limit).tolist(), 0.0]


def test_sigmoids_are_two_keys():
    target, network, tokens = stepped(loss="logistic")
    tape = tape_of(target)
    tokens[:5, tape.rows("z 3")] = torch.randn(5, 2, generator=torch.Generator().manual_seed(1)).double() * 9
    found = network.layers["squash"](tokens)[:5, tape.rows("odds")]
    assert float((found - torch.sigmoid(tokens[:5, tape.rows("z 3")])).abs().max()) <= 4 * 2.0**-53


def test_boxes_cut_off_and_leave_the_rest_alone():
    target, network, tokens = stepped(project=0.5)
    tape, tokens = tape_of(target), torch.zeros_like(tokens)
    w, g = torch.tensor([0.25, 0.4, -0.3, -0.5]), torch.tensor([0.125, 0.2, -0.9, 0.25])
    tokens[8, tape.rows("w")], tokens[8, tape.rows("g")] = w.double(), g.double()
    found = network.layers["clean"](tokens)[8, tape.rows("w")]
    assert found.tolist() == pytest.approx([0.375, 0.5, -0.5, -0.25], abs=1e-16)


def test_decay_reaches_each_unit_and_no_other():
    target, network, tokens = stepped(decay=0.5)
    tape = tape_of(target)
    found = network.layers["shrink"](tokens)[tape.samples + 1 :, tape.rows("g")]
    w = tokens[tape.samples + 1 :, tape.rows("w")]
    assert float((found + 0.25 * 0.5 * w).abs().max()) <= 1e-16


def test_the_variables_are_where_they_are_said_to_be():
    target, network, tokens = stepped()
    states = dict(zip(network.layers, network.states(tokens), strict=True))
    names = list(network.layers)
    for j in (1, 2, 3):
        at, where, rows = network.variables[f"step 2 / layer {j} / delta"]
        assert network.features[rows.start] == f"delta {j}.0" and where == slice(0, 5)
        assert states[names[at]][where, rows].any() and f"layer {j} / pre-activation" in network.variables
        at, where, rows = network.variables[f"layer {j} / weights"]
        assert torch.equal(states[names[at]][where, rows], tape_of(target).weights(states["clean"])[j - 1])
    assert "layer 2 / slope" in network.variables and "layer 3 / slope" not in network.variables


@pytest.mark.parametrize(("dtype", "eps"), [("float64", 1e-16), ("float32", 1e-8)])
def test_less_than_rounding_is_refused_before_a_prompt_is_seen(dtype, eps):
    target = hs.target.Training(widths=[2, 3, 1], samples=4)
    with pytest.raises(hs.Refusal, match="rounding a weight of size 1 alone") as refused:
        hs.compile(target, eps=eps, dtype=dtype)
    had = float(str(refused.value).split("eps = ")[-1].split(" can")[0])
    assert hs.compile(target, eps=had, dtype=dtype).certificate.bound <= had


@pytest.mark.parametrize("activation", ["relu", "tanh", "gelu"])
@pytest.mark.parametrize("optimizer", ["gd", "momentum", "adam"])
def test_a_plan_counts_the_layers_and_heads_of_its_network(activation, optimizer):
    """Attention layers of all steps and those that read out, for every loss, decay and output."""
    given = {"widths": [2, 3, 2], "samples": 4, "steps": 2, "activation": activation, "optimizer": optimizer}
    kinds = [("squared", "identity"), ("squared", "activation"), ("logistic", "identity")]
    for (loss, output), decay in product(kinds, (0.0, 0.1)):
        net = hs.compile(hs.target.Training(**given, loss=loss, output=output, decay=decay), eps=1e-2)
        layers = [layer for layer in net.network.layers.values() if layer.kind in ("attention", "copies")]
        size = net.plan.design.tally
        assert (size.layers, size.heads) == (2 * len(layers) + 2, sum(layer.heads for layer in layers))
        assert f"{len(layers)} blocks a step" in net.plan.method


def test_a_step_of_the_logistic_loss_has_one_layer_more():
    sizes = [
        hs.plan(hs.target.Training([2, 3, 1], samples=4, steps=2, **options), eps=1e-3).design.tally
        for options in ({}, {"loss": "logistic"}, {"loss": "logistic", "decay": 0.1})
    ]
    assert [(size.layers, size.heads) for size in sizes] == [(10, 10), (12, 11), (14, 12)]
