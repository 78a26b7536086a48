import numpy as np
import pytest
import torch

from headsmith.constructions.assemble import assemble
from headsmith.constructions.gate import gate, line
from headsmith.functions import parse
from headsmith.proof.statement import Head, Part

DOMAIN = (-1.0, 1.0)
X = parse("x")
TABLE = Head.table([-1.0, 0.5, 2.0], [0.0, 0.25, -0.5], [1.0, -2.0, 3.0])
RELU = gate((50.0, -5.0), (2.0, -0.2))


def run(parts, dtype=torch.float64):
    z = torch.linspace(*DOMAIN, 101, dtype=dtype)
    return z.double().numpy(), assemble(parts, dtype)(z[:, None, None])[:, 0, 0].double().numpy()


@pytest.mark.parametrize(
    "heads", [(TABLE,), (RELU,), (line(3.0, 0.5),), (TABLE, RELU), (RELU, TABLE, line(-1.0)), (TABLE, TABLE)]
)
@pytest.mark.parametrize("bias", [0.0, 0.75])
def test_one_part(heads, bias):
    part = Part("x", "out", X, DOMAIN, heads, bias)
    z, y = run([part])
    assert np.allclose(y, part(z), atol=2e-14, rtol=0)


def test_parts_that_read_parts():
    """out = relu-gate(x) + line(mid), mid = table(x): two levels, one stream."""
    parts = [
        Part("x", "out", X, DOMAIN, (RELU,), 0.5),
        Part("x", "mid", X, DOMAIN, (TABLE,)),
        Part("mid", "out", X, (-3.0, 3.0), (line(2.0), TABLE)),
    ]
    z, y = run(parts)
    mid = TABLE(z)
    assert np.allclose(y, 0.5 + RELU(z) + 2 * mid + TABLE(mid), atol=5e-14, rtol=0)
    net = assemble(parts)
    assert net.features == ("x", "one", "out", "mid", "slope", "offset", "value")
    assert [layer.kind for layer in net.layers.values()] == ["affine", "attention", "attention", "affine"]
    assert set(net.variables) >= {"x", "out", "mid"}


def test_the_numbers_are_the_heads_own():
    """What the proof speaks of is what the module holds, bit for bit."""
    head = Head.table([0.1, 1 / 3], [2 / 7, -0.3], [1e-9, 123.456]).cast("float32")
    memory = assemble([Part("x", "out", X, DOMAIN, (head,))], torch.float32).layers["level1"].memory[0]
    for column, numbers in zip((-3, -2, -1), (head.slopes, head.offsets, head.values), strict=True):
        assert memory[:, column].double().tolist() == numbers.tolist()


def test_a_head_alone_is_one_product_one_softmax_one_product():
    z = torch.linspace(-1, 1, 57, dtype=torch.float64)
    query = torch.stack([z, torch.ones_like(z)], -1)
    key = torch.tensor(np.stack([TABLE.slopes, TABLE.offsets], -1))
    plain = torch.softmax(query @ key.T, -1) @ torch.tensor(TABLE.values)[:, None]
    ours = assemble([Part("x", "out", X, DOMAIN, (TABLE,))])(z[:, None, None])[:, 0]
    # a fused multiply-add may round the scores once where the plain product rounds twice
    assert torch.allclose(ours, plain, atol=1e-13, rtol=0)
