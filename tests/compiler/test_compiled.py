"""What a compiled network takes, what it refuses, and when its certificate stops being about it."""

import copy

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.network import fingerprint
from headsmith.refusal import Refusal


@pytest.fixture
def net(forged):
    """relu on [-1, 1], a copy that a test may spoil."""
    return copy.deepcopy(forged("relu(x)", -1, 1, 1e-3))


@pytest.fixture
def narrow(forged):
    return forged("relu(x)", -1, 1, 1e-3, "float32")


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3,), (2, 3), (2, 0, 3), (1, 2, 3, 4)])
def test_the_answer_has_the_shape_of_the_question(net, shape):
    x = torch.linspace(-1, 1, int(np.prod(shape)), dtype=torch.float64).reshape(shape)
    y = net(x)
    assert y.shape == x.shape and y.dtype == torch.float64
    assert not y.numel() or float((y - x.relu()).abs().max()) <= net.certificate.bound


@pytest.mark.parametrize(
    "x",
    [
        torch.tensor([0.5], dtype=torch.float16),
        torch.tensor([0.5]),
        torch.tensor([1]),
        0.5,
        [0.5, 1],
        np.float32(0.5),
        np.array([0.25]),
    ],
)
def test_narrower_inputs_are_promoted_exactly(net, x):
    y = net(x)
    wide = torch.as_tensor(np.asarray(x), dtype=torch.float64)
    assert y.dtype == torch.float64 and torch.equal(y, net(wide))


@pytest.mark.parametrize("x", [torch.tensor([0.1], dtype=torch.float64), np.array([0.1]), np.float64(0.1)])
def test_wider_inputs_are_refused(narrow, x):
    with pytest.raises(Refusal, match="float64 but the network holds float32"):
        narrow(x)


def test_integers_that_float32_cannot_hold(forged):
    wide = forged("x", 0, 2**25, 100.0, "float32")
    assert float(wide(torch.tensor(2**24))) == pytest.approx(2**24, abs=100)
    with pytest.raises(Refusal, match="integers"):
        wide(torch.tensor(2**24 + 1))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_not_a_number(net, bad):
    with pytest.raises(Refusal, match="NaN or infinity"):
        net(torch.tensor([0.0, bad], dtype=torch.float64))


@pytest.mark.parametrize("x", [torch.tensor([True]), torch.tensor([1j])])
def test_not_real_numbers(net, x):
    with pytest.raises(Refusal, match="real numbers"):
        net(x)


def test_outside_of_the_domain_nothing_is_computed(net):
    edge = torch.tensor(1.0, dtype=torch.float64)
    net(edge)
    for x in (torch.nextafter(edge, edge + 1), -torch.nextafter(edge, edge + 1)):
        with pytest.raises(Refusal, match="outside the certified domain"):
            net(x)


def test_autocast_is_refused(net):
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(Refusal, match="autocast"):
        net(torch.tensor(0.5))


def test_other_arithmetic_is_refused(net, narrow):
    precision = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        with pytest.raises(Refusal, match='set_float32_matmul_precision\\("highest"\\)'):
            narrow(0.5)
        assert float(net(0.5)) == pytest.approx(0.5, abs=1e-3)
    finally:
        torch.set_float32_matmul_precision(precision)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_torch_compile_is_refused(net):
    x = torch.tensor([0.5], dtype=torch.float64)
    with pytest.raises(Refusal, match="compile would change"):
        torch.compile(net, backend="eager")(x)
    beside = torch.compile(lambda y: torch.compiler.disable(net)(y) + 1, backend="eager")
    assert torch.equal(beside(x), net(x) + 1)
    net.compile(backend="eager")
    assert not net.valid


def test_gradients_flow_through(net):
    x = torch.tensor([-0.5, 0.5], dtype=torch.float64, requires_grad=True)
    net(x).sum().backward()
    assert torch.allclose(x.grad, torch.tensor([0.0, 1.0], dtype=torch.float64), atol=1e-6)


def test_input_is_left_alone(net):
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)
    before = x.clone()
    net(x)
    assert torch.equal(x, before)


# Stale certificates -----------------------------------------------------------------------------------------------


def spoil_weight(net):
    with torch.no_grad():
        next(p for p in net.parameters() if p.numel() > 1).view(-1)[0] += 2.0**-52


def spoil_sign_of_zero(net):
    with torch.no_grad():
        flat = next(p for p in net.parameters() if (p == 0).any()).view(-1)
        flat[int((flat == 0).nonzero()[0])] = -0.0


def spoil_config(net):
    layer = next(layer for layer in net.network.layers.values() if layer.kind == "attention")
    layer.scale = 2.0


class Scaled(torch.nn.Parameter):
    """A parameter with arithmetic of its own."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_weight,
        spoil_sign_of_zero,
        spoil_config,
        lambda n: n.to(torch.float32),
        lambda n: n.half(),
        lambda n: n.float(),
        lambda n: n.network.register_forward_hook(lambda *args: None),
        lambda n: n.network.layers["read"].register_forward_pre_hook(lambda *args: None),
        lambda n: setattr(n.network, "forward", torch.zeros_like),
        lambda n: setattr(n, "network", torch.nn.Linear(1, 1)),
        lambda n: n.to("meta"),
        lambda n: vars(n.network.layers["lift"]).update(bias=n.network.layers["lift"].bias + 1),
        lambda n: setattr(n.network.layers["lift"], "bias", Scaled(n.network.layers["lift"].bias.data)),
        lambda n: setattr(n, "_compiled_call_impl", torch.zeros_like),  # as compile() does
        lambda n: setattr(n.network, "_compiled_call_impl", torch.zeros_like),
        lambda n: object.__setattr__(n.plan.design, "run", lambda target, network, tokens, domain: 0 * tokens),
        lambda n: object.__setattr__(n.target, "run", lambda network, tokens, domain: 0 * tokens),
    ],
)
def test_any_change_makes_the_certificate_stale(net, spoil):
    assert net.certificate.bound <= 1e-3
    spoil(net)
    with pytest.raises(hs.StaleCertificate):
        _ = net.certificate
    with pytest.raises(hs.StaleCertificate):
        net.save("/nonexistent/never-written.safetensors")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nothing_is_proved_of_what_is_no_number(net, bad):
    with torch.no_grad():
        next(p for p in net.parameters() if p.numel()).view(-1)[0] = bad
    with pytest.raises(Refusal, match="NaN or infinity"):
        net.reprove()


def test_a_cast_network_does_not_ask_for_a_dtype_that_it_had(net):
    with pytest.raises(Refusal, match=r"holds float16: round it yourself with \.to\(torch\.float16\)$"):
        net.half()(torch.tensor(0.5, dtype=torch.float64))


def test_no_inputs_have_no_errors(net):
    assert net.certify([]).shape == (0,) == net.certify(torch.empty(0)).shape


def test_what_is_proved_of_changed_weights(net):
    assert net.reprove() == net.certificate
    with torch.no_grad():
        steepness = net.network.get_parameter("layers.level1.key.coefficient")
        steepness.view(-1)[steepness.abs().argmax()] *= 0.5
    assert net.reprove().bound > net.plan.bound
    net.network.layers["level1"].scale = 2.0
    with pytest.raises(Refusal, match="not one of scalar softmax heads"):
        net.reprove()


def test_a_patched_network_is_not_certified(net):
    with net.network.hooks({"blocks.0.hook_resid_post": torch.zeros_like}), pytest.raises(hs.StaleCertificate):
        _ = net.certificate
    assert net.certificate.kind == "proved"


def test_undoing_the_change_heals_it(net):
    net.to(torch.float32)
    net.to(torch.float64)
    with pytest.raises(hs.StaleCertificate):  # relu's slope did not survive float32
        _ = net.certificate


def test_copies_and_state_dicts_keep_the_certificate(forged):
    net = forged("relu(x)", -1, 1, 1e-3)
    twin = copy.deepcopy(net)
    assert twin.certificate == net.certificate and fingerprint(twin.network) == fingerprint(net.network)
    spoil_weight(twin)
    twin.load_state_dict(net.state_dict())
    assert twin.certificate.bound == net.certificate.bound
    other = copy.deepcopy(forged("relu(x)", -1, 1, 1e-4))
    other.load_state_dict(net.state_dict())
    with pytest.raises(hs.StaleCertificate):
        _ = other.certificate


def test_it_shows_itself(net):
    assert "certified" in repr(net) and "relu(x)" in repr(net) and "<table>" in net._repr_html_()


# Files ------------------------------------------------------------------------------------------------------------

SAVED = [("relu(x)", -1, 1, 1e-3, "float64"), ("tanh(x)", -3, 3, 1e-5, "float32"), ("5", -1, 1, 1e-3, "float64")]


@pytest.mark.parametrize("request_", [*SAVED, ("abs(sin(3*x)) + x^2", -1, 1, 1e-6, "float64")])
def test_saved_and_loaded_is_the_same_network(forged, tmp_path, request_):
    net = forged(*request_)
    again = hs.load(net.save(tmp_path / "f.safetensors"))
    x = torch.linspace(*net.certificate.domain, 1001, dtype=net.dtype).clamp(*net.certificate.domain)
    assert torch.equal(net(x), again(x))
    assert again.certificate == net.certificate
    assert (again.plan.anchors, again.plan.heads, again.plan.method) == (
        net.plan.anchors,
        net.plan.heads,
        net.plan.method,
    )
    assert again.save(tmp_path / "g.safetensors").read_bytes() == (tmp_path / "f.safetensors").read_bytes()


def test_flipped_bytes_are_noticed(forged, tmp_path):
    path = forged("relu(x)", -1, 1, 1e-3).save(tmp_path / "f.safetensors")
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for place in sorted({*rng.integers(8, len(data), 40).tolist(), len(data) - 1}):
        data[place] ^= 1
        path.write_bytes(data)
        with pytest.raises(Refusal):
            hs.load(path)
        data[place] ^= 1


def _hooked(module):
    """A context in which torch calls a hook after every module."""
    return torch.nn.modules.module.register_module_forward_hook(lambda *_: None)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda net: net.register_forward_hook(lambda module, inputs, out: out + 1),
        lambda net: net.register_forward_pre_hook(lambda module, inputs: inputs),
        lambda net: setattr(net, "decode", lambda tokens: tokens[..., 0, 0] + 1),
        lambda net: setattr(net, "forward", lambda x: x),
        lambda net: setattr(net.network.layers[list(net.network.layers)[1]], "__class__", _idle(net)),
        _hooked,
    ],
)
def test_what_runs_beside_the_classes_voids_the_certificate(spoil):
    net = hs.compile("sin(3*x)", domain=(-2, 2), eps=1e-2)
    assert net.valid
    handle = spoil(net)
    assert "void" in repr(net)
    if handle is not None:
        handle.remove()
        assert net.valid


def _idle(net):
    """A class like that of the second layer, which does nothing."""
    kind = type(net.network.layers[list(net.network.layers)[1]])
    return type(kind.__name__, (kind,), {"forward": lambda self, x, padding=None, tap=None: x})


def test_what_was_proved_cannot_be_exchanged():
    net = hs.compile("sin(3*x)", domain=(-2, 2), eps=1e-2)
    with pytest.raises(AttributeError):
        net.plan = hs.plan("cos(x)", domain=(-2, 2), eps=1e-2)
    with pytest.raises(TypeError):
        net.certificate.domain.sets["x"] = (-50.0, 50.0)
    with pytest.raises(ValueError, match="read-only"):
        net.plan.design.programs[0][0].heads[0].values[0] = 0.0
    assert copy.deepcopy(net).certificate.domain == net.certificate.domain
