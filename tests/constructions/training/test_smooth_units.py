"""Units whose value and slope are numbers: what the layers write is r and r', and a product with q."""

import copy

import pytest
import torch

import headsmith as hs
from headsmith.constructions.training.compact import tape_of
from headsmith.functions.smooth import SMOOTH, Smooth
from headsmith.reference.autograd import ACTIVATIONS

KEYS = {"tanh": 0, "sigmoid": 0, "silu": 0, "softplus": 7, "gelu": 34}  # searched, in all tables, at eps = 1e-6


def forged(name, dtype="float64", eps=1e-6, **options):
    target = hs.target.Training(widths=[2, 4, 3, 1], activation=name, steps=2, samples=6, **options)
    return hs.compile(target, eps=eps, dtype=dtype)


def filled(net, z, q):
    """Tokens with these pre-activations and what is handed back."""
    tape = tape_of(net.target)
    tokens = torch.zeros(tape.tokens, tape.width, dtype=z.dtype)
    tokens[: len(z), tape.rows("one")] = 1.0
    tokens[: len(z), tape.rows("z 1")] = z[:, None].expand(-1, 4)
    tokens[: len(z), tape.rows("q 1")] = q[:, None].expand(-1, 4)
    return tape, tokens


@pytest.mark.parametrize("dtype, eps", [("float64", 1e-6), ("float32", 1e-2)])
@pytest.mark.parametrize("name", SMOOTH)
def test_value_slope_and_product(name, dtype, eps):
    """For every z, however large, within what is proved of the tables."""
    net = forged(name, dtype, eps)
    z = torch.tensor([-1e5, -41.5, -9.9, -3.0, 0.7, 12.0, 1e6], dtype=getattr(torch, dtype))
    q = torch.tensor([1.0, -2.0, 0.5, 1.0, -1.0, 3.0, 1.0], dtype=z.dtype)
    tape, tokens = filled(net, z, q)
    for layer in ("fold1", "bend1", "slope1", "gate1"):
        tokens = net.network.layers[layer](tokens) if layer in net.network.layers else tokens
    at = z.double().requires_grad_()
    value = ACTIVATIONS[name](at)
    [slope] = torch.autograd.grad(value.sum(), at)
    curve = net.plan.design.law(net.target, net.plan.request).curve
    unit = torch.finfo(z.dtype).eps
    found = {family: tokens[:7, tape.slices[f"{family} 1"]].double()[:, 0] for family in ("p", "slope", "delta")}
    assert bool(((found["p"] - value).abs() <= curve.value.of(at) + unit * value.abs()).all())
    off = curve.slope.of(at) + unit * slope.abs()
    assert bool(((found["slope"] - slope).abs() <= off).all())
    assert bool(((found["delta"] - slope * q.double()).abs() <= (off + unit) * q.double().abs() * 1.1).all())


@pytest.mark.parametrize("name", SMOOTH)
def test_the_exact_ones_need_no_search(name):
    net = forged(name)
    tables = net.plan.design.tables
    assert sum(table.keys for table in tables) <= KEYS[name] and len(tables) == len(Smooth.of(name).searched)
    assert (net.certificate.approximation > 0) == bool(tables)


@pytest.mark.parametrize("name", SMOOTH)
def test_scratch_is_0_after_a_step_and_the_query_hands_nothing_back(name):
    net = forged(name, output="activation", biases=True)
    tape, g = tape_of(net.target), torch.Generator().manual_seed(0)
    x, y, query = (torch.randn(*size, generator=g).double() for size in ((6, 2), (6, 1), (2,)))
    tokens = net.encode(x, y, query, tape.flat(net.target.start(1)))
    states = dict(zip(net.network.layers, net.network.states(tokens), strict=True))
    assert not states["descend"][tape.samples, tape.rows("delta 1")].any()
    after = states["clean"]
    assert not after[:, tape.scratch() + tape.rows("g")].any()
    moved = {row for row in range(tape.width) if not torch.equal(after[:, row], tokens[:, row])}
    assert moved and moved <= set(tape.rows("w"))


@pytest.mark.parametrize("name", ["softplus", "gelu"])
def test_tables_are_charged_for_rounding(name):
    """The same stored numbers in float32 and in float64: nothing is left but rounding, and there is some."""
    net = forged(name, "float32", 1e-2)
    z = -torch.tensor([0.013, 0.31, 0.77, 1.3, 1.9, 2.6, 3.3])
    tape, tokens = filled(net, z, torch.zeros(7))
    exact = tokens.double()
    for layer in ("fold1", "bend1"):
        tokens = net.network.layers[layer](tokens)
        exact = copy.deepcopy(net.network.layers[layer]).double()(exact)
    off = (tokens.double() - exact)[:7, tape.rows("p 1")[0]].abs().max()
    assert 2.0**-26 <= off <= net.plan.design.law(net.target, net.plan.request).curve.value.fixed


def test_a_table_that_no_format_carries_is_refused():
    with pytest.raises(hs.Refusal, match=r"no table carries gelu within .* in float32 .*larger eps or dtype='float64'"):
        forged("gelu", "float32", 1e-6)
    with pytest.raises(hs.Refusal):
        forged("softplus", eps=1e-15)
