"""Networks with smooth activations, trained in the forward pass: torch's numbers, and a certificate that holds."""

import pytest
import torch

import headsmith as hs
from headsmith.compiler.files import read, seal, write
from headsmith.functions.smooth import SMOOTH
from headsmith.reference.autograd import descended

EXACT = ("tanh", "sigmoid", "silu")


def case(name, eps=1e-6, dtype="float64", widths=(3, 5, 5, 2), steps=20, size=1.0, seed=0, **options):
    """(network, prompt), data of this size."""
    target = hs.target.Training(widths=list(widths), activation=name, steps=steps, rate=0.1, samples=12, **options)
    net = hs.compile(target, eps=eps, dtype=dtype)
    g = torch.Generator().manual_seed(seed)
    X, Y = ((size * torch.randn(12, n, generator=g).double()).clamp(-4, 4) for n in (widths[0], widths[-1]))
    X, Y = (part.to(net.dtype) for part in (X, (Y > 0) if target.squashed else Y))
    return net, hs.prompt.training(X, Y, [0.5] * widths[0], init=seed)


@pytest.mark.parametrize("name", SMOOTH)
def test_it_is_gradient_descent(name):
    net, prompt = case(name)
    r = net(prompt)
    path, losses = descended(r.initial, prompt.X, prompt.Y, name, 20, 0.1)
    off = float((torch.cat([w.flatten() for w in r.weights]) - path[-1]).norm())
    assert off <= (2e-15 if name in EXACT else 1e-7)
    assert torch.allclose(r.loss_curve, losses, rtol=0, atol=1e-7) and losses[-1] < losses[0]
    assert r.kinks == 0 and "kink" not in net.certificate.statement


@pytest.mark.parametrize("size", [0.3, 3.0])
@pytest.mark.parametrize("dtype, eps", [("float64", 1e-7), ("float32", 0.01)])
@pytest.mark.parametrize("name", SMOOTH)
def test_no_step_is_further_off_than_is_proved(name, dtype, eps, size):
    eps *= 10 * max(1.0, size)
    net, prompt = case(name, eps, dtype, steps=3, size=size, seed=2)
    found, bounds = net.certify(prompt), net(prompt).perturbations
    assert bool((found <= bounds).all()) and float(bounds.max()) <= eps


@pytest.mark.parametrize(
    "options",
    [{"biases": True, "loss": "logistic"}, {"output": "activation", "loss": "huber(0.5)", "project": 1.5},
     {"optimizer": "adam", "root": 1.0, "steps": 4}, {"optimizer": "momentum", "decay": 0.1, "biases": True}],
    ids=lambda options: ", ".join(map(str, options.values())),
)  # fmt: skip
@pytest.mark.parametrize("name", ["gelu", "sigmoid"])
def test_all_that_a_training_can_have(name, options):
    net, prompt = case(name, 1e-3, **{"steps": 3, **options})
    assert bool((net.certify(prompt) <= net(prompt).perturbations).all())


def test_the_worst_step_is_no_better_than_any():
    """The plan of a small domain enforces nothing: data and weights at its corners stay below it."""
    target = hs.target.Training(widths=[2, 3, 1], activation="tanh", steps=1, rate=1e-3, samples=4)
    net = hs.compile(target, eps=1e-6, domain={"x": 1.0, "y": 1.0, "w": 1.0})
    assert net.certificate.bound < 1e-12
    for seed in range(8):
        g = torch.Generator().manual_seed(seed)
        X, Y, V, W = (
            torch.rand(*size, generator=g).double().sub(0.5).sign() for size in ((4, 2), (4, 1), (3, 2), (1, 3))
        )
        init = [0.99 * V, 0.99 * W]
        r = net(hs.prompt.training(X, Y, [1.0, -1.0], init=init))
        assert float(r.perturbations.max()) <= net.certificate.bound


@pytest.mark.parametrize("name, words", [("tanh", "stationary"), ("sigmoid", "all units of a layer are the same")])
def test_a_start_of_zeros_is_refused_for_what_it_is(name, words):
    net, prompt = case(name, widths=(2, 3, 1))
    still = hs.prompt.training(prompt.X, prompt.Y, prompt.query, init=[torch.zeros(3, 2), torch.zeros(1, 3)])
    with pytest.raises(hs.Refusal, match=words):
        net(still)


def test_a_pre_activation_beyond_the_tables_is_refused():
    target = hs.target.Training(widths=[1, 1, 1], activation="gelu", steps=1, rate=1e-9, samples=1)
    net = hs.compile(target, eps=1e6, domain={"x": 4e5, "w": 4.0})
    with pytest.raises(hs.Refusal, match="beyond 1048576: scale the data"):
        net(hs.prompt.training([[4e5]], [[0.0]], [1.0], init=[[[4.0]], [[1e-9]]]))


@pytest.mark.parametrize("name", ["gelu", "silu", "relu"])
def test_a_network_so_deep_that_no_float_holds_its_worst_step_keeps_what_is_enforced(name):
    plan = hs.plan(hs.target.Training([3, *[10] * 120, 1], activation=name, steps=1, samples=2), eps=1e-3)
    assert plan.bound <= 1e-3


@pytest.mark.parametrize("layer, part", [("bend1", "levels"), ("slope1", "slopes"), ("slope2", "offsets")])
def test_a_table_that_was_changed_is_not_proved(layer, part, tmp_path):
    """Also where all hashes are right again."""
    net, path = case("gelu", widths=(2, 3, 3, 1))[0], str(tmp_path / "f.safetensors")
    net.save(path)
    assert hs.certify(path).status == 0
    manifest, tensors = read(path)
    [name] = [key for key in tensors if layer in key and key.endswith(part)]
    tensors[name] = tensors[name] * 1.001
    write(path, seal(manifest, tensors), tensors)
    assert hs.certify(path).status == 1
