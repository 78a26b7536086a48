"""The one interface, on every kind: run, certify, explain, plot, save, load, certify the file, build again, void."""

import copy

import matplotlib.pyplot as plt
import pytest
import torch

import headsmith as hs
from headsmith.compiler.compiled import VOID
from headsmith.network import fingerprint
from headsmith.refusal import Refusal

from .examples import DRAWN, EACH, EXAMPLES

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
