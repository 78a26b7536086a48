"""What follows the gradient, block by block: each product and each mean is what it is called, in no other token."""

from dataclasses import replace

import pytest
import torch

import headsmith as hs
from headsmith.constructions.design import Short
from headsmith.constructions.training.compact import CompactTraining, tape_of
from headsmith.constructions.training.optimizing import prove_root, reciprocal


def network(optimizer, **options):
    asked = {"widths": [2, 3, 1], "samples": 4, "rate": 0.25, "biases": True, "optimizer": optimizer, **options}
    net = hs.compile(hs.target.Training(**asked), eps=1e-3)
    target = net.target
    g = torch.Generator().manual_seed(0)
    tokens = CompactTraining.encode(target, *[x[0] for x in target.sample(net.certificate.domain, 1, g)])
    for name in ("g", *tape_of(target).moments, "square", "ahead", "spread"):
        if name in tape_of(target).slices:
            values = torch.randn(tape_of(target).units, tape_of(target).fan, generator=g, dtype=torch.float64)
            tokens[tape_of(target).holders, tape_of(target).rows(name)] = values.abs() if name == "v" else values
    return net, tape_of(target), tokens


def held(tape, tokens, name):
    return tokens[..., tape.holders, tape.slices[name]]


def changed(tape, before, after):
    """The families that a layer wrote, and that it wrote them in tokens of units alone."""
    assert torch.equal(before[tape.data], after[tape.data])
    return {name for name in tape.slices if not torch.equal(before[:, tape.slices[name]], after[:, tape.slices[name]])}


def test_momentum_adds_up_and_is_paced():
    net, tape, tokens = network("momentum", beta=0.5)
    carried = net.network.layers["carry"](tokens)
    expected = 0.5 * held(tape, tokens, "v") + held(tape, tokens, "g")
    assert float((held(tape, carried, "v") - expected).abs().max()) <= 1e-15
    assert changed(tape, tokens, carried) == {"v", "g"} and not held(tape, carried, "g").any()
    paced = net.network.layers["pace"](carried)
    assert torch.equal(held(tape, paced, "g"), -0.25 * held(tape, carried, "v"))
    assert changed(tape, carried, paced) == {"g"}


def test_adam_squares_averages_corrects_and_divides():
    net, tape, tokens = network("adam", betas=(0.5, 0.75), root=1.0)
    for name in ("square", "ahead", "spread"):
        tokens[:, tape.slices[name]] = 0.0
    layers, g = net.network.layers, held(tape, tokens, "g")
    squared = layers["square"](tokens)
    assert torch.equal(held(tape, squared, "square"), g * g) and changed(tape, tokens, squared) == {"square"}
    carried = layers["carry"](squared)
    m, v = (0.5 * held(tape, tokens, "m") + 0.5 * g, 0.75 * held(tape, tokens, "v") + 0.25 * g * g)
    for name, expected in (("m", m), ("v", v)):
        assert float((held(tape, carried, name) - expected).abs().max()) <= 2e-15
    assert changed(tape, squared, carried) == {"m", "v", "g"} and not held(tape, carried, "g").any()
    paced = layers["pace"](carried)
    assert torch.equal(held(tape, paced, "ahead"), -0.5 * held(tape, carried, "m"))  # rate / (1 - 1/2)
    assert torch.equal(held(tape, paced, "spread"), 4.0 * held(tape, carried, "v"))
    assert changed(tape, carried, paced) == {"ahead", "spread"}
    moved = layers["root"](paced)
    ahead, spread = held(tape, paced, "ahead"), held(tape, paced, "spread").clamp(max=4.0)
    near = held(tape, paced, "spread") <= 4.0
    table = net.plan.design.law(net.target, net.plan.request).table
    gap = (held(tape, moved, "g") - ahead / (spread + 1.0).sqrt()).abs()
    assert near.any() and bool((gap <= (table.approximation + table.rounding + 1e-15) * ahead.abs())[near].all())
    assert changed(tape, paced, moved) == {"g"}


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_decay_is_a_part_of_the_gradient(optimizer):
    net, tape, tokens = network(optimizer, decay=0.5)
    faded = net.network.layers["fade"](tokens)
    assert torch.equal(held(tape, faded, "g"), held(tape, tokens, "g") + 0.5 * held(tape, tokens, "w"))
    assert changed(tape, tokens, faded) == {"g"} and "shrink" not in net.network.layers


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_moments_stay_and_scratch_does_not(optimizer):
    net, tape, tokens = network(optimizer)
    tokens[
        :, [row for name in ("g", "square", "ahead", "spread") if name in tape.slices for row in tape.rows(name)]
    ] = 0
    after = net.network(tokens)
    assert changed(tape, tokens, after) == {"w", *tape.moments}
    assert not after[:, tape.scratch() + tape.rows("g")].any()


def test_the_table_is_proved_for_the_very_root():
    net, *_ = network("adam", root=0.1)
    head, optimizer = net.plan.design.root, net.target.optimized
    proved = prove_root(head, optimizer, 4.0, "float64")
    z = torch.linspace(0, 4, 20001).double()
    measured = abs(head(z.numpy()) - reciprocal(optimizer)(z.numpy())).max()
    assert 0.5 * proved.approximation <= measured <= proved.approximation
    other = prove_root(head, replace(optimizer, root=0.101), 4.0, "float64")
    assert other.approximation >= abs(0.101**-0.5 - 0.1**-0.5) / 2
    assert prove_root(head, optimizer, 5.0, "float64").approximation > proved.approximation


def test_a_plan_counts_what_an_optimizer_needs():
    target = hs.target.Training(widths=[2, 3, 1], samples=4)
    sizes = {name: CompactTraining.of(replace(target, optimizer=name), None) for name in ("gd", "momentum", "adam")}
    assert [design.tally.layers for design in sizes.values()] == [4 + 2, 5 + 2, 7 + 2]
    assert [design.tally.heads for design in sizes.values()] == [10, 11, 18]
    net, *_ = network("adam")
    attending = [layer for layer in net.network.layers.values() if layer.kind in ("attention", "copies")]
    design = net.plan.design
    assert len(attending) + 2 == design.tally.layers and sum(layer.heads for layer in attending) == design.tally.heads
    assert design.tally.keys == 4 + design.root.keys and f"a table of {design.root.keys} keys" in net.plan.method


def test_a_root_that_no_prompt_could_keep_is_not_proved():
    """Such a network would refuse every prompt worth the name: true, and empty."""
    net = hs.compile(hs.target.Training([1, 2, 1], samples=3, optimizer="adam", root=0.25), eps=1e-3)
    design, target, request = net.plan.design, net.target, net.plan.request
    flat = replace(design.root, values=0 * design.root.values)
    with pytest.raises(Short, match="its table of 1/sqrt"):
        replace(design, root=flat).prove(target, request)
