"""Files of perceptrons: those we save are proved, forged ones are not, and whatever they hold there is an answer."""

import copy
import math
import random
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compiler.examples.modules import compiled, perceptron
from tests.compiler.forgery import sampled, texts, wirings
from torch import nn

import headsmith as hs
from headsmith.compiler.files import read, seal, write
from headsmith.constructions.units import always, stack_network
from headsmith.network import from_config
from headsmith.proof.checker import check
from headsmith.proof.checker.stacks import Stack, propagated
from headsmith.proof.checker.statements import ASSUMPTIONS, of_perceptron
from headsmith.proof.checker.verdict import Budget
from headsmith.proof.stack import Linear
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal

from .helpers import DOUBLE, RUBBISH, SINGLE, forged, keys_of, leaves, matrix, say, scaled, tree_of

SHORT = torch.float32
HONEST = {
    "gates": lambda: compiled(3, 4, 2, eps=1e-6),
    "gates, three layers": lambda: compiled(2, 6, 5, 1, eps=1e-6),
    "gates, float32": lambda: compiled(2, 5, 2, dtype=SHORT),
    "gates of two ends": lambda: compiled(2, 3, 2, act=nn.Hardtanh, eps=1e-6),
    "gates of two slopes": lambda: compiled(1, 5, 1, act=nn.LeakyReLU, eps=1e-6),
    "exact tables": lambda: compiled(2, 3, 1, act=nn.Tanh, eps=1e-6),
    "exact tables, float32": lambda: compiled(2, 3, 1, act=nn.Tanh, dtype=SHORT),
    "other exact tables": lambda: compiled(6, 5, 2, act=nn.Sigmoid, eps=1e-6),
    "exact gates": lambda: compiled(3, 2, 4, 1, act=nn.SiLU, eps=1e-6),
    "tables": lambda: compiled(2, 3, 1, act=nn.GELU, eps=1e-2),
    "tables, float32": lambda: compiled(1, 2, 1, act=nn.Softplus, eps=1e-2, dtype=SHORT),
    "nothing between two matrices": lambda: compiled(2, 3, 2, act=nn.Identity, eps=1e-6),
    "one matrix": lambda: compiled(3, 2, eps=1e-6),
    "one wide matrix, float32": lambda: compiled(6, 7, dtype=SHORT),
}


@pytest.mark.parametrize("name", HONEST)
def test_accepts_what_we_save(tmp_path, name):
    net = HONEST[name]()
    verdict = check(net.save(tmp_path / "net.safetensors"))
    assert verdict.status == 0, verdict.reason
    assert verdict.bound == net.certificate.bound


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(784, 128, 10), (784, 128, 64, 10), (4, 128, 128, 128, 2)], ids=str)
def test_accepts_what_is_large(tmp_path, widths):
    assert check(compiled(*widths).save(tmp_path / "net.safetensors")).status == 0


def found(net):
    """What the checker proves of a compiled perceptron, from its numbers."""
    linears, ends = net.target.linears, net.plan.request.domain["x"]
    matrices = [matrix(linear.weight.tolist(), linear.bias.tolist()) for linear in linears]
    heads = [tuple(map(keys_of, own)) for own in net.plan.design.stacked]
    stack = Stack(matrices, [tree_of(str(f)) for f in net.target.activations], heads, ends)
    stated = net.certificate.approximation, net.certificate.rounding
    return propagated(stack, SINGLE if net.plan.dtype == "float32" else DOUBLE, stated, Budget())


@settings(max_examples=6)
@given(
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    act=st.sampled_from([nn.ReLU, nn.Hardtanh, nn.SiLU, nn.Tanh, nn.Identity, nn.Softplus]),
    dtype=st.sampled_from(["float64", "float32"]),
    scale=st.floats(0.1, 3),
)
def test_the_bound_is_no_less_than_what_is_measured(widths, act, dtype, scale):
    model = perceptron(*widths, act=act, seed=len(widths), dtype=getattr(torch, dtype))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= scale
    try:
        net = hs.compile(model, domain=(-1, 2), eps=0.2, dtype=dtype)
    except Refusal:
        return
    x = -1 + 3 * torch.rand(60, widths[0], dtype=net.dtype)
    x[:20] = x[:20].round()
    proof = found(net)
    assert float(net.certify(x).max()) <= proof.approximation + proof.rounding
    assert proof.approximation <= net.certificate.approximation and proof.rounding <= net.certificate.rounding


# what is said


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return compiled(2, 3, 2).save(tmp_path_factory.mktemp("perceptron") / "small.safetensors")


def sentence(old, new):
    return say("statement", lambda text: text.replace(old, new) if old in text else pytest.fail(f"{old} is not said"))


def wider(manifest, tensors):
    manifest["request"]["domain"]["x"] = [(-1e3).hex(), (1e3).hex()]


def heavier(manifest, tensors):
    tensors["target/weights.1"][0, 0] += 0.5


def single(manifest, tensors):
    for name in [name for name in tensors if name.startswith("target/")]:
        tensors[name] = tensors[name].float()


LIES = {
    "half the bound": say("bound", lambda text: scaled(text, 0.5)),
    "half the approximation": say("approximation", lambda text: scaled(text, 0.5)),
    "a tenth of the rounding": say("rounding", lambda text: scaled(text, 0.1)),
    "no rounding": say("rounding", lambda text: (0.0).hex()),
    "another box": sentence("[-1, 1]", "[-2, 2]"),
    "more inputs": sentence("]^2", "]^3"),
    "fewer outputs": sentence("each of 2 outputs", "each of 1 outputs"),
    "another dtype in words": sentence("float64", "float32"),
    "other widths": sentence("2-3-2", "2-4-2"),
    "another activation in words": sentence("relu(x)", "x"),
    "another SHA-256": sentence("SHA-256 ", "SHA-256 0"),
    "a wider box": wider,
    "a wider box, told": lambda m, t: (wider(m, t), sentence("[-1, 1]", "[-1000, 1000]")(m, t)),
    "another variable": lambda m, t: m["request"].update(domain={"y": m["request"]["domain"]["x"]}),
    "another dtype": lambda m, t: m["request"].update(dtype="float32"),
    "another target": heavier,
    "numbers of the target in float32": single,
    "another activation": lambda m, t: m["target"].update(activations=[{"formula": ["abs", ["var", "x"]]}]),
    "an activation of another variable": lambda m, t: m["target"].update(
        activations=[{"formula": ["relu", ["var", "y"]]}]
    ),
    "no activation": lambda m, t: m["target"].update(activations=[]),
    "more said of the target": lambda m, t: m["target"].update(vector=False),
    "more said of the design": lambda m, t: m["design"].update(counts=[3]),
    "another design": lambda m, t: m["design"].update(name="heads"),
    "another kind": lambda m, t: m.update(kind="formula"),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_with_correct_hashes_are_rejected(small, tmp_path, lie):
    assert forged(small, tmp_path, lambda manifest, tensors: None).status == 0
    assert forged(small, tmp_path, LIES[lie]).status != 0


SHARP = {
    "approximation": ("gates", "gates, float32", "gates of two ends", "tables", "tables, float32"),
    "rounding": ("gates", "exact gates", "other exact tables", "one matrix", "one wide matrix, float32"),
}


@pytest.mark.parametrize("part, name", [(part, name) for part, names in SHARP.items() for name in names])
def test_less_than_what_is_stated_cannot_be_proved(tmp_path, part, name):
    """Nine tenths of what the compiler proved, where it proved as sharply as this checker does."""
    path = HONEST[name]().save(tmp_path / "net.safetensors")
    assert forged(path, tmp_path, say(part, lambda text: scaled(text, 0.9))).status == 2


# forgeries of the network


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_fuzzed_manifests_are_answered(small, tmp_path, count):
    """Any word or number replaced by anything: a verdict, and never a proof of something else."""
    rng, (honest, tensors) = random.Random(count), read(small)
    places = [place for place in leaves(honest) if place[0] not in ("hash", "format")]
    for _ in range(count):
        (*way, last), manifest = rng.choice(places), copy.deepcopy(honest)
        node = manifest
        for key in way:
            node = node[key]
        node[last] = rng.choice(RUBBISH)
        if not isinstance(manifest["certificate"], dict):
            continue
        changed = seal(manifest, tensors) if "network" in manifest else manifest
        verdict = check(write(tmp_path / "fuzzed.safetensors", changed, tensors), work=20_000)
        silent = changed == seal(honest, tensors) or (way == ["request"] and last in ("eps", "method"))
        assert verdict.status in (1, 2) or (verdict.status == 0 and silent), (way, last, node[last])


def deviates(net, manifest, tensors):
    """Whether a forged network leaves the bound of the honest one on samples, or is no network at all."""
    own = {name: t for name, t in tensors.items() if not name.startswith("target/")}
    x = torch.rand(24, net.target.widths[0], dtype=net.dtype) * 2 - 1
    try:
        out = net.decode(from_config(manifest["network"], own)(net.encode(x)))
    except (Refusal, RuntimeError):
        return True
    true = net(x)
    apart = (out - true).abs().double() if out.shape == true.shape and out.dtype == true.dtype else torch.tensor(1e9)
    return not bool((apart <= 2 * net.certificate.bound).all())


def attacked(name, tmp_path, count):
    """How many forgeries change something; none of these may be proved."""
    net = HONEST[name]()
    manifest, tensors = read(net.save(tmp_path / "honest.safetensors"))
    changed = 0
    for what, m, t in (*sampled(wirings(manifest, tensors), count), *sampled(texts(manifest, tensors), count // 4)):
        try:
            verdict = check(write(tmp_path / "forged.safetensors", seal(m, t), t))
        except (KeyError, TypeError, AttributeError, ValueError):
            continue  # it cannot even be written
        said, differs = m["certificate"]["statement"], deviates(net, m, t)
        if verdict.status == 0:
            assert said == net.certificate.statement and not differs and verdict.bound >= net.certificate.bound, what
        changed += differs or said != net.certificate.statement
    return changed


@pytest.mark.parametrize("name", ["gates, float32", "gates of two ends", "tables", "one matrix"])
def test_a_sample_of_the_forgeries(name, tmp_path):
    assert attacked(name, tmp_path, 6) > 0


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", HONEST)
def test_many_forgeries_of_each_kind(name, tmp_path):
    assert attacked(name, tmp_path, 200) >= 60


# files that a forger writes from nothing


RELU = Head(*(np.array(row) for row in ([1e6, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0])))


def written(path, linears, texts, heads, ends=(-1.0, 1.0), dtype="float64", errors=(1.0, 1.0)):
    """A file whose hashes and sentence are right; of its network and its bound nothing is."""
    linears = [Linear(np.array(weight, dtype=float), np.array(bias, dtype=float)) for weight, bias in linears]
    network = stack_network(linears, heads, getattr(torch, dtype))
    arrays = {f"weights.{i}": linear.weight for i, linear in enumerate(linears)}
    arrays |= {f"biases.{i}": linear.bias for i, linear in enumerate(linears)}
    named = {part: [{"tensor": f"{part}.{i}"} for i in range(len(linears))] for part in ("weights", "biases")}
    matrices = [matrix(linear.weight.tolist(), linear.bias.tolist()) for linear in linears]
    approximation, rounding = errors
    manifest = {
        "format": 2,
        "kind": "mlp",
        "target": {**named, "activations": [{"formula": hs.parse(text).tree()} for text in texts]},
        "request": {"eps": "0x1p0", "domain": {"x": [end.hex() for end in ends]}, "dtype": dtype, "method": "auto"},
        "design": {"name": "units"},
        "network": network.config(),
        "certificate": {
            "approximation": approximation.hex(),
            "rounding": rounding.hex(),
            "bound": (approximation + rounding).hex(),
            "kind": "proved",
            "statement": of_perceptron(matrices, list(map(tree_of, texts)), ends, dtype),
            "assumptions": ASSUMPTIONS,
            "weights": "",
        },
    }
    tensors = {**network.tensors(), **{f"target/{name}": torch.tensor(array) for name, array in arrays.items()}}
    return write(path, seal(manifest, tensors), tensors)


def test_what_is_true_of_a_written_file_is_proved(tmp_path):
    """What the tests below rely on."""
    one = ([[1.0]], [0.0])
    path = written(tmp_path / "net.safetensors", [one, one], ["relu(x)"], [(RELU,)], errors=(1e-6, 1e-12))
    assert check(path).status == 0


@pytest.mark.parametrize("text", ["relu(y)", "x*y", "3"])
def test_activations_are_functions_of_x(tmp_path, text):
    one = ([[1.0]], [0.0])
    assert check(written(tmp_path / "net.safetensors", [one, one], [text], [(RELU,)], errors=(9.0, 9.0))).status == 1


def test_a_product_that_overflows_is_within_nothing(tmp_path):
    """2^127 x is infinite in float32 where x is 2, whatever sums of exact numbers say of it."""
    path = written(tmp_path / "net.safetensors", [([[2.0**127]], [0.0])], [], [], (-2.0, 2.0), "float32", (0.0, 1e36))
    manifest, tensors = read(path)
    own = {name: t for name, t in tensors.items() if not name.startswith("target/")}
    assert math.isinf(float(from_config(manifest["network"], own)(torch.tensor([[2.0]]))))
    assert check(path).status == 2


def test_a_network_that_is_plainly_false_is_called_so(tmp_path):
    one = ([[1.0]], [0.0])
    path = written(tmp_path / "net.safetensors", [one, one], ["abs(x)"], [(RELU,)], errors=(0.5, 1.0))
    verdict = check(path)
    assert verdict.status == 1 and "false" in verdict.reason


def draw(*shape):
    return np.random.default_rng(0).normal(size=shape)


def layers(*widths):
    return [(draw(b, a), draw(b)) for a, b in pairwise(widths)]


WASTE = {
    "many inputs": lambda: (layers(20_000, 1, 1), ["relu(x)"], [(RELU,)]),
    "many units": lambda: (layers(1, 5_000, 1, 1), ["relu(x)"] * 2, [(RELU,)] * 2),
    "many of both": lambda: (layers(500, 500, 1), ["relu(x)"], [(RELU,)]),
    "many layers": lambda: (layers(*[1] * 300), ["relu(x)"] * 298, [(RELU,)] * 298),
    "many keys": lambda: (layers(1, 1, 1), ["relu(x)"], [(Head.table(draw(20_000), draw(20_000), draw(20_000)),)]),
    "many heads": lambda: (layers(1, 1, 1), ["relu(x)"], [(RELU,) * 3_000]),
    "steep heads": lambda: (layers(1, 1, 1), ["sin(1000000*x)"], [(Head.table(1e9 * draw(20), draw(20), draw(20)),)]),
    "steep formulas": lambda: (layers(1, 8, 1), ["sin(1000000*x)*exp(sin(99999*x))"], [(always(0.0, 0.0),)]),
}


@pytest.mark.parametrize("work", [20_000, pytest.param(1_500_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WASTE)
def test_files_made_to_waste_time_are_answered(tmp_path, name, work):
    """Each takes more than the small budget; of what the large one allows nothing is asked but an answer."""
    path = written(tmp_path / "net.safetensors", *WASTE[name](), errors=(1e4, 1e4))
    verdict = check(path, work=work)
    assert verdict.status == 2 if work < 1_000_000 else verdict.status in (0, 2), verdict
