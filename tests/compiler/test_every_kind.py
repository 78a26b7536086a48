"""The one interface, on every kind: run, certify, explain, plot, save, load, certify the file, build again, void."""

import copy
from contextlib import suppress
from dataclasses import fields, replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.compiled import VOID
from headsmith.network import fingerprint
from headsmith.refusal import Refusal

from .examples import DRAWN, EACH, EXAMPLES
from .forgery import sampled

every_kind = pytest.mark.parametrize("name", EACH)


def inputs(net, count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [x.to(net.dtype) for x in net.target.sample(net.certificate.domain, count, generator)]


@every_kind
def test_it_stays_within_its_bound(name):
    net = EXAMPLES[name]()
    if not net.target.known:
        pytest.skip("the target is code, its values are not known in balls")
    errors = net.certify(*inputs(net, 16))
    assert float(errors.max()) <= net.certificate.bound
    assert net.certificate.bound <= net.plan.eps or not net.plan.design.promises


@every_kind
def test_it_explains_itself(name):
    net = EXAMPLES[name]()
    told = net.explain(*[x[0] for x in inputs(net, 1)])
    assert told.readings and str(net.target) in str(told)
    for reading in told.readings:
        terms = [weight * value for _, weight, value in reading.keys]
        assert sum(terms) == pytest.approx(reading.result, abs=1e-30 + 1e-6 * sum(map(abs, terms))), reading
        assert reading.input and reading.output and reading.token


@pytest.mark.parametrize("name", DRAWN)
def test_it_draws_itself(name):
    figure = EXAMPLES[name]().plot()
    assert figure.axes
    plt.close(figure)


@every_kind
def test_its_file_is_proved_again(name, tmp_path):
    net = EXAMPLES[name]()
    path = net.save(tmp_path / "f.safetensors")
    verdict = hs.certify(path)
    if net.certificate.kind != "proved":
        assert (verdict.status, verdict.statement) == (2, ""), verdict
    else:
        assert (verdict.status, verdict.bound) == (0, net.certificate.bound), verdict
        assert verdict.statement == net.certificate.statement
    again = hs.load(path)
    built = again.plan.build()
    assert fingerprint(built.network) == fingerprint(net.network) == fingerprint(again.network)
    assert built.certificate == again.certificate
    given = inputs(net, 4)
    assert torch.equal(again(*given), net(*given))
    assert again.save(tmp_path / "g.safetensors").read_bytes() == path.read_bytes()


@every_kind
def test_its_domain_is_in_its_sentence(name):
    net = EXAMPLES[name]()
    for words in str(net.certificate.domain).split("], "):
        assert words.rstrip("]") in net.certificate.statement


def others(target):
    """The target with one number of one field changed, where that is a target."""
    for change in _changes(target):
        with suppress(Refusal):
            yield replace(target, **change)


def _changes(target):
    for field in fields(target):
        value = getattr(target, field.name)
        if isinstance(value, float):
            yield {field.name: value + 0.5}
        if isinstance(value, np.ndarray):
            yield {field.name: _moved(value)}
        for k, part in enumerate(value if isinstance(value, tuple) else ()):
            if isinstance(part, np.ndarray):
                yield {field.name: (*value[:k], _moved(part), *value[k + 1 :])}


def _moved(array):
    moved = np.array(array)
    moved.flat[-1] += 0.5 if moved.dtype.kind == "f" else 1
    return moved


@every_kind
def test_its_sentence_is_about_no_other_function(name):
    net = EXAMPLES[name]()
    request, plain = net.plan.request, net.target.plain(net.plan.request.domain)
    for other in others(net.target):
        asked = replace(request, domain=other.domain(plain, request.dtype))
        assert other.statement(asked) != net.certificate.statement, other


@every_kind
def test_a_cast_makes_it_void(name):
    net = copy.deepcopy(EXAMPLES[name]()).half()
    for text in (repr(net), net._repr_html_()):
        assert VOID in text and "certified" not in text
    with pytest.raises(hs.StaleCertificate):
        _ = net.certificate
    with pytest.raises(hs.StaleCertificate):
        net.save("never.safetensors")
    with pytest.raises(Refusal, match="nothing is proved of weights in float16"):
        net.reprove()


def attributes(network):
    """Every attribute that a layer runs on, and another value for it."""
    own = vars(torch.nn.Module())
    for path, layer in network.named_modules():
        for name, value in vars(layer).items():
            if name not in own and name != "_tap":
                yield f"{path}.{name}", layer, name, _other(value)


def _other(value):
    if isinstance(value, bool | torch.Tensor):
        return value == False  # noqa: E712  of tensors too
    return value + 1 if isinstance(value, int | float) else "none" if value is None else None


@every_kind
def test_a_changed_attribute_of_a_layer_makes_it_void(name):
    net = copy.deepcopy(EXAMPLES[name]())
    for what, layer, attribute, other in sampled([*attributes(net.network)], 24):
        before = vars(layer)[attribute]
        vars(layer)[attribute] = other
        assert VOID in repr(net), what
        vars(layer)[attribute] = before
    assert net.valid


@every_kind
def test_an_input_outside_is_refused_in_one_sentence(name):
    net = EXAMPLES[name]()
    first, *rest = inputs(net, 2)
    with pytest.raises(Refusal) as refusal:
        net(first + 1e9, *rest)
    assert "\n" not in str(refusal.value)
    with pytest.raises(Refusal):
        net(torch.full_like(first, float("nan")), *rest)
    with pytest.raises(Refusal, match="net\\("):
        net()
