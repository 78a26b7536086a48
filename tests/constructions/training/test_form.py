"""What every form of training offers, shown by the compact one: what is promised, and how a step is followed."""

import pytest
import torch

import headsmith as hs


def compiled(**options):
    asked = {"widths": [2, 3, 1], "samples": 4, "steps": 3, **options}
    return hs.compile(hs.target.Training(**asked), eps=1e-6)


def prompt():
    g = torch.Generator().manual_seed(0)
    return hs.prompt.training(*(torch.rand(4, n, generator=g).double() for n in (2, 1)), [0.5, 0.25], init=1)


def test_the_layers_that_are_watched_are_layers():
    for options in ({}, {"optimizer": "momentum", "decay": 0.5}, {"optimizer": "adam", "root": 1.0}):
        net = compiled(**options)
        known, moving, behind = net.form.watched(net.network)
        names = list(net.network.layers)
        assert names.index(known) <= names.index(moving) < names.index(behind) == len(names) - 1


def test_a_step_is_followed_and_read_out():
    net, given = compiled(), prompt()
    form, task, inputs = net.form, net.task, net.read(given)
    steps = [*form.passes(task, net.network, net.encode(*inputs), net.certificate.domain)]
    assert len(steps) == 3
    result, last = net(given), steps[-1][-1]
    assert torch.equal(form.decode(task, form.read_out(task, net.network, last))[:-1], result.path[-1])
    answered = form.answers(task, form.read_out(task, net.network, last))
    assert answered.shape == (5, 1) and torch.equal(answered[-1], result.prediction)


def test_w_outside_its_domain_is_refused_behind_the_step():
    net, given = compiled(rate=1e3), prompt()
    with pytest.raises(hs.Refusal, match=r"after step 1, w .* smaller rate"):
        net(given)


def test_what_is_enforced_leaves_room_for_the_slack_of_the_certificate():
    wide = hs.compile(hs.target.Training(widths=[2, 3, 1], samples=4), eps=1e-12)
    assert 0.98e-12 < wide.certificate.bound <= 1e-12
